"""Ways of a frame: the pose as a function of r from 0 to 1, and the turns they are made of.

Lines with a turn about one axis or by Euler angles, [Khalil2019] (8.49) to (8.57).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..dynamics.inverse_kinematics import rotation_vector
from ..errors import ArgumentError
from .trajectory import Array

AXIS_FRAMES = ("tool", "base")


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


def axis_angle(R_start: Array, R_end: Array, axis_frame: str = "tool") -> tuple[Array, float]:
    """The axis u (3,) and the angle alpha, 0 to pi [rad], from one rotation to another.

    In the moving frame ("tool"): R_start rot(u, alpha) = R_end, (8.49)-(8.51); in the base's axes
    ("base"): rot(u, alpha) R_start = R_end, (8.56). Without a turn, u is z.
    """
    check_axis_frame(axis_frame)
    turn = rotation_vector(R_start.T @ R_end)
    alpha = float(np.linalg.norm(turn))
    u = turn / alpha if alpha > 0.0 else np.array([0.0, 0.0, 1.0])
    return (u if axis_frame == "tool" else R_start @ u), alpha


def check_axis_frame(axis_frame: str) -> None:
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


def euler_change(R_start: Array, R_end: Array) -> tuple[Array, Array]:
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
