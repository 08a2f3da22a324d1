"""The regressor on symbols: for each body, its motion times that of each joint that carries it.

A row of a body's ten columns is that of `dynamics/regressor.py`; the joints' unit motions z and v
are handed from body to body, and the body's motion is seen in its own axes as the model has them.
"""

from __future__ import annotations

import numpy as np

from ..angular import turns
from ..expression import Expression
from ..robot import ZERO, Robot, Scalar, Vector, cross, vector
from .newton_euler import rate_matrix

PARAMETERS = 10


def regressor(robot: Robot) -> list[list[Expression]]:
    """Y of q, qd and qdd, row by row; the robot is in the frames of its model."""
    xd, xdd = robot.rates("qd"), robot.rates("qdd")
    width = PARAMETERS * len(robot.bodies)
    Y = np.full((robot.n, width), 0.0, dtype=object)
    w: list[Vector] = []
    wd: list[Vector] = []
    a: list[Vector] = []
    U: list[Vector] = []
    units: list[dict[int, tuple[Vector, Vector]]] = []  # of each joint below: z and v
    for i, (body, turn) in enumerate(zip(robot.bodies, turns(robot), strict=True)):
        w_p, wd_p = (w[turn.parent], wd[turn.parent]) if turn.parent >= 0 else (ZERO, ZERO)
        tilted = turn.tilted(w_p)
        w_i, rate = turn.turned(tilted), turn.total(xd)
        turning = vector(w_i[1] * rate, -w_i[0] * rate, turn.total(xdd))
        a_i = -robot.gravity
        if body.parent >= 0:
            a_i = a[body.parent] + U[body.parent] @ body.place
        a_i = body.from_parent(a_i)
        if body.prismatic:
            a_i = a_i + vector(2.0 * w_i[1] * xd[i], -2.0 * w_i[0] * xd[i], xdd[i])
        wd.append(turn.from_parent(wd_p) + turning)
        w.append(w_i + vector(0.0, 0.0, rate))
        a.append(a_i)
        U.append(rate_matrix(w[i], wd[i], tilted))
        units.append(_units(robot, i, units))

        T = body.own
        plain = not (T - np.eye(3)).any()
        own_w, own_wd, own_a = (x if plain else T @ x for x in (w[i], wd[i], a[i]))
        own_U = U[i] if plain else rate_matrix(own_w, own_wd, own_w)
        columns = _columns(own_w, own_wd, own_U)
        for j, (z, v) in units[i].items():
            row = _row(z if plain else T @ z, v if plain else T @ v, own_a, own_U, columns)
            k, start = robot.bodies[j].coordinate, PARAMETERS * i
            share = robot.bodies[j].ratio * row
            Y[k, start : start + PARAMETERS] = Y[k, start : start + PARAMETERS] + share
    return [list(Y.flat)]


def _units(
    robot: Robot, i: int, known: list[dict[int, tuple[Vector, Vector]]]
) -> dict[int, tuple[Vector, Vector]]:
    """How each joint below turns body i and moves its origin, at unit rate."""
    body, found = robot.bodies[i], {}
    if body.parent >= 0:
        for j, (z, v) in known[body.parent].items():
            v = v + cross(z, body.place)
            found[j] = body.from_parent(z), body.from_parent(v)
    along = vector(0.0, 0.0, 1.0)
    found[i] = (ZERO, along) if body.prismatic else (along, ZERO)
    return found


def _columns(w: Vector, wd: Vector, U: Vector) -> list[Vector]:
    """The torque J wd + w x J w for a unit of XX, XY, XZ, YY, YZ, ZZ."""
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return [
        vector(wd[0], xz, -xy),
        vector(-U[2, 0], U[2, 1], U[0, 0] - U[1, 1]),
        vector(U[1, 0], U[2, 2] - U[0, 0], -U[1, 2]),
        vector(-yz, wd[1], xy),
        vector(U[1, 1] - U[2, 2], -U[0, 1], U[0, 2]),
        vector(yz, -xz, wd[2]),
    ]


def _row(z: Vector, v: Vector, a: Vector, U: Vector, columns: list[Vector]) -> Vector:
    """A joint's share of a body's wrench, per unit of each of its ten parameters."""
    moments: list[Scalar] = [z @ column for column in columns]
    return vector(v @ a, *(v @ U + cross(a, z)), *moments)
