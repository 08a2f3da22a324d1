"""identify(): masses, centres of mass, inertias, rotors and friction from logged motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.base_parameters import base_parameters
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .consistent import solve_consistent
from .design import Design, Rigid, reduced, rigid_part
from .fit import Fit
from .found_model import found_friction, found_model
from .friction import TERMS, FrictionShape, JointFriction, check_terms
from .friction_search import best_shape
from .identified import Identified
from .least_squares import LeastSquares, solve
from .log import Array, Log
from .samples import prepare

ROUNDS = 3  # in which rigid bodies and the shape of friction are found in turn
LOADED = 0.1  # of a joint's torque is gravity's where its friction may depend on the load
Progress = Callable[[float, str], None]


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
    """The robot that moved as in these logs, near the nominal `model` where they say nothing.

    held_out: logs that are only predicted. cutoff [Hz]: of the filter, above the motion and below
    the noise; see `prepare`. method: 'differences' or 'momentum', see `Samples`. friction: the
    terms to look for; () behind joint torque sensors. presliding: whether dry friction has a
    memory. rotors: whether to look for rotor inertias too, or take the model's. prior: how far
    bodies may be from the nominal ones, as a share. progress(share, what) is told how far it is.
    """
    if not logs:
        raise ArgumentError("identify needs at least one log of a motion")
    tell = progress or (lambda share, what: None)
    terms = check_terms(friction)
    parts = []
    for k, log in enumerate([*logs, *held_out]):
        tell(0.3 * k / (len(logs) + len(held_out)), f"regressor of {log.name or f'log {k + 1}'}")
        parts.append(rigid_part(model, prepare(model, log, cutoff, method), rotors))
    used = parts[: len(logs)]

    base = base_parameters(model, rotors=rotors)
    columns = np.array(base.independent)
    nominal = model.inertial_parameters()
    x = np.append(nominal, np.zeros(used[0].Y.shape[-1] - nominal.size))
    shape = FrictionShape.first_guess(_loaded(used, nominal))
    design, squares = _fit(used, shape, x, terms, columns)
    for k in range(ROUNDS if "coulomb" in terms else 0):
        tell(0.4 + 0.4 * k / ROUNDS, f"friction, round {k + 1} of {ROUNDS}")
        shape = best_shape(used, shape, squares.x, terms, presliding)
        design, squares = _fit(used, shape, squares.x, terms, columns)

    tell(0.8, "consistent parameters")
    consistent = solve_consistent(model, design, squares.sigma, prior)
    law = found_friction(design, consistent.x, shape)
    loads = [np.abs(part.gravity(consistent.x[: design.inertial])).mean(axis=0) for part in used]
    found = found_model(model, design, consistent.x, law, np.mean(loads, axis=0))
    tell(0.9, "predictions")
    fits = [
        _predicted(model, part, design, consistent.x, law, k >= len(logs))
        for k, part in enumerate(parts)
    ]
    tell(1.0, "done")
    return Identified(model, found, law, base, squares, consistent, design, fits)


def _loaded(parts: Sequence[Rigid], inertial: Array) -> Array:
    """(n,), 1 for joints whose torque carries the arm to a good part."""
    g = np.vstack([part.gravity(inertial) for part in parts])
    tau = np.vstack([part.tau for part in parts])
    return np.where(g.std(axis=0) > LOADED * tau.std(axis=0), 1.0, 0.0)


def _fit(
    parts: Sequence[Rigid],
    shape: FrictionShape,
    x: Array,
    terms: tuple[str, ...],
    base: npt.NDArray[np.int64],
) -> tuple[Design, LeastSquares]:
    design = reduced(parts, shape, x[: parts[0].Y_g.shape[-1]], terms)
    return design, solve(design, base)


def _predicted(
    model: RobotModel, part: Rigid, design: Design, x: Array, law: JointFriction, held_out: bool
) -> Fit:
    """The torque that the found parameters say, beside the measured one."""
    samples = part.samples
    kept = samples.kept
    measured = samples.tau[kept]
    known = measured - part.tau  # of rotors that were not looked for
    columns = part.friction(law.shape, x[: design.inertial], TERMS)
    losses = np.einsum("tjk,kj->tj", columns, law.table())
    predicted = part.Y @ x[: design.rigid] + losses + known
    name = samples.name or ("held out" if held_out else "used")
    return Fit(name, held_out, samples.t[kept], samples.qd[kept], measured, predicted, losses)
