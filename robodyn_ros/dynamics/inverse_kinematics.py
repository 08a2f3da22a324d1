"""Inverse kinematics: the joint positions that bring a link to a pose.

Damped least squares after Levenberg and Marquardt: with the position error and the rotation
vector that is still to turn in e, where 1 rad counts as much as 1 m, each step is

    dq = J^T (J J^T + mu 1)^-1 e

The damping mu falls as long as steps bring what the linear model promises and rises when they do
not. A joint at its limit that would go further out is taken out of J. The shortest step that does
it keeps a redundant arm near where it started.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike, checked
from .kinematics import ORIGIN, _point, forward_kinematics, jacobian

ITERATIONS, STARTS, SETTLING = 200, 10, 100
STRIDE = 0.5  # [rad or m], the longest step of a joint
MU, MU_MAX = 1e-3, 1e9
STALLED = 1e-10  # a slope, or gain of a step, as good as none: the steps have come to an end


class InverseKinematicsError(RobodynError):
    """No posture does it; `q` is the nearest that was found."""

    def __init__(self, message: str, q: Array | None = None) -> None:
        super().__init__(message)
        self.q = q


class OutOfReachError(InverseKinematicsError):
    """The arm is too short, or cannot turn its hand that way."""


class JointLimitError(InverseKinematicsError):
    """A joint would have to leave its range, or move too fast."""


class SingularityError(InverseKinematicsError):
    """The arm has lost a direction in which it should be able to move."""


class Tip:
    """A frame to be placed: the axes of a link, the last one if none is named, with the origin at
    a point of it [m]. Without `orientation` only that point counts.
    """

    def __init__(
        self,
        model: RobotModel,
        link: str | None = None,
        point: ArrayLike = ORIGIN,
        orientation: bool = True,
    ) -> None:
        self.model = model
        self.link = model.link_names[-1] if link is None else link
        if model.frame(self.link).body < 0:
            raise ArgumentError(f"link '{self.link}' cannot be moved: it is fixed to the base")
        self.point = _point(point)
        self.size = 6 if orientation else 3

    def pose(self, q: Array) -> Array:
        """(4, 4) in the base frame; batches as in `forward_kinematics`."""
        T = forward_kinematics(self.model, q, self.link)
        T[..., :3, 3] += T[..., :3, :3] @ self.point
        return T

    def jacobian(self, q: Array) -> Array:
        """(6, n), or (3, n) without orientation, in the base's axes."""
        J = jacobian(self.model, q, self.link)
        if self.point.any():
            arm = self.pose(q)[..., :3, :3] @ self.point
            J[..., :3, :] += np.cross(J[..., 3:, :], arm[..., None], axis=-2)
        return J[..., : self.size, :]

    def error(self, target: Array, q: Array) -> Array:
        """(6,) or (3,): the way [m] and the rotation vector [rad] from here to the target."""
        T = self.pose(q)
        way = target[..., :3, 3] - T[..., :3, 3]
        if self.size == 3:
            return way
        turn = rotation_vector(target[..., :3, :3] @ np.swapaxes(T[..., :3, :3], -1, -2))
        return np.concatenate([way, turn], axis=-1)

    @cached_property
    def rank(self) -> int:
        """How many directions the tip has when it is not singular: the most of some postures."""
        q = np.random.default_rng(0).uniform(-np.pi, np.pi, (16, self.model.n))
        return int(np.linalg.matrix_rank(self.jacobian(q), tol=1e-9).max())

    def smallest_singular_value(self, q: Array) -> Array:
        """How fast the tip moves [m or rad] in its weakest direction, per unit of joint speed."""
        s = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return np.asarray(s[..., self.rank - 1], dtype=np.float64)

    def lost_direction(self, q: Array) -> str:
        """In words, what this posture can hardly do."""
        weakest = np.linalg.svd(self.jacobian(q))[0][:, self.rank - 1]
        parts = (("move along", weakest[:3]), ("turn about", weakest[3:]))
        return " and at once ".join(
            "{} ({:.2f}, {:.2f}, {:.2f})".format(
                verb, *np.round(part / np.linalg.norm(part), 2) + 0
            )
            for verb, part in parts
            if np.linalg.norm(part) > 0.1
        )

    def check_singularity(self, q: Array, least: float, where: str = "") -> None:
        """Refuse a posture whose smallest singular value is below `least`."""
        sigma = float(self.smallest_singular_value(q))
        if sigma < least:
            x, y, z = self.pose(q)[:3, 3]
            raise SingularityError(
                f"{where}link '{self.link}' at ({x:.4g}, {y:.4g}, {z:.4g}) m is near a "
                f"singularity: it can hardly {self.lost_direction(q)}, the smallest singular "
                f"value is {sigma:.2e}, below {least:g}; keep away from it, change the posture, "
                "or lower `singular`",
                q,
            )


def inverse_kinematics(
    model: RobotModel,
    pose: ArrayLike,
    q0: ArrayLike,
    *,
    link: str | None = None,
    point: ArrayLike = ORIGIN,
    orientation: bool = True,
    rest: ArrayLike | None = None,
    limits: bool = True,
    tolerance: float = 1e-9,
    singular: float = 0.0,
) -> Array:
    """Joint positions (n,) that bring a link (the last if none is named) to a pose (4, 4).

    The origin of the pose is where `point` of the link shall be; without `orientation` only that
    counts. The search begins at q0 and ends near it, or begins again further off should that be a
    dead end; a redundant arm moves on as near as it can to the posture `rest` if one is given.
    `limits`: keep to the joints' ranges. `tolerance` is in m and rad. Postures whose smallest
    singular value is below `singular` are refused.

    Raises OutOfReachError, JointLimitError or SingularityError, each with the nearest posture.
    """
    if not tolerance > 0.0:
        raise ArgumentError(f"tolerance must be positive [m and rad], got {tolerance!r}")
    tip = Tip(model, link, point, orientation)
    target = pose_of("pose", pose)
    low, high = _limits(model, limits)
    q, least, solved = np.zeros(model.n), np.inf, False
    for start in _starts(one_state(model, "q0", q0)):
        end, e = approach(tip, target, np.clip(start, low, high), low, high, tolerance)
        if e @ e < least:
            q, least, solved = end, float(e @ e), within(e, tolerance)
        if solved:
            break
    if not solved:
        raise failure(tip, target, q, low, high, tolerance)
    if rest is not None:
        q = _settle(tip, target, q, one_state(model, "rest", rest), low, high, tolerance)
    tip.check_singularity(q, singular)
    return q


def approach(
    tip: Tip, target: Array, q: Array, low: Array, high: Array, tolerance: float
) -> tuple[Array, Array]:
    """Where damped steps from q end, and the error left there."""
    e = tip.error(target, q)
    mu = min(MU, float(e @ e))  # near the end there is nothing to be damped
    for _ in range(ITERATIONS):
        if within(e, tolerance):
            break
        J = tip.jacobian(q)
        downhill = J.T @ e
        free = ~blocked(q, downhill, low, high)
        if np.linalg.norm(downhill[free]) <= STALLED * np.linalg.norm(e):
            break
        U, s, Vt = np.linalg.svd(J[:, free], full_matrices=False)
        while mu < MU_MAX:
            step = np.zeros(q.size)
            step[free] = Vt.T @ (s / (s * s + mu) * (U.T @ e))
            step *= min(1.0, STRIDE / np.abs(step).max())
            q_new = np.clip(q + step, low, high)
            e_new = tip.error(target, q_new)
            gained = e @ e - e_new @ e_new
            if gained > 0.0:
                left = e - J @ (q_new - q)
                good = gained > 0.75 * (e @ e - left @ left)  # of what was promised
                mu *= 0.1 if good else 1.0
                break
            mu *= 4.0
        else:
            break
        q, e = q_new, e_new
        if gained < STALLED * (e @ e):
            break
    return q, e


def within(e: Array, tolerance: float) -> bool:
    """Whether an error is below the tolerance, its position and its rotation part."""
    return bool(np.linalg.norm(e[:3]) <= tolerance and np.linalg.norm(e[3:]) <= tolerance)


def blocked(q: Array, direction: Array, low: Array, high: Array) -> npt.NDArray[np.bool_]:
    """Which joints stand at a limit and would go beyond."""
    return ((q <= low) & (direction < 0.0)) | ((q >= high) & (direction > 0.0))


def _limits(model: RobotModel, limits: bool) -> tuple[Array, Array]:
    endless = np.full(model.n, np.inf)
    return (model.q_min, model.q_max) if limits else (-endless, endless)


def _starts(q0: Array) -> Iterator[Array]:
    """q0; then, should it be a dead end, others ever further from it, the same at every call."""
    yield q0
    random = np.random.default_rng(0)
    for reach in np.geomspace(0.05, 1.5, STARTS - 1):
        yield q0 + random.uniform(-reach, reach, q0.size)


def _settle(
    tip: Tip,
    target: Array,
    q: Array,
    rest: Array,
    low: Array,
    high: Array,
    tolerance: float,
) -> Array:
    """Move within the null space, as near to the posture `rest` as the pose allows."""
    share = 1.0
    for _ in range(SETTLING):
        free = ~blocked(q, rest - q, low, high)
        pull = np.zeros(q.size)
        pull[free] = _null_space_part(tip.jacobian(q)[:, free], (rest - q)[free])
        longest = np.abs(pull).max()
        if longest < 1e-7 or share < 1e-3:
            break
        step = share * min(1.0, STRIDE / longest) * pull
        nearer, e = approach(tip, target, np.clip(q + step, low, high), low, high, tolerance)
        if within(e, tolerance) and np.linalg.norm(nearer - rest) < np.linalg.norm(q - rest):
            q = nearer
        else:
            share *= 0.5
    return q


def _null_space_part(J: Array, z: Array) -> Array:
    """What of the joint velocity z leaves the tip where it is: (1 - J^+ J) z."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[s > 1e-9]
    return z - rows.T @ (rows @ z)


def failure(
    tip: Tip, target: Array, q: Array, low: Array, high: Array, tolerance: float
) -> InverseKinematicsError:
    """Why the pose was not reached."""
    model, endless = tip.model, np.full(q.size, np.inf)
    e = tip.error(target, q)
    if ((q <= low) | (q >= high)).any():
        elsewhere, left = approach(tip, target, q, -endless, endless, tolerance)
        beyond = np.flatnonzero((elsewhere < low) | (elsewhere > high))
        if within(left, tolerance) and beyond.size:
            needs = ", ".join(
                f"joint '{model.joint_names[k]}' would have to go to {elsewhere[k]:.4g}, beyond "
                f"its limit {(low if elsewhere[k] < low[k] else high)[k]:.4g}"
                for k in beyond
            )
            return JointLimitError(
                f"link '{tip.link}' cannot reach the pose within the joints' limits: {needs}; "
                "begin from another posture q0 or move the pose",
                q,
            )
    turn = f" and {np.linalg.norm(e[3:]):.4g} rad" if tip.size == 6 else ""
    return OutOfReachError(
        f"link '{tip.link}' cannot reach the pose: the nearest posture found is "
        f"{np.linalg.norm(e[:3]):.4g} m{turn} short of it, with a smallest singular value of "
        f"{float(tip.smallest_singular_value(q)):.2e}: it can hardly {tip.lost_direction(q)}; "
        "move the pose, or begin nearer to it",
        q,
    )


def rotation_vector(R: Array) -> Array:
    """Axis times angle [rad] of rotation matrices (..., 3, 3), for angles of 0 to pi.

    [Khalil2019] (8.51). Beyond a right angle the axis is taken from the symmetric part of R,
    (1 - cos) u u^T, as the other part vanishes at pi; there, u and -u are the same.
    """
    S = 0.5 * np.stack(
        [
            R[..., 2, 1] - R[..., 1, 2],
            R[..., 0, 2] - R[..., 2, 0],
            R[..., 1, 0] - R[..., 0, 1],
        ],
        axis=-1,
    )
    cosine = 0.5 * (np.trace(R, axis1=-2, axis2=-1) - 1.0)[..., None]
    angle = np.arctan2(np.linalg.norm(S, axis=-1, keepdims=True), cosine)
    if (cosine >= 0.0).all():
        return S / np.sinc(angle / np.pi)
    B = 0.5 * (R + np.swapaxes(R, -1, -2)) - cosine[..., None] * np.eye(3)
    widest = np.argmax(np.diagonal(B, axis1=-2, axis2=-1), axis=-1)
    u = np.take_along_axis(B, widest[..., None, None], axis=-1)[..., 0]
    u = u / np.maximum(np.linalg.norm(u, axis=-1, keepdims=True), 1e-300)
    u = np.where((u * S).sum(axis=-1, keepdims=True) < 0.0, -u, u)
    return np.where(cosine >= 0.0, S / np.maximum(np.sinc(angle / np.pi), 0.5), angle * u)


def pose_of(name: str, value: ArrayLike) -> Array:
    """A pose as a (4, 4) array, or the error that says why it is none."""
    try:
        T = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        T = np.empty(0)
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise ArgumentError(f"{name} must be (4, 4) finite numbers, got {value!r}")
    R = T[:3, :3]
    if not np.allclose(T[3], (0.0, 0.0, 0.0, 1.0), rtol=0.0, atol=1e-9):
        raise ArgumentError(f"{name} must have the last row (0, 0, 0, 1), got {T[3]}")
    if not np.allclose(R.T @ R, np.eye(3), rtol=0.0, atol=1e-6) or np.linalg.det(R) < 0.0:
        raise ArgumentError(f"{name} must hold a rotation matrix in its upper left, got {R}")
    return T


def one_state(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """One finite posture (n,), or the error that says what is wrong with it."""
    (q,) = checked(model, **{name: value})
    if q.ndim != 1:
        raise ArgumentError(f"{name} must be one posture ({model.n},), got {q.shape}")
    return np.array(q)
