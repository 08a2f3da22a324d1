"""Payloads: find the one that an identified robot holds, or drive gains from a known one.

find_gains() turns motor currents i into torques k i:

    k_j i_j = Y_j x + friction_j               without the payload,
    k_j i_j = Y_j x + friction_j + Y_L,j p_L   with it

Currents alone determine parameters only up to a factor per joint: twice the gains and twice the
masses give the same motion. A body of known mass sets the scale [Gautier2014].
"""

import math
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
DRIFTING = ("viscous", "coulomb", "offset")  # terms that warm up or drift between two recordings
PAYLOAD_ITERATIONS = 5
SLOW = 0.02  # [rad/s or m/s], at which dry friction is not known
MOVING = 0.2  # share of the samples in motion below which all of a joint's samples count
# Share of a joint's torque that is not known, because gears and drives are under load; less if the
# robot itself was identified with smaller errors
MAX_TORQUE_ERROR = 0.03
TIME_PARTS = 10


class FoundPayload(NamedTuple):
    """Payload, and the standard deviation of its mass [kg]."""

    payload: Payload
    deviation: float


def identify_payload(
    found: Identified, logs: Sequence[Log], link: str, *, cutoff: float | None = None
) -> FoundPayload:
    """Return the payload that `link` holds in these logs, in the link's frame.

    The robot is taken from `found`, identified without the payload; friction may have drifted
    since. Of the ten parameters only those count that change the torque. cutoff [Hz]: as for
    `identify`. The deviation comes from leaving out each joint, and each tenth of the time, in
    turn: so it includes what the model or the drive gains have wrong.
    """
    model = found.model
    frame = model.frame(link)
    if frame.body < 0 or not logs:
        raise ArgumentError(
            f"identify_payload needs logs and a moving link, got '{link}' and {len(logs)} logs"
        )
    parts = [lsq.log_equations(model, prepare(model, log, cutoff), rotors=False) for log in logs]
    columns = slice(10 * frame.body, 10 * frame.body + 10)
    floor = lsq.NOISE_FLOOR * np.maximum(found.design.torque, 1e-3)
    sigma, p = np.maximum(found.least_squares.sigma, floor), np.zeros(10)
    for _ in range(PAYLOAD_ITERATIONS):  # the payload loads the gears; joints weigh by their noise
        rows = [_payload_rows(found, parts, columns, p, j, sigma[j]) for j in range(model.n)]
        p = consistent_body(np.vstack([Y for Y, _ in rows]), np.concatenate([e for _, e in rows]))
        sigma = sigma * [np.sqrt(np.mean((e - Y @ p) ** 2)) for Y, e in rows]
        sigma = np.maximum(sigma, floor)
    mass, com, inertia = (values[0] for values in bodies_of(p).values())
    R = frame.rotation
    held = RigidBody(float(mass), com, inertia).seen_from(R.T, -R.T @ frame.place)
    payload = Payload(link, held.mass, tuple(held.com), held.inertia)
    return FoundPayload(payload, _mass_deviation(rows))


def _payload_rows(
    found: Identified,
    parts: Sequence[lsq.LogEquations],
    columns: slice,
    p: Array,
    j: int,
    sigma: float,
) -> tuple[Array, Array]:
    """Return regressor (T, 10) and unexplained torque (T,) of joint j, with payload p as load.

    Both are weighted by noise of the deviation sigma [N m or N] and an error that grows with the
    torque, and free of what friction that drifted since can explain: see DRIFTING. Samples at rest
    do not count, because dry friction takes any value there.
    """
    x = found.consistent.x[: found.design.inertial]
    loaded = x.copy()
    loaded[columns] += p
    share = min(MAX_TORQUE_ERROR, float(np.median(found.relative_noise)))
    terms = [TERMS.index(term) for term in DRIFTING if term in found.design.terms]
    drifts, regressors, errors = [], [], []
    for part in parts:
        units = part.friction(found.friction.shape, loaded, TERMS)
        error = part.tau - part.Y @ x - found.friction.weighted(units)
        moves = np.abs(part.samples.qd[part.samples.kept][:, j]) > SLOW
        if moves.mean() < MOVING:
            moves[:] = True
        weight = 1.0 / np.hypot(sigma, share * part.tau[moves, j])
        regressors.append(part.Y[moves, j, columns] * weight[:, None])
        errors.append(error[moves, j] * weight)
        drifts.append(units[moves, j][:, terms] * weight[:, None])
    Q = np.linalg.qr(np.vstack(drifts))[0]
    Y, e = np.vstack(regressors), np.concatenate(errors)
    return Y - Q @ (Q.T @ Y), e - Q @ (Q.T @ e)


def _mass_deviation(rows: Sequence[tuple[Array, Array]]) -> float:
    """Return the jackknife deviation of the mass [kg] over joints and over parts of the time."""
    grams = np.array(
        [
            [lsq.gram(part) for part in np.array_split(np.column_stack([Y, e]), TIME_PARTS)]
            for Y, e in rows
        ]
    )
    total = grams.sum(axis=(0, 1))

    def mass(G: Array) -> float:
        H = G[:10, :10] + 1e-9 * np.trace(G[:10, :10]) * np.eye(10)
        return float(np.linalg.solve(H, G[:10, 10])[0])

    variance = 0.0
    for axis in (0, 1):
        left_out = grams.sum(axis=1 - axis)
        found = np.array([mass(total - G) for G in left_out])
        variance += (len(found) - 1) * float(np.var(found))
    return math.sqrt(variance)


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
