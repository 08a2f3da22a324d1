"""Which limit binds a trajectory, at which joint and instant."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.force_rate import force_rate
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .trajectory import Trajectory

Array = npt.NDArray[np.float64]

SAMPLES = 5000
UNITS = {"torque": "N m", "torque_rate": "N m/s", "velocity": "rad/s"}
UNITS_PRISMATIC = {"torque": "N", "torque_rate": "N/s", "velocity": "m/s"}


@dataclass(frozen=True, eq=False)
class Limits:
    """What the joints of a robot can give, (n,) each; inf: no limit."""

    tau_max: Array  # [N m or N]
    tau_rate_max: Array  # [N m/s or N/s]
    qd_max: Array  # [rad/s or m/s]


@dataclass(frozen=True)
class Binding:
    """Where a joint comes nearest to one of its limits, or goes farthest beyond it."""

    joint: str
    limit: str  # "torque", "torque_rate" or "velocity"
    t: float  # [s]
    value: float  # [unit]
    bound: float  # [unit]
    unit: str

    @property
    def share(self) -> float:
        """How much of the limit is used: 1 touches it, more breaks it."""
        return abs(self.value) / self.bound

    def __str__(self) -> str:
        return (
            f"{self.limit.replace('_', ' ')} of joint '{self.joint}' at {self.t:.4g} s: "
            f"{self.value:.4g} of {self.bound:.4g} {self.unit} ({100.0 * self.share:.2f} %)"
        )


def limits_of(
    model: RobotModel,
    tau_max: npt.ArrayLike | None,
    tau_rate_max: npt.ArrayLike | None,
    qd_max: npt.ArrayLike | None,
) -> Limits:
    """Limits from one number for all joints or one each, checked; None: those of the model."""
    return Limits(
        _limit(model, "tau_max", model.tau_max if tau_max is None else tau_max),
        _limit(model, "tau_rate_max", math.inf if tau_rate_max is None else tau_rate_max),
        _limit(model, "qd_max", model.qd_max if qd_max is None else qd_max),
    )


def _limit(model: RobotModel, name: str, value: npt.ArrayLike) -> Array:
    try:
        bounds = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (model.n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {model.n}, got {value!r}") from None
    bad = ~(bounds > 0.0)
    if bad.any():
        k = int(np.argmax(bad))
        raise ArgumentError(
            f"{name} of joint '{model.joint_names[k]}' is {bounds[k]:g}; it must be positive"
        )
    return bounds


def check_joints(model: RobotModel, trajectory: Trajectory) -> None:
    """Raise unless the trajectory has as many joints as the robot."""
    if trajectory.n != model.n:
        raise ArgumentError(
            f"the trajectory has {trajectory.n} joints, robot '{model.name}' has {model.n}"
        )


def check_limits(
    model: RobotModel,
    trajectory: Trajectory,
    *,
    tau_max: npt.ArrayLike | None = None,
    tau_rate_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
    dt: float | None = None,
) -> tuple[Binding, ...]:
    """For each joint and limit where it is used most, the most used first.

    Torque [N m or N] and velocity limits are the model's unless given; without `tau_rate_max`
    [N m/s or N/s] torque rates are not looked at. Friction does not count. The motion is sampled
    every dt [s], by default at 5000 instants; a step of torque counts as its height over dt.
    """
    check_joints(model, trajectory)
    return bindings(model, trajectory, limits_of(model, tau_max, tau_rate_max, qd_max), dt)


def bindings(
    model: RobotModel, trajectory: Trajectory, limits: Limits, dt: float | None = None
) -> tuple[Binding, ...]:
    """The same with limits that are checked already."""
    t, motion = trajectory.sample(trajectory.duration / SAMPLES if dt is None else dt)
    tau, tau_dot = force_rate(model, *motion)
    t_steps, steps = _steps(model, trajectory, t, tau)
    t_rate, rate = np.append(t, t_steps), np.concatenate([tau_dot, steps])
    found = [
        *_largest(model, "torque", t, tau, limits.tau_max),
        *_largest(model, "torque_rate", t_rate, rate, limits.tau_rate_max),
        *_largest(model, "velocity", t, motion.qd, limits.qd_max),
    ]
    return tuple(sorted(found, key=lambda binding: -binding.share))


def _steps(model: RobotModel, trajectory: Trajectory, t: Array, tau: Array) -> tuple[Array, Array]:
    """Instants between the samples and the mean torque rate there, the arm at rest before and
    after. It exceeds the largest rate of the samples only where the torque jumps.
    """
    dt = t[1] - t[0]
    rest = trajectory.at(np.array([-dt, trajectory.duration + dt]))
    before, after = force_rate(model, *rest)[0][:, None]
    times = np.concatenate([[-dt], t, [t[-1] + dt]])
    rates = np.diff(np.concatenate([before, tau, after]), axis=0) / np.diff(times)[:, None]
    return np.clip(0.5 * (times[1:] + times[:-1]), 0.0, trajectory.duration), rates


def _largest(
    model: RobotModel, limit: str, t: Array, values: Array, bounds: Array
) -> list[Binding]:
    """One entry per joint that has such a limit."""
    at = np.abs(values).argmax(axis=0)
    sliding = {int(k) for k in model.coordinate[model.prismatic]}
    return [
        Binding(
            joint=model.joint_names[k],
            limit=limit,
            t=float(t[at[k]]),
            value=float(values[at[k], k]),
            bound=float(bounds[k]),
            unit=(UNITS_PRISMATIC if k in sliding else UNITS)[limit],
        )
        for k in np.flatnonzero(np.isfinite(bounds))
    ]
