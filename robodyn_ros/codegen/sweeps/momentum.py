"""The momentum terms on symbols: the one sweep of `dynamics/momentum.py`, in Khalil's frames."""

from ..expression import Expression, Scalar
from ..robot import ZERO, Robot, Vector, cross, turns, vector


def momentum_terms(robot: Robot) -> list[list[Expression]]:
    """Return p, C^T qd and g of q and qd."""
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
