"""Reference: a path with a clock of its own, plus an offset that fades.

    q_ref(t) = path(s(t)) + offset(s(t))

The offset is the distance from the path when following began, in position, velocity and
acceleration; a quintic takes it to 0, so that nothing jumps. The clock s is that of
`LiveScaling`: it slows down where the limits ask for it, stops while the arm reacts, and speeds up
again afterwards.

A way into a path can be planned ahead, for a motion that the reference will have. What it then has
differs by little, since samples do not arrive to the microsecond; this difference fades as well.
"""

import copy
import math
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.motion import Motion, smooth_step
from ..dynamics.newton_euler import inverse_dynamics
from ..errors import ArgumentError, RobodynError
from ..model.rigid_body import Array
from ..model.robot import RobotModel
from .controller import PERIOD
from .live_scaling import LiveScaling, Start
from .path_shape import Path
from .path_table import PathTable, with_offset

CHECKED_INSTANTS = 9  # of a trajectory, at which the joint limits are checked
LIMIT_TOLERANCE = 1e-3  # [rad or m], beyond the joint limits
PEAK_SPEED = 1.875  # of a smooth step, over its mean speed
STRETCH, MAX_STRETCHES = 1.2, 12  # of a return that exceeds limits
STOP_STRETCHES = (1.0, 1.2, 1.5, 0.7)  # of a stop that does
# Rates of the clock, and stretches of the time, tried for joining a path in motion
JOINS = (
    (1.0, 1.0), (0.6, 1.0), (0.6, 0.4), (0.36, 1.5), (0.22, 0.6), (0.22, 2.0), (0.22, 3.0),
    (0.36, 0.25), (0.1, 0.6), (0.1, 3.0),
)  # fmt: skip
WITHIN_LIMITS, MAX_SHARE = 1.0 + 1e-6, 2.0  # of the limits: up to here kept; beyond, rejected
AFTER = 0.5  # [s] of the path behind the way into it, tried with it
NO_OFFSET = 1e-9  # [rad or m], distance from the start of a path that counts as none
DRIFT_SHARE = 0.1  # of the limits of torque and torque rate, for what a plan did not foresee
DRIFT_INSTANTS = np.linspace(0.0, 0.999, 12)  # of the time in which that fades, looked at
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


class Rest:
    """A path that stays at one posture."""

    duration = 0.0

    def __init__(self, q: Array) -> None:
        self._motion = Motion.at_rest(q)

    def at(self, t: float) -> Motion:
        return self._motion


class OutdatedPlanError(RobodynError):
    """The arm has gone on otherwise than a plan expected."""


class JoinError(ArgumentError):
    """No way from the present motion into a path keeps the limits."""


class Drift(NamedTuple):
    """An offset that fades: coefficients (6, n) over the share of `seconds` that has passed."""

    fade: Array
    seconds: float
    passed: float = 0.0  # [s]

    def added_to(self, motion: Motion) -> Motion:
        x = np.array([self.passed / self.seconds])
        return Motion(*(part[0] for part in with_offset(motion, self.fade, x, self.seconds)))


class Joined(NamedTuple):
    """A clock that has begun on a path, and the offset from it."""

    scaling: LiveScaling
    drift: Drift | None


class Reference:
    """Reference `motion`, smooth also when another `path` is followed; s: the path's clock [s]."""

    def __init__(self, q: Array, scaling: LiveScaling) -> None:
        self.scaling = scaling
        self._ramp = self._ramped = 0.0  # [s], in which the clock speeds up (0: it has); so far
        self._returning = False  # to the point where it was interrupted
        self.stay(q)

    def stay(self, q: Array) -> None:
        """Rest at q (n,) at once."""
        self._leave(Rest(q), 0.0)
        self.scaling.leave()
        self.motion = Motion.at_rest(q)

    def follow(self, path: Path, s: float, seconds: float, table: PathTable | None = None) -> None:
        """Follow a path from its time s [s] on; fade the offset within this many seconds.

        table: of this path from s on, if it is known already.
        """
        self.join(path, s, self.joined(self.start(path, s, seconds, table), seconds))

    def joined(self, start: Start, seconds: float) -> Joined:
        """Return the clock that follows a path; changes nothing yet.

        What the plan did not foresee fades within this many seconds; OutdatedPlanError if that
        takes a notable part of the limits.
        """
        scaling = self.scaling.copy()
        scaling.begin(start)
        away = np.array(self.motion[:3]) - np.array(start.motion[:3])
        if not away.any():
            return Joined(scaling, None)
        drift = Drift(FADE.T @ (away * [[1.0], [seconds], [seconds**2]]), seconds)
        self._check_drift(drift)
        return Joined(scaling, drift)

    def join(self, path: Path, s: float, joined: Joined) -> None:
        """Follow a path from its time s [s] on."""
        self._leave(path, s)
        self.scaling, self._drift = joined

    def ahead(self, seconds: float, dt: float) -> "Reference":
        """Return this reference as it will be `seconds` later, in steps of dt [s]."""
        other = copy.copy(self)
        other.scaling = self.scaling.copy()
        for _ in range(round(seconds / dt)):
            other.advance(dt)
        return other

    def stop(self, seconds: float) -> None:
        """Come to rest within this many seconds, or as soon as the limits allow it."""
        limits, found = self.scaling.limits, []
        for stretch in STOP_STRETCHES:
            path = Rest(self.motion.q + 0.5 * stretch * seconds * self.motion.qd)
            table = self._faded(path, 0.0, stretch * seconds, 1.0)
            exceeded = table.exceeded(limits)
            found.append((exceeded[0].share if exceeded else 0.0, path, table))
            if not exceeded:
                break
        _, path, table = min(found, key=lambda item: item[0])
        self._leave(path, 0.0)
        self.scaling.begin(self.scaling.start(table, self.motion))

    def resume(self, q: Array, seconds: float, ramp: float) -> None:
        """Return from rest at q (n,) within `seconds`; then speed the clock up for `ramp` [s]."""
        self._stopped_at, back_at = self.s, self.interrupted_at
        self.motion, self._drift = Motion.at_rest(q), None
        self._ramp, self._ramped = ramp, 0.0
        self._returning = bool((back_at != q).any())
        if self._returning:
            self._begin_return(q - back_at, Rest(back_at), seconds)
        else:
            self._continue()

    @property
    def s(self) -> float:
        """Time on the path [s]."""
        at_rest = self._returning or isinstance(self.path, Rest)
        return self._stopped_at if at_rest else self.scaling.s

    @property
    def resuming(self) -> bool:
        """Whether it still returns, or the clock still speeds up."""
        return self._ramp > 0.0

    @property
    def arrived(self) -> bool:
        """Whether it rests at the end of the path."""
        return self.scaling.arrived and not self.resuming and self._drift is None

    @property
    def interrupted_at(self) -> Array:
        """Point (n,) of the path at which the clock stands [rad or m]."""
        return np.asarray(self.path.at(self.s).q)

    def advance(self, dt: float) -> Motion:
        """Return the reference motion dt [s] later."""
        if isinstance(self.path, Rest) and self.scaling.arrived and not self.resuming:
            return self.motion
        if self._returning and self.scaling.arrived:
            self._continue()
        rate, slope = 1.0, 0.0
        if self.resuming and not self._returning:
            before = self._ramped / self._ramp
            self._ramped += dt
            x = self._ramped / self._ramp
            rate = self._ramp * (_ramp_progress(x) - _ramp_progress(before)) / dt
            slope = (smooth_step(x)[0] - smooth_step(before)[0]) / dt
            if x >= 1.0:
                self._ramp = 0.0
        self.motion = self.scaling.advance(dt, rate, slope)
        if self._drift is not None:
            drift = self._drift._replace(passed=self._drift.passed + dt)
            self.motion = drift.added_to(self.motion)
            self._drift = drift if drift.passed < drift.seconds else None
        return self.motion

    def _leave(self, path: Path, s: float) -> None:
        self.path, self._stopped_at = path, s
        self._ramp, self._returning, self._drift = 0.0, False, None

    def start(
        self,
        path: Path,
        s: float,
        seconds: float,
        table: PathTable | None = None,
        dt: float = PERIOD,
    ) -> Start:
        """Return the way into a path at its time s [s]; fade the offset within `seconds`.

        table: of this path from s on, if it is known already. dt: period of the samples [s].
        """
        at, motion, scaling = path.at(s), self.motion, self.scaling
        if not (motion.qd.any() or motion.qdd.any()):
            if np.abs(motion.q - at.q).max() >= NO_OFFSET:
                table = self._faded(path, s, seconds, 1.0)
            return scaling.start(table or self._table(path, s), motion)
        # In motion: as slowly on the new path as its limits, and the way into it, ask for
        found = []
        for rate, stretch in JOINS:
            table = self._faded(path, s, stretch * seconds, rate)
            start = scaling.start(table, motion, rate)
            until = stretch * seconds * rate + AFTER
            found.append((scaling.trial(start, dt, until), start))
            if found[-1][0] <= WITHIN_LIMITS:
                break
        share, start = min(found, key=lambda item: item[0])
        if share > MAX_SHARE:
            raise JoinError(
                "the trajectory cannot be joined from the present motion within the limits: stop "
                "first, or begin along the present motion"
            )
        return start

    def _check_drift(self, drift: Drift) -> None:
        """Raise if an offset takes more than a small part of the limits."""
        model, limits = self.scaling.model, self.scaling.limits
        n = len(DRIFT_INSTANTS)
        zeros = np.zeros((n, model.n))
        _, _, qdd, qddd = with_offset(4 * (zeros,), drift.fade, DRIFT_INSTANTS, drift.seconds)
        q = np.tile(self.motion.q, (n, 1))
        for x, limit in ((qdd, limits.tau_max), (qddd, limits.tau_rate_max)):
            tau = inverse_dynamics(model, q, zeros, x, gravity=False)
            if not (np.abs(tau) <= DRIFT_SHARE * limit).all():
                raise OutdatedPlanError("the arm has moved otherwise since this was planned")

    def _faded(self, path: Path, s: float, seconds: float, rate: float) -> PathTable:
        """Return a path with the offset from it, which fades within `seconds` at this rate."""
        at, motion, T = path.at(s), self.motion, seconds * rate
        away = (
            motion.q - at.q,
            T * (motion.qd / rate - at.qd),
            T**2 * (motion.qdd / rate**2 - at.qdd),
        )
        at_rest = not (motion.qd.any() or motion.qdd.any())
        return self._table(path, s, FADE.T @ np.array(away), T, from_rest=at_rest)

    def _begin_return(self, away: Array, to: Rest, seconds: float) -> None:
        """Move by a quintic, slow enough for every limit if that is possible."""
        fade = FADE.T[:, :1] * away
        for _ in range(MAX_STRETCHES):
            table = self._table(to, 0.0, fade, seconds)
            if table.is_easy(self.scaling.limits):
                break
            seconds *= STRETCH
        self.scaling.begin(self.scaling.start(table, self.motion))

    def _continue(self) -> None:
        """Follow the path from where it was interrupted, from rest."""
        self._returning = False
        table = self._table(self.path, self._stopped_at, from_rest=False)
        self.scaling.begin(self.scaling.start(table, self.motion, 0.0))

    def _table(self, *path: Any, from_rest: bool = True) -> PathTable:
        scaling = self.scaling
        return PathTable(scaling.model, *path, limits=scaling.limits, from_rest=from_rest)


def _ramp_progress(x: float) -> float:
    """Return the integral of a smooth step from 0 to x, and of 1 beyond its end."""
    return x**4 * (2.5 + x * (x - 3.0)) if x < 1.0 else x - 0.5


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
