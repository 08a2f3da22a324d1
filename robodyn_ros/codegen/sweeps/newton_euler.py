"""NE on symbols: [Khalil2019] (7.51)-(7.61), with the products of velocities shared.

The nine elements of U = [wd x] + [w x][w x] serve three times: for the next origin's acceleration,
for the force U mc, and for the torque, whose component along x is

    XX wd1 + (ZZ - YY) w2 w3 - XY U31 + XZ U21 + YZ (U22 - U33)

and so on round the axes. w1^2 + w2^2 does not change when the body turns about z, so that it is
taken before the turn, where it is often known already.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..angular import Turn, turns
from ..expression import Expression
from ..robot import ZERO, Body, Robot, Scalar, Vector, cross, vector


def inverse_dynamics(robot: Robot) -> list[list[Expression]]:
    """tau of q, qd and qdd."""
    return [torques(robot, robot.rates("qd"), robot.rates("qdd"), robot.inputs("qdd"))]


def gravity_torque(robot: Robot) -> list[list[Expression]]:
    """tau of q alone."""
    still: list[Scalar] = [0.0] * len(robot.bodies)
    return [torques(robot, still, still, [0.0] * robot.n)]


def torques(
    robot: Robot,
    xd: list[Scalar],
    xdd: list[Scalar],
    qdd: list[Scalar],
    moves: list[Turn] | None = None,
) -> list[Any]:
    """One sweep out, one back; the rates of the joints, and qdd for the rotors."""
    return handed_down(robot, *wrenches(robot, xd, xdd, moves), qdd)


def wrenches(
    robot: Robot, xd: list[Scalar], xdd: list[Scalar], moves: list[Turn] | None = None
) -> tuple[list[Vector], list[Vector]]:
    """The sweep out: the force and the moment about its origin that move each body."""
    w: list[Vector] = []
    wd: list[Vector] = []
    a: list[Vector] = []
    U: list[Vector] = []
    forces: list[Vector] = []
    moments: list[Vector] = []
    for i, (body, turn) in enumerate(zip(robot.bodies, moves or turns(robot), strict=True)):
        on_base, p = body.parent < 0, body.parent
        below = (ZERO, ZERO) if turn.parent < 0 else (w[turn.parent], wd[turn.parent])
        rate, acceleration = turn.total(xd), turn.total(xdd)
        tilted = turn.tilted(below[0])
        w_i = turn.turned(tilted)
        wd_i = turn.from_parent(below[1])
        wd_i = wd_i + vector(w_i[1] * rate, -w_i[0] * rate, acceleration)
        w_i = w_i + vector(0.0, 0.0, rate)
        a_i = -robot.gravity if on_base else a[p] + U[p] @ body.place
        a_i = body.from_parent(a_i)
        if body.prismatic:
            a_i = a_i + vector(2.0 * w_i[1] * xd[i], -2.0 * w_i[0] * xd[i], xdd[i])
        w.append(w_i)
        wd.append(wd_i)
        a.append(a_i)
        U.append(rate_matrix(w_i, wd_i, tilted))
        forces.append(body.m * a_i + U[i] @ body.mc)
        moments.append(euler(body, w_i, wd_i, U[i]) + cross(body.mc, a_i))
    return forces, moments


def rate_matrix(w: Vector, wd: Vector, tilted: Vector) -> Vector:
    """U; `tilted` is w before the turn about z."""
    xx, yy, zz = w * w
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return np.array(
        [
            [-(yy + zz), xy - wd[2], xz + wd[1]],
            [xy + wd[2], -(xx + zz), yz - wd[0]],
            [xz - wd[1], yz + wd[0], -(tilted[0] * tilted[0] + tilted[1] * tilted[1])],
        ],
        dtype=object,
    )


def euler(body: Body, w: Vector, wd: Vector, U: Vector) -> Vector:
    """J wd + w x J w."""
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = body.J
    return vector(
        XX * wd[0]
        + (ZZ - YY) * (w[1] * w[2])
        - XY * U[2, 0]
        + XZ * U[1, 0]
        + YZ * (U[1, 1] - U[2, 2]),
        YY * wd[1]
        + (XX - ZZ) * (w[0] * w[2])
        + XY * U[2, 1]
        + XZ * (U[2, 2] - U[0, 0])
        - YZ * U[0, 1],
        ZZ * wd[2]
        + (YY - XX) * (w[0] * w[1])
        + XY * (U[0, 0] - U[1, 1])
        - XZ * U[1, 2]
        + YZ * U[0, 2],
    )


def handed_down(
    robot: Robot, forces: list[Vector], moments: list[Vector], qdd: list[Scalar]
) -> list[Any]:
    """The sweep back: wrenches from body to parent, and what each joint takes of them."""
    forces, moments = list(forces), list(moments)
    tau: list[Scalar] = [rotor * x for rotor, x in zip(robot.rotors, qdd, strict=True)]
    for i in reversed(range(len(robot.bodies))):
        body, p = robot.bodies[i], robot.bodies[i].parent
        along = (forces if body.prismatic else moments)[i][2]
        tau[body.coordinate] = tau[body.coordinate] + body.ratio * along
        if p >= 0:
            f = body.to_parent(forces[i])
            forces[p] = forces[p] + f
            moments[p] = moments[p] + body.to_parent(moments[i]) + cross(body.place, f)
    return tau
