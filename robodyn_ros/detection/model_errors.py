"""Expected model errors, and models with such errors.

Per body, theta has one number for the mass, three for the centre of mass and one that scales the
inertia, which stays physically consistent; with friction two more per joint. Each is in units of
its bound.
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

MIN_SHARE = 0.1  # of a mass, an inertia or friction that remains for any theta


@dataclass(frozen=True)
class ModelErrors:
    """Bounds of the model errors, as `perturbed` takes them."""

    mass: float = 0.03  # share
    com: float = 0.003  # [m]
    inertia: float = 0.03  # share
    friction: float = 0.2  # share
    friction_width: float = 0.02  # [rad/s or m/s], below which dry friction is not known

    def __post_init__(self) -> None:
        for bound in fields(self):
            value = getattr(self, bound.name)
            if not 0.0 <= value < np.inf or (bound.name == "friction_width" and value == 0.0):
                raise ArgumentError(f"{bound.name} of ModelErrors must be positive, got {value!r}")


def with_errors(
    model: RobotModel, errors: ModelErrors, theta: Array, friction: bool
) -> RobotModel:
    """Return the model with errors theta: 5 per body with mass, with friction 2 per joint."""
    rows = np.flatnonzero(model.mass > 0.0)
    of_bodies, of_joints = theta[: 5 * rows.size].reshape(-1, 5), theta[5 * rows.size :]
    mass, com, inertia = model.mass.copy(), model.com.copy(), model.inertia.copy()
    mass[rows] *= _factor(errors.mass, of_bodies[:, 0])
    com[rows] += errors.com * of_bodies[:, 1:4]
    inertia[rows] *= _factor(errors.inertia, of_bodies[:, 4])[:, None, None]
    changes: dict[str, Any] = {"mass": mass, "com": com, "inertia": inertia}
    if friction:
        dry, viscous = (_factor(errors.friction, x) for x in of_joints.reshape(2, model.n))
        changes |= {"coulomb": model.coulomb * dry, "stiction": model.stiction * dry}
        changes["friction_load"] = model.friction_load * dry
        changes["viscous"] = model.viscous * viscous
    return model.replace(**changes)


@lru_cache(maxsize=8)
def each_error(model: RobotModel, errors: ModelErrors) -> list[RobotModel]:
    """Yield the model with one inertial parameter at its error bound, each in turn."""
    count = 5 * int(np.count_nonzero(model.mass > 0.0))
    return [with_errors(model, errors, theta, friction=False) for theta in np.eye(count)]


def _factor(bound: float, theta: Array) -> Array:
    return np.maximum(1.0 + bound * theta, MIN_SHARE)
