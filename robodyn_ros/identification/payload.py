"""Payloads: find the one that an identified robot holds, or drive gains from a known one.

find_gains() turns motor currents i into torques k i:

    k_j i_j = Y_j x + friction_j               without the payload,
    k_j i_j = Y_j x + friction_j + Y_L,j p_L   with it

Currents alone determine parameters only up to a factor per joint: twice the gains and twice the
masses give the same motion. A body of known mass sets the scale [Gautier2014].
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dynamics.base_parameters import base_parameters
from ..errors import ArgumentError
from ..model.rigid_body import RigidBody, as_inertia, bodies_of
from ..model.robot import Payload, RobotModel
from ..sensing.log import Array, Log
from . import regression as lsq
from .consistent import consistent_body
from .friction import TERMS, FrictionShape
from .identified import Identified
from .samples import prepare

GAIN_TERMS = ("viscous", "coulomb", "offset")  # friction while gains are searched


class FoundPayload(NamedTuple):
    """Payload, and the standard deviation of its mass [kg]."""

    payload: Payload
    deviation: float


def identify_payload(
    found: Identified, logs: Sequence[Log], link: str, *, cutoff: float | None = None
) -> FoundPayload:
    """Return the payload that `link` holds in these logs, in the link's frame.

    Everything else is taken from `found`, identified without the payload. Of the ten parameters
    only those count that change the torque. cutoff [Hz]: as for `identify`.
    """
    model = found.model
    frame = model.frame(link)
    if frame.body < 0 or not logs:
        raise ArgumentError(
            f"identify_payload needs logs and a moving link, got '{link}' and {len(logs)} logs"
        )
    inertial = found.consistent.x[: found.design.inertial]
    columns = slice(10 * frame.body, 10 * frame.body + 10)
    rows, errors, independence = [], [], 0.0
    for log in logs:
        part = lsq.log_equations(model, prepare(model, log, cutoff), rotors=False)
        losses = found.friction.weighted(part.friction(found.friction.shape, inertial, TERMS))
        error = part.tau - part.Y @ inertial - losses
        sigma = found.least_squares.sigma
        rows.append((part.Y[:, :, columns] / sigma[:, None]).reshape(-1, 10))
        errors.append((error / sigma).ravel())
        independence += part.samples.independence / len(logs)
    A, b = np.vstack(rows), np.concatenate(errors)
    mass, com, inertia = (values[0] for values in bodies_of(consistent_body(A, b)).values())
    R = frame.rotation
    held = RigidBody(float(mass), com, inertia).seen_from(R.T, -R.T @ frame.place)
    deviation = float(lsq.scaled_inverse(lsq.gram(A)).deviation[0] / np.sqrt(independence))
    return FoundPayload(Payload(link, held.mass, tuple(held.com), held.inertia), deviation)


class DriveGains(NamedTuple):
    """Drive gains (n,) [N m/A or N/A] and their standard deviations (n,)."""

    gains: Array
    deviation: Array


def find_gains(
    model: RobotModel,
    bare: Sequence[Log],
    loaded: Sequence[Log],
    payload: Payload,
    *,
    cutoff: float | None = None,
) -> DriveGains:
    """Return the drive gains that turn the currents [A] in the logs' tau into torques.

    bare: logs without the payload, loaded: logs with it. Mass, centre of mass and inertia of the
    payload are known. Both motions should be the same, or equally rich. cutoff [Hz]: as for
    `identify`.
    """
    if not bare or not loaded:
        raise ArgumentError("drive gains need logs without and with a known payload")
    frame = model.frame(payload.link)
    if frame.body < 0:
        raise ArgumentError(f"a payload on '{payload.link}' moves nothing: it is the base")
    held = RigidBody(payload.mass, np.array(payload.com), as_inertia("inertia", payload.inertia))
    p = held.seen_from(frame.rotation, frame.place).inertial_parameters()
    columns = slice(10 * frame.body, 10 * frame.body + 10)
    without_rotors = model.replace(rotor_inertia=0.0) if model.rotor_inertia.any() else model
    parts = [
        lsq.log_equations(without_rotors, prepare(model, log, cutoff), True)
        for log in [*bare, *loaded]
    ]
    known = [
        part.Y[:, :, columns] @ p if k >= len(bare) else np.zeros_like(part.tau)
        for k, part in enumerate(parts)
    ]
    return _solve_gains(model, parts, known)


def _solve_gains(
    model: RobotModel, parts: Sequence[lsq.LogEquations], known: Sequence[Array]
) -> DriveGains:
    """Solve for gains, base parameters and friction; known: payload torque of each log."""
    n = model.n
    base = list(base_parameters(model, rotors=True).independent)
    shape = FrictionShape.first_guess(np.zeros(n))
    friction = [part.friction(shape, np.zeros(part.Y.shape[-1]), GAIN_TERMS) for part in parts]
    G = []
    for j in range(n):
        rows = []
        for part, F, y in zip(parts, friction, known, strict=True):
            current = part.tau[:, j, None] * np.eye(n)[j]
            motion = (-part.Y[:, j, base], -lsq.spread_over(F[:, j], j, n))
            rows.append(np.column_stack([current, *motion, y[:, j]]))
        G.append(lsq.gram(np.vstack(rows)))
    count = sum(len(part.tau) for part in parts)
    independent = count * parts[0].samples.independence
    found = lsq.solve(lsq.Design(G, count, independent, 0, 0, ()), np.zeros(0, dtype=np.int64))
    return DriveGains(found.x[:n], found.deviation[:n])
