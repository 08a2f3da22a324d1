"""All that was looked for, line by line: nominal, found, how sure, and who told it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..dynamics.regressor import PARAMETERS
from ..model.robot import RobotModel
from .friction import nominal_friction

if TYPE_CHECKING:
    from .identified import Identified

UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
# Of what a joint has: where it turns, and where it slides
JOINT_UNITS = {
    "rotor": ("kg m^2", "kg"),
    "viscous": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "stribeck": ("N m", "N"),
    "offset": ("N m", "N"),
    "load": ("1", "1"),
}


class Parameter(NamedTuple):
    """One line of the table."""

    name: str
    unit: str
    nominal: float
    value: float
    deviation: float  # standard deviation
    told: float  # 1: by the data alone, 0: by the nominal model alone


def parameters(found: Identified) -> list[Parameter]:
    """Standard parameters, rotors and friction terms; no load terms of joints without a load."""
    sure = found.consistent
    told = 1.0 - (sure.deviation / sure.before) ** 2
    numbers = zip(sure.x.tolist(), sure.deviation.tolist(), told.tolist(), strict=True)
    rows = [Parameter(*head, *row) for head, row in zip(_heads(found), numbers, strict=True)]
    idle = {
        f"load of {joint}"
        for joint, loaded in zip(
            found.nominal.joint_names, found.friction.shape.loaded, strict=True
        )
        if not loaded
    }
    return [row for row in rows if row.name not in idle]


def torque_units(model: RobotModel) -> list[str]:
    """N m for joints that turn, N for those that slide."""
    return ["N" if linear else "N m" for linear in _slides(model)]


def _slides(model: RobotModel) -> list[bool]:
    first = [model.body_joint_names.index(name) for name in model.joint_names]
    return [bool(model.prismatic[i]) for i in first]


def _heads(found: Identified) -> Iterator[tuple[str, str, float]]:
    """Name, unit and nominal value of each unknown."""
    model, design = found.nominal, found.design
    nominal = iter(model.inertial_parameters().tolist())
    for link in model.link_names:
        for name, unit in zip(PARAMETERS, UNITS, strict=True):
            yield f"{name} of {link}", unit, next(nominal)
    by_joint = {term: nominal_friction(model, term) for term in design.terms}
    if design.rigid > design.inertial:
        by_joint = {"rotor": np.asarray(model.rotor_inertia)} | by_joint
    for what, values in by_joint.items():
        rows = zip(model.joint_names, _slides(model), values.tolist(), strict=True)
        for joint, linear, value in rows:
            yield f"{what} of {joint}", JOINT_UNITS[what][linear], value
