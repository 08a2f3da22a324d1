"""Moves in task space: straight lines and turns of a frame, [Khalil2019] section 8.4.

A move is a way, the pose as a function of r from 0 to 1, and a time law r(t) which all share that
has to move: the translation and the rotation are synchronized as two joints would be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..dynamics.inverse_kinematics import pose_of, rotation_vector
from ..errors import ArgumentError
from ..model.rigid_body import as_numbers, as_vector
from .joint_move import JointMove
from .profiles import fastest_profile
from .trajectory import Array, MotionLimits

AXIS_FRAMES = ("tool", "base")


class TaskMotion(NamedTuple):
    """How a frame moves at one instant; at T instants each has a leading T."""

    T: Array  # (4, 4), its pose in the base frame
    V: Array  # (6,), velocity of its origin [m/s], then angular velocity [rad/s], base axes
    A: Array  # (6,), acceleration [m/s^2], angular acceleration [rad/s^2], base axes


class Way(Protocol):
    """Where a move goes, whatever the time."""

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), and its derivative."""


@dataclass(frozen=True, eq=False)
class AxisWay:
    """A translation along `shift` and a rotation by `angle` about one `axis`: (8.53), (8.54).

    The axis is fixed in the base and in the moving frame alike: (8.54) and (8.56) are one motion,
    with u_base = R_start u_tool. It goes through the point origin - arm, which is carried along.
    """

    start: Array  # (4, 4)
    shift: Array  # (3,) [m]
    axis: Array  # (3,), unit, in the base's axes
    angle: float  # [rad]
    arm: Array  # (3,) [m], from the axis to the frame's origin, at the start

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), and its derivative."""
        turned = rotations(self.axis, r * self.angle)
        swept = turned @ self.arm
        T = np.tile(np.eye(4), (r.size, 1, 1))
        T[:, :3, :3] = turned @ self.start[:3, :3]
        T[:, :3, 3] = self.start[:3, 3] - self.arm + swept + r[:, None] * self.shift
        w = np.broadcast_to(self.angle * self.axis, (r.size, 3))  # (8.57), per unit of r
        v = np.cross(w, swept)
        twist = np.hstack([self.shift + v, w])
        return T, twist, np.hstack([np.cross(w, v), np.zeros_like(w)])


@dataclass(frozen=True, eq=False)
class EulerWay:
    """A translation, and Euler angles (about z, x, z) that change in proportion: (8.55).

    The R^i in front of (8.55) as printed is one too many: with it, the move would begin turned
    twice by phi^i, theta^i, psi^i.
    """

    start: Array  # (4, 4)
    shift: Array  # (3,) [m]
    angles: Array  # (3,) [rad], phi, theta and psi at the start
    change: Array  # (3,) [rad]

    def at(self, r: Array) -> tuple[Array, Array, Array]:
        """Poses (k, 4, 4) at r (k,), the twist per unit of r (k, 6), and its derivative."""
        phi, theta, psi = (self.angles + r[:, None] * self.change).T
        x, _, z = np.eye(3)
        R_1 = rotations(z, phi)
        R_2 = R_1 @ rotations(x, theta)
        T = np.tile(np.eye(4), (r.size, 1, 1))
        T[:, :3, :3] = R_2 @ rotations(z, psi)
        T[:, :3, 3] = self.start[:3, 3] + r[:, None] * self.shift
        w_1, w_2, w_3 = (
            rate * axis for rate, axis in zip(self.change, (z, R_1 @ x, R_2 @ z), strict=True)
        )
        w = w_1 + w_2 + w_3
        twist = np.hstack([np.broadcast_to(self.shift, (r.size, 3)), w])
        # Each axis is carried along by the rotations before it.
        bend = np.cross(w_1, w_2) + np.cross(w_1 + w_2, w_3)
        return T, twist, np.hstack([np.zeros_like(bend), bend])


class TaskMove:
    """A way and its time law r(t): (8.52). Before and after it, the frame rests at its ends."""

    def __init__(self, way: Way, law: JointMove) -> None:
        self.way = way
        self.law = law
        self.duration = law.duration  # [s]

    def at(self, t: float | npt.ArrayLike) -> TaskMotion:
        """Pose, velocity and acceleration at the time t [s], or at times (T,)."""
        law = self.law.at(t)
        r, rd, rdd = (np.reshape(x, (-1, 1)) for x in law[:3])
        T, twist, bend = self.way.at(r[:, 0])
        motion = TaskMotion(T, twist * rd, bend * rd**2 + twist * rdd)
        return motion if law.q.ndim == 2 else TaskMotion(*(x[0] for x in motion))

    def sample(self, dt: float) -> tuple[Array, TaskMotion]:
        """Times (T,) every dt [s] from 0 on, `duration` always the last, and the motion there."""
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
    """Straight from one pose (4, 4) to another, turning about one axis all the way: (8.48)-(8.54).

    With `euler` the Euler angles change in proportion instead, (8.55). Limits on the velocity
    [m/s] and acceleration [m/s^2] along the line, and on the angle's [rad/s, rad/s^2] (each Euler
    angle's); profiles and duration as for `joint_move`.
    """
    start, end = pose_of("T_start", T_start), pose_of("T_end", T_end)
    shift = end[:3, 3] - start[:3, 3]
    D = float(np.linalg.norm(shift))  # (8.48)
    way: Way
    if euler:
        angles, change = _euler_change(start[:3, :3], end[:3, :3])
        way, turns = EulerWay(start, shift, angles, change), np.abs(change)
    else:
        u, alpha = axis_angle(start[:3, :3], end[:3, :3], axis_frame="base")
        way, turns = AxisWay(start, shift, u, alpha, np.zeros(3)), np.array([alpha])
    return TaskMove(way, _time_law(D, turns, profile, v_max, a_max, w_max, alpha_max, duration))


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
    """Turn by an angle [rad] of any size about an axis through a point: (8.56).

    axis and centre [m] are in the base frame or, as `axis_frame` says, in that of T_start
    ("tool"). Without a centre the frame turns about its own origin. v_max and a_max hold along
    the arc that the origin describes; the rest is as for `line`.
    """
    start = pose_of("T_start", T_start)
    u, c = as_vector("axis", axis), np.zeros(3)
    if not u.any():
        raise ArgumentError("axis must have a length; it is (0, 0, 0)")
    if float(as_numbers("angle", angle)) == 0.0:
        raise ArgumentError("angle must not be 0: there is nothing to turn")
    R, P = start[:3, :3], start[:3, 3]
    _check_axis_frame(axis_frame)
    if axis_frame == "tool":
        u = R @ u
        c = P if centre is None else P + R @ as_vector("centre", centre)
    else:
        c = P if centre is None else as_vector("centre", centre)
    u = u / np.linalg.norm(u)
    radius = float(np.linalg.norm(np.cross(u, P - c)))
    way = AxisWay(start, np.zeros(3), u, float(angle), P - c)
    turns = np.array([abs(angle)])
    return TaskMove(
        way,
        _time_law(
            radius * abs(angle),
            turns,
            profile,
            v_max,
            a_max,
            w_max,
            alpha_max,
            duration,
        ),
    )


def axis_angle(R_start: Array, R_end: Array, axis_frame: str = "tool") -> tuple[Array, float]:
    """The axis u (3,) and the angle alpha, 0 to pi [rad], from one rotation to another.

    In the moving frame ("tool"): R_start rot(u, alpha) = R_end, (8.49)-(8.51); in the base's axes
    ("base"): rot(u, alpha) R_start = R_end, (8.56). Without a turn, u is z.
    """
    _check_axis_frame(axis_frame)
    turn = rotation_vector(R_start.T @ R_end)
    alpha = float(np.linalg.norm(turn))
    u = turn / alpha if alpha > 0.0 else np.array([0.0, 0.0, 1.0])
    return (u if axis_frame == "tool" else R_start @ u), alpha


def _check_axis_frame(axis_frame: str) -> None:
    if axis_frame not in AXIS_FRAMES:
        raise ArgumentError(f"axis_frame must be 'tool' or 'base', got {axis_frame!r}")


def euler_angles(R: Array, phi: float = 0.0) -> Array:
    """phi, theta (0 to pi) and psi [rad] of R = rot(z, phi) rot(x, theta) rot(z, psi).

    With theta 0 or pi only a sum or difference of the others is determined: then phi as given.
    """
    sine = math.hypot(R[0, 2], R[1, 2])
    theta = math.atan2(sine, R[2, 2])
    if sine > 1e-9:
        return np.array([math.atan2(R[0, 2], -R[1, 2]), theta, math.atan2(R[2, 0], R[2, 1])])
    both = math.atan2(-R[0, 1], R[0, 0])  # phi + psi, or psi - phi when z points backwards
    return np.array([phi, theta, both - phi if R[2, 2] > 0.0 else both + phi])


def _euler_change(R_start: Array, R_end: Array) -> tuple[Array, Array]:
    """Euler angles at the start, and the shortest change of each that leads to the end's."""
    start = euler_angles(R_start, phi=float(euler_angles(R_end)[0]))
    end = euler_angles(R_end, phi=float(start[0]))
    change = end - start
    return start, (change + math.pi) % (2.0 * math.pi) - math.pi


def rotations(u: Array, angles: Array) -> Array:
    """(k, 3, 3): rot(u, angle) about a unit axis for angles (k,) [rad]."""
    x, y, z = u
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    s, c = np.sin(angles)[:, None, None], np.cos(angles)[:, None, None]
    return np.asarray(np.eye(3) + s * K + (1.0 - c) * (K @ K))


def _time_law(
    D: float,
    turns: Array,
    profile: str,
    v_max: float,
    a_max: float,
    w_max: float,
    alpha_max: float,
    duration: float | None,
) -> JointMove:
    """r(t) of the distance and the angles as if they were joints, homothetic: (8.23)-(8.35)."""
    given = {"v_max": v_max, "a_max": a_max, "w_max": w_max, "alpha_max": alpha_max}
    for name, value in given.items():
        if not (isinstance(value, (int, float)) and value > 0.0):
            raise ArgumentError(f"{name} must be a positive number, got {value!r}")
    distance = np.array([D, *turns])
    qd_max, qdd_max = np.full((2, distance.size), [[w_max], [alpha_max]], dtype=np.float64)
    qd_max[0], qdd_max[0] = v_max, a_max
    names = ("translation", *(f"rotation_{k + 1}" for k in range(turns.size)))
    limits = MotionLimits(qd_max, qdd_max, np.full(distance.size, math.inf), names)
    r = fastest_profile(profile, distance, limits)
    times = r.minimum_times(distance, limits)
    return JointMove(np.zeros(1), np.ones(1), r, _duration(distance, times, duration))


def _duration(distance: Array, times: Array, wanted: float | None) -> float:
    """The shortest time, or the one that is wanted if it is long enough."""
    slowest = int(np.argmax(times))
    least = float(times[slowest])
    if distance.max() < 1e-12:
        raise ArgumentError("the move's start and end are the same pose")
    if wanted is None:
        if least == 0.0:
            raise ArgumentError(
                "nothing tells how long the move shall take: give v_max or a_max for its "
                "translation, w_max or alpha_max for its rotation, or a duration"
            )
        return least
    if not (isinstance(wanted, (int, float)) and math.isfinite(wanted) and wanted > 0.0):
        raise ArgumentError(f"duration must be positive and finite [s], got {wanted!r}")
    if wanted < least * (1.0 - 1e-12):
        part, named = ("rotation", "w_max or alpha_max") if slowest else ("line", "v_max or a_max")
        raise ArgumentError(
            f"duration {wanted:g} s is too short: the {part} needs {least:.6g} s; "
            f"take longer or raise {named}"
        )
    return float(wanted)
