"""A payload in the gripper as parameters."""

from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..settings import ParameterSet, setting
from .rigid_body import as_inertia
from .robot import Payload, RobotModel

Numbers = tuple[float, ...]
MAX_MASS = 1000.0  # [kg]


@dataclass(frozen=True)
class PayloadSettings(ParameterSet):
    """A body that a link holds rigidly."""

    link: str = setting("", "link that holds the payload; empty: the last one")
    mass: float = setting(0.0, "mass of the payload; 0: none", "kg", 0.0, MAX_MASS)
    com: Numbers = setting((0.0, 0.0, 0.0), "its centre of mass in the link's frame", "m")
    inertia: Numbers = setting(
        (0.0,),
        "about its centre of mass in the link's axes: one number, the diagonal, or 9 row by row",
        "kg m^2",
    )

    @property
    def held(self) -> tuple[str, float, Numbers, Numbers]:
        """What the link holds; a subclass may have other fields, too."""
        return self.link, self.mass, self.com, self.inertia

    def payload(self, model: RobotModel) -> Payload | None:
        """Return the payload, or None without mass; raise if it does not fit the robot."""
        if len(self.inertia) not in (1, 3, 9):
            raise ArgumentError(f"payload.inertia has {len(self.inertia)} numbers: 1, 3 or 9")
        shape = {1: (), 3: (3,), 9: (3, 3)}[len(self.inertia)]
        inertia = as_inertia("payload.inertia", np.reshape(self.inertia, shape))
        held = Payload(self.link or model.link_names[-1], self.mass, self.com, inertia)
        model.replace(payload=held)  # raises if it is invalid
        return held if self.mass > 0.0 else None


def payload_values(held: Payload) -> dict[str, float | str | list[float]]:
    """Return the values of `PayloadSettings` for a payload."""
    return {
        "link": held.link,
        "mass": float(held.mass),
        "com": [float(x) for x in held.com],
        "inertia": as_inertia("inertia", held.inertia).ravel().tolist(),
    }
