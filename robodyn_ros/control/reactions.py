"""What an arm does when it is touched: stop, float, reflex, admittance, as in [DeLuca2006].

All four leave the trajectory for one law, here called yielding:

    tau = g(q) + K_r r - k M(q) (qd - qd_r)

The arm's weight is carried; the push that the residual r tells is given once more, K_r times, as
if the arm had become 1 + K_r times lighter (reflex); and the momentum is taken away, down to that
of a velocity qd_r, which is 0 but for admittance: there the push moves it,

    qdd_r = G r / M_jj - d qd_r

As Mdot - 2 C is skew-symmetric, the kinetic energy T of an arm that nothing pushes obeys, if r and
qd_r are 0,

    Tdot = -2 k T

in any posture, whatever the coupling: it slows down on the very path on which it would have gone
on. One k for all joints sees to that. k is lowered as long as some motor could not give so much
torque, or take it back in time: a torque sqrt(2 R |p|) can be brought down to 0 at the rate R just
as the momentum p ends, a larger one would throw the arm back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.inertia import mass_matrix
from ..dynamics.momentum import _momentum_terms
from ..dynamics.motion import Motion
from ..dynamics.vector import kernel
from ..errors import ArgumentError
from ..model.block import U
from ..model.robot import RobotModel
from .controller import Array, Controller, gains_of, part, sample

RATE_SHARE = 0.7  # of the torque rate, to end braking with; the rest is for weight and coupling
LEAST_ROOM = 0.1  # share of the torque that may always be used to brake
TAKEN_BACK = 0.1  # [s], in which the torque of a reflex must be gone when the push has ended
REST_SPEED = 0.02  # [rad/s or m/s]
REST_TIME = 0.05  # [s], slower than that for so long is rest

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
            self.model.block,
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


class Stillness:
    """Whether an arm has come to rest: slower than `speed` [rad/s or m/s] for a while."""

    def __init__(self, speed: float = REST_SPEED) -> None:
        self.speed = speed
        self.reset()

    def reset(self) -> None:
        """Believe that it moves."""
        self.seconds = 0.0

    @property
    def at_rest(self) -> bool:
        return self.seconds >= REST_TIME

    def update(self, qd: Array, dt: float) -> bool:
        """Take in a velocity that was measured dt [s] after the last one."""
        slow = max(qd.max(), -qd.min()) < self.speed
        self.seconds = self.seconds + dt if slow else 0.0
        return self.at_rest


class Reaction(ABC):
    """A way to give in. `begin`, then `torque` for every sample.

    reference: where it holds the arm or wants to have it; while it yields, where the arm is.
    """

    reference: Motion
    holds = True  # comes to rest in a place that it then keeps

    def __init__(self) -> None:
        self.stillness = Stillness()

    @property
    def at_rest(self) -> bool:
        """Whether the arm has come to rest."""
        return self.stillness.at_rest

    @abstractmethod
    def begin(self, state: Any) -> None:
        """Start from this state."""

    @abstractmethod
    def torque(self, state: Any, r: Array | None, dt: float) -> Array:
        """(n,) [N m or N], as from `Controller.torque`. r: the residual while it is touched."""


class _Yielding(Reaction):
    """Yields; where the arm comes to rest, the law that tracks holds it."""

    def __init__(self, law: Controller, gain: npt.ArrayLike, damping: float) -> None:
        super().__init__()
        self.law = law
        self.yielding = YieldingController.beside(law, gain, damping)

    def begin(self, state: Any) -> None:
        self.stillness.reset()
        self.reference = Motion.at_rest(state.q)
        self._holding = False

    def torque(self, state: Any, r: Array | None, dt: float) -> Array:
        still = self.stillness.update(state.qd, dt)
        push = self._push(state, r, dt)
        if push is not None:
            self._holding = False
        elif still and self.holds and not self._holding:
            self.law.reset(self.law.tau)
            self._holding = True
        if self._holding:
            return self.law.torque(state, self.reference, dt)
        self.reference = Motion.at_rest(state.q)
        return self.yielding.torque(state, push or self.yielding.alone, dt)

    def _push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        """What to give in to besides what acts on the arm itself."""
        return None


class Stop(_Yielding):
    """Brakes as hard as torque and torque rate allow, and holds where the arm comes to rest.

    braking [1/s]: the rate at which the speed falls in the end.
    """

    def __init__(self, law: Controller, braking: float = 30.0) -> None:
        super().__init__(law, 0.0, braking)


class Float(_Yielding):
    """Gravity compensation with light damping [1/s]: the arm is free, and can be led by hand."""

    holds = False

    def __init__(self, law: Controller, damping: float = 3.0) -> None:
        super().__init__(law, 0.0, damping)


class Reflex(_Yielding):
    """Follows the push, tau = g + K_r r, and holds where the arm comes to rest after it."""

    def __init__(self, law: Controller, gain: npt.ArrayLike = 2.0, damping: float = 3.0) -> None:
        super().__init__(law, gain, damping)

    def _push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        return None if r is None else Push(r, self.yielding.alone.qd)


class Admittance(_Yielding):
    """Retracts along the push, with a velocity that the push gives it, and holds where it ends.

    gain: G, how many times lighter than the arm the velocity is moved; damping: d [1/s], the rate
    at which it fades; braking [1/s]: the rate at which the arm takes it over. It keeps to
    half of what the joints can do, and never leads out of their limits.
    """

    def __init__(
        self,
        law: Controller,
        gain: npt.ArrayLike = 5.0,
        damping: float = 10.0,
        braking: float = 30.0,
    ) -> None:
        super().__init__(law, 0.0, braking)
        model = law.model
        if not 0.0 < damping < math.inf:
            raise ArgumentError(f"damping must be positive and finite [1/s], got {damping!r}")
        self.gain, self.damping = gains_of(model, "gain", gain), float(damping)
        self._speed = 0.5 * np.where(np.isfinite(model.qd_max), model.qd_max, math.pi)

    def begin(self, state: Any) -> None:
        super().begin(state)
        self._lightness = self.gain / np.diag(mass_matrix(self.law.model, state.q))
        self._qd = np.zeros(self.law.model.n)

    def _push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        model, fade = self.law.model, math.exp(-self.damping * dt)
        self._qd *= fade
        if r is not None:
            self._qd += (1.0 - fade) / self.damping * self._lightness * r
        low = np.where(state.q <= model.q_min, 0.0, -self._speed)
        high = np.where(state.q >= model.q_max, 0.0, self._speed)
        self._qd = np.minimum(np.maximum(self._qd, low), high)
        if r is None and np.abs(self._qd).max() < REST_SPEED:
            return None
        return Push(self.yielding.alone.r, self._qd)
