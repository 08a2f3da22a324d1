"""The mass matrix, the momentum terms and forward dynamics on symbols.

Forward dynamics by articulated bodies, [Khalil2019] 7.6.2, grow linearly with the joints, those
through M and its factors with their cube; for six or seven joints the latter are cheaper.
"""

import numpy as np

from ..expression import Expression, Scalar
from ..robot import ZERO, Body, Robot, Vector, cross, is_zero, turns, vector
from .newton_euler import euler_torque, rate_matrix, torques


def mass_matrix(robot: Robot) -> list[list[Expression]]:
    """Return M of q, row by row."""
    return [list(matrix(robot).flat)]


def matrix(robot: Robot) -> Vector:
    bodies = robot.bodies
    M = np.diag(vector(*robot.rotors)) + 0.0
    m, h, J = ([getattr(body, name) for body in bodies] for name in ("m", "mc", "J"))
    for i in reversed(range(len(bodies))):
        body, p = bodies[i], bodies[i].parent
        # The composite body's momentum at unit rate of its joint, for the joints below
        if body.prismatic:
            f, torque = vector(0.0, 0.0, m[i]), vector(h[i][1], -h[i][0], 0.0)
        else:
            f, torque = vector(-h[i][1], h[i][0], 0.0), J[i][:, 2]
        _add_entry(M, robot, i, i, f, torque)
        carrier, j = body, p
        while j >= 0:
            f = carrier.to_parent(f)
            torque = carrier.to_parent(torque) + cross(carrier.place, f)
            _add_entry(M, robot, i, j, f, torque)
            carrier, j = bodies[j], bodies[j].parent
        if p >= 0:
            moment = body.to_parent(h[i])
            J[p] = J[p] + body.matrix_to_parent(J[i]) + _parallel_axis(m[i], moment, body.place)
            h[p] = h[p] + moment + m[i] * body.place
            m[p] = m[p] + m[i]
    return M


def _add_entry(M: Vector, robot: Robot, i: int, j: int, f: Vector, torque: Vector) -> None:
    """Add joint j's part of the momentum at unit rate of joint i."""
    one, other = robot.bodies[i], robot.bodies[j]
    value = (one.ratio * other.ratio) * (f if other.prismatic else torque)[2]
    a, b = one.coordinate, other.coordinate
    if i == j:
        M[a, a] = M[a, a] + value
    elif a == b:  # two joints of one coordinate
        M[a, a] = M[a, a] + 2.0 * value
    else:
        M[a, b] = M[b, a] = M[a, b] + value


def _parallel_axis(m: Scalar, h: Vector, r: Vector) -> Vector:
    """Return what an inertia with first moment h grows by when its origin moves by -r."""
    k = h + h + m * r
    across = h + m * r
    S = np.empty((3, 3), dtype=object)
    for i in range(3):
        j, o = (i + 1) % 3, (i + 2) % 3
        S[i, i] = r[j] * k[j] + r[o] * k[o]
        S[i, j] = S[j, i] = -(r[i] * across[j] + r[j] * h[i])
    return S


def momentum_terms(robot: Robot) -> list[list[Expression]]:
    """Return p, C^T qd and g of q and qd, as `dynamics/momentum.py` does."""
    bodies, xd = robot.bodies, robot.rates("qd")
    w: list[Vector] = []
    v: list[Vector] = []
    a: list[Vector] = []
    P: list[Vector] = []
    L: list[Vector] = []
    for i, (body, turn) in enumerate(zip(bodies, turns(robot), strict=True)):
        a.append(turn.from_parent(turn.parent_of(a, -robot.gravity)))
        w.append(turn.from_parent(turn.parent_of(w)) + vector(0.0, 0.0, turn.total(xd)))
        v_i = ZERO
        if body.parent >= 0:
            v_i = body.from_parent(v[body.parent] + cross(w[body.parent], body.place))
        v.append(v_i + vector(0.0, 0.0, xd[i]) if body.prismatic else v_i)
        P.append(body.m * v[i] + cross(w[i], body.mc))
        L.append(body.J @ w[i] + cross(body.mc, v[i]))

    m, mc = [body.m for body in bodies], [body.mc for body in bodies]
    rates = robot.inputs("qd")
    p: list[Scalar] = [rotor * rate for rotor, rate in zip(robot.rotors, rates, strict=True)]
    ctqd: list[Scalar] = [0.0] * robot.n
    g: list[Scalar] = [0.0] * robot.n
    for i in reversed(range(len(bodies))):
        body, k, ratio, below = bodies[i], bodies[i].coordinate, bodies[i].ratio, bodies[i].parent
        turning = w[i][1] * L[i][0] - w[i][0] * L[i][1] + (v[i][1] * P[i][0] - v[i][0] * P[i][1])
        sliding = w[i][1] * P[i][0] - w[i][0] * P[i][1]
        weight = m[i] * a[i][2] if body.prismatic else mc[i][0] * a[i][1] - mc[i][1] * a[i][0]
        p[k] = p[k] + ratio * (P if body.prismatic else L)[i][2]
        ctqd[k] = ctqd[k] + ratio * (sliding if body.prismatic else turning)
        g[k] = g[k] + ratio * weight
        if below >= 0:
            f = body.to_parent(P[i])
            P[below] = P[below] + f
            L[below] = L[below] + body.to_parent(L[i]) + cross(body.place, f)
            mc[below] = mc[below] + body.to_parent(mc[i]) + m[i] * body.place
            m[below] = m[below] + m[i]
    return [p, ctqd, g]


def through_mass_matrix(robot: Robot) -> list[list[Expression]]:
    """Return qdd of q, qd and tau: M = L^T D L from the tips on, which keeps the zeros of M."""
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
    """Return qdd of q, qd and tau; every joint must have its own coordinate."""
    bodies, moves, xd, tau = robot.bodies, turns(robot), robot.rates("qd"), robot.inputs("tau")
    w: list[Vector] = []
    gamma: list[tuple[Vector, Vector]] = []  # (7.68)
    bias: list[tuple[Vector, Vector]] = []  # (7.70), with the other sign
    inertia: list[tuple[Vector, Vector, Vector]] = []
    products: list[Vector] = []
    for i, (body, turn) in enumerate(zip(bodies, moves, strict=True)):
        tilted = turn.tilted(turn.parent_of(w))
        w.append(turn.turned(tilted) + vector(0.0, 0.0, turn.total(xd)))
        across = vector(w[i][1] * xd[i], -w[i][0] * xd[i], 0.0)
        moved = ZERO
        if body.parent >= 0:
            moved = body.from_parent(products[body.parent] @ body.place)
        gamma.append((ZERO, moved + 2.0 * across) if body.prismatic else (across, moved))
        products.append(rate_matrix(w[i], w[i], ZERO, tilted, tilted))
        bias.append((euler_torque(body, w[i], w[i], ZERO, products[i]), products[i] @ body.mc))
        inertia.append((body.J, _skew(body.mc), body.m * np.eye(3).astype(object)))

    solved: list[tuple[Vector, Vector, Scalar, Scalar]] = [(ZERO, ZERO, 0.0, 0.0)] * len(bodies)
    for i in reversed(range(len(bodies))):
        body, p, k = bodies[i], bodies[i].parent, bodies[i].coordinate
        A, B, D = inertia[i]
        n, f = bias[i]
        Un, Uf = (B[:, 2], D[:, 2]) if body.prismatic else (A[:, 2], B[2, :])
        inverse = 1.0 / ((Uf if body.prismatic else Un)[2] + robot.rotors[k])  # (7.71)
        u = tau[k] - (f if body.prismatic else n)[2]
        solved[i] = Un, Uf, inverse, u
        if p < 0:
            continue
        free = is_zero(robot.rotors[k])
        A, B, D = _articulated_inertia(body, inertia[i], inverse, free)  # (7.72)
        turning, moving = gamma[i]
        share = u * inverse
        n = n + A @ turning + B @ moving + Un * share  # (7.73)
        f = f + B.T @ turning + D @ moving + Uf * share
        f = body.to_parent(f)
        n = body.to_parent(n) + cross(body.place, f)
        bias[p] = bias[p][0] + n, bias[p][1] + f  # (7.75)
        A, B, D = (body.matrix_to_parent(X) for X in (A, B, D))
        inertia[p] = _plus_shifted(inertia[p], A, B, D, body.place)  # (7.74)

    wd: list[Vector] = []
    a: list[Vector] = []
    qdd: list[Scalar] = [0.0] * robot.n
    for i, body in enumerate(bodies):
        wd_i, a_i = ZERO, -robot.gravity
        if body.parent >= 0:
            wd_i = wd[body.parent]
            a_i = a[body.parent] + cross(wd_i, body.place)
        wd_i, a_i = body.from_parent(wd_i) + gamma[i][0], body.from_parent(a_i) + gamma[i][1]
        Un, Uf, inverse, u = solved[i]
        x = (u - Un @ wd_i - Uf @ a_i) * inverse  # (7.77)
        qdd[body.coordinate] = x
        along = vector(0.0, 0.0, x)
        wd.append(wd_i if body.prismatic else wd_i + along)  # (7.78)
        a.append(a_i + along if body.prismatic else a_i)
    return [qdd]


def _articulated_inertia(
    body: Body, inertia: tuple[Vector, Vector, Vector], inverse: Scalar, free: bool
) -> tuple[Vector, Vector, Vector]:
    """Return the inertia that the parent feels through the joint; a free joint has no rotor."""
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


def _plus_shifted(
    own: tuple[Vector, Vector, Vector], A: Vector, B: Vector, D: Vector, r: Vector
) -> tuple[Vector, Vector, Vector]:
    B_new = B + np.column_stack([cross(r, D[:, k]) for k in range(3)])
    grown = np.array([cross(r, B[k]) for k in range(3)], dtype=object)
    A_new = A + grown + np.column_stack([cross(r, B_new[k]) for k in range(3)])
    for i in range(3):
        for j in range(i):
            A_new[i, j] = A_new[j, i]
    return own[0] + A_new, own[1] + B_new, own[2] + D


def _skew(v: Vector) -> Vector:
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]], dtype=object)
