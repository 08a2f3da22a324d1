"""NE* on symbols: variant 0001 of [DeLuca2009], about the joints' origins.

Moved from the centre of mass to the origin, the torque of a body is linear in eleven parameters:

    J wd + wa x J w + mc x a + m |c|^2 (w x wa)

All of it is made of the nine products X = w wa^T, as NE is of w w^T.
"""

from __future__ import annotations

import numpy as np

from ..angular import turns
from ..expression import Expression
from ..robot import ZERO, Body, Robot, Vector, cross, vector
from .newton_euler import handed_down


def ne_star(robot: Robot) -> list[list[Expression]]:
    """tau of q, qd, qd_a and qdd."""
    xd, xd_a, xdd = (robot.rates(name) for name in ("qd", "qd_a", "qdd"))
    motion: list[tuple[Vector, Vector, Vector, Vector, Vector]] = []
    forces: list[Vector] = []
    moments: list[Vector] = []
    for i, (body, turn) in enumerate(zip(robot.bodies, turns(robot), strict=True)):
        w, wa, wd = motion[turn.parent][:3] if turn.parent >= 0 else (ZERO, ZERO, ZERO)
        rate, rate_a = turn.total(xd), turn.total(xd_a)
        tilted, tilted_a = turn.tilted(w), turn.tilted(wa)
        w, wa = turn.turned(tilted), turn.turned(tilted_a)
        turning = vector(wa[1] * rate, -wa[0] * rate, turn.total(xdd))  # (AAR*)
        wd = turn.from_parent(wd) + turning
        w, wa = w + vector(0.0, 0.0, rate), wa + vector(0.0, 0.0, rate_a)  # (AVR), (AVR*)
        if body.parent < 0:
            a = body.from_parent(-robot.gravity)
        else:
            _, _, _, a_p, U_p = motion[body.parent]
            a = body.from_parent(a_p + U_p @ body.place)  # (LAR'*)
        if body.prismatic:
            across = w * xd_a[i] + wa * xd[i]
            a = a + vector(across[1], -across[0], xdd[i])
        X = np.outer(w, wa)
        U = _rate_matrix(X, wd, tilted[0] * tilted_a[0] + tilted[1] * tilted_a[1])
        motion.append((w, wa, wd, a, U))
        forces.append(body.m * a + U @ body.mc)  # (LAR*), (FR)
        moments.append(_euler(body, X, wd, U) + cross(body.mc, a))  # (TR*)
    return [handed_down(robot, forces, moments, robot.inputs("qdd"))]


def _rate_matrix(X: Vector, wd: Vector, about_z: Expression) -> Vector:
    """U = [wd x] + [w x][wa x]; `about_z` is X11 + X22, taken before the turn about z."""
    return np.array(
        [
            [-(X[1, 1] + X[2, 2]), X[1, 0] - wd[2], X[2, 0] + wd[1]],
            [X[0, 1] + wd[2], -(X[0, 0] + X[2, 2]), X[2, 1] - wd[0]],
            [X[0, 2] - wd[1], X[1, 2] + wd[0], -about_z],
        ],
        dtype=object,
    )


def _euler(body: Body, X: Vector, wd: Vector, U: Vector) -> Vector:
    """J wd + wa x J w + spread (w x wa)."""
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = body.J
    x, y, z = XX - body.spread, YY - body.spread, ZZ - body.spread
    return vector(
        XX * wd[0]
        + (z * X[2, 1] - y * X[1, 2])
        - XY * U[2, 0]
        + XZ * U[1, 0]
        + YZ * (U[1, 1] - U[2, 2]),
        YY * wd[1]
        + (x * X[0, 2] - z * X[2, 0])
        + XY * U[2, 1]
        + XZ * (U[2, 2] - U[0, 0])
        - YZ * U[0, 1],
        ZZ * wd[2]
        + (y * X[1, 0] - x * X[0, 1])
        + XY * (U[0, 0] - U[1, 1])
        - XZ * U[1, 2]
        + YZ * U[0, 2],
    )
