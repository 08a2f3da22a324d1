"""Trajectory: reference positions of the joints over time, with three derivatives."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..errors import ArgumentError, positive
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

RANGE_TOLERANCE = 1e-9  # [rad or m], by which rounding may put a posture beyond a joint limit


class Trajectory(ABC):
    """Motion of `n` joints from time 0 to `duration` [s].

    Before and after it the arm rests at the end points, with zero derivatives. At 0 and at
    `duration` the derivatives are the motion's own.
    """

    n: int
    duration: float  # [s]

    @abstractmethod
    def _during(self, times: Array) -> Motion:
        """Return new arrays (T, n) each at times (T,) between 0 and `duration`."""

    def at(self, t: float | npt.ArrayLike) -> Motion:
        """Return q, qd, qdd, qddd at time t [s]: (n,) each, or (T, n) for times (T,)."""
        if isinstance(t, float) and 0.0 <= t <= self.duration:  # fast path of a control loop
            return Motion(*(x[0] for x in self._during(np.array([t]))))
        times = times_of(t)
        during = np.clip(times, 0.0, self.duration)
        motion = self._during(during.reshape(-1))
        outside = (during != times).reshape(-1)
        for derivative in motion[1:]:
            derivative[outside] = 0.0
        return motion if times.ndim else Motion(*(x[0] for x in motion))

    def sample(self, dt: float) -> tuple[Array, Motion]:
        """Return times (T,) every dt [s], ending with `duration`, and the motion at them."""
        dt = positive("dt", dt, "s")
        # A remainder of rounding error only is no step of its own.
        steps = math.ceil(self.duration / dt * (1.0 - 1e-12))
        t = np.append(dt * np.arange(steps), self.duration)
        return t, self.at(t)


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of each joint's motion, (n,) each; infinite for no limit."""

    qd_max: Array  # [rad/s or m/s]
    qdd_max: Array  # [rad/s^2 or m/s^2]
    qddd_max: Array  # [rad/s^3 or m/s^3]
    joint_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("qd_max", "qdd_max", "qddd_max"):
            check_positive(name, getattr(self, name), self.joint_names)

    @classmethod
    def of(
        cls,
        n: int,
        qd_max: npt.ArrayLike | None = None,
        qdd_max: npt.ArrayLike | None = None,
        qddd_max: npt.ArrayLike | None = None,
        model: RobotModel | None = None,
    ) -> "MotionLimits":
        """Return limits from one number or one per joint; velocities default to the model's."""
        if model is not None and model.n != n:
            raise ArgumentError(f"robot '{model.name}' has {model.n} joints, the motion has {n}")
        if qd_max is None and model is not None:
            qd_max = model.qd_max
        given = {"qd_max": qd_max, "qdd_max": qdd_max, "qddd_max": qddd_max}
        numbers = {name: for_each_joint(name, value, n) for name, value in given.items()}
        return cls(**numbers, joint_names=names_of(n, model))


def times_of(t: npt.ArrayLike) -> Array:
    """Return a time or times (T,) [s] as an array; reject everything else."""
    try:
        times = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"t must be a time or times [s], got {t!r}") from None
    if times.ndim > 1:
        raise ArgumentError(f"t must be one time or times of shape (T,), got {times.shape}")
    if np.isnan(times).any():
        raise ArgumentError(f"t must be a number [s], got {t!r}")
    return times


def for_each_joint(
    name: str, value: npt.ArrayLike | None, n: int, default: float = math.inf
) -> Array:
    """Return one number or one per joint as (n,)."""
    try:
        given = np.asarray(default if value is None else value, dtype=np.float64)
        return np.array(np.broadcast_to(given, (n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {n}, got {value!r}") from None


def check_positive(name: str, values: Array, joint_names: Sequence[str]) -> None:
    """Reject limits (n,) that are not positive."""
    for joint, value in zip(joint_names, values, strict=True):
        if not value > 0.0:
            raise ArgumentError(f"{name} of joint '{joint}' must be positive, got {value:g}")


def check_range(name: str, q: Array, model: RobotModel | None, start: Array | None = None) -> None:
    """Reject postures [rad or m] outside the joint limits, widened by `start`."""
    if model is None:
        return
    low = model.q_min if start is None else np.minimum(model.q_min, start)
    high = model.q_max if start is None else np.maximum(model.q_max, start)
    rows = np.atleast_2d(q)
    excess = np.maximum(low - rows, rows - high)
    row, j = (int(i) for i in np.unravel_index(np.argmax(excess), excess.shape))
    if excess[row, j] > RANGE_TOLERANCE:
        where = f" in row {row}" if q.ndim == 2 else ""
        raise ArgumentError(
            f"{name} of joint '{model.joint_names[j]}'{where} is {rows[row, j]:.6g}, outside its "
            f"limits {model.q_min[j]:.6g} to {model.q_max[j]:.6g}"
        )


def names_of(n: int, model: RobotModel | None = None) -> tuple[str, ...]:
    """Return the model's joint names, or joint_1, joint_2, ..."""
    return model.joint_names if model else tuple(f"joint_{j + 1}" for j in range(n))


def postures(name: str, value: npt.ArrayLike, joint_names: Sequence[str], ndim: int) -> Array:
    """Return a posture (n,) or rows of them (m, n) as an array; reject everything else."""
    n = len(joint_names)
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    if array.ndim != ndim or array.shape[-1] != n:
        shape = f"({n},)" if ndim == 1 else f"(m, {n})"
        raise ArgumentError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        row = f" in row {where[0]}" if ndim == 2 else ""
        raise ArgumentError(
            f"{name} of joint '{joint_names[where[-1]]}'{row} is {array[where]}; it must be finite"
        )
    return array
