"""Rigid bodies: mass, centre of mass and inertia, their sum, and their ten parameters.

The parameters [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], I about the frame's origin, are
one symmetric matrix, the pseudo-inertia, the integral of [x; 1] [x; 1]^T dm:

    P = [[S, mc], [mc^T, m]],     S = 1/2 tr(I) 1 - I

Parameters are physically consistent if and only if P is positive semi-definite [Wensing2018].
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError

Array = npt.NDArray[np.float64]

UPPER = np.triu_indices(3)
SYMMETRIC = np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])  # indices of I among the ten parameters


def steiner(mass: float, arm: Array) -> Array:
    """Return the inertia (3, 3) about the origin of a point mass at `arm` (parallel axes)."""
    return mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))


def as_inertia(name: str, value: Any) -> Array:
    """Return an inertia (3, 3) [kg m^2] from one number, its diagonal, or a symmetric matrix."""
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
    """Return (3,) finite numbers; raise ArgumentError, which names the argument."""
    vector = as_numbers(name, value)
    if vector.shape != (3,):
        raise ArgumentError(f"{name} must be 3 numbers, got {value!r}")
    return vector


def as_numbers(name: str, value: Any) -> Array:
    """Return an array of finite numbers; raise ArgumentError, which names the argument."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} must be finite, got {value!r}")
    return array


class ReadOnlyArrays:
    """Base of frozen dataclasses whose arrays are their own copies, and read-only."""

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray):
                value = value.copy()
                value.setflags(write=False)
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class RigidBody(ReadOnlyArrays):
    """A body's mass [kg], centre of mass [m] and inertia about it [kg m^2], in one frame."""

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def inertia_about_origin(self) -> Array:
        """Return the inertia (3, 3) [kg m^2] about the frame's origin."""
        return self.inertia + steiner(self.mass, self.com)

    def inertial_parameters(self) -> Array:
        """Return (10,): [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the origin."""
        inertia = self.inertia_about_origin()[UPPER]
        return np.array([self.mass, *(self.mass * self.com), *inertia])

    def seen_from(self, rotation: Array, place: Array) -> "RigidBody":
        """Return the body in another frame, where its own frame has this rotation and place."""
        return RigidBody(
            self.mass, rotation @ self.com + place, rotation @ self.inertia @ rotation.T
        )

    def __add__(self, other: "RigidBody") -> "RigidBody":
        """Return both bodies as one; they must be given in the same frame."""
        mass = self.mass + other.mass
        if mass == 0.0:  # the centre of mass is undefined
            return RigidBody(0.0, self.com, self.inertia + other.inertia)
        com = (self.mass * self.com + other.mass * other.com) / mass
        inertia = (
            self.inertia
            + steiner(self.mass, self.com - com)
            + other.inertia
            + steiner(other.mass, other.com - com)
        )
        return RigidBody(mass, com, inertia)


def pseudo_inertia(parameters: Array) -> Array:
    """Return the pseudo-inertia P (4, 4) of ten parameters."""
    inertia = parameters[SYMMETRIC]
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = parameters[1:4]
    P[3, 3] = parameters[0]
    return P


def parameters_of(P: Array) -> Array:
    """Return the ten parameters (10,) of a pseudo-inertia."""
    inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.concatenate([[P[3, 3]], P[:3, 3], inertia[UPPER]])


def bodies_of(parameters: Array) -> dict[str, Array]:
    """Return mass (N,), com (N, 3) and inertia (N, 3, 3) of N bodies with parameters (10 N,)."""
    ten = parameters.reshape(-1, 10)
    mass = ten[:, 0].copy()
    com = ten[:, 1:4] / mass[:, None]
    squares = np.einsum("bi,bi->b", com, com)[:, None, None] * np.eye(3)
    outer = np.einsum("bi,bj->bij", com, com)
    inertia = ten[:, SYMMETRIC] - mass[:, None, None] * (squares - outer)
    return {"mass": mass, "com": com, "inertia": inertia}
