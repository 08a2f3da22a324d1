"""Newton-Euler on symbols: inverse dynamics, NE*, gravity torque, force rate, regressor; friction.

One outward sweep serves all: that of NE* ([DeLuca2009], variant 0001) about the joints' origins.
With wa = w it is NE, [Khalil2019] (7.51)-(7.61). The products of velocities X = w wa^T are shared.
The nine elements of U = [wd x] + [w x][wa x] serve three times: for the acceleration of the next
origin, for the force U mc, and for the torque, whose component along x is, with wa = w,

    XX wd1 + (ZZ - YY) w2 w3 - XY U31 + XZ U21 + YZ (U22 - U33)

and cyclically for the others. w1^2 + w2^2 does not change when the body turns about z: it is taken
before the turn, where it is often known already.

Moved from the centre of mass to the origin, the torque of NE* is linear in eleven parameters:
J wd + wa x J w + mc x a + m |c|^2 (w x wa). The last one, the spread, has no effect on NE.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..expression import Dual, Expression, Scalar, value_and_rate
from ..robot import ZERO, Body, Robot, Turn, Vector, cross, turns, vector

PARAMETERS = 10  # of a body in the regressor


class Motion(NamedTuple):
    """Motion of a body in its own frame."""

    w: Vector  # angular velocity
    wa: Vector  # auxiliary angular velocity of NE*; w for NE
    wd: Vector  # angular acceleration
    a: Vector  # acceleration of the origin, minus gravity
    U: Vector  # [wd x] + [w x][wa x]


def inverse_dynamics(robot: Robot) -> list[list[Expression]]:
    return [torques(robot, robot.rates("qd"), robot.rates("qdd"), robot.inputs("qdd"))]


def ne_star(robot: Robot) -> list[list[Expression]]:
    xd, xd_a, xdd = (robot.rates(name) for name in ("qd", "qd_a", "qdd"))
    forces, moments = body_wrenches(robot, motions(robot, xd, xd_a, xdd), star=True)
    return [joint_torques(robot, forces, moments, robot.inputs("qdd"))]


def gravity_torque(robot: Robot) -> list[list[Expression]]:
    still: list[Scalar] = [0.0] * len(robot.bodies)
    return [torques(robot, still, still, [0.0] * robot.n)]


def force_rate(robot: Robot) -> list[list[Expression]]:
    """Return tau and tau_dot: NE on dual numbers, shorter than [GuarinoLoBianco2009]."""
    qd, qdd, qddd = (robot.rates(name) for name in ("qd", "qdd", "qddd"))
    xd = [Dual(v, a) for v, a in zip(qd, qdd, strict=True)]
    xdd: list[Scalar] = [Dual(a, j) for a, j in zip(qdd, qddd, strict=True)]
    moves = [
        replace(turn, sine=Dual(turn.sine, turn.cosine * rate, rate))
        for turn, rate in ((turn, turn.total(qd)) for turn in turns(robot))
    ]
    bodies = []
    for body, rate in zip(robot.bodies, qd, strict=True):
        moving = replace(body)
        if body.prismatic:
            moving.place = body.place + body.axis * Dual(0.0, rate)
        else:
            moving.sine = Dual(body.sine, body.cosine * rate, rate)
        bodies.append(moving)
    inputs = zip(robot.inputs("qdd"), robot.inputs("qddd"), strict=True)
    rotors: list[Scalar] = [Dual(a, j) for a, j in inputs]
    tau = torques(replace(robot, bodies=bodies), xd, xdd, rotors, moves)
    values, rates = zip(*(value_and_rate(x) for x in tau), strict=True)
    return [list(values), list(rates)]


def friction_torque(robot: Robot) -> list[list[Expression]]:
    """Return tau of qd: [Khalil2019] (7.26), with a sharp sign."""
    out = []
    for v, joint in zip(robot.inputs("qd"), robot.friction, strict=True):
        viscous, coulomb, stiction, decay = joint
        dry = coulomb
        if not (isinstance(coulomb, float) and stiction == coulomb):
            dry = dry + (stiction - coulomb) * (-(v.apply("abs") * decay)).apply("exp")
        out.append(viscous * v + v.apply("sign") * dry)
    return [out]


def torques(
    robot: Robot,
    xd: list[Scalar],
    xdd: list[Scalar],
    qdd: list[Scalar],
    moves: list[Turn] | None = None,
) -> list[Any]:
    """Return tau for the joints' rates xd and xdd; qdd accelerates the rotors."""
    sweep = motions(robot, xd, xd, xdd, moves)
    return joint_torques(robot, *body_wrenches(robot, sweep), qdd)


def motions(
    robot: Robot,
    xd: list[Scalar],
    xd_a: list[Scalar],
    xdd: list[Scalar],
    moves: list[Turn] | None = None,
) -> Iterator[Motion]:
    """Yield the motion of each body, from the base to the tips."""
    found: list[Motion] = []
    for i, (body, turn) in enumerate(zip(robot.bodies, moves or turns(robot), strict=True)):
        w, wa, wd = (ZERO, ZERO, ZERO) if turn.parent < 0 else found[turn.parent][:3]
        rate, rate_a = turn.total(xd), turn.total(xd_a)
        tilted, tilted_a = turn.tilted(w), turn.tilted(wa)
        w, wa = turn.turned(tilted), turn.turned(tilted_a)
        wd = turn.from_parent(wd)
        wd = wd + vector(wa[1] * rate, -wa[0] * rate, turn.total(xdd))  # (AAR*)
        w, wa = w + vector(0.0, 0.0, rate), wa + vector(0.0, 0.0, rate_a)  # (AVR), (AVR*)
        a = -robot.gravity
        if body.parent >= 0:
            a = found[body.parent].a + found[body.parent].U @ body.place
        a = body.from_parent(a)  # (LAR'*)
        if body.prismatic:
            # For NE the sum is 2 w xd, which costs one product less on dual numbers
            across = 2.0 * w * xd[i] if xd_a is xd else w * xd_a[i] + wa * xd[i]
            a = a + vector(across[1], -across[0], xdd[i])
        found.append(Motion(w, wa, wd, a, rate_matrix(w, wa, wd, tilted, tilted_a)))
        yield found[i]


def body_wrenches(
    robot: Robot, sweep: Iterator[Motion], star: bool = False
) -> tuple[list[Vector], list[Vector]]:
    """Return force and moment about its origin of each body; star: with the spread, for NE*."""
    forces: list[Vector] = []
    moments: list[Vector] = []
    for body, (w, wa, wd, a, U) in zip(robot.bodies, sweep, strict=True):
        forces.append(body.m * a + U @ body.mc)  # (LAR*), (FR)
        torque = euler_torque(body, w, wa, wd, U, body.spread if star else 0.0)  # (TR*)
        moments.append(torque + cross(body.mc, a))
    return forces, moments


def rate_matrix(w: Vector, wa: Vector, wd: Vector, tilted: Vector, tilted_a: Vector) -> Vector:
    """Return U = [wd x] + [w x][wa x]; `tilted` and `tilted_a` are w and wa before the turn."""
    X = np.outer(w, wa)
    about_z = tilted[0] * tilted_a[0] + tilted[1] * tilted_a[1]
    return np.array(
        [
            [-(X[1, 1] + X[2, 2]), X[1, 0] - wd[2], X[2, 0] + wd[1]],
            [X[0, 1] + wd[2], -(X[0, 0] + X[2, 2]), X[2, 1] - wd[0]],
            [X[0, 2] - wd[1], X[1, 2] + wd[0], -about_z],
        ],
        dtype=object,
    )


def euler_torque(
    body: Body, w: Vector, wa: Vector, wd: Vector, U: Vector, spread: Scalar = 0.0
) -> Vector:
    """Return J wd + wa x J w + spread (w x wa)."""
    (XX, XY, XZ), (_, YY, YZ), (_, _, ZZ) = body.J
    X = np.outer(w, wa)
    x, y, z = XX - spread, YY - spread, ZZ - spread
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


def joint_torques(
    robot: Robot, forces: list[Vector], moments: list[Vector], qdd: list[Scalar]
) -> list[Any]:
    """Return tau: wrenches are added from body to parent and projected on the joint axes."""
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


def regressor(robot: Robot) -> list[list[Expression]]:
    """Return Y of q, qd and qdd, row by row, as in `dynamics/regressor.py`."""
    xd, xdd = robot.rates("qd"), robot.rates("qdd")
    width = PARAMETERS * len(robot.bodies)
    Y = np.full((robot.n, width), 0.0, dtype=object)
    units: list[dict[int, tuple[Vector, Vector]]] = []  # z and v of the joints that carry a body
    sweep = motions(robot, xd, xd, xdd)
    for i, (body, (w, _, wd, a, U)) in enumerate(zip(robot.bodies, sweep, strict=True)):
        units.append(_unit_motions(robot, i, units))
        T = body.own
        plain = not (T - np.eye(3)).any()
        if not plain:
            w, wd, a = T @ w, T @ wd, T @ a
            U = rate_matrix(w, w, wd, w, w)
        columns = _inertia_columns(w, wd, U)
        for j, (z, v) in units[i].items():
            row = _row(z if plain else T @ z, v if plain else T @ v, a, U, columns)
            k, start = robot.bodies[j].coordinate, PARAMETERS * i
            share = robot.bodies[j].ratio * row
            Y[k, start : start + PARAMETERS] = Y[k, start : start + PARAMETERS] + share
    return [list(Y.flat)]


def _unit_motions(
    robot: Robot, i: int, known: list[dict[int, tuple[Vector, Vector]]]
) -> dict[int, tuple[Vector, Vector]]:
    """Return for each joint that carries body i the angular and linear velocity at unit rate."""
    body, found = robot.bodies[i], {}
    if body.parent >= 0:
        for j, (z, v) in known[body.parent].items():
            v = v + cross(z, body.place)
            found[j] = body.from_parent(z), body.from_parent(v)
    along = vector(0.0, 0.0, 1.0)
    found[i] = (ZERO, along) if body.prismatic else (along, ZERO)
    return found


def _inertia_columns(w: Vector, wd: Vector, U: Vector) -> list[Vector]:
    """Return the torque J wd + w x J w per unit of XX, XY, XZ, YY, YZ and ZZ."""
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
    """Return a joint's share of a body's wrench per unit of each of its ten parameters."""
    moments: list[Scalar] = [z @ column for column in columns]
    return vector(v @ a, *(v @ U + cross(a, z)), *moments)
