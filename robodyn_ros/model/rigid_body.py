"""Mass, centre of mass and inertia of one rigid body, and how bodies join into one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def steiner(mass: float, arm: Array) -> Array:
    """What a mass at `arm` adds to the inertia about the origin."""
    return mass * ((arm @ arm) * np.eye(3) - np.outer(arm, arm))


@dataclass(frozen=True)
class RigidBody:
    """A body's mass [kg], centre of mass [m] and inertia about it [kg m^2], in one frame."""

    mass: float = 0.0
    com: Array = field(default_factory=lambda: np.zeros(3))
    inertia: Array = field(default_factory=lambda: np.zeros((3, 3)))

    def inertia_about_origin(self) -> Array:
        return self.inertia + steiner(self.mass, self.com)

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
