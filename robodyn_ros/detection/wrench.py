"""External wrench on a link, from the residual: J^T W = r."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import checked, per_joint
from ..dynamics.kinematics import forward_kinematics, jacobian
from ..errors import ArgumentError
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

DAMPING = 1e-4  # relative: directions that load joints by less are left out of a wrench


def carrying_joints(model: RobotModel, link: str) -> npt.NDArray[np.bool_]:
    """Return which coordinates move a link (n,): only these have a residual when it is touched."""
    moves = np.zeros(model.n, dtype=bool)
    row = model.frame(link).body
    while row >= 0:
        moves[model.coordinate[row]] = True
        row = int(model.parent[row])
    return moves


def external_wrench(
    model: RobotModel,
    q: npt.ArrayLike,
    r: npt.ArrayLike,
    link: str,
    point: npt.ArrayLike = (0.0, 0.0, 0.0),
    *,
    force_only: bool | None = None,
    weights: npt.ArrayLike | None = None,
    likely: float = math.inf,
) -> Array:
    """Return force [N] and torque [N m] (6,) on a known link at a point of its frame, base axes.

    force_only: assume a pure force; the default for links that fewer than six joints move, whose
    residual does not determine a torque. weights: of each joint's residual (n,), e.g.
    1 / threshold. likely: expected size of the force [N] if weights are 1 / noise; it keeps
    directions that hardly load any joint from turning noise into a large force. Components that
    load no joint are 0; `force_doubt` is the error of a pure force.
    """
    q, r = checked(model, q=q, r=r)
    moves = carrying_joints(model, link)
    if not moves.any():
        raise ArgumentError(f"link '{link}' is fixed to the base: no joint feels what touches it")
    only = int(moves.sum()) < 6 if force_only is None else force_only
    J = jacobian(model, q, link, point)
    A = (J[:3] if only else J).T[moves]
    b = r[moves]
    if weights is not None:
        w = np.broadcast_to(np.asarray(weights, dtype=np.float64), (model.n,))[moves]
        A, b = A * w[:, None], b * w
    if not likely > 0.0:
        raise ArgumentError(f"likely must be positive [N], got {likely!r}")
    if likely < math.inf:  # as if each number had been seen to be 0, give or take this much
        A = np.vstack([A, np.eye(A.shape[1]) / likely])
        b = np.concatenate([b, np.zeros(A.shape[1])])
    found = np.linalg.lstsq(A, b, rcond=DAMPING)[0]
    return np.concatenate([found, np.zeros(6 - found.size)])


def force_doubt(
    model: RobotModel,
    q: npt.ArrayLike,
    link: str,
    point: npt.ArrayLike = (0.0, 0.0, 0.0),
    *,
    noise: npt.ArrayLike,
) -> float:
    """Return the standard deviation [N] of a pure force, in its worst direction.

    noise: standard deviation of each joint's residual (n,) [N m or N], independent of the others.
    The force is that of `external_wrench` with force_only=True and weights = 1 / noise. If errors
    up to `noise` may come together in all joints, it is off by at most sqrt(n) times this. It is
    infinite if a force in some direction loads no joint.
    """
    (q,) = checked(model, q=q)
    off = per_joint(model, "noise", noise)
    if not (off > 0.0).all():
        raise ArgumentError(f"noise must be positive, got {noise!r}")
    moves = carrying_joints(model, link)
    if int(moves.sum()) < 3:
        return math.inf
    # r = J^T F: noise passes into F through the inverse of the least singular value
    singular = np.linalg.svd(
        jacobian(model, q, link, point)[:3, moves] / off[moves], compute_uv=False
    )
    return 1.0 / float(singular[-1]) if singular[-1] > DAMPING * singular[0] else math.inf


def followed_force(
    model: RobotModel,
    q: npt.ArrayLike,
    r: npt.ArrayLike,
    link: str,
    place: npt.ArrayLike,
    force: npt.ArrayLike,
    variance: npt.ArrayLike,
) -> Array:
    """Return a push (3,) [N], base axes, whose size follows the residual r (n,) [N m or N].

    Its direction, and its point in the link's frame (3,) [m], stay those of the push that was
    found. variance: of the residual's noise (n,).
    """
    q, r = checked(model, q=q, r=r)
    F = np.asarray(force, dtype=np.float64)
    tau = jacobian(model, q, link, place)[:3].T @ F
    weighted = tau / np.asarray(variance, dtype=np.float64)
    square = float(weighted @ tau)
    return F * max(float(weighted @ r) / square, 0.0) if square > 0.0 else 0.0 * F


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A force and the line on which it acts."""

    force: Array  # [N], base's axes
    point: Array  # [m], base's axes: the point of the line nearest to the link's axis
    twist: float  # [N m], torque about the line of action; 0 for a pure force


def contact_point(
    model: RobotModel, q: npt.ArrayLike, r: npt.ArrayLike, link: str
) -> ContactPoint | None:
    """Return the force on a link and its point of application, or None if undetermined.

    Six joints must move the link, away from singular postures. The line of action follows from
    force and torque; the point on it is the one nearest to the line from the link's origin to the
    next joint.
    """
    q, r = checked(model, q=q, r=r)
    moves = carrying_joints(model, link)
    J = jacobian(model, q, link)
    if int(moves.sum()) < 6 or np.linalg.cond(J[:, moves]) > 1.0 / DAMPING:
        return None
    W = external_wrench(model, q, r, link, force_only=False)
    force, torque = W[:3], W[3:]
    size = float(np.linalg.norm(force))
    if size == 0.0:
        return None
    origin = forward_kinematics(model, q, link)[:3, 3]
    on_line = origin + np.cross(force, torque) / size**2
    along = force / size
    end = _far_end(model, q, link)
    axis = end - origin
    # The point of the line of action that is nearest to the link's axis
    denominator = 1.0 - float(along @ axis) ** 2 / float(axis @ axis) if axis.any() else 0.0
    shift = 0.0
    if denominator > 1e-9:
        unit = axis / np.linalg.norm(axis)
        gap = origin - on_line
        shift = float(along @ gap - (along @ unit) * (unit @ gap)) / denominator
    return ContactPoint(force, on_line + shift * along, float(torque @ along))


def _far_end(model: RobotModel, q: Array, link: str) -> Array:
    """Return the far end of a link: the next joint, else its centre of mass."""
    body = model.frame(link).body
    children = np.flatnonzero(model.parent == body)
    pose = forward_kinematics(model, q, model.link_names[body])
    end = model.place[children[0]] if children.size else model.com[body]
    return np.asarray(pose[:3, :3] @ end + pose[:3, 3])
