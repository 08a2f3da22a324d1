"""Moves in task space: straight lines and rotations of a frame, [Khalil2019] section 8.4.

A move is a path, the pose as a function of r from 0 to 1, with a time law r(t). Translation and
rotation share the time law, as two synchronized joints do. A path rotates about one axis or by
Euler angles, (8.49) to (8.57).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..dynamics.inverse_kinematics import pose_of, rotation_vector
from ..errors import ArgumentError, one_of
from ..model.rigid_body import as_numbers, as_vector
from .joint_move import JointMove, choose_duration, fastest_profile
from .trajectory import Array, MotionLimits

AXIS_FRAMES = ("tool", "base")
MIN_DISTANCE = 1e-12  # [m or rad], below which start and end are the same pose


class CartesianPath(Protocol):
    """Pose of a frame as a function of r from 0 to 1."""

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Return poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), its derivative."""


@dataclass(frozen=True, eq=False)
class AxisPath:
    """Translation along `shift`, and rotation by `angle` about one `axis`: (8.53), (8.54).

    The axis is fixed in the base and in the moving frame alike: (8.54) and (8.56) are one motion,
    with u_base = R_start u_tool. It passes through the point origin - arm, which moves along.
    """

    start: Array  # (4, 4)
    shift: Array  # (3,) [m]
    axis: Array  # (3,), unit vector, base axes
    angle: float  # [rad]
    arm: Array  # (3,) [m], from the axis to the frame's origin, at the start

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Return poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), its derivative."""
        R = rotations(self.axis, r * self.angle)
        swept = R @ self.arm
        T = np.tile(np.eye(4), (r.size, 1, 1))
        T[:, :3, :3] = R @ self.start[:3, :3]
        T[:, :3, 3] = self.start[:3, 3] - self.arm + swept + r[:, None] * self.shift
        w = np.broadcast_to(self.angle * self.axis, (r.size, 3))  # (8.57), per unit of r
        v = np.cross(w, swept)
        twist = np.hstack([self.shift + v, w])
        return T, twist, np.hstack([np.cross(w, v), np.zeros_like(w)])


@dataclass(frozen=True, eq=False)
class EulerPath:
    """Translation, and Euler angles (about z, x, z) that change in proportion: (8.55).

    The R^i in front of (8.55) as printed is one too many: with it, the move would start rotated
    twice by phi^i, theta^i, psi^i.
    """

    start: Array  # (4, 4)
    shift: Array  # (3,) [m]
    angles: Array  # (3,) [rad], phi, theta and psi at the start
    change: Array  # (3,) [rad]

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Return poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), its derivative."""
        phi, theta, psi = (self.angles + r[:, None] * self.change).T
        x, _, z = np.eye(3)
        R_1 = rotations(z, phi)
        R_2 = R_1 @ rotations(x, theta)
        T = np.tile(np.eye(4), (r.size, 1, 1))
        T[:, :3, :3] = R_2 @ rotations(z, psi)
        T[:, :3, 3] = self.start[:3, 3] + r[:, None] * self.shift
        w_1, w_2, w_3 = map(np.multiply, self.change, (z, R_1 @ x, R_2 @ z))
        twist = np.hstack([np.broadcast_to(self.shift, (r.size, 3)), w_1 + w_2 + w_3])
        # Each axis rotates with the rotations before it.
        wd = np.cross(w_1, w_2) + np.cross(w_1 + w_2, w_3)
        return T, twist, np.hstack([np.zeros_like(wd), wd])


class TaskMotion(NamedTuple):
    """Motion of a frame at one instant, or with a leading T at T instants."""

    T: Array  # (4, 4), pose in the base frame
    V: Array  # (6,), velocity of the origin [m/s], angular velocity [rad/s], base axes
    A: Array  # (6,), acceleration [m/s^2], angular acceleration [rad/s^2], base axes


class TaskMove:
    """Path with its time law r(t): (8.52). Before and after it, the frame rests at its ends."""

    def __init__(self, path: CartesianPath, law: JointMove) -> None:
        self.path = path
        self.law = law
        self.duration = law.duration  # [s]

    def at(self, t: float | npt.ArrayLike) -> TaskMotion:
        """Return pose, velocity and acceleration at time t [s], or at times (T,)."""
        law = self.law.at(t)
        r, rd, rdd = (np.reshape(x, (-1, 1)) for x in law[:3])
        T, twist, twist_rate = self.path.at(r[:, 0])
        motion = TaskMotion(T, twist * rd, twist_rate * rd**2 + twist * rdd)
        return motion if law.q.ndim == 2 else TaskMotion(*(x[0] for x in motion))

    def sample(self, dt: float) -> tuple[Array, TaskMotion]:
        """Return times (T,) every dt [s], ending with `duration`, and the motion at them."""
        t, _ = self.law.sample(dt)
        return t, self.at(t)


def line(
    T_start: npt.ArrayLike,
    T_end: npt.ArrayLike,
    *,
    profile: str = "quintic",
    v_max: float = math.inf,
    a_max: float = math.inf,
    w_max: float = math.inf,
    alpha_max: float = math.inf,
    duration: float | None = None,
    euler: bool = False,
) -> TaskMove:
    """Return the straight move from one pose (4, 4) to another: (8.48)-(8.54).

    The frame rotates about one axis, or with `euler` in proportion to the Euler angles, (8.55).
    v_max [m/s] and a_max [m/s^2] limit the translation, w_max [rad/s] and alpha_max [rad/s^2] the
    rotation angle (each Euler angle). profile and duration [s] as for `joint_move`.
    """
    start, end = pose_of("T_start", T_start), pose_of("T_end", T_end)
    shift = end[:3, 3] - start[:3, 3]
    D = float(np.linalg.norm(shift))  # (8.48)
    path: CartesianPath
    if euler:
        initial, change = euler_change(start[:3, :3], end[:3, :3])
        path, angles = EulerPath(start, shift, initial, change), np.abs(change)
    else:
        u, alpha = axis_angle(start[:3, :3], end[:3, :3], axis_frame="base")
        path, angles = AxisPath(start, shift, u, alpha, np.zeros(3)), np.array([alpha])
    limits = {"v_max": v_max, "a_max": a_max, "w_max": w_max, "alpha_max": alpha_max}
    return TaskMove(path, _time_law(D, angles, profile, limits, duration))


def turn(
    T_start: npt.ArrayLike,
    axis: npt.ArrayLike,
    angle: float,
    *,
    centre: npt.ArrayLike | None = None,
    axis_frame: str = "base",
    profile: str = "quintic",
    v_max: float = math.inf,
    a_max: float = math.inf,
    w_max: float = math.inf,
    alpha_max: float = math.inf,
    duration: float | None = None,
) -> TaskMove:
    """Return a rotation by any angle [rad] about an axis (3,) through a point: (8.56).

    axis and centre (3,) [m] are in the base frame, or with `axis_frame='tool'` in that of T_start
    (4, 4). Without a centre the frame rotates about its own origin. v_max and a_max hold along the
    arc of the origin; the other arguments are those of `line`.
    """
    start = pose_of("T_start", T_start)
    u = as_vector("axis", axis)
    if not u.any():
        raise ArgumentError("axis must have a length; it is (0, 0, 0)")
    if float(as_numbers("angle", angle)) == 0.0:
        raise ArgumentError("angle must not be 0: there would be no motion")
    R, P = start[:3, :3], start[:3, 3]
    one_of("axis_frame", axis_frame, AXIS_FRAMES)
    c = P if centre is None else as_vector("centre", centre)
    if axis_frame == "tool":
        u = R @ u
        c = P if centre is None else P + R @ c
    u = u / np.linalg.norm(u)
    radius = float(np.linalg.norm(np.cross(u, P - c)))
    path = AxisPath(start, np.zeros(3), u, float(angle), P - c)
    limits = {"v_max": v_max, "a_max": a_max, "w_max": w_max, "alpha_max": alpha_max}
    law = _time_law(radius * abs(angle), np.array([abs(angle)]), profile, limits, duration)
    return TaskMove(path, law)


def _time_law(
    D: float, angles: Array, profile: str, limits: dict[str, float], duration: float | None
) -> JointMove:
    """Return r(t) of distance and angles, synchronized as joints are: (8.23)-(8.35)."""
    for name, value in limits.items():
        if not (isinstance(value, (int, float)) and value > 0.0):
            raise ArgumentError(f"{name} must be a positive number, got {value!r}")
    distance = np.array([D, *angles])
    if distance.max() < MIN_DISTANCE:
        raise ArgumentError("the move's start and end are the same pose")
    v_max, a_max, w_max, alpha_max = limits.values()
    qd_max = np.array([v_max, *[w_max] * angles.size], dtype=np.float64)
    qdd_max = np.array([a_max, *[alpha_max] * angles.size], dtype=np.float64)
    parts = ("the line", *["the rotation"] * angles.size)
    motion_limits = MotionLimits(qd_max, qdd_max, np.full(distance.size, math.inf), parts)
    r = fastest_profile(profile, distance, motion_limits)
    times = r.minimum_times(distance, motion_limits)
    missing = "give v_max or a_max for a translation, w_max or alpha_max for a rotation"
    return JointMove(np.zeros(1), np.ones(1), r, choose_duration(times, duration, parts, missing))


def axis_angle(R_start: Array, R_end: Array, axis_frame: str = "tool") -> tuple[Array, float]:
    """Return axis u (3,) and angle alpha, 0 to pi [rad], from one rotation to another.

    In the moving frame ("tool"): R_start rot(u, alpha) = R_end, (8.49)-(8.51); in the base axes
    ("base"): rot(u, alpha) R_start = R_end, (8.56). For alpha = 0, u is z.
    """
    one_of("axis_frame", axis_frame, AXIS_FRAMES)
    vector = rotation_vector(R_start.T @ R_end)
    alpha = float(np.linalg.norm(vector))
    u = vector / alpha if alpha > 0.0 else np.array([0.0, 0.0, 1.0])
    return (u if axis_frame == "tool" else R_start @ u), alpha


def euler_angles(R: Array, phi: float = 0.0) -> Array:
    """Return phi, theta (0 to pi) and psi [rad] of R = rot(z, phi) rot(x, theta) rot(z, psi).

    For theta = 0 or pi only a sum or difference of the others is determined: then phi as given.
    """
    sine = math.hypot(R[0, 2], R[1, 2])
    theta = math.atan2(sine, R[2, 2])
    if sine > 1e-9:
        return np.array([math.atan2(R[0, 2], -R[1, 2]), theta, math.atan2(R[2, 0], R[2, 1])])
    both = math.atan2(-R[0, 1], R[0, 0])  # phi + psi, or psi - phi when z points backwards
    return np.array([phi, theta, both - phi if R[2, 2] > 0.0 else both + phi])


def euler_change(R_start: Array, R_end: Array) -> tuple[Array, Array]:
    """Return the Euler angles (3,) [rad] at the start and their shortest change to the end."""
    start = euler_angles(R_start, phi=float(euler_angles(R_end)[0]))
    end = euler_angles(R_end, phi=float(start[0]))
    change = end - start
    return start, (change + math.pi) % (2.0 * math.pi) - math.pi


def rotations(u: Array, angles: Array) -> Array:
    """Return rot(u, angle) (k, 3, 3) about a unit axis for angles (k,) [rad]."""
    x, y, z = u
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))
