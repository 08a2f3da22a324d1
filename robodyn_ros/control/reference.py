"""Reference: a path with a clock of its own, plus an offset that fades.

    q_ref(t) = path(s(t)) + offset(t)

The offset is the distance from the path when following began, in position, velocity and
acceleration; a quintic takes it to 0, so that nothing jumps. The clock s stops while the arm
reacts and speeds up again afterwards:  qd = path' s',  qdd = path'' s'^2 + path' s'', ...
"""

import math
from typing import Any, Protocol

import numpy as np

from ..dynamics.motion import Motion, smooth_step
from ..errors import ArgumentError
from ..model.rigid_body import Array
from ..model.robot import RobotModel

CHECKED_INSTANTS = 9  # of a trajectory, at which the joint limits are checked
LIMIT_TOLERANCE = 1e-3  # [rad or m], beyond the joint limits
PEAK_SPEED = 1.875  # of a smooth step, over its mean speed
DEFAULT_SPEED = math.pi  # [rad/s or m/s], of joints without a speed limit


# Position, velocity and acceleration at x = 0 to coefficients of the quintic that is 0 at x = 1
# with its first two derivatives; lowest power first. The first row is 1 - smooth_step(x).
FADE = np.array(
    [
        [1.0, 0.0, 0.0, -10.0, 15.0, -6.0],
        [0.0, 1.0, 0.0, -6.0, 8.0, -3.0],
        [0.0, 0.0, 0.5, -1.5, 1.5, -0.5],
    ]
)


class Path(Protocol):
    """A path to follow; before 0 and after `duration` it rests at its ends."""

    @property
    def duration(self) -> float:
        """Duration [s]."""

    def at(self, t: float) -> Any:
        """Return the `Motion` at the time t [s], (n,) each."""


class Rest:
    """A path that stays at one posture."""

    duration = 0.0

    def __init__(self, q: Array) -> None:
        self._motion = Motion.at_rest(q)

    def at(self, t: float) -> Motion:
        return self._motion


class Reference:
    """Reference `motion`, smooth also when another `path` is followed; s: the path's clock [s]."""

    def __init__(self, q: Array) -> None:
        self._offset: Array | None = None  # (6, n), coefficients
        self._faded, self._fade_time = 0.0, 1.0  # elapsed share of the fade time; that time [s]
        self._ramp = self._ramped = 0.0  # [s], in which the clock speeds up (0: it has); so far
        self._stopped_at = 0.0  # [s], the clock when it stopped
        self.stay(q)

    def stay(self, q: Array) -> None:
        """Rest at q (n,) at once."""
        self._follow(Rest(q), 0.0)
        self.motion = self._on_path()

    def follow(self, path: Path, s: float, seconds: float) -> None:
        """Follow a path from its time s [s] on; fade the offset within this many seconds."""
        self._follow(path, s)
        self._fade_from(self.motion, seconds)

    def stop(self, seconds: float) -> None:
        """Come to rest within this many seconds."""
        self.follow(Rest(self.motion.q + 0.5 * seconds * self.motion.qd), 0.0, seconds)

    def resume(self, q: Array, seconds: float, ramp: float) -> None:
        """Return from rest at q (n,) within `seconds`; then speed the clock up for `ramp` [s]."""
        self.motion = Motion.at_rest(q)
        self._ramp, self._ramped = ramp, 0.0
        self._fade_from(self.motion, seconds)

    @property
    def resuming(self) -> bool:
        """Whether it still returns, or the clock still speeds up."""
        return self._ramp > 0.0

    @property
    def arrived(self) -> bool:
        """Whether it rests at the end of the path."""
        return self.s >= self.path.duration and self._offset is None and not self.resuming

    @property
    def interrupted_at(self) -> Array:
        """Point (n,) of the path at which the clock stands [rad or m]."""
        return np.asarray(self.path.at(self.s).q)

    def advance(self, dt: float) -> Motion:
        """Return the reference motion dt [s] later."""
        spare = dt  # [s], left after the offset has faded
        if self._offset is not None:
            self._faded += dt / self._fade_time
            spare = (self._faded - 1.0) * self._fade_time
            if spare >= 0.0:
                self._offset = None
        if not self.resuming:
            self.s += dt
        elif self._offset is None:
            self._start_clock(spare)
        self.motion = self._on_path()
        if self._offset is not None:
            self.motion = _sum(self.motion, self._faded_offset())
        return self.motion

    def _start_clock(self, dt: float) -> None:
        """Raise the rate of the clock from 0 to 1 by a smooth step."""
        self._ramped += dt
        x = min(self._ramped / self._ramp, 1.0)
        progress = x**4 * (2.5 + x * (x - 3.0))  # the step's integral, 1/2 at its end
        self.s = self._stopped_at + self._ramp * progress
        if x == 1.0:
            self.s += self._ramped - self._ramp
            self._ramp = 0.0

    def _follow(self, path: Path, s: float) -> None:
        self.path, self.s = path, s
        self._ramp, self._offset = 0.0, None

    def _on_path(self) -> Motion:
        """Return the motion along the path at the rate of the clock."""
        at = self.path.at(self.s)
        if self._ramp == 0.0:
            return at
        v, a, b, _ = smooth_step(self._ramped / self._ramp)
        a, b = a / self._ramp, b / self._ramp**2
        return Motion(
            at.q,
            at.qd * v,
            at.qdd * v**2 + at.qd * a,
            at.qddd * v**3 + 3.0 * at.qdd * v * a + at.qd * b,
        )

    def _fade_from(self, motion: Motion, seconds: float) -> None:
        self._stopped_at = self.s
        on_path = self._on_path()
        T = seconds
        away = np.array(
            [motion.q - on_path.q, T * (motion.qd - on_path.qd), T**2 * (motion.qdd - on_path.qdd)]
        )
        self._offset = FADE.T @ away if away.any() else None
        self._faded, self._fade_time = 0.0, seconds

    def _faded_offset(self) -> Array:
        """Return the offset and its first three derivatives (4, n)."""
        x, T = self._faded, self._fade_time
        powers = np.array(
            [
                [1.0, x, x**2, x**3, x**4, x**5],
                [0.0, 1.0, 2.0 * x, 3.0 * x**2, 4.0 * x**3, 5.0 * x**4],
                [0.0, 0.0, 2.0, 6.0 * x, 12.0 * x**2, 20.0 * x**3],
                [0.0, 0.0, 0.0, 6.0, 24.0 * x, 60.0 * x**2],
            ]
        )
        return np.asarray((powers @ self._offset) / T ** np.arange(4.0)[:, None])


def _sum(motion: Motion, offset: Array) -> Motion:
    return Motion(*(x + y for x, y in zip(motion, offset, strict=True)))


def speed_limits(model: RobotModel) -> Array:
    """Return the speed limits (n,) [rad/s or m/s]; DEFAULT_SPEED for joints without one."""
    return np.where(np.isfinite(model.qd_max), model.qd_max, DEFAULT_SPEED)


def blend_time(model: RobotModel, away: Array, speed: float) -> float:
    """Return the time [s] of a smooth step by `away` (n,) at this share of the speed limits."""
    return float((PEAK_SPEED * np.abs(away) / (speed * speed_limits(model))).max())


def check_start(model: RobotModel, start: Array, q: Array, tolerance: float) -> None:
    """Reject a trajectory that starts further than `tolerance` [rad or m] from q (n,)."""
    away = start - q
    joint = int(np.argmax(np.abs(away)))
    if abs(away[joint]) > tolerance:
        raise ArgumentError(
            f"the trajectory begins {away[joint]:+.3g} from the reference of joint "
            f"'{model.joint_names[joint]}', {q[joint]:.4g}; {tolerance:g} is allowed: "
            "move there first"
        )


def check_joint_limits(model: RobotModel, trajectory: Path, q: Array) -> None:
    """Reject a trajectory that leaves the joint limits; from q (n,) outside it may return."""
    low, high = np.minimum(model.q_min, q), np.maximum(model.q_max, q)
    for s in np.linspace(0.0, trajectory.duration, CHECKED_INSTANTS):
        at = trajectory.at(float(s)).q
        outside = np.maximum(low - at, at - high)
        if (outside > LIMIT_TOLERANCE).any():
            joint = int(np.nanargmax(outside))
            raise ArgumentError(
                f"the trajectory leads joint '{model.joint_names[joint]}' to {at[joint]:.4g}; its "
                f"limits are {model.q_min[joint]:.4g} and {model.q_max[joint]:.4g}"
            )
