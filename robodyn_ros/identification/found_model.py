"""A RobotModel, and a friction law, from a vector of identified unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.robot import RobotModel
from .design import Design
from .friction import TERMS, FrictionShape, JointFriction
from .log import Array


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
    if design.rigid > design.inertial:
        changes["rotor_inertia"] = np.maximum(x[design.inertial : design.rigid], 0.0)
    if design.terms:
        dry = friction.coulomb + friction.load * mean_load
        changes["viscous"], changes["coulomb"] = friction.viscous, dry
        changes["stiction"], changes["stribeck"] = dry + friction.stribeck, friction.shape.fading
    return nominal.replace(**changes)


def bodies_of(inertial: Array) -> dict[str, Array]:
    """Masses, centres of mass and inertias about them, of standard parameters (10 N,)."""
    ten = inertial.reshape(-1, 10)
    mass = ten[:, 0]
    com = ten[:, 1:4] / mass[:, None]
    J = ten[:, [[4, 5, 6], [5, 7, 8], [6, 8, 9]]]
    squares = np.einsum("bi,bi->b", com, com)[:, None, None] * np.eye(3)
    outer = np.einsum("bi,bj->bij", com, com)
    return {"mass": mass, "com": com, "inertia": J - mass[:, None, None] * (squares - outer)}
