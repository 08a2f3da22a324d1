"""identify_payload(): what an identified robot holds, from its motion with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..model.inertial import bodies_of
from ..model.rigid_body import RigidBody
from ..model.robot import Payload
from .consistent import possible_body
from .design import normal, rigid_part
from .friction import TERMS
from .identified import Identified
from .least_squares import scaled_inverse
from .log import Log
from .samples import prepare


class FoundPayload(NamedTuple):
    """What is held, and the standard deviation of its mass [kg]."""

    payload: Payload
    deviation: float


def identify_payload(
    found: Identified, logs: Sequence[Log], link: str, *, cutoff: float | None = None
) -> FoundPayload:
    """The body that `link` holds in these logs, seen from the link's frame.

    Everything else is taken from `found`, which was identified without it: of the ten parameters
    only those count by which the torque differs.
    """
    model = found.model
    frame = model.frame(link)
    if frame.body < 0 or not logs:
        raise ArgumentError(
            f"it takes logs, and a link that moves: got '{link}', {len(logs)} logs"
        )
    inertial = found.consistent.x[: found.design.inertial]
    columns = slice(10 * frame.body, 10 * frame.body + 10)
    rows, left, independent = [], [], 0.0
    for log in logs:
        part = rigid_part(model, prepare(model, log, cutoff), rotors=False)
        unit = part.friction(found.friction.shape, inertial, TERMS)
        losses = np.einsum("tjk,kj->tj", unit, found.friction.table())
        error = part.tau - part.Y @ inertial - losses
        sigma = found.least_squares.sigma
        rows.append((part.Y[:, :, columns] / sigma[:, None]).reshape(-1, 10))
        left.append((error / sigma).ravel())
        independent += part.samples.independence / len(logs)
    A, b = np.vstack(rows), np.concatenate(left)
    parameters = possible_body(A, b)
    mass, com, inertia = (values[0] for values in bodies_of(parameters).values())
    R = frame.rotation
    held = RigidBody(float(mass), com, inertia).seen_from(R.T, -R.T @ frame.place)
    deviation = float(scaled_inverse(normal(A)).deviation[0] / np.sqrt(independent))
    return FoundPayload(Payload(link, held.mass, tuple(held.com), held.inertia), deviation)
