"""Obstacles of simple shape, and the probes with which a rigid plant touches them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError, positive
from ..model.rigid_body import Array, as_vector


@dataclass(frozen=True)
class Plane:
    """Wall or floor through `point`; its inside is opposite to `normal`."""

    point: Sequence[float]  # (3,) [m]
    normal: Sequence[float]  # (3,), of any length
    stiffness: float = 5000.0  # [N/m]
    damping: float = 1000.0  # [N s/m^2], multiplied by the depth

    def row(self) -> Array:
        """Return the row (9,) of the step kernel's table."""
        normal = as_vector("normal of a plane", self.normal)
        length = np.linalg.norm(normal)
        if length == 0.0:
            raise ArgumentError("normal of a plane must not be 0")
        point = as_vector("point of a plane", self.point)
        return np.array([0.0, *point, *(normal / length), self.stiffness, self.damping])


@dataclass(frozen=True)
class Sphere:
    """Fixed ball."""

    centre: Sequence[float]  # (3,) [m]
    radius: float  # [m]
    stiffness: float = 5000.0  # [N/m]
    damping: float = 1000.0  # [N s/m^2], multiplied by the depth

    def row(self) -> Array:
        """Return the row (9,) of the step kernel's table."""
        radius = positive("radius of a sphere", self.radius, "m")
        centre = as_vector("centre of a sphere", self.centre)
        return np.array([1.0, *centre, radius, 0.0, 0.0, self.stiffness, self.damping])


@dataclass(frozen=True)
class Box:
    """Fixed block with edges along the base axes. For MujocoPlant."""

    centre: Sequence[float]  # (3,) [m]
    half_sizes: Sequence[float]  # (3,) [m]

    def __post_init__(self) -> None:
        as_vector("centre of a box", self.centre)
        if not (as_vector("half_sizes of a box", self.half_sizes) > 0.0).all():
            raise ArgumentError(f"half_sizes of a box must be positive, got {self.half_sizes!r}")


@dataclass(frozen=True)
class Pendulum:
    """Ball on a massless rod that swings about an axis. For MujocoPlant."""

    pivot: Sequence[float]  # (3,) [m]
    length: float  # [m], from the pivot to the ball's centre
    radius: float  # [m]
    mass: float  # [kg]
    angle: float = 0.0  # [rad] at the start; 0 is hanging
    rate: float = 0.0  # [rad/s] at the start
    axis: Sequence[float] = (0.0, 1.0, 0.0)

    def __post_init__(self) -> None:
        as_vector("pivot of a pendulum", self.pivot)
        if not as_vector("axis of a pendulum", self.axis).any():
            raise ArgumentError("axis of a pendulum must not be 0")
        for name in ("length", "radius", "mass"):
            positive(f"{name} of a pendulum", getattr(self, name))
        for name in ("angle", "rate"):
            if not math.isfinite(getattr(self, name)):
                raise ArgumentError(f"{name} of a pendulum must be finite")


Obstacle = Plane | Sphere | Box | Pendulum


@dataclass(frozen=True)
class Probe:
    """Ball on the robot that can touch obstacles."""

    link: str
    point: Sequence[float] = (0.0, 0.0, 0.0)  # (3,) [m], link frame
    radius: float = 0.05  # [m]
