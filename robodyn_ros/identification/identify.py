"""identify(): masses, centres of mass, inertias, rotor inertias and friction from logs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.base_parameters import base_parameters
from ..errors import ArgumentError
from ..model.rigid_body import bodies_of
from ..model.robot import RobotModel
from ..sensing.log import Array, Log
from .consistent import solve_consistent
from .friction import TERMS, FrictionShape, JointFriction, check_terms, search_shape
from .identified import Fit, Identified
from .regression import Design, LeastSquares, LogEquations, log_equations, normal_equations, solve
from .samples import prepare

SHAPE_ITERATIONS = 3  # in which rigid bodies and the friction shape are found in turn
LOADED = 0.1  # gravity's share of a joint's torque above which friction may depend on the load
MIN_MASS = 1e-6  # [kg], of a massless link, with a radius of 1 cm: simulators reject 0
Progress = Callable[[float, str], None]  # share done, current step


def identify(
    model: RobotModel,
    logs: Sequence[Log],
    *,
    held_out: Sequence[Log] = (),
    cutoff: float | None = None,
    method: str = "differences",
    friction: Sequence[str] = TERMS,
    presliding: bool = True,
    rotors: bool = True,
    prior: float = 0.3,
    progress: Progress | None = None,
) -> Identified:
    """Identify the robot that recorded these logs.

    Return the result: model, friction, standard deviations, prediction errors. Parameters that the
    logs do not excite stay near the nominal `model`.

    held_out: logs that are only predicted. cutoff [Hz]: of the low-pass filter, above the motion
    and below the noise; see `prepare`. method: 'differences' or 'momentum', see `Samples`.
    friction: terms to identify; () for torque sensors behind the gears. presliding: whether dry
    friction may have presliding. rotors: whether rotor inertias are identified or taken from the
    model. prior: relative standard deviation of the nominal bodies. progress(share, step) is
    called between the steps.
    """
    if not logs:
        raise ArgumentError("identify needs at least one log of a motion")
    report = progress or (lambda share, step: None)
    terms = check_terms(friction)
    equations = []
    for k, log in enumerate([*logs, *held_out]):
        report(0.3 * k / (len(logs) + len(held_out)), f"regressor of {log.name or f'log {k + 1}'}")
        equations.append(log_equations(model, prepare(model, log, cutoff, method), rotors))
    used = equations[: len(logs)]

    base = base_parameters(model, rotors=rotors)
    columns = np.array(base.independent)
    nominal = model.inertial_parameters()
    x = np.append(nominal, np.zeros(used[0].Y.shape[-1] - nominal.size))
    shape = FrictionShape.first_guess(_loaded_joints(used, nominal))
    design, squares = _fit(used, shape, x, terms, columns)
    for k in range(SHAPE_ITERATIONS if "coulomb" in terms else 0):
        step = f"friction, iteration {k + 1} of {SHAPE_ITERATIONS}"
        report(0.4 + 0.4 * k / SHAPE_ITERATIONS, step)
        shape = search_shape(used, shape, squares.x, terms, presliding)
        design, squares = _fit(used, shape, squares.x, terms, columns)

    report(0.8, "consistent parameters")
    consistent = solve_consistent(model, design, squares.sigma, prior)
    law = _friction_of(design, consistent.x, shape)
    loads = [np.abs(log.gravity(consistent.x[: design.inertial])).mean(axis=0) for log in used]
    found = _model_of(model, design, consistent.x, law, np.mean(loads, axis=0))
    report(0.9, "predictions")
    fits = [
        _predict(log, design, consistent.x, law, k >= len(logs)) for k, log in enumerate(equations)
    ]
    report(1.0, "done")
    return Identified(model, found, law, base, squares, consistent, design, fits)


def _loaded_joints(logs: Sequence[LogEquations], inertial: Array) -> Array:
    """Return 1 (n,) for joints of which gravity is a good part of the torque, else 0."""
    g = np.vstack([log.gravity(inertial) for log in logs])
    tau = np.vstack([log.tau for log in logs])
    return np.where(g.std(axis=0) > LOADED * tau.std(axis=0), 1.0, 0.0)


def _fit(
    logs: Sequence[LogEquations],
    shape: FrictionShape,
    x: Array,
    terms: tuple[str, ...],
    base: npt.NDArray[np.int64],
) -> tuple[Design, LeastSquares]:
    design = normal_equations(logs, shape, x[: logs[0].Y_g.shape[-1]], terms)
    return design, solve(design, base)


def _predict(
    log: LogEquations, design: Design, x: Array, law: JointFriction, held_out: bool
) -> Fit:
    samples, kept = log.samples, log.samples.kept
    measured = samples.tau[kept]
    known_rotors = measured - log.tau
    losses = law.weighted(log.friction(law.shape, x[: design.inertial], TERMS))
    predicted = log.Y @ x[: design.rigid] + losses + known_rotors
    name = samples.name or ("held out" if held_out else "used")
    return Fit(name, held_out, samples.t[kept], samples.qd[kept], measured, predicted, losses)


def _friction_of(design: Design, x: Array, shape: FrictionShape) -> JointFriction:
    """Return the friction of x; terms that were not identified are 0."""
    values = {
        term: x[design.of_term(term)] if term in design.terms else np.zeros(design.n)
        for term in TERMS
    }
    # A solver's zero may be slightly negative.
    for term in ("viscous", "coulomb", "load"):
        values[term] = np.maximum(values[term], 0.0)
    values["stribeck"] = np.maximum(values["stribeck"], -values["coulomb"])
    return JointFriction(**values, shape=shape)


def _model_of(
    nominal: RobotModel, design: Design, x: Array, friction: JointFriction, mean_load: Array
) -> RobotModel:
    """Return the nominal robot with the bodies, rotor inertias and friction of x.

    A RobotModel's dry friction does not depend on the load: it gets that of the mean load (n,)
    [N m or N], and neither an offset nor presliding.
    """
    changes: dict[str, Any] = bodies_of(x[: design.inertial])
    light = changes["mass"] < MIN_MASS
    changes["mass"][light], changes["com"][light] = MIN_MASS, 0.0
    changes["inertia"][light] = MIN_MASS * np.diag([1e-4] * 3)
    if design.rigid > design.inertial:
        changes["rotor_inertia"] = np.maximum(x[design.inertial : design.rigid], 0.0)
    if design.terms:
        dry = friction.coulomb + friction.load * mean_load
        changes["viscous"], changes["coulomb"] = friction.viscous, dry
        changes["stiction"], changes["stribeck"] = dry + friction.stribeck, friction.shape.fading
    return nominal.replace(**changes)
