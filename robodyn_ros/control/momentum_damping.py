"""YieldingController: carries the arm, follows a push, and takes momentum away.

    tau = g(q) + K_r r - k M(q) (qd - qd_r)

The push that the residual r tells is given once more, K_r times, as if the arm had become 1 + K_r
times lighter. The momentum is taken away, down to that of a velocity qd_r. As Mdot - 2 C is
skew-symmetric, the kinetic energy T of an arm that nothing pushes obeys, if r and qd_r are 0,

    Tdot = -2 k T

in any posture, whatever the coupling: it slows down on the very path on which it would have gone
on. One k for all joints sees to that. k is lowered as long as some motor could not give so much
torque, or take it back in time: a torque sqrt(2 R |p|) can be brought down to 0 at the rate R just
as the momentum p ends, a larger one would throw the arm back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.momentum import _momentum_terms
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.robot import RobotModel
from .controller import Array, Controller, gains_of, part, sample

RATE_SHARE = 0.7  # of the torque rate, to end braking with; the rest is for weight and coupling
LEAST_ROOM = 0.1  # share of the torque that may always be used to brake
TAKEN_BACK = 0.1  # [s], in which the torque of a reflex must be gone when the push has ended

# Rows of the law's own array, n numbers each
GAIN, TAU_MAX, RATE_MAX, EXTRA_QD, P, CTQD = (U(k) for k in range(6))


class Push(NamedTuple):
    """What a yielding arm gives in to."""

    r: Array  # [N m or N], the residual
    qd: Array  # [rad/s or m/s], the velocity to have


@kernel(
    "int64(float64[::1], float64[:, ::1], float64, float64[::1], float64[::1], float64[::1],"
    " float64[::1], float64[::1])"
)
def _yield(block, own, k, q, qd, r, qd_r, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or r.size != n or qd_r.size != n:
        return 1
    p, extra = own[P], own[EXTRA_QD]
    for j in range(n):
        extra[j] = qd[j] - qd_r[j]
    if _momentum_terms(block, q, extra, p, own[CTQD], tau) != 0:  # tau is g now
        return 1
    share = 1.0
    for j in range(n):
        size, rate = abs(p[j]), RATE_SHARE * own[RATE_MAX, j]
        if k * size * k > rate:
            k = math.sqrt(2.0 * rate * (size - 0.5 * rate / k**2)) / size
        helps = tau[j] if p[j] > 0.0 else -tau[j]  # weight brakes as well, or takes room
        room = max(own[TAU_MAX, j] + helps, LEAST_ROOM * own[TAU_MAX, j])
        if k * size > room:
            k = room / size
        if own[GAIN, j] * abs(r[j]) * share > rate * TAKEN_BACK:
            share = rate * TAKEN_BACK / (own[GAIN, j] * abs(r[j]))
    for j in range(n):
        tau[j] += share * own[GAIN, j] * r[j] - k * p[j]
    return 0


class YieldingController(Controller):
    """tau = g(q) + K_r r - k M (qd - qd_r): carries the arm, follows a push, takes momentum away.

    gain: K_r, 0 or more, one for all joints or one each. damping: k [1/s]. options: those of
    `Controller`. Its reference is a `Push`.
    """

    def __init__(
        self,
        model: RobotModel,
        gain: npt.ArrayLike = 0.0,
        damping: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        if not 0.0 <= damping < math.inf:
            raise ArgumentError(f"damping must be finite and not negative [1/s], got {damping!r}")
        self.gain, self.damping = gains_of(model, "gain", gain, zero=True), float(damping)
        self._own = np.zeros((6, model.n))
        self._own[int(GAIN)] = self.gain
        self._own[int(TAU_MAX)] = self.limits.tau_max
        self._own[int(RATE_MAX)] = self.limits.tau_rate_max
        self.alone = Push(np.zeros(model.n), np.zeros(model.n))  # nothing to give in to

    @classmethod
    def beside(
        cls, law: Controller, gain: npt.ArrayLike = 0.0, damping: float = 0.0
    ) -> YieldingController:
        """Takes turns with another law: the same limits, and each begins where the other ended."""
        made = cls(law.model, gain, damping, limits=law.limits)
        made._limiter = law._limiter
        return made

    def release(self, dt: float) -> Array:
        """(n,): on the way to no torque at all, as fast as the limits allow."""
        self._limiter.apply(self.alone.r, dt)
        return self._limiter.tau

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        return _yield(
            self._packed,
            self._own,
            self.damping,
            state.q,
            state.qd,
            reference.r,
            reference.qd,
            self._wanted,
        )

    def _checked_reference(self, reference: Any) -> Push:
        return Push(*(sample(self.model, x, part(reference, "push", x)) for x in Push._fields))
