"""find_gains(): from motor currents to torques, by a known payload.

    k_j i_j = Y_j x + friction_j               without the payload,
    k_j i_j = Y_j x + friction_j + Y_L,j p_L   with it

Currents alone tell parameters only up to a factor per joint: twice the gains and twice the masses
move alike. A body of known mass sets the scale [Gautier2014].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dynamics.base_parameters import base_parameters
from ..errors import ArgumentError
from ..model.rigid_body import RigidBody, as_inertia
from ..model.robot import Payload, RobotModel
from .design import Rigid, normal, only_joint, rigid_part, root_mean_squares
from .friction import FrictionShape
from .least_squares import scaled_inverse
from .log import Array, Log
from .samples import prepare

TERMS = ("viscous", "coulomb", "offset")
ROUNDS = 10


class DriveGains(NamedTuple):
    """Gains [N m/A or N/A] and their standard deviations, (n,) each."""

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
    """Gains that turn the currents [A] in these logs' tau into torques.

    bare: logs without, loaded: with the payload, of which mass, centre and inertia are known. The
    motion should be the same, or at least as rich.
    """
    if not bare or not loaded:
        raise ArgumentError("drive gains need logs without and with a known payload")
    frame = model.frame(payload.link)
    if frame.body < 0:
        raise ArgumentError(f"a payload on '{payload.link}' moves nothing: it is the base")
    held = RigidBody(payload.mass, np.array(payload.com), as_inertia("inertia", payload.inertia))
    p = held.seen_from(frame.rotation, frame.place).inertial_parameters()
    columns = slice(10 * frame.body, 10 * frame.body + 10)
    still = model.replace(rotor_inertia=0.0) if model.rotor_inertia.any() else model
    parts = [rigid_part(still, prepare(model, log, cutoff), True) for log in [*bare, *loaded]]
    known = [
        part.Y[:, :, columns] @ p if k >= len(bare) else np.zeros_like(part.tau)
        for k, part in enumerate(parts)
    ]
    return _solve(model, parts, known)


def _solve(model: RobotModel, parts: Sequence[Rigid], known: Sequence[Array]) -> DriveGains:
    n = model.n
    base = list(base_parameters(model, rotors=True).independent)
    shape = FrictionShape.first_guess(np.zeros(n))
    friction = [part.friction(shape, np.zeros(part.Y_g.shape[-1]), TERMS) for part in parts]
    squares = []
    for j in range(n):
        rows = []
        for part, F, y in zip(parts, friction, known, strict=True):
            current = part.tau[:, j, None] * np.eye(n)[j]
            motion = (-part.Y[:, j, base], -only_joint(F[:, j], j, n))
            rows.append(np.column_stack([current, *motion, y[:, j]]))
        squares.append(normal(np.vstack(rows)))
    count = sum(len(part.tau) for part in parts)
    share = parts[0].samples.independence
    sigma = np.ones(n)
    for _ in range(ROUNDS):
        G = np.sum([one / s**2 for one, s in zip(squares, sigma, strict=True)], axis=0)
        inverse = scaled_inverse(G[:-1, :-1])
        x = inverse.matrix @ G[:-1, -1]
        sigma = np.maximum(root_mean_squares(squares, x, count), 1e-6)
    return DriveGains(x[:n], inverse.deviation[:n] / np.sqrt(share))
