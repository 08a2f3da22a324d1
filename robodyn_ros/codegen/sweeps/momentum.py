"""NE* and the momentum terms on symbols: what the residual of [DeLuca2009] needs.

NE* is variant 0001, about the joints' origins. Moved from the centre of mass to the origin, the
torque of a body is linear in eleven parameters:

    J wd + wa x J w + mc x a + m |c|^2 (w x wa)

It is made of the nine products X = w wa^T, as NE is of w w^T. The momentum terms are the one sweep
of `dynamics/momentum.py`, in the frames of Khalil.
"""

from __future__ import annotations

from ..expression import Expression, Scalar
from ..robot import ZERO, Robot, Vector, cross, turns, vector
from .newton_euler import euler_torque, joint_torques, rate_matrix


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


def ne_star(robot: Robot) -> list[list[Expression]]:
    """Return tau of q, qd, qd_a and qdd."""
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
        U = rate_matrix(w, wa, wd, tilted, tilted_a)
        motion.append((w, wa, wd, a, U))
        forces.append(body.m * a + U @ body.mc)  # (LAR*), (FR)
        torque = euler_torque(body, w, wa, wd, U, body.spread)  # (TR*)
        moments.append(torque + cross(body.mc, a))
    return [joint_torques(robot, forces, moments, robot.inputs("qdd"))]
