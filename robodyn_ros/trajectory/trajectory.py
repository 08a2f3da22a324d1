"""Trajectory: where the joints should be at any time, with three derivatives."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..errors import ArgumentError
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

ROUNDING = 1e-9  # [rad or m], by which a posture at a joint limit may be beyond it


class Trajectory(ABC):
    """A motion of `n` joints from time 0 to `duration` [s].

    Before it begins and after it has ended the arm rests at its end points: the derivatives are 0
    there. At 0 and at `duration` themselves they are the motion's own.
    """

    n: int
    duration: float  # [s]

    @abstractmethod
    def _during(self, times: Array) -> Motion:
        """(T, n) each at times (T,) that lie within 0 and `duration`; new arrays."""

    def at(self, t: float | npt.ArrayLike) -> Motion:
        """Position and derivatives at the time t [s]: (n,) each, or (T, n) for times (T,)."""
        if isinstance(t, float) and 0.0 <= t <= self.duration:  # one instant at full speed
            return Motion(*(x[0] for x in self._during(np.array([t]))))
        times = times_of(t)
        during = np.clip(times, 0.0, self.duration)
        motion = self._during(during.reshape(-1))
        outside = (during != times).reshape(-1)
        for derivative in motion[1:]:
            derivative[outside] = 0.0
        return motion if times.ndim else Motion(*(x[0] for x in motion))

    def sample(self, dt: float) -> tuple[Array, Motion]:
        """Times (T,) every dt [s] from 0 on, `duration` always the last, and the motion there."""
        dt = positive("dt", dt)
        # A remainder of rounding error only is no step of its own.
        steps = math.ceil(self.duration / dt * (1.0 - 1e-12))
        t = np.append(dt * np.arange(steps), self.duration)
        return t, self.at(t)


def positive(name: str, value: Any, unit: str = "s") -> float:
    """A positive, finite number, or the error that names what is wrong."""
    if not (isinstance(value, Real) and 0.0 < float(value) < math.inf):
        raise ArgumentError(f"{name} must be positive and finite [{unit}], got {value!r}")
    return float(value)


def times_of(t: npt.ArrayLike) -> Array:
    """A time or times (T,) [s] as an array, or the error that names what is wrong."""
    try:
        times = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"t must be a time or times [s], got {t!r}") from None
    if times.ndim > 1:
        raise ArgumentError(f"t must be one time or times of shape (T,), got {times.shape}")
    if np.isnan(times).any():
        raise ArgumentError(f"t must be a number [s], got {t!r}")
    return times


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """How fast each joint may go, (n,) each, infinite where nothing limits it."""

    qd_max: Array  # [1/s]
    qdd_max: Array  # [1/s^2]
    qddd_max: Array  # [1/s^3]
    joint_names: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in ("qd_max", "qdd_max", "qddd_max"):
            for joint, value in zip(self.joint_names, getattr(self, name), strict=True):
                if not value > 0.0:
                    raise ArgumentError(
                        f"{name} of joint '{joint}' must be positive, got {value:g}"
                    )

    @classmethod
    def of(
        cls,
        n: int,
        qd_max: npt.ArrayLike | None = None,
        qdd_max: npt.ArrayLike | None = None,
        qddd_max: npt.ArrayLike | None = None,
        model: RobotModel | None = None,
    ) -> MotionLimits:
        """From numbers for all joints or one each; velocities from the model if not given."""
        if model is not None and model.n != n:
            raise ArgumentError(f"robot '{model.name}' has {model.n} joints, the motion has {n}")
        if qd_max is None and model is not None:
            qd_max = model.qd_max
        given = {"qd_max": qd_max, "qdd_max": qdd_max, "qddd_max": qddd_max}
        numbers = {name: _for_each_joint(name, value, n) for name, value in given.items()}
        return cls(**numbers, joint_names=names_of(n, model))


def _for_each_joint(name: str, value: npt.ArrayLike | None, n: int) -> Array:
    try:
        given = np.asarray(math.inf if value is None else value, dtype=np.float64)
        return np.array(np.broadcast_to(given, (n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {n}, got {value!r}") from None


def check_range(name: str, q: Array, model: RobotModel | None, start: Array | None = None) -> None:
    """Raise if postures (n,) or (m, n) [rad or m] are outside the model's joint limits.

    An arm that starts outside may come back: then a limit is where it starts.
    """
    if model is None:
        return
    low = model.q_min if start is None else np.minimum(model.q_min, start)
    high = model.q_max if start is None else np.maximum(model.q_max, start)
    rows = np.atleast_2d(q)
    beyond = np.maximum(low - rows, rows - high)
    row, j = (int(i) for i in np.unravel_index(np.argmax(beyond), beyond.shape))
    if beyond[row, j] > ROUNDING:
        where = f" in row {row}" if q.ndim == 2 else ""
        raise ArgumentError(
            f"{name} of joint '{model.joint_names[j]}'{where} is {rows[row, j]:.6g}, outside its "
            f"limits {model.q_min[j]:.6g} to {model.q_max[j]:.6g}"
        )


def names_of(n: int, model: RobotModel | None = None) -> tuple[str, ...]:
    """The model's joint names, else joint_1, joint_2, …"""
    return model.joint_names if model else tuple(f"joint_{j + 1}" for j in range(n))


def postures(name: str, value: npt.ArrayLike, joint_names: Sequence[str], ndim: int) -> Array:
    """A posture (n,) or rows of them (m, n), finite, or the error that names what is wrong."""
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
