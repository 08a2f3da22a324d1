"""Where and how hard the arm is really pushed, as far as somebody in the simulation knows.

A plant publishes the joint torque of all that touches it, not the force. But pushes are known:
those by topic are heard, those of the script are parameters. The one that explains the published
torque is the one that acts, and by how much it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics, jacobian
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

FELT = 1e-3  # [N m or N]: less is nothing
MISFIT = 0.15  # of the torque that a push may leave unexplained: the arm has moved since


class KnownPush(NamedTuple):
    """A force that may act."""

    link: str
    force: Array  # (3,) [N], base's axes
    point: Array  # (3,) [m], in the link's frame


class Force(NamedTuple):
    """A force that acts, in the base's frame."""

    point: Array  # (3,) [m]
    force: Array  # (3,) [N]


def true_force(
    model: RobotModel, q: Array, tau_ext: Array, pushes: Iterable[KnownPush]
) -> Force | None:
    """The known push that explains the true external torque, in its present strength."""
    size = float(np.linalg.norm(tau_ext))
    if size < FELT:
        return None
    best, found = MISFIT * size, None
    for push in pushes:
        expected = jacobian(model, q, push.link, push.point)[:3].T @ push.force
        share = float(expected @ tau_ext) / max(float(expected @ expected), 1e-12)
        misfit = float(np.linalg.norm(tau_ext - share * expected))
        if share > 0.0 and misfit < best:
            best, found = misfit, Force(_place(model, q, push), share * push.force)
    return found


def heard_push(
    model: RobotModel, q: Array, link: str, force: Array, torque: Array
) -> KnownPush | None:
    """A push from its wrench at the link's origin, in its axes; None: it has no force.

    The point is that of its line of action which is nearest to the origin.
    """
    size = float(force @ force)
    if size == 0.0:
        return None
    R = forward_kinematics(model, q, link)[:3, :3]
    return KnownPush(link, R @ force, np.cross(force, torque) / size)


def scripted_pushes(model: RobotModel, parameters: Mapping[str, Any]) -> list[KnownPush]:
    """The pushes among the parameters of a simulator_node."""
    found = []
    for name in parameters.get("pushes.names") or ():
        link = str(parameters.get(f"pushes.{name}.link", ""))
        vectors = (parameters.get(f"pushes.{name}.{key}") for key in ("force", "point"))
        force, point = (np.asarray(() if v is None else v, dtype=np.float64) for v in vectors)
        if link in model.frames and force.size == point.size == 3:
            found.append(KnownPush(link, force, point))
    return found


def _place(model: RobotModel, q: Array, push: KnownPush) -> Array:
    pose = forward_kinematics(model, q, push.link)
    return pose[:3, 3] + pose[:3, :3] @ push.point
