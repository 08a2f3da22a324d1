"""Time scaling: the same way in another time, as fast as torque and torque rate allow.

The purpose of [GuarinoLoBianco2009]: motors follow a torque only so fast, and a time law that asks
for steps is not followed at all. Here both the torque and its rate keep their limits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .limit_check import Binding, Limits, bindings, check_joints, limits_of
from .path import Path, path_of
from .piecewise import PiecewisePolynomial, hermite
from .time_law import AIM, PathDynamics, fastest_law, places, steady_duration, steady_law
from .trajectory import Trajectory

Array = npt.NDArray[np.float64]

STEADY_PLACES = 2400
HALVINGS = 50
SAME = 1e-6  # of the duration: two instants nearer than that are one


class ScaledTrajectory(PiecewisePolynomial):
    """A path q(u) run through by a time law u(t); `binding` says what holds it back, first the
    joint and limit that are used most.

    It is a chain of quintics, one for each piece of the time law, with the path's own position,
    velocity and acceleration at their ends: fast enough for a control loop, and off the path by
    less than 1e-9 rad or m in between.
    """

    def __init__(
        self, model: RobotModel, path: Path, law: PiecewisePolynomial, limits: Limits
    ) -> None:
        t = _times(path, law)
        u, ud, udd, _ = law.at(t)
        q, q1, q2, _ = path.at(np.clip(u[:, 0], 0.0, 1.0))
        super().__init__(t, hermite(t, np.stack([q, q1 * ud, q2 * ud**2 + q1 * udd], axis=1)))
        self.binding: tuple[Binding, ...] = bindings(model, self, limits)

    def __str__(self) -> str:
        """The duration, and per kind of limit the joint that uses most of it."""
        kinds = {binding.limit: binding for binding in reversed(self.binding)}
        first = sorted(kinds.values(), key=lambda binding: -binding.share)
        return "\n".join([f"{self.duration:.4g} s, held back by", *map(str, first)])


def _times(path: Path, law: PiecewisePolynomial) -> Array:
    """(P + 1,) [s]: the ends of the law's pieces, and where the path's jerk jumps."""
    low, high = np.zeros(path.breaks.size), np.full(path.breaks.size, law.duration)
    for _ in range(HALVINGS if low.size else 0):
        middle = 0.5 * (low + high)
        ahead = law.at(middle).q[:, 0] < path.breaks
        low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
    apart = np.abs(low[:, None] - law.breaks).min(axis=1, initial=law.duration)
    return np.sort(np.append(law.breaks, low[apart > SAME * law.duration]))


def fastest(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_rate_max: npt.ArrayLike,
    tau_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
    intervals: int = 60,
) -> ScaledTrajectory:
    """The way of a trajectory in the shortest time, from rest to rest, without a step of torque.

    Limits are one number for all joints or one each: of the torque's rate [N m/s or N/s], of the
    torque [N m or N] and of the velocity [rad/s or m/s]; the last two are the model's unless
    given. Friction does not count: take it off `tau_max`. What the arm holds belongs in the
    model: `model.replace(payload=…)`. With 60 `intervals` of its time law a simple move comes
    within about 0.1 % of the shortest time; a winding way wants some 20 for each bend.
    """
    if not isinstance(intervals, int) or intervals < 4:
        raise ArgumentError(f"intervals must be a whole number from 4 on, got {intervals!r}")
    path, limits, duration = _steady(model, trajectory, tau_max, tau_rate_max, qd_max)
    law = fastest_law(model, path, limits, duration, intervals)
    return ScaledTrajectory(model, path, law, limits)


def stretched(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_rate_max: npt.ArrayLike,
    tau_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
) -> ScaledTrajectory:
    """A trajectory slowed down or sped up by one factor until a limit is reached.

    Limits as for `fastest`. Only a trajectory whose torque jumps, at its ends or on its way, gets
    another time law first: a straight joint move becomes the quintic one.
    """
    path, limits, duration = _steady(model, trajectory, tau_max, tau_rate_max, qd_max)
    return ScaledTrajectory(model, path, steady_law(duration), limits)


def _steady(
    model: RobotModel,
    trajectory: Trajectory,
    tau_max: npt.ArrayLike | None,
    tau_rate_max: npt.ArrayLike,
    qd_max: npt.ArrayLike | None,
) -> tuple[Path, Limits, float]:
    """The path, the limits, and the time [s] of its fastest steady run."""
    check_joints(model, trajectory)
    per_joint(model, "tau_rate_max", tau_rate_max)  # without an end, torque would jump
    limits = limits_of(model, tau_max, tau_rate_max, qd_max)
    path = path_of(trajectory)
    dynamics = PathDynamics(model, path, places(path, STEADY_PLACES))
    _check_weight(model, dynamics, limits)
    return path, limits, steady_duration(dynamics, limits)


def _check_weight(model: RobotModel, dynamics: PathDynamics, limits: Limits) -> None:
    """Raise if the arm cannot even stand still somewhere on the path."""
    shares = np.abs(dynamics.g) / limits.tau_max
    if shares.max() < AIM:
        return
    place, k = (int(i) for i in np.unravel_index(np.argmax(shares), shares.shape))
    lengths = np.linalg.norm(np.diff(dynamics.q, axis=0), axis=1)
    done = lengths[:place].sum() / lengths.sum()
    posture = np.array2string(dynamics.q[place], precision=3, separator=", ")
    raise ArgumentError(
        f"joint '{model.joint_names[k]}' cannot carry the arm's weight at {100.0 * done:.3g} % of "
        f"the path, q = {posture}: it takes {abs(dynamics.g[place, k]):.4g}, its tau_max is "
        f"{limits.tau_max[k]:.4g}; take another path or a lighter load"
    )
