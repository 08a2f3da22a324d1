"""The mass matrix on symbols: composite bodies, each in the frame of its first joint."""

from __future__ import annotations

import numpy as np

from ..expression import Expression
from ..robot import Robot, Scalar, Vector, cross, vector


def mass_matrix(robot: Robot) -> list[list[Expression]]:
    """M of q, row by row."""
    return [list(matrix(robot).flat)]


def matrix(robot: Robot) -> Vector:
    """M as an array."""
    bodies = robot.bodies
    M = np.diag(vector(*robot.rotors)) + 0.0
    m, h, J = ([getattr(body, name) for body in bodies] for name in ("m", "mc", "J"))
    for i in reversed(range(len(bodies))):
        body, p = bodies[i], bodies[i].parent
        # The composite's momentum at unit rate of the joint, seen by the joints below
        if body.prismatic:
            f, torque = vector(0.0, 0.0, m[i]), vector(h[i][1], -h[i][0], 0.0)
        else:
            f, torque = vector(-h[i][1], h[i][0], 0.0), J[i][:, 2]
        _enter(M, robot, i, i, f, torque)
        carrier, j = body, p
        while j >= 0:
            f = carrier.to_parent(f)
            torque = carrier.to_parent(torque) + cross(carrier.place, f)
            _enter(M, robot, i, j, f, torque)
            carrier, j = bodies[j], bodies[j].parent
        if p >= 0:
            moment = body.to_parent(h[i])
            J[p] = J[p] + body.matrix_to_parent(J[i]) + _shift(m[i], moment, body.place)
            h[p] = h[p] + moment + m[i] * body.place
            m[p] = m[p] + m[i]
    return M


def _enter(M: Vector, robot: Robot, i: int, j: int, f: Vector, torque: Vector) -> None:
    """Joint j's part of the wrench that joint i's unit rate needs."""
    one, other = robot.bodies[i], robot.bodies[j]
    value = (one.ratio * other.ratio) * (f if other.prismatic else torque)[2]
    a, b = one.coordinate, other.coordinate
    if i == j:
        M[a, a] = M[a, a] + value
    elif a == b:  # two joints of one coordinate
        M[a, a] = M[a, a] + 2.0 * value
    else:
        M[a, b] = M[b, a] = M[a, b] + value


def _shift(m: Scalar, h: Vector, r: Vector) -> Vector:
    """What an inertia grows by when its reference point moves by -r; h its first moment."""
    k = h + h + m * r
    across = h + m * r
    S = np.empty((3, 3), dtype=object)
    for i in range(3):
        j, o = (i + 1) % 3, (i + 2) % 3
        S[i, i] = r[j] * k[j] + r[o] * k[o]
        S[i, j] = S[j, i] = -(r[i] * across[j] + r[j] * h[i])
    return S
