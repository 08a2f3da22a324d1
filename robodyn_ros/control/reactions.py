"""What an arm does when it is touched: stop, float, reflex, admittance, as in [DeLuca2006].

All four leave the trajectory for the law of `yielding`,

    tau = g(q) + K_r r - k M(q) (qd - qd_r)

Stop has a large k, float a small one, reflex K_r r as well. For admittance the push moves qd_r:

    qdd_r = G r / M_jj - d qd_r
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.motion import Motion
from ..errors import ArgumentError
from ..model.packed_model import U
from .controller import Array, Controller, gains_of, sample
from .momentum_damping import Push, YieldingController

REST_SPEED = 0.02  # [rad/s or m/s]
REST_TIME = 0.05  # [s], slower than that for so long is rest
SWING = 0.2  # [rad/s or m/s]: an arm that is held and faster than that was thrown
WINDOW = 0.1  # [s] in which an arm at rest, whatever the noise of its speed, gets nowhere

# Rows of the numbers of admittance, n each
QD, LIGHTNESS, SPEED, Q_MIN, Q_MAX = (U(k) for k in range(5))


# Rows of the numbers of stillness, n each: how far a joint got in this window, at least, at most
PLACE, LOW, HIGH = (U(k) for k in range(3))


@kernel("float64(float64[:, ::1], float64[::1], float64)")
def _roam(own, qd, dt):
    """Take PLACE on by dt; comes back with the largest way between LOW and HIGH."""
    largest = 0.0
    for j in range(U(own.shape[1])):
        own[PLACE, j] += dt * qd[j]
        own[LOW, j] = min(own[LOW, j], own[PLACE, j])
        own[HIGH, j] = max(own[HIGH, j], own[PLACE, j])
        largest = max(largest, own[HIGH, j] - own[LOW, j])
    return largest


@kernel("float64(float64[::1])")
def _fastest(qd):
    """The largest speed."""
    largest = 0.0
    for j in range(qd.size):
        largest = max(largest, abs(qd[j]))
    return largest


@kernel("float64(float64[:, ::1], float64[::1], float64[::1], float64, float64)")
def _retract(own, q, r, damping, dt):
    """Take QD on by dt; comes back with its largest speed, or NaN and nothing done if q and r are
    not n finite numbers each.
    """
    n, qd, bad = U(own.shape[1]), own[QD], 0.0
    if q.size != n or r.size != n:
        return np.nan
    for j in range(n):
        bad += 0.0 * q[j] + 0.0 * r[j]
    if bad != 0.0:
        return np.nan
    fade = math.exp(-damping * dt)
    for j in range(n):
        qd[j] = fade * qd[j] + (1.0 - fade) / damping * own[LIGHTNESS, j] * r[j]
        slowest = 0.0 if q[j] <= own[Q_MIN, j] else -own[SPEED, j]
        fastest = 0.0 if q[j] >= own[Q_MAX, j] else own[SPEED, j]
        qd[j] = min(max(qd[j], slowest), fastest)
    return _fastest(qd)


class Stillness:
    """Whether an arm has come to rest: slower than `speed` [rad/s or m/s] for a while.

    Where velocities are noisier than that, as differences of positions are: if it got nowhere, by
    the sum of them, for twice as long.
    """

    def __init__(self, n: int, speed: float = REST_SPEED) -> None:
        self.speed = speed
        self._roamed = np.zeros((3, n))
        self.reset()

    def reset(self) -> None:
        """Believe that it moves."""
        self.fastest = 0.0  # [rad/s or m/s], of the last sample's joints
        self._slow = 0.0  # [s]
        self._nowhere = False  # whether it got nowhere in the last window
        self._look_anew()

    def continue_from(self, other: Stillness) -> None:
        """Believe what another one believes."""
        self._slow, self._nowhere = other._slow, other._nowhere

    @property
    def at_rest(self) -> bool:
        return self._slow >= REST_TIME or self._nowhere

    def update(self, qd: Array, dt: float) -> bool:
        """Take in a velocity that was measured dt [s] after the last one."""
        self.fastest = _fastest(qd)
        self._slow = self._slow + dt if self.fastest < self.speed else 0.0
        self._looked += dt
        if _roam(self._roamed, qd, dt) > self.speed * REST_TIME:
            self._nowhere = False
            self._look_anew()
        elif self._looked >= WINDOW:
            self._nowhere = True
            self._look_anew()
        return self.at_rest

    def _look_anew(self) -> None:
        self._roamed[:] = 0.0
        self._looked = 0.0  # [s]


class Reaction(ABC):
    """A way to give in. `begin`, then `torque` for every sample.

    reference: where it holds the arm or wants to have it; while it yields, where the arm is.
    """

    reference: Motion
    holds = True  # comes to rest in a place that it then keeps
    uses_residual = False  # its torque depends on r

    def __init__(self, n: int) -> None:
        self.stillness = Stillness(n)

    @property
    def at_rest(self) -> bool:
        """Whether the arm has come to rest."""
        return self.stillness.at_rest

    @abstractmethod
    def begin(self, state: Any) -> None:
        """Start from this state."""

    @abstractmethod
    def continue_from(self, other: Reaction) -> None:
        """After `begin`: go on with what one of the same kind was at."""

    @abstractmethod
    def torque(self, state: Any, r: Array | None, dt: float) -> Array:
        """(n,) [N m or N], as from `Controller.torque`. r: the residual while it is touched."""


class _Yielding(Reaction):
    """Yields; where the arm comes to rest, the law that tracks holds it. If it is thrown from
    there, it is braked anew: a stiff law whose torque may not change fast enough swings it up.
    """

    def __init__(self, law: Controller, gain: npt.ArrayLike, damping: float) -> None:
        super().__init__(law.model.n)
        self.law = law
        self.yielding = YieldingController.beside(law, gain, damping)

    def begin(self, state: Any) -> None:
        self.stillness.reset()
        self.reference = Motion.at_rest(state.q)
        self._holding = False

    def continue_from(self, other: Reaction) -> None:
        if type(other) is type(self):
            self.stillness.continue_from(other.stillness)
            self.reference, self._holding = other.reference, other._holding

    def torque(self, state: Any, r: Array | None, dt: float) -> Array:
        still = self.stillness.update(state.qd, dt)
        push = self._push(state, r, dt)
        if push is not None:
            self._holding = False
        elif self._holding and self.stillness.fastest > SWING:
            self.stillness.reset()
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

    uses_residual = True

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

    uses_residual = True

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
        speed = 0.5 * np.where(np.isfinite(model.qd_max), model.qd_max, math.pi)
        still = np.zeros(model.n)
        self._own = np.array([still, still, speed, model.q_min, model.q_max])

    def begin(self, state: Any) -> None:
        super().begin(state)
        inertia = np.diag(mass_matrix(self.law.model, state.q))
        self._own[int(QD)], self._own[int(LIGHTNESS)] = 0.0, self.gain / inertia

    def continue_from(self, other: Reaction) -> None:
        super().continue_from(other)
        if isinstance(other, Admittance):
            self._own[int(QD)] = other._own[int(QD)]

    def _push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        nothing = self.yielding.alone.r
        push = nothing if r is None else r
        try:
            speed = _retract(self._own, state.q, push, self.damping, dt)
        except TypeError:
            speed = math.nan
        if math.isnan(speed):  # lists and the like, or the error that names what is wrong
            q, push = sample(self.law.model, "q", state.q), sample(self.law.model, "r", push)
            speed = _retract(self._own, q, push, self.damping, dt)
        if r is None and speed < REST_SPEED:
            return None
        return Push(nothing, self._own[int(QD)])
