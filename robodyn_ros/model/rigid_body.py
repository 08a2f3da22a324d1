"""Mass, centre of mass and inertia of one rigid body, and how bodies join into one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError

Array = npt.NDArray[np.float64]


def steiner(mass: float, arm: Array) -> Array:
    """What a mass at `arm` adds to the inertia about the origin."""
    return mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))


def as_inertia(name: str, value: Any) -> Array:
    """An inertia from one number (a ball's), its diagonal, or a symmetric matrix [kg m^2]."""
    matrix = as_numbers(name, value)
    if matrix.shape == ():
        return float(matrix) * np.eye(3)
    if matrix.shape == (3,):
        return np.diag(matrix)
    if matrix.shape != (3, 3) or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-15):
        raise ArgumentError(
            f"{name} must be a number, a diagonal of 3 or a symmetric (3, 3), got {value!r}"
        )
    return matrix


def as_vector(name: str, value: Any) -> Array:
    vector = as_numbers(name, value)
    if vector.shape != (3,):
        raise ArgumentError(f"{name} must be 3 numbers, got {value!r}")
    return vector


def as_numbers(name: str, value: Any) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} must be finite, got {value!r}")
    return array


@dataclass(frozen=True)
class RigidBody:
    """A body's mass [kg], centre of mass [m] and inertia about it [kg m^2], in one frame."""

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def inertia_about_origin(self) -> Array:
        return self.inertia + steiner(self.mass, self.com)

    def inertial_parameters(self) -> Array:
        """(10,): [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the frame's origin."""
        inertia = self.inertia_about_origin()[np.triu_indices(3)]
        return np.array([self.mass, *(self.mass * self.com), *inertia])

    def seen_from(self, rotation: Array, place: Array) -> RigidBody:
        """The same body in a frame in which its own is turned by `rotation` and at `place`."""
        return RigidBody(
            self.mass, rotation @ self.com + place, rotation @ self.inertia @ rotation.T
        )

    def __add__(self, other: RigidBody) -> RigidBody:
        """Both as one rigid body; both must be given in the same frame."""
        mass = self.mass + other.mass
        if mass == 0.0:  # only inertias, if anything: no centre of mass to speak of
            return RigidBody(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = (
            self.inertia
            + steiner(self.mass, self.com - com)
            + other.inertia
            + steiner(other.mass, other.com - com)
        )
        return RigidBody(mass, com, inertia)
