"""Moves in task space: straight lines and turns of a frame, [Khalil2019] section 8.4.

A move is a way, the pose as a function of r from 0 to 1, and a time law r(t) which all share that
has to move: the translation and the rotation are synchronized as two joints would be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.inverse_kinematics import pose_of
from ..errors import ArgumentError
from ..model.rigid_body import as_numbers, as_vector
from .cartesian_paths import AxisWay, EulerWay, Way, axis_angle, check_axis_frame, euler_change
from .joint_move import JointMove
from .profiles import fastest_profile
from .trajectory import Array, MotionLimits, positive


class TaskMotion(NamedTuple):
    """How a frame moves at one instant; at T instants each has a leading T."""

    T: Array  # (4, 4), its pose in the base frame
    V: Array  # (6,), velocity of its origin [m/s], then angular velocity [rad/s], base axes
    A: Array  # (6,), acceleration [m/s^2], angular acceleration [rad/s^2], base axes


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
        angles, change = euler_change(start[:3, :3], end[:3, :3])
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
    check_axis_frame(axis_frame)
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
    seconds = positive("duration", wanted)
    if seconds < least * (1.0 - 1e-12):
        part, named = ("rotation", "w_max or alpha_max") if slowest else ("line", "v_max or a_max")
        raise ArgumentError(
            f"duration {seconds:g} s is too short: the {part} needs {least:.6g} s; "
            f"take longer or raise {named}"
        )
    return seconds
