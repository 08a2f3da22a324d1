"""identify(): masses, centres of mass, inertias, rotor inertias and friction from logs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
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
from .residual import largest_residual
from .samples import prepare

SHAPE_ITERATIONS = 3  # in which rigid bodies and the friction shape are found in turn
LOADED = 0.1  # the load's share of a joint's torque above which friction may depend on it
MIN_MASS = 1e-6  # [kg], of a massless link, with a radius of 1 cm: simulators reject 0
MAX_LOAD = 0.9  # dry friction per torque in the gear: more would lock it
SPEED_MARGIN = 1.5  # times the highest speed in the logs, beyond which friction stays the same
MIN_SPEED = 0.01  # [rad/s or m/s], that speed for a joint that did not move
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
    shape = FrictionShape.first_guess(_loaded_joints(used, x))
    design, squares = _fit(used, shape, x, terms, columns)
    for k in range(SHAPE_ITERATIONS if "coulomb" in terms else 0):
        step = f"friction, iteration {k + 1} of {SHAPE_ITERATIONS}"
        report(0.4 + 0.4 * k / SHAPE_ITERATIONS, step)
        shape = search_shape(used, shape, squares.x, terms, presliding)
        design, squares = _fit(used, shape, squares.x, terms, columns)

    report(0.8, "consistent parameters")
    consistent = solve_consistent(model, design, squares.sigma, prior)
    law = _friction_of(design, consistent.x, shape)
    fastest = np.max([np.abs(log.samples.qd).max(axis=0) for log in used], axis=0)
    found = _model_of(model, design, consistent.x, law, fastest)
    report(0.9, "predictions")
    fits = []
    for k, (part, raw) in enumerate(zip(equations, [*logs, *held_out], strict=True)):
        fit = _predict(part, design, consistent.x, law, k >= len(logs))
        fits.append(replace(fit, residual=largest_residual(found, raw, bool(terms))))
    report(1.0, "done")
    return Identified(model, found, law, base, squares, consistent, design, fits)


def _loaded_joints(logs: Sequence[LogEquations], x: Array) -> Array:
    """Return 1 (n,) for joints of which the load is a good part of the torque, else 0."""
    load = np.vstack([log.rigid(x) for log in logs])
    tau = np.vstack([log.tau for log in logs])
    return np.where(load.std(axis=0) > LOADED * tau.std(axis=0), 1.0, 0.0)


def _fit(
    logs: Sequence[LogEquations],
    shape: FrictionShape,
    x: Array,
    terms: tuple[str, ...],
    base: npt.NDArray[np.int64],
) -> tuple[Design, LeastSquares]:
    design = normal_equations(logs, shape, x, terms)
    return design, solve(design, base)


def _predict(
    log: LogEquations, design: Design, x: Array, law: JointFriction, held_out: bool
) -> Fit:
    samples, kept = log.samples, log.samples.kept
    measured = samples.tau[kept]
    losses = law.weighted(log.friction(law.shape, x, TERMS))
    predicted = log.Y @ x[: design.rigid] + losses + log.known
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
    nominal: RobotModel, design: Design, x: Array, friction: JointFriction, fastest: Array
) -> RobotModel:
    """Return the nominal robot with the bodies, rotor inertias and friction of x.

    fastest: highest speeds in the logs (n,) [rad/s or m/s].
    """
    changes: dict[str, Any] = bodies_of(x[: design.inertial])
    light = changes["mass"] < MIN_MASS
    changes["mass"][light], changes["com"][light] = MIN_MASS, 0.0
    changes["inertia"][light] = MIN_MASS * np.diag([1e-4] * 3)
    if design.rigid > design.inertial:
        changes["rotor_inertia"] = np.maximum(x[design.inertial : design.rigid], 0.0)
    if design.terms:
        shape = friction.shape
        changes |= {
            "viscous": friction.viscous,
            "coulomb": friction.coulomb,
            "stiction": friction.coulomb + friction.stribeck,
            "stribeck": shape.fading,
            "friction_offset": friction.offset,
            "friction_load": np.minimum(friction.load, MAX_LOAD),
            "friction_width": shape.width,
            "presliding": shape.presliding,
            "friction_speed": np.maximum(SPEED_MARGIN * fastest, MIN_SPEED),
        }
    return nominal.replace(**changes)
