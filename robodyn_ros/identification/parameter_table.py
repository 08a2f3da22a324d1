"""Identified parameters line by line, and sentences about those that were not excited."""

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
JOINT_UNITS = {  # of revolute, of prismatic joints
    "rotor": ("kg m^2", "kg"),
    "viscous": ("N m s/rad", "N s/m"),
    "coulomb": ("N m", "N"),
    "stribeck": ("N m", "N"),
    "offset": ("N m", "N"),
    "load": ("1", "1"),
}
POORLY_EXCITED = 0.7  # deviation with the data over deviation without, above which it is poor
STANDSTILL = 0.05  # [rad/s or m/s], top speed below which a joint hardly moved


class Parameter(NamedTuple):
    """One line of the table; values in `unit`."""

    name: str
    unit: str
    nominal: float
    value: float
    deviation: float  # standard deviation
    from_data: float  # share that comes from the data; the rest comes from the nominal model

    @property
    def told(self) -> float:
        """Earlier name of `from_data`."""
        return self.from_data


def parameter_table(found: Identified) -> list[Parameter]:
    """Return standard parameters, rotors and friction terms; no load terms without a load."""
    result = found.consistent
    from_data = 1.0 - (result.deviation / result.prior_deviation) ** 2
    numbers = zip(result.x.tolist(), result.deviation.tolist(), from_data.tolist(), strict=True)
    rows = [Parameter(*head, *row) for head, row in zip(_heads(found), numbers, strict=True)]
    joints = zip(found.nominal.joint_names, found.friction.shape.loaded, strict=True)
    unloaded = {f"load of {joint}" for joint, loaded in joints if not loaded}
    return [row for row in rows if row.name not in unloaded]


def torque_units(model: RobotModel) -> list[str]:
    """Return each joint's unit of torque: 'N m' if revolute, 'N' if prismatic."""
    return ["N" if prismatic else "N m" for prismatic in _prismatic(model)]


def _prismatic(model: RobotModel) -> list[bool]:
    first = [model.body_joint_names.index(name) for name in model.joint_names]
    return [bool(model.prismatic[i]) for i in first]


def _heads(found: Identified) -> Iterator[tuple[str, str, float]]:
    model, design = found.nominal, found.design
    nominal = iter(model.inertial_parameters().tolist())
    for link in model.link_names:
        for name, unit in zip(PARAMETERS, UNITS, strict=True):
            yield f"{name} of {link}", unit, next(nominal)
    by_joint = {term: nominal_friction(model, term) for term in design.terms}
    if design.rigid > design.inertial:
        by_joint = {"rotor": np.asarray(model.rotor_inertia)} | by_joint
    for term, values in by_joint.items():
        rows = zip(model.joint_names, _prismatic(model), values.tolist(), strict=True)
        for joint, prismatic, value in rows:
            yield f"{term} of {joint}", JOINT_UNITS[term][prismatic], value


def unexcited_sentences(found: Identified) -> list[str]:
    """Return a sentence for each kind of missing excitation; none if all are excited."""
    return [*_base_sentences(found), *_standard_sentences(found), *_joint_sentences(found)]


def _base_sentences(found: Identified) -> Iterator[str]:
    """Name base parameters that the motion determines worse than the nominal model does."""
    rank, squares = found.base.rank, found.least_squares
    P = len(found.base.names)
    prior = np.linalg.norm(found.base.grouping @ found.consistent.prior_factor[:P, :P], axis=1)
    rows = zip(found.base.lines(), squares.deviation[:rank], prior, strict=True)
    poor = [line for line, deviation, before in rows if deviation > POORLY_EXCITED * before]
    if poor:
        yield (
            f"The motion determines {len(poor)} of {rank} base parameters no better than the "
            f"nominal model does: {'; '.join(poor)}."
        )


def _standard_sentences(found: Identified) -> Iterator[str]:
    """Name standard parameters that stay at their nominal values."""
    excitable = np.any(found.base.grouping != 0.0, axis=0)
    bodies = found.parameters[: found.design.inertial]
    rows = list(zip(bodies, excitable, strict=False))  # rotors come behind the bodies
    poor = [p.name for p, shows in rows if shows and p.from_data < 1.0 - POORLY_EXCITED**2]
    never = [p.name for p, shows in rows if not shows]
    if poor:
        yield f"Poorly excited, so they stay near the nominal model: {_by_link(poor)}."
    if never:
        yield f"No motion excites these, because no torque depends on them: {_by_link(never)}."


def _by_link(names: list[str]) -> str:
    """Return 'mx of a', 'my of a', 'm of b' as 'mx, my of a; m of b'."""
    links: dict[str, list[str]] = {}
    for name in names:
        parameter, _, link = name.partition(" of ")
        links.setdefault(link, []).append(parameter)
    return "; ".join(f"{', '.join(those)} of {link}" for link, those in links.items())


def _joint_sentences(found: Identified) -> Iterator[str]:
    """Name joints that hardly moved."""
    used = [fit for fit in found.fits if not fit.held_out]
    fastest = np.max([np.abs(fit.qd).max(axis=0) for fit in used], axis=0)
    slow = [
        f"{name} (at most {speed:.2g} rad/s or m/s)"
        for name, speed in zip(found.nominal.joint_names, fastest, strict=True)
        if speed < STANDSTILL
    ]
    if slow:
        yield f"These hardly moved: {', '.join(slow)}."
