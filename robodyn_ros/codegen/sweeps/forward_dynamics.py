"""Direct dynamics on symbols: articulated bodies, and through the mass matrix.

Articulated bodies, [Khalil2019] 7.6.2, take a number of operations that grows with the number of
joints; M and its factors one that grows with its cube, but from a lower start: an arm of six or
seven joints is better off with M.
"""

from __future__ import annotations

import numpy as np

from ..angular import turns
from ..expression import Expression
from ..robot import ZERO, Body, Robot, Scalar, Vector, cross, vector
from .mass_matrix import matrix
from .newton_euler import euler, rate_matrix, torques


def through_mass_matrix(robot: Robot) -> list[list[Expression]]:
    """qdd of q, qd and tau: M = L^T D L from the tips on, which leaves zeros where M has them."""
    n = robot.n
    still: list[Scalar] = [0.0] * len(robot.bodies)
    bias = torques(robot, robot.rates("qd"), still, [0.0] * n)
    x: list[Scalar] = [tau - c for tau, c in zip(robot.inputs("tau"), bias, strict=True)]
    M = matrix(robot)
    L = np.full((n, n), 0.0, dtype=object)
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = 1.0 / M[k, k]
        for i in range(k):
            L[k, i] = M[k, i] * inverse[k]
            for j in range(i + 1):
                M[i, j] = M[i, j] - L[k, i] * M[k, j]
            x[i] = x[i] - L[k, i] * x[k]
    qdd: list[Scalar] = []
    for k in range(n):
        value = x[k] * inverse[k]
        for i in range(k):
            value = value - L[k, i] * qdd[i]
        qdd.append(value)
    return [qdd]


def articulated(robot: Robot) -> list[list[Expression]]:
    """qdd of q, qd and tau; each joint has a coordinate of its own."""
    bodies, moves, xd, tau = robot.bodies, turns(robot), robot.rates("qd"), robot.inputs("tau")
    w: list[Vector] = []
    gamma: list[tuple[Vector, Vector]] = []  # (7.68)
    bias: list[tuple[Vector, Vector]] = []  # (7.70), with the other sign
    inertia: list[tuple[Vector, Vector, Vector]] = []
    products: list[Vector] = []
    for i, (body, turn) in enumerate(zip(bodies, moves, strict=True)):
        tilted = turn.tilted(w[turn.parent] if turn.parent >= 0 else ZERO)
        w.append(turn.turned(tilted) + vector(0.0, 0.0, turn.total(xd)))
        across = vector(w[i][1] * xd[i], -w[i][0] * xd[i], 0.0)
        moved = ZERO
        if body.parent >= 0:
            moved = body.from_parent(products[body.parent] @ body.place)
        gamma.append((ZERO, moved + 2.0 * across) if body.prismatic else (across, moved))
        products.append(rate_matrix(w[i], ZERO, tilted))
        bias.append((euler(body, w[i], ZERO, products[i]), products[i] @ body.mc))
        inertia.append((body.J, _skew(body.mc), body.m * np.eye(3).astype(object)))

    kept: list[tuple[Vector, Vector, Scalar, Scalar]] = [(ZERO, ZERO, 0.0, 0.0)] * len(bodies)
    for i in reversed(range(len(bodies))):
        body, p, k = bodies[i], bodies[i].parent, bodies[i].coordinate
        A, B, D = inertia[i]
        n, f = bias[i]
        Un, Uf = (B[:, 2], D[:, 2]) if body.prismatic else (A[:, 2], B[2, :])
        inverse = 1.0 / ((Uf if body.prismatic else Un)[2] + robot.rotors[k])  # (7.71)
        u = tau[k] - (f if body.prismatic else n)[2]
        kept[i] = Un, Uf, inverse, u
        if p < 0:
            continue
        A, B, D = _given_way(body, inertia[i], inverse, _is_zero(robot.rotors[k]))  # (7.72)
        turning, moving = gamma[i]
        share = u * inverse
        n = n + A @ turning + B @ moving + Un * share  # (7.73)
        f = f + B.T @ turning + D @ moving + Uf * share
        f = body.to_parent(f)
        n = body.to_parent(n) + cross(body.place, f)
        bias[p] = bias[p][0] + n, bias[p][1] + f  # (7.75)
        A, B, D = (body.matrix_to_parent(X) for X in (A, B, D))
        inertia[p] = _shifted(inertia[p], A, B, D, body.place)  # (7.74)

    wd: list[Vector] = []
    a: list[Vector] = []
    qdd: list[Scalar] = [0.0] * robot.n
    for i, body in enumerate(bodies):
        wd_i, a_i = ZERO, -robot.gravity
        if body.parent >= 0:
            wd_i = wd[body.parent]
            a_i = a[body.parent] + cross(wd_i, body.place)
        wd_i, a_i = body.from_parent(wd_i) + gamma[i][0], body.from_parent(a_i) + gamma[i][1]
        Un, Uf, inverse, u = kept[i]
        answer = (u - Un @ wd_i - Uf @ a_i) * inverse  # (7.77)
        qdd[body.coordinate] = answer
        along = vector(0.0, 0.0, answer)
        wd.append(wd_i if body.prismatic else wd_i + along)  # (7.78)
        a.append(a_i + along if body.prismatic else a_i)
    return [qdd]


def _given_way(
    body: Body, inertia: tuple[Vector, Vector, Vector], inverse: Scalar, free: bool
) -> tuple[Vector, Vector, Vector]:
    """The articulated inertia behind a joint that gives way; a free one has no rotor."""
    A, B, D = inertia
    whole = np.block([[A, B], [B.T, D]])
    axis = 5 if body.prismatic else 2
    column = whole[:, axis]
    share = column * inverse
    left = np.empty((6, 6), dtype=object)
    for i in range(6):
        for j in range(i + 1):
            resists = free and axis in (i, j)
            left[i, j] = left[j, i] = 0.0 if resists else whole[i, j] - share[i] * column[j]
    return left[:3, :3], left[:3, 3:], left[3:, 3:]


def _shifted(
    own: tuple[Vector, Vector, Vector], A: Vector, B: Vector, D: Vector, r: Vector
) -> tuple[Vector, Vector, Vector]:
    """An inertia of a body's own, and one at r from its origin."""
    B_new = B + np.column_stack([cross(r, D[:, k]) for k in range(3)])
    grown = np.array([cross(r, B[k]) for k in range(3)], dtype=object)
    A_new = A + grown + np.column_stack([cross(r, B_new[k]) for k in range(3)])
    for i in range(3):
        for j in range(i):
            A_new[i, j] = A_new[j, i]
    return own[0] + A_new, own[1] + B_new, own[2] + D


def _skew(v: Vector) -> Vector:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]], dtype=object)


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, float) and x == 0.0
