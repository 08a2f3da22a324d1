"""Task-space laws: tracking the pose of a point of a link, [Khalil2019] 9.4.3 and 9.3.3.

TaskSpaceController, resolved acceleration, with J^+ damped near singular postures:

    tau = A(q) qdd + H(q, qd),   qdd = J^+ (w - Jdot qd) + (1 - J^+ J) a      [9.33]
    w = A_d + Kd (V_d - V) + Kp e                                             [9.35]

so that  edd + Kd ed + Kp e = 0  [9.36]; a = -D qd + D^2/4 (posture - q) damps the null space.
TaskSpacePid, whose only model is J:

    tau = J^T (Kp e + Kd (V_d - V) + Ki integral of e)                        [9.17]
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dynamics.kinematics import jacobian
from ...errors import ArgumentError, positive
from ...model.packed_model import aligned_copy, pack_frame
from ...model.rigid_body import as_numbers, as_vector
from ...model.robot import RobotModel
from ..controller import Array, Controller, gains_of, joint_array, part
from . import task_kernels as at

ORIGIN = (0.0, 0.0, 0.0)
DEXTERITY_MIN = 0.05  # half of that of a light-weight arm in a random posture


class PoseMotion(NamedTuple):
    """Reference pose of a point of a link; laws take any object with these names."""

    T: Array  # (4, 4), the pose in the base frame
    V: Array  # (6,), linear [m/s] then angular velocity [rad/s], base's axes
    A: Array  # (6,), linear [m/s^2] then angular acceleration [rad/s^2]

    @classmethod
    def at_rest(cls, T: npt.ArrayLike) -> "PoseMotion":
        """Return the reference that stays at the pose T (4, 4)."""
        return cls(np.array(T, dtype=np.float64), np.zeros(6), np.zeros(6))


class _PoseController(Controller):
    """Base of the laws that follow the pose of a point of a link, or only its position."""

    def __init__(
        self,
        model: RobotModel,
        link: str,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        ki: npt.ArrayLike,
        point: npt.ArrayLike,
        orientation: bool,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.link, self.orientation = link, bool(orientation)
        self.point = as_vector("point", point)
        self._rows = 6 if orientation else 3
        self._check_reach()
        self._packed = aligned_copy(model.packed, pack_frame(model, link), self.point)
        self._six = np.zeros((int(at.L) + 6, 6))
        for row, name, gains in ((at.KP, "kp", kp), (at.KD, "kd", kd), (at.KI, "ki", ki)):
            self._six[int(row)] = _task_gains(name, gains)
        self._J, self._pose_now = np.zeros(6 * model.n), np.zeros((4, 4))

    @property
    def error(self) -> Array:
        """Pose error (6,) of the last call, [m] then [rad]; a copy."""
        return self._six[int(at.E)].copy()

    def _check_reach(self) -> None:
        model = self.model
        model.frame(self.link)
        q = np.random.default_rng(0).uniform(-1.0, 1.0, model.n)
        rank = np.linalg.matrix_rank(jacobian(model, q, self.link, self.point)[: self._rows])
        if rank < self._rows:
            remedy = "; orientation=False follows its position alone" if self.orientation else ""
            raise ArgumentError(
                f"robot '{model.name}' moves link '{self.link}' in only {rank} of the "
                f"{self._rows} directions that this law needs{remedy}"
            )

    def _checked_reference(self, reference: Any) -> PoseMotion:
        T, V, A = (part(reference, "reference", name) for name in ("T", "V", "A"))
        return PoseMotion(_pose_of(T), _six_of("V", V), _six_of("A", A))


class TaskSpaceController(_PoseController):
    """Computed torque in the task space, also for redundant arms.

    Follows a `PoseMotion` of a point [m] of a link, or only its position with orientation=False.
    kp [1/s^2], kd [1/s]: one number, or six: linear, then angular. null_damping: D [1/s], of the
    null-space motion, one for all joints or one each. posture: attracts the null-space motion, if
    given. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        link: str,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        *,
        point: npt.ArrayLike = ORIGIN,
        orientation: bool = True,
        null_damping: npt.ArrayLike = 10.0,
        posture: npt.ArrayLike | None = None,
        dexterity_min: float = DEXTERITY_MIN,
        **options: Any,
    ) -> None:
        super().__init__(model, link, kp, kd, 1.0, point, orientation, **options)
        self._dexterity = np.array([np.inf, positive("dexterity_min", dexterity_min)])
        damping = gains_of(model, "null_damping", null_damping)
        self._own = np.zeros((4, model.n))
        self._own[int(at.DAMPING)] = damping
        if posture is not None:
            self._own[int(at.STIFFNESS)] = 0.25 * damping**2
            self._own[int(at.POSTURE)] = joint_array(model, "posture", posture)

    @property
    def dexterity(self) -> float:
        """Distance of the last posture from a singular one, see `task_kernels`."""
        return float(self._dexterity[0])

    @property
    def near_singular(self) -> bool:
        """Whether the last torque gave up part of the reference, near a singular posture."""
        return bool(self._dexterity[0] < self._dexterity[1])

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r, own, pose = state, reference, self._own, self._pose_now
        return at.resolved_acceleration(
            self._packed, self._six, own, self._J, pose, self._dexterity, self._rows,
            x.q, x.qd, r.T, r.V, r.A, self._wanted,
        )  # fmt: skip


class JointTaskController(TaskSpaceController):
    """The law of `TaskSpaceController` for the hand of a `Motion` of the joints.

    The null-space motion is attracted by the joints' reference. Arguments are those of
    `TaskSpaceController`.
    """

    def __init__(
        self, model: RobotModel, link: str, *gains: npt.ArrayLike, **options: Any
    ) -> None:
        super().__init__(model, link, *gains, posture=np.zeros(model.n), **options)
        self._pose = PoseMotion.at_rest(np.eye(4))

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        r, pose = reference, self._pose
        if at.pose_reference(self._packed, self._J, r.q, r.qd, r.qdd, *pose):
            return 1
        self._own[int(at.POSTURE)] = r.q
        return super()._law(state, pose, dt)

    def _checked_reference(self, reference: Any) -> Any:
        return Controller._checked_reference(self, reference)


class TaskSpacePid(_PoseController):
    """PID on the pose of a point of a link; its model is J and, on request, gravity.

    kp [N/m, N m/rad], kd [N s/m, N m s/rad], ki [N/(m s), N m/(rad s)]: one number, or six:
    linear, then angular; ki may be 0. The null-space motion of a redundant arm is not controlled:
    friction must damp it. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        link: str,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        ki: npt.ArrayLike = 0.0,
        *,
        point: npt.ArrayLike = ORIGIN,
        orientation: bool = True,
        gravity: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(model, link, kp, kd, ki, point, orientation, **options)
        self.gravity = bool(gravity)

    @property
    def integral(self) -> Array:
        """Integral part (6,) of the force [N] and torque [N m]; a copy."""
        return self._six[int(at.INTEGRAL)].copy()

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Reset integral and rate limit; the integral brings the first torque near `tau` (n,)."""
        super().reset(tau)
        self._six[int(at.INTEGRAL)] = 0.0

    def _taken_up(self, missing: Array) -> Array:
        rows = np.flatnonzero(self._six[int(at.KI), : self._rows] > 0.0)
        J = self._J.reshape(6, -1)[rows]
        # In nearly singular directions the force would be unbounded
        force = np.linalg.pinv(J.T, rcond=DEXTERITY_MIN) @ missing
        self._six[int(at.INTEGRAL), rows] += force
        return np.asarray(J.T @ force)

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r, pose = state, reference, self._pose_now
        return at.task_pid(
            self._packed, self._six, self._J, pose, self._rows, self.gravity,
            x.q, x.qd, r.T, r.V, self.excess, dt, self._wanted,
        )  # fmt: skip


def _task_gains(name: str, value: npt.ArrayLike) -> Array:
    """Return gains (6,) from one number or six; only ki may be 0."""
    try:
        gains = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (6,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or 6, got {value!r}") from None
    if not (np.isfinite(gains) & ((gains > 0.0) | (name == "ki") & (gains == 0.0))).all():
        raise ArgumentError(f"{name} must be positive and finite, got {value!r}")
    return gains


def _pose_of(T: Any) -> Array:
    pose = np.ascontiguousarray(as_numbers("reference.T", T))
    if pose.shape != (4, 4):
        raise ArgumentError(f"reference.T must be 4 x 4 numbers, got {T!r}")
    R = pose[:3, :3]
    if not (
        np.allclose(R @ R.T, np.eye(3), atol=at.ROTATION_TOLERANCE) and np.linalg.det(R) > 0.0
    ):
        raise ArgumentError(f"reference.T must be a pose; its upper left is no rotation:\n{pose}")
    return pose


def _six_of(name: str, value: Any) -> Array:
    six = as_numbers(f"reference.{name}", value)
    if six.shape != (6,):
        raise ArgumentError(f"reference.{name} must be 6 numbers, got {value!r}")
    return six
