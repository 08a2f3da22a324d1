"""Pushes: forces on a point of a link, for a while, with a shape in time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

SHAPES = ("step", "ramp", "half_sine")
LARGEST = 1e5  # [N, N m or m]: nothing pushes harder or so far away from a link
RAMP = 0.005  # [s], how long a ramp takes to reach its force


@dataclass(frozen=True, eq=False)
class Push:
    """A force [N] and torque [N m], in the base's axes, on a point [m] of a link."""

    link: str
    force: Array
    point: Array
    torque: Array
    start: float  # [s]
    duration: float  # [s]
    shape: str = "step"
    ramp: float = RAMP  # [s]

    def strength(self, t: float) -> float:
        """Share of the force that acts at time t, 0 to 1."""
        age = t - self.start
        if age < 0.0 or age >= self.duration:
            return 0.0
        if self.shape == "ramp":
            return min(1.0, age / self.ramp)
        if self.shape == "half_sine":
            return math.sin(math.pi * age / self.duration)
        return 1.0


def make_push(
    model: RobotModel,
    link: str,
    force: npt.ArrayLike,
    point: npt.ArrayLike,
    start: float,
    duration: float,
    shape: str = "step",
    torque: npt.ArrayLike = (0.0, 0.0, 0.0),
    ramp: float = RAMP,
) -> Push:
    """A push with every argument checked."""
    if model.frame(link).body < 0:
        raise ArgumentError(f"link '{link}' is fixed to the base: a push on it moves nothing")
    if shape not in SHAPES:
        raise ArgumentError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
    vectors = {}
    for name, value in (("force", force), ("point", point), ("torque", torque)):
        vector = np.array(value, dtype=np.float64)
        if vector.shape != (3,) or not (np.abs(vector) <= LARGEST).all():
            raise ArgumentError(
                f"{name} of a push must be 3 finite numbers up to {LARGEST:g}, got {value!r}"
            )
        vectors[name] = vector
    for name, seconds in (("duration", duration), ("ramp", ramp)):
        if not (math.isfinite(seconds) and seconds > 0.0):
            raise ArgumentError(f"{name} of a push must be positive [s], got {seconds!r}")
    return Push(link=link, start=start, duration=duration, shape=shape, ramp=ramp, **vectors)
