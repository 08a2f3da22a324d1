"""Inverse kinematics: damped least squares after Levenberg and Marquardt.

With the error e of position [m] and rotation vector [rad], each step is

    dq = J^T (J J^T + mu 1)^-1 e

mu falls while steps reduce the error as predicted, and rises when they do not. A joint that would
leave its limit is taken out of J. Steps are of minimum norm: a redundant arm stays near its start.
"""

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from ..model.rigid_body import as_vector
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike, checked
from .kinematics import ORIGIN, forward_kinematics, jacobian

MAX_STEPS = 200  # of one descent
START_POSTURES = 10  # q0 and random ones about it
MAX_NULL_SPACE_STEPS = 100  # towards the rest posture
LONGEST_STEP = 0.5  # [rad or m] of a joint
INITIAL_DAMPING, LARGEST_DAMPING = 1e-3, 1e9
NO_PROGRESS = 1e-10  # relative slope, or reduction of the squared error, at which steps end


class InverseKinematicsError(RobodynError):
    """No posture reaches the pose; `q` (n,) is the nearest one found."""

    def __init__(self, message: str, q: Array | None = None) -> None:
        super().__init__(message)
        self.q = q


class OutOfReachError(InverseKinematicsError):
    """The pose is out of the arm's reach, in position or orientation."""


class JointLimitError(InverseKinematicsError):
    """A joint would exceed its position or velocity limit."""


class SingularityError(InverseKinematicsError):
    """The posture is near a singularity."""


class Tip:
    """The frame to be placed: the axes of a link (by default the last), its origin at a point (3,)
    [m] of the link. Without `orientation` only the position counts.
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
        self.point = as_vector("point", point)
        self.size = 6 if orientation else 3

    def pose(self, q: Array) -> Array:
        """Return the pose (4, 4) in the base frame; batches as in `forward_kinematics`."""
        T = forward_kinematics(self.model, q, self.link)
        T[..., :3, 3] += T[..., :3, :3] @ self.point
        return T

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian (6, n), or (3, n) without orientation, in the base's axes."""
        J = jacobian(self.model, q, self.link)
        if self.point.any():
            arm = self.pose(q)[..., :3, :3] @ self.point
            J[..., :3, :] += np.cross(J[..., 3:, :], arm[..., None], axis=-2)
        return J[..., : self.size, :]

    def error(self, target: Array, q: Array) -> Array:
        """Return the position [m] and rotation vector [rad] to the target, (6,) or (3,)."""
        T = self.pose(q)
        way = target[..., :3, 3] - T[..., :3, 3]
        if self.size == 3:
            return way
        turn = rotation_vector(target[..., :3, :3] @ np.swapaxes(T[..., :3, :3], -1, -2))
        return np.concatenate([way, turn], axis=-1)

    @cached_property
    def rank(self) -> int:
        """Number of directions of the tip outside singularities: the largest of random ranks."""
        q = np.random.default_rng(0).uniform(-np.pi, np.pi, (16, self.model.n))
        return int(np.linalg.matrix_rank(self.jacobian(q), tol=1e-9).max())

    def smallest_singular_value(self, q: Array) -> Array:
        """Return the smallest singular value of the Jacobian [m or rad per unit joint speed]."""
        s = np.linalg.svd(self.jacobian(q), compute_uv=False)
        return np.asarray(s[..., self.rank - 1], dtype=np.float64)

    def lost_direction(self, q: Array) -> str:
        """Return a text that names the direction of the smallest singular value."""
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
        """Raise SingularityError if the smallest singular value is below `least`."""
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
    """Return joint positions (n,) [rad or m] that bring a link to a pose (4, 4).

    The link is the last one by default; `point` (3,) [m] of it is brought to the pose's origin,
    and without `orientation` only that counts. The search starts at q0 (n,) and, if it does not
    converge, at random postures farther and farther from q0. A redundant arm then moves as close
    to the posture `rest` (n,) as the pose allows. `limits`: respect the joint limits. `tolerance`
    [m and rad]. `singular`: smallest singular value that is accepted.

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
        q = _approach_rest(tip, target, q, one_state(model, "rest", rest), low, high, tolerance)
    tip.check_singularity(q, singular)
    return q


def approach(
    tip: Tip, target: Array, q: Array, low: Array, high: Array, tolerance: float
) -> tuple[Array, Array]:
    """Return the posture at which damped steps from q end, and the error left there."""
    e = tip.error(target, q)
    mu = min(INITIAL_DAMPING, float(e @ e))  # no damping near the solution
    for _ in range(MAX_STEPS):
        if within(e, tolerance):
            break
        J = tip.jacobian(q)
        downhill = J.T @ e
        free = ~blocked(q, downhill, low, high)
        if np.linalg.norm(downhill[free]) <= NO_PROGRESS * np.linalg.norm(e):
            break
        U, s, Vt = np.linalg.svd(J[:, free], full_matrices=False)
        while mu < LARGEST_DAMPING:
            step = np.zeros(q.size)
            step[free] = Vt.T @ (s / (s * s + mu) * (U.T @ e))
            step *= min(1.0, LONGEST_STEP / np.abs(step).max())
            q_new = np.clip(q + step, low, high)
            e_new = tip.error(target, q_new)
            gained = e @ e - e_new @ e_new
            if gained > 0.0:
                left = e - J @ (q_new - q)
                good = gained > 0.75 * (e @ e - left @ left)  # of the linear prediction
                mu *= 0.1 if good else 1.0
                break
            mu *= 4.0
        else:
            break
        q, e = q_new, e_new
        if gained < NO_PROGRESS * (e @ e):
            break
    return q, e


def within(e: Array, tolerance: float) -> bool:
    """Return whether the position and the rotation part of an error are below the tolerance."""
    return bool(np.linalg.norm(e[:3]) <= tolerance and np.linalg.norm(e[3:]) <= tolerance)


def blocked(q: Array, direction: Array, low: Array, high: Array) -> npt.NDArray[np.bool_]:
    """Return which joints are at a limit and would exceed it in this direction."""
    return ((q <= low) & (direction < 0.0)) | ((q >= high) & (direction > 0.0))


def _limits(model: RobotModel, limits: bool) -> tuple[Array, Array]:
    infinite = np.full(model.n, np.inf)
    return (model.q_min, model.q_max) if limits else (-infinite, infinite)


def _starts(q0: Array) -> Iterator[Array]:
    """Yield q0, then random postures farther and farther from it, the same at every call."""
    yield q0
    random = np.random.default_rng(0)
    for reach in np.geomspace(0.05, 1.5, START_POSTURES - 1):
        yield q0 + random.uniform(-reach, reach, q0.size)


def _approach_rest(
    tip: Tip, target: Array, q: Array, rest: Array, low: Array, high: Array, tolerance: float
) -> Array:
    """Return the posture closest to `rest` that is reached by steps in the null space."""
    share = 1.0
    for _ in range(MAX_NULL_SPACE_STEPS):
        free = ~blocked(q, rest - q, low, high)
        pull = np.zeros(q.size)
        pull[free] = _null_space_part(tip.jacobian(q)[:, free], (rest - q)[free])
        longest = np.abs(pull).max()
        if longest < 1e-7 or share < 1e-3:
            break
        step = share * min(1.0, LONGEST_STEP / longest) * pull
        nearer, e = approach(tip, target, np.clip(q + step, low, high), low, high, tolerance)
        if within(e, tolerance) and np.linalg.norm(nearer - rest) < np.linalg.norm(q - rest):
            q = nearer
        else:
            share *= 0.5
    return q


def _null_space_part(J: Array, z: Array) -> Array:
    """Return (1 - J^+ J) z, the part of the joint velocity z that does not move the tip."""
    _, s, Vt = np.linalg.svd(J, full_matrices=False)
    rows = Vt[s > 1e-9]
    return z - rows.T @ (rows @ z)


def failure(
    tip: Tip, target: Array, q: Array, low: Array, high: Array, tolerance: float
) -> InverseKinematicsError:
    """Return the error that says why the pose was not reached."""
    model, infinite = tip.model, np.full(q.size, np.inf)
    e = tip.error(target, q)
    if ((q <= low) | (q >= high)).any():
        elsewhere, left = approach(tip, target, q, -infinite, infinite, tolerance)
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
    """Return axis times angle (..., 3) [rad], 0 to pi, of rotation matrices (..., 3, 3).

    [Khalil2019] (8.51). Beyond a right angle the axis comes from the symmetric part of R,
    (1 - cos) u u^T, because the other part vanishes at pi, where u and -u are equivalent.
    """
    S = 0.5 * np.stack(
        [R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]],
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
    """Return a pose as a (4, 4) array; raise ArgumentError if it is none."""
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
    """Return one finite posture (n,); raise ArgumentError if it is none."""
    (q,) = checked(model, **{name: value})
    if q.ndim != 1:
        raise ArgumentError(f"{name} must be one posture ({model.n},), got {q.shape}")
    return np.array(q)
