"""Friction as parameters: what a URDF cannot hold."""

from dataclasses import dataclass, fields
from typing import Any

from ..settings import ParameterSet, one_or_each, setting
from .robot import RobotModel

Numbers = tuple[float, ...]
GIVEN = {"fixed": True, "numbers": True}


@dataclass(frozen=True)
class FrictionSettings(ParameterSet):
    """Friction of the joints, one for all or one each; empty: as in the URDF, or none."""

    viscous: Numbers = setting((), "viscous friction", "N m s/rad", low=0.0, **GIVEN)
    coulomb: Numbers = setting((), "Coulomb friction", "N m", low=0.0, **GIVEN)
    stiction: Numbers = setting((), "static friction", "N m", low=0.0, **GIVEN)
    stribeck: Numbers = setting(
        (), "decay of static friction with speed", "s/rad", low=0.0, **GIVEN
    )
    offset: Numbers = setting((), "offset of the torque", "N m", **GIVEN)
    load: Numbers = setting((), "dry friction per torque in the gear", low=0.0, high=0.99, **GIVEN)
    width: Numbers = setting(
        (), "speed within which dry friction changes sign", "rad/s", low=0.0, **GIVEN
    )
    presliding: Numbers = setting(
        (), "travel within which dry friction changes sign", "rad", low=0.0, **GIVEN
    )
    speed: Numbers = setting(
        (), "speed above which friction stays constant", "rad/s", low=1e-6, **GIVEN
    )

    def of(self, model: RobotModel) -> RobotModel:
        """Return the model with this friction."""
        changes: dict[str, Any] = {}
        for field in fields(self):
            if value := getattr(self, field.name):
                changes[NAMES.get(field.name, field.name)] = one_or_each(value)
        return model.replace(**changes) if changes else model


# Fields of a RobotModel, where their names differ
NAMES = {name: f"friction_{name}" for name in ("offset", "load", "width", "speed")}


def friction_settings(model: RobotModel) -> dict[str, tuple[float, ...]]:
    """Return the model's friction by the names of `FrictionSettings`; no infinite speeds."""
    found = {}
    for field in fields(FrictionSettings):
        values = getattr(model, NAMES.get(field.name, field.name))
        found[field.name] = tuple(min(float(x), 1e3) for x in values)
    return found
