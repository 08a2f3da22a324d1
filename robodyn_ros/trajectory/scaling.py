"""Time scaling: the same path as fast as torque, torque rate and velocity limits allow.

Motors follow a torque only at a limited rate; a time law with torque steps is not followed. The
purpose is that of [GuarinoLoBianco2009]. `check_limits` reports which limit binds a trajectory, at
which joint and instant.
"""

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.force_rate import force_rate
from ..dynamics.limit_use import Binding, largest_use, most_used
from ..errors import ArgumentError
from ..model.robot import RobotModel
from . import time_law as laws
from .path import Path, path_of
from .piecewise import PiecewisePolynomial, hermite
from .trajectory import Array, Trajectory

REPORT_SAMPLES = 5000  # of a trajectory, when its limits are checked
STEADY_POINTS = 2400  # of a path, for its fastest run at constant speed
BISECTIONS = 50
MIN_SEPARATION = 1e-6  # of the duration: two instants nearer than this are one


def check_limits(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_max: npt.ArrayLike | None = None,
    tau_rate_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
    dt: float | None = None,
) -> tuple[Binding, ...]:
    """Return the largest use of each limit of each joint, the most used first.

    Limits of torque [N m or N] and velocity [rad/s or m/s] default to the model's; without
    `tau_rate_max` [N m/s or N/s] torque rates are not checked. Friction is not included. The
    motion is sampled every dt [s], by default at 5000 instants; a torque step counts as its
    height over dt.
    """
    _check_joints(model, trajectory)
    return _bindings(model, trajectory, laws.limits_of(model, tau_max, tau_rate_max, qd_max), dt)


def _check_joints(model: RobotModel, trajectory: Trajectory) -> None:
    if trajectory.n != model.n:
        raise ArgumentError(
            f"the trajectory has {trajectory.n} joints, robot '{model.name}' has {model.n}"
        )


def _bindings(
    model: RobotModel, trajectory: Trajectory, limits: laws.Limits, dt: float | None = None
) -> tuple[Binding, ...]:
    t, motion = trajectory.sample(trajectory.duration / REPORT_SAMPLES if dt is None else dt)
    tau, tau_dot = force_rate(model, *motion)
    t_steps, steps = _mean_rates(model, trajectory, t, tau)
    t_rate, rate = np.append(t, t_steps), np.concatenate([tau_dot, steps])
    found = [
        *largest_use(model, "torque", t, tau, limits.tau_max),
        *largest_use(model, "torque_rate", t_rate, rate, limits.tau_rate_max),
        *largest_use(model, "velocity", t, motion.qd, limits.qd_max),
    ]
    return most_used(found)


def _mean_rates(
    model: RobotModel, trajectory: Trajectory, t: Array, tau: Array
) -> tuple[Array, Array]:
    """Return instants between samples and mean torque rates there, large where torque jumps."""
    dt = t[1] - t[0]
    rest = trajectory.at(np.array([-dt, trajectory.duration + dt]))
    before, after = force_rate(model, *rest)[0][:, None]
    times = np.concatenate([[-dt], t, [t[-1] + dt]])
    rates = np.diff(np.concatenate([before, tau, after]), axis=0) / np.diff(times)[:, None]
    return np.clip(0.5 * (times[1:] + times[:-1]), 0.0, trajectory.duration), rates


class ScaledTrajectory(PiecewisePolynomial):
    """Path q(u) with a time law u(t); `binding` lists its limits, the most used first.

    It consists of quintics, one per piece of the time law, with the path's position, velocity and
    acceleration at their ends. That is fast enough for a control loop, and off the path by less
    than 1e-9 rad or m in between.
    """

    def __init__(
        self, model: RobotModel, path: Path, law: PiecewisePolynomial, limits: laws.Limits
    ) -> None:
        t = _breaks(path, law)
        u, ud, udd, _ = law.at(t)
        q, q1, q2, _ = path.at(np.clip(u[:, 0], 0.0, 1.0))
        super().__init__(t, hermite(t, np.stack([q, q1 * ud, q2 * ud**2 + q1 * udd], axis=1)))
        self.binding: tuple[Binding, ...] = _bindings(model, self, limits)

    def __str__(self) -> str:
        """Return the duration, and the joint that uses most of each kind of limit."""
        kinds = {binding.limit: binding for binding in reversed(self.binding)}
        first = sorted(kinds.values(), key=lambda binding: -binding.share)
        return "\n".join([f"{self.duration:.4g} s, limited by", *map(str, first)])


def _breaks(path: Path, law: PiecewisePolynomial) -> Array:
    """Return the ends of the law's pieces and the instants of the path's jerk jumps, in [s]."""
    low, high = np.zeros(path.breaks.size), np.full(path.breaks.size, law.duration)
    for _ in range(BISECTIONS if low.size else 0):
        middle = 0.5 * (low + high)
        ahead = law.at(middle).q[:, 0] < path.breaks
        low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
    apart = np.abs(low[:, None] - law.breaks).min(axis=1, initial=law.duration)
    return np.sort(np.append(law.breaks, low[apart > MIN_SEPARATION * law.duration]))


def fastest(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_rate_max: npt.ArrayLike,
    tau_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
    intervals: int = 60,
) -> ScaledTrajectory:
    """Return the trajectory's path in the shortest time, from rest to rest, without torque steps.

    Limits are one number or one per joint: torque rate [N m/s or N/s], torque [N m or N] and
    velocity [rad/s or m/s]; the last two default to the model's. Friction is not included:
    subtract it from `tau_max`. A payload belongs in the model: `model.replace(payload=...)`.
    intervals: pieces of the time law. With 60 a simple move comes within about 0.1 % of the
    shortest time; a winding path needs about 20 per bend.
    """
    if not isinstance(intervals, int) or intervals < 4:
        raise ArgumentError(f"intervals must be a whole number from 4 on, got {intervals!r}")
    path, limits, duration = _steady_run(model, trajectory, tau_max, tau_rate_max, qd_max)
    law = laws.fastest_law(model, path, limits, duration, intervals)
    return ScaledTrajectory(model, path, law, limits)


def stretched(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_rate_max: npt.ArrayLike,
    tau_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
) -> ScaledTrajectory:
    """Return the trajectory slowed down or sped up by one factor until a limit is reached.

    Limits as for `fastest`. Only a trajectory with torque steps gets another time law first: a
    straight joint move becomes the quintic one.
    """
    path, limits, duration = _steady_run(model, trajectory, tau_max, tau_rate_max, qd_max)
    return ScaledTrajectory(model, path, laws.steady_law(duration), limits)


def _steady_run(
    model: RobotModel,
    trajectory: Trajectory,
    tau_max: npt.ArrayLike | None,
    tau_rate_max: npt.ArrayLike,
    qd_max: npt.ArrayLike | None,
) -> tuple[Path, laws.Limits, float]:
    """Return path, limits, and the duration [s] of the fastest run at constant speed."""
    _check_joints(model, trajectory)
    per_joint(model, "tau_rate_max", tau_rate_max)  # must be finite, or the torque would jump
    limits = laws.limits_of(model, tau_max, tau_rate_max, qd_max)
    path = path_of(trajectory)
    dynamics = laws.PathDynamics(model, path, laws.check_points(path, STEADY_POINTS))
    _check_weight(model, dynamics, limits)
    return path, limits, laws.steady_duration(dynamics, limits)


def _check_weight(model: RobotModel, dynamics: laws.PathDynamics, limits: laws.Limits) -> None:
    shares = np.abs(dynamics.g) / limits.tau_max
    if shares.max() < laws.TARGET_SHARE:
        return
    point, k = (int(i) for i in np.unravel_index(np.argmax(shares), shares.shape))
    lengths = np.linalg.norm(np.diff(dynamics.q, axis=0), axis=1)
    done = lengths[:point].sum() / lengths.sum()
    posture = np.array2string(dynamics.q[point], precision=3, separator=", ")
    raise ArgumentError(
        f"joint '{model.joint_names[k]}' cannot carry the arm's weight at {100.0 * done:.3g} % of "
        f"the path, q = {posture}: it takes {abs(dynamics.g[point, k]):.4g}, its tau_max is "
        f"{limits.tau_max[k]:.4g}; take another path or a lighter load"
    )
