"""MomentumDampingController: carries the arm, follows a push, and removes momentum.

    tau = g(q) + K_r r - k M(q) (qd - qd_r)

The push that the residual r measures is amplified: the arm feels 1 + K_r times lighter. If r and
qd_r are 0, the kinetic energy of an arm that nothing pushes obeys  Tdot = -2 k T  in any posture.
k is lowered where an actuator cannot give the torque, or cannot take it back in time: a torque
sqrt(2 R |p|) can be brought to 0 at the rate R just as the momentum p ends; a larger one would
throw the arm back.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.momentum import _momentum_terms
from ...errors import ArgumentError
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Array, Controller, gains_of, joint_array, part

RATE_SHARE = 0.7  # of the torque rate limit, for braking; the rest is for weight and coupling
MIN_BRAKING_SHARE = 0.1  # of the torque limit, always available for braking
RELEASE_TIME = 0.1  # [s] to remove the torque of a reflex after the push has ended

# Rows of the law's own array, n numbers each
GAIN, TAU_MAX, RATE_MAX, EXCESS_QD, P, CTQD = (U(k) for k in range(6))


class Push(NamedTuple):
    """The push that the arm follows."""

    r: Array  # [N m or N], the residual
    qd: Array  # [rad/s or m/s], the velocity qd_r


@kernel("int64(vector, matrix, float64, vector, vector, vector, vector, vector)")
def _damp_momentum(block, own, k, q, qd, r, qd_r, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or r.size != n or qd_r.size != n:
        return 1
    p, excess = own[P], own[EXCESS_QD]
    for j in range(n):
        excess[j] = qd[j] - qd_r[j]
    if _momentum_terms(block, q, excess, p, own[CTQD], tau) != 0:  # tau is g now
        return 1
    share = 1.0
    for j in range(n):
        size, rate = abs(p[j]), RATE_SHARE * own[RATE_MAX, j]
        if k * size * k > rate:
            k = math.sqrt(2.0 * rate * (size - 0.5 * rate / k**2)) / size
        weight = tau[j] if p[j] > 0.0 else -tau[j]  # positive if it brakes
        room = max(own[TAU_MAX, j] + weight, MIN_BRAKING_SHARE * own[TAU_MAX, j])
        if k * size > room:
            k = room / size
        if own[GAIN, j] * abs(r[j]) * share > rate * RELEASE_TIME:
            share = rate * RELEASE_TIME / (own[GAIN, j] * abs(r[j]))
    for j in range(n):
        tau[j] += share * own[GAIN, j] * r[j] - k * p[j]
    return 0


class MomentumDampingController(Controller):
    """tau = g(q) + K_r r - k M (qd - qd_r): carries the arm, follows a push, removes momentum.

    gain: K_r, 0 or more, one for all joints or one each. damping: k [1/s]. options: those of
    `Controller`. Its reference is a `Push`.
    """

    def __init__(
        self, model: RobotModel, gain: npt.ArrayLike = 0.0, damping: float = 0.0, **options: Any
    ) -> None:
        super().__init__(model, **options)
        if not 0.0 <= damping < math.inf:
            raise ArgumentError(f"damping must be finite and not negative [1/s], got {damping!r}")
        self.gain, self.damping = gains_of(model, "gain", gain, zero=True), float(damping)
        self._own = np.zeros((6, model.n))
        self._own[int(GAIN)] = self.gain
        self._own[int(TAU_MAX)] = self.limits.tau_max
        self._own[int(RATE_MAX)] = self.limits.tau_rate_max
        self.no_push = Push(np.zeros(model.n), np.zeros(model.n))

    @classmethod
    def sharing_limits(
        cls, law: Controller, gain: npt.ArrayLike = 0.0, damping: float = 0.0
    ) -> "MomentumDampingController":
        """Return a controller that shares limits and last torque of another law."""
        made = cls(law.model, gain, damping, limits=law.limits)
        made.share_limits(law)
        return made

    def release(self, dt: float) -> Array:
        """Return the torque (n,) on the way to zero, as fast as the limits allow."""
        self._limiter.apply(self.no_push.r, dt)
        return self._limiter.tau

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, push, own = state, reference, self._own
        return _damp_momentum(
            self._packed, own, self.damping, x.q, x.qd, push.r, push.qd, self._wanted
        )

    def _checked_reference(self, reference: Any) -> Push:
        return Push(
            *(joint_array(self.model, x, part(reference, "push", x)) for x in Push._fields)
        )
