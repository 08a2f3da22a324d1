"""ElasticJointController: tracking with elastic joints, by feed-forward and state feedback.

    tau = Ia thetadd_d + tau_J,d + K_P (theta_d - theta) + K_D (thetad_d - thetad)
          + L_P (q_d - q) + L_D (qd_d - qd)

theta_d, its derivatives and the joint torque tau_J,d come from `dynamics.elastic`, by one sweep of
`force_jerk` along the reference. The feedback of the motors acts where they push, so that it takes
energy from arm and springs whatever the posture: with L = 0 and a reference at rest,

    V = kinetic energy + U(q) + 1/2 d^T K d + 1/2 e^T K_P e + e^T g(q_d)
    Vdot = -thetad^T K_D thetad - dd^T D dd  <= 0

with e = theta_d - theta and the deflection d = theta - q, as for a `PdGravityController` with
gravity at the desired posture. Feedback of the links raises the damping further.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.dispatch import per_joint
from ...dynamics.elastic import checked_springs, deflection, links_of
from ...dynamics.force_jerk import _force_jerk
from ...dynamics.mass_matrix import mass_matrix
from ...dynamics.motion import Motion
from ...errors import ArgumentError, one_of
from ...model.packed_model import U, aligned_copy
from ...model.robot import RobotModel
from ..controller import Array, Controller, JointState, gains_of, joint_array, part

# What the state must hold besides q and qd
NEEDED: dict[str, tuple[str, ...]] = {
    "both": ("motor_q", "motor_qd"),
    "torque": ("tau",),
    "motor": (),
}
EMPTY = np.zeros(0)
POSTURES = 32  # for the mean inertia of the links
RATE_FILTER = 300.0  # [1/s], of the rate of measured joint torques

# Rows of the law's own array, n numbers each
KP, KD, LINK_KP, LINK_KD, SPRING, DAMPER, ROTOR, VISCOUS = (U(k) for k in range(8))
TAU, TAU_DOT, TAU_DDOT, SNAP = (U(k) for k in range(8, 12))  # of the links
THETA, THETAD, BENT, BENT_RATE = (U(k) for k in range(12, 16))  # measured
THETAD_D = U(16)  # reference of the motors' velocity
LAST_JERK, LAST_BENT, LAST_RATE = (U(k) for k in range(17, 20))  # of the last sample
ROWS = 20


class SnapMotion(NamedTuple):
    """A `Motion` with its snap, (n,) each: the reference of an arm with elastic joints."""

    q: Array  # [rad or m]
    qd: Array  # [1/s]
    qdd: Array  # [1/s^2]
    qddd: Array  # [1/s^3]
    qdddd: Array  # [1/s^4]


class DriveReference(NamedTuple):
    """What the motors follow."""

    qd: Array  # [rad/s or m/s]


@kernel("int64(matrix, vector, vector, vector, float64, boolean)")
def _motors_from_torque(own, q, qd, tau_joint, dt, begun):
    """Set the motor state from link state and joint torque K (theta - q)."""
    n = U(own.shape[1])
    if q.size != n or qd.size != n or tau_joint.size != n:
        return 1
    share = -math.expm1(-RATE_FILTER * dt)
    for k in range(n):
        bent, rate = tau_joint[k] / own[SPRING, k], 0.0
        if begun:
            rate = own[LAST_RATE, k]
            rate += share * ((bent - own[LAST_BENT, k]) / dt - rate)
        own[BENT, k], own[BENT_RATE, k] = bent, rate
        own[THETA, k], own[THETAD, k] = q[k] + bent, qd[k] + rate
    return 0


@kernel(
    "int64(vector, matrix, vector, vector, vector, vector, vector, vector, vector, vector, vector,"
    " float64, boolean, vector)"
)
def _elastic(
    block, own, q, qd, theta, thetad, q_d, qd_d, qdd_d, qddd_d, qdddd_d, dt, begun, wanted
):  # fmt: skip
    n = U(wanted.size)
    if q.size != n or qd.size != n or theta.size != n or thetad.size != n or qddd_d.size != n:
        return 1
    tau, tau_dot, tau_ddot, snap = own[TAU], own[TAU_DOT], own[TAU_DDOT], own[SNAP]
    for k in range(n):
        if qdddd_d.size == n:
            snap[k] = qdddd_d[k]
        else:
            snap[k] = (qddd_d[k] - own[LAST_JERK, k]) / dt if begun else 0.0
    if _force_jerk(block, q_d, qd_d, qdd_d, qddd_d, snap, tau, tau_dot, tau_ddot) != 0:
        return 1
    bad = 0.0
    for k in range(n):
        drag = own[VISCOUS, k]
        tau[k] += drag * qd_d[k]
        rates = tau_dot[k] + drag * qdd_d[k], tau_ddot[k] + drag * qddd_d[k]
        K, D = own[SPRING, k], own[DAMPER, k]
        bent, bent_d, bent_dd = deflection(tau[k], rates[0], rates[1], K, D)
        own[THETAD_D, k] = qd_d[k] + bent_d
        wanted[k] = own[ROTOR, k] * (qdd_d[k] + bent_dd) + tau[k]
        wanted[k] += own[KP, k] * (q_d[k] + bent - theta[k])
        wanted[k] += own[KD, k] * (own[THETAD_D, k] - thetad[k])
        wanted[k] += own[LINK_KP, k] * (q_d[k] - q[k]) + own[LINK_KD, k] * (qd_d[k] - qd[k])
        bad += 0.0 * wanted[k]
    if bad != 0.0:
        return 1
    for k in range(n):
        own[LAST_JERK, k] = qddd_d[k]
        own[LAST_BENT, k], own[LAST_RATE, k] = own[BENT, k], own[BENT_RATE, k]
    return 0


class ElasticJointController(Controller):
    """Tracking of a `Motion` of the links of an arm with elastic joints.

    stiffness K [N m/rad or N/m], damping D [N m s/rad or N s/m]: by default the model's. kp, kd:
    feedback of the motors, link_kp, link_kd: of the links, [N m/rad or N/m] and
    [N m s/rad or N s/m]. link_viscous: friction of the links. One for all joints or one each.

    measured: what the state holds. 'both': q, qd of the links, motor_q, motor_qd of the motors.
    'torque': q, qd of the links and tau, joint torques K (theta - q) as torque sensors read them.
    'motor': q, qd of the motors alone; feedback of the links is left out then.

    A reference without the snap `qdddd` gets it by differences of qddd: a jump of the jerk becomes
    an impulse of one sample. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        stiffness: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
        *,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        link_kp: npt.ArrayLike = 0.0,
        link_kd: npt.ArrayLike = 0.0,
        link_viscous: npt.ArrayLike = 0.0,
        measured: str = "both",
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.stiffness, self.damping = checked_springs(model, stiffness, damping)
        self.kp, self.kd = gains_of(model, "kp", kp), gains_of(model, "kd", kd)
        self.link_kp = per_joint(model, "link_kp", link_kp)
        self.link_kd = per_joint(model, "link_kd", link_kd)
        self.measured = one_of("measured", measured, NEEDED)
        viscous = gains_of(model, "link_viscous", link_viscous, zero=True)
        self._packed = aligned_copy(links_of(model).packed)
        self._own = np.zeros((ROWS, model.n))
        rows = (self.kp, self.kd, self.link_kp, self.link_kd, self.stiffness, self.damping)
        self._own[: int(TAU)] = (*rows, model.rotor_inertia, viscous)
        if measured == "motor":
            self._own[int(LINK_KP) : int(LINK_KD) + 1] = 0.0
        self._from_torque = self._own[int(THETA)], self._own[int(THETAD)]
        self._motor_reference = DriveReference(self._own[int(THETAD_D)])
        self._begun = False  # whether there was a sample since the last reset

    @classmethod
    def with_frequency(
        cls,
        model: RobotModel,
        frequency: npt.ArrayLike,
        stiffness: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
        *,
        measured: str = "both",
        **options: Any,
    ) -> "ElasticJointController":
        """Return a controller with gains for the natural frequency w [rad/s] of its feedback.

        Where motors and links are measured, they minimize, for each joint by itself,

            integral of  (w^2 M e)^2 + (w M ed)^2 2 + u^2

        with the error e of the link, the torque u of the feedback and the inertia M of joint and
        rotor, a mean over postures. For motors alone they are w^2 M and 2 w M, as for rigid laws.
        """
        w = gains_of(model, "frequency", frequency)
        K, D = checked_springs(model, stiffness, damping)
        inertia = _mean_inertia(model)
        if measured == "motor":
            total = inertia + model.rotor_inertia
            gains = {"kp": w**2 * total, "kd": 2.0 * w * total}
        else:
            joints = zip(w, K, D, inertia, model.rotor_inertia, strict=True)
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # not finite: no solution
                    rows = np.array([_regulator(*joint) for joint in joints]).T
            except (np.linalg.LinAlgError, ValueError):
                raise ArgumentError(
                    f"there are no gains for frequency {w} rad/s, stiffness {K} and damping {D}: "
                    "they are too far apart"
                ) from None
            gains = dict(zip(("link_kp", "kp", "link_kd", "kd"), rows, strict=True))
        return cls(model, K, D, measured=measured, **gains, **options)

    def at_drives(self, state: Any, dt: float) -> Any:
        """Return the state with the velocity of the motors: damping of the links shakes the arm.

        A state without what is measured is returned as it is.
        """
        try:
            theta, thetad = self._motors(state, dt)
        except (TypeError, AttributeError):
            return state
        if theta.size == 0:
            return state
        self._own[int(LAST_BENT) : int(LAST_RATE) + 1] = self._own[int(BENT) : int(BENT_RATE) + 1]
        self._begun = True
        return JointState(state.q, thetad)

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Reset the rate limit and forget the last reference and joint torque."""
        super().reset(tau)
        self._begun = False

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r = state, reference
        theta, thetad = self._motors(x, dt)
        snap = getattr(r, "qdddd", None)
        failed = _elastic(
            self._packed, self._own, x.q, x.qd, theta, thetad, r.q, r.qd, r.qdd, r.qddd,
            EMPTY if snap is None else snap, dt, self._begun, self._wanted,
        )  # fmt: skip
        self._begun = self._begun or not failed
        return failed

    def _checked_state(self, state: Any) -> JointState:
        found = super()._checked_state(state)
        for name in NEEDED[self.measured]:
            if getattr(found, name) is None:
                raise ArgumentError(
                    f"a state must have '{name}' if measured is '{self.measured}', got {state!r}"
                )
        return found

    def _checked_reference(self, reference: Any) -> Any:
        names = ("q", "qd", "qdd", "qddd")
        parts = {name: part(reference, "reference", name) for name in names}
        if getattr(reference, "qdddd", None) is None:
            return Motion(*_arrays(self.model, parts))
        return SnapMotion(*_arrays(self.model, parts | {"qdddd": reference.qdddd}))

    def _drives(self, reference: Any) -> DriveReference:
        return self._motor_reference

    def _motors(self, state: Any, dt: float) -> tuple[Array, Array]:
        """Return positions and velocities of the motors, measured or from joint torques."""
        if self.measured == "motor":
            return state.q, state.qd
        if self.measured == "both":
            return state.motor_q, state.motor_qd
        failed = _motors_from_torque(self._own, state.q, state.qd, state.tau, dt, self._begun)
        return (EMPTY, EMPTY) if failed else self._from_torque


def _arrays(model: RobotModel, parts: dict[str, Any]) -> list[Array]:
    return [joint_array(model, f"reference.{name}", value) for name, value in parts.items()]


def _mean_inertia(model: RobotModel) -> Array:
    """Return the inertia (n,) of the links at each joint, mean over seeded random postures."""
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    postures = np.random.default_rng(0).uniform(low, high, (POSTURES, model.n))
    M = mass_matrix(links_of(model), postures)
    return np.asarray(np.diagonal(M, axis1=1, axis2=2).mean(axis=0))


def _regulator(w: float, K: float, D: float, m: float, rotor: float) -> Array:
    """Return the optimal gains of one joint for (q, theta, qd, thetad)."""
    total = m + rotor
    A = np.array(
        [
            [0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 1.0],
            [-K / m, K / m, -D / m, D / m],
            [K / rotor, -K / rotor, D / rotor, -D / rotor],
        ]
    )
    B = np.array([[0.0], [0.0], [0.0], [1.0 / rotor]])
    Q = np.diag([(w**2 * total) ** 2, 0.0, 2.0 * (w * total) ** 2, 0.0])
    scale = np.array([1.0, 1.0, w, w])  # so that all states are alike in size
    A, B, Q = A * scale / scale[:, None], B / scale[:, None], Q * np.outer(scale, scale)
    return np.asarray(B.T @ riccati(A, B, Q))[0] / scale


def riccati(A: Array, B: Array, Q: Array) -> Array:
    """Return the X that stabilizes, of A'X + XA - XBB'X + Q = 0.

    By the stable half of the Hamiltonian's eigenvectors: SciPy's function is as good for such
    small ones, but takes each node 0.2 s to import.
    """
    values, vectors = np.linalg.eig(np.block([[A, -B @ B.T], [-Q, -A.T]]))
    upper, lower = np.split(vectors[:, values.real < 0.0], 2)
    return np.asarray(np.linalg.solve(upper.T, lower.T).T.real)
