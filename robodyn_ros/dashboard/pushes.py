"""The true contact force of a simulated arm, as far as the known pushes explain it.

A plant publishes the joint torque of all contacts, not the force. But pushes are known: those by
topic are received, those of the script are parameters. The push whose torque fits the published
one is the push that acts; the fit also gives its present strength.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics, jacobian
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

NO_TORQUE = 1e-3  # [N m or N], external torque below which nothing acts
MISFIT = 0.15  # share of the torque that a push may leave unexplained: the arm moves meanwhile


class Push(NamedTuple):
    """A push that may act."""

    link: str
    force: Array  # (3,) [N], base's axes
    point: Array  # (3,) [m], in the link's frame


class Force(NamedTuple):
    """A force that acts, in the base's frame."""

    point: Array  # (3,) [m]
    force: Array  # (3,) [N]


def true_force(
    model: RobotModel, q: Array, tau_ext: Array, pushes: Iterable[Push]
) -> Force | None:
    """Return the push that explains the true external torque, scaled to its present strength."""
    size = float(np.linalg.norm(tau_ext))
    if size < NO_TORQUE:
        return None
    best, found = MISFIT * size, None
    for push in pushes:
        expected = jacobian(model, q, push.link, push.point)[:3].T @ push.force
        share = float(expected @ tau_ext) / max(float(expected @ expected), 1e-12)
        misfit = float(np.linalg.norm(tau_ext - share * expected))
        if share > 0.0 and misfit < best:
            pose = forward_kinematics(model, q, push.link)
            point = pose[:3, 3] + pose[:3, :3] @ push.point
            best, found = misfit, Force(point, share * push.force)
    return found


def push_from_wrench(
    model: RobotModel, q: Array, link: str, force: Array, torque: Array
) -> Push | None:
    """Return the push of a wrench at the link's origin, in its axes; None if it has no force.

    Its point is the one on the line of action that is nearest to the origin.
    """
    size = float(force @ force)
    if size == 0.0:
        return None
    R = forward_kinematics(model, q, link)[:3, :3]
    return Push(link, R @ force, np.cross(force, torque) / size)


def scripted_pushes(model: RobotModel, parameters: Mapping[str, Any]) -> list[Push]:
    """Return the pushes in the parameters of a simulator_node."""
    found = []
    for name in parameters.get("pushes.names") or ():
        link = str(parameters.get(f"pushes.{name}.link", ""))
        vectors = (parameters.get(f"pushes.{name}.{key}") for key in ("force", "point"))
        force, point = (np.asarray(() if v is None else v, dtype=np.float64) for v in vectors)
        if link in model.frames and force.size == point.size == 3:
            found.append(Push(link, force, point))
    return found
