"""A RobotModel, and a friction law, from a vector of identified unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.inertial import bodies_of
from ..model.robot import RobotModel
from .design import Design
from .friction import TERMS, FrictionShape, JointFriction
from .log import Array

DUST = 1e-6  # [kg], with a radius of 1 cm: of a link without mass, which simulators do not take


def found_friction(design: Design, x: Array, shape: FrictionShape) -> JointFriction:
    """The friction terms of x; those that were not looked for are 0."""
    values = {
        term: x[design.of_term(term)] if term in design.terms else np.zeros(design.n)
        for term in TERMS
    }
    # A solver's zero may be a hair below it.
    for term in ("viscous", "coulomb", "load"):
        values[term] = np.maximum(values[term], 0.0)
    values["stribeck"] = np.maximum(values["stribeck"], -values["coulomb"])
    return JointFriction(**values, shape=shape)


def found_model(
    nominal: RobotModel, design: Design, x: Array, friction: JointFriction, mean_load: Array
) -> RobotModel:
    """The nominal robot with the bodies, rotors and friction of x.

    A RobotModel's dry friction does not depend on the load: it gets that of the mean load (n,)
    [N m or N], and neither an offset nor presliding.
    """
    changes: dict[str, Any] = bodies_of(x[: design.inertial])
    light = changes["mass"] < DUST
    changes["mass"][light], changes["com"][light] = DUST, 0.0
    changes["inertia"][light] = DUST * np.diag([1e-4] * 3)
    if design.rigid > design.inertial:
        changes["rotor_inertia"] = np.maximum(x[design.inertial : design.rigid], 0.0)
    if design.terms:
        dry = friction.coulomb + friction.load * mean_load
        changes["viscous"], changes["coulomb"] = friction.viscous, dry
        changes["stiction"], changes["stribeck"] = dry + friction.stribeck, friction.shape.fading
    return nominal.replace(**changes)
