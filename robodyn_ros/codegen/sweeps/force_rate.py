"""tau and its rate on symbols: NE run on scalars that carry their rates.

The numbers are those of [GuarinoLoBianco2009]; the way to them is shorter, because the rates of
components in the turning frames need no angular jerk.
"""

from __future__ import annotations

from dataclasses import replace

from ..angular import turns
from ..dual import Dual, parts
from ..expression import Expression
from ..robot import Robot, Scalar
from .newton_euler import torques


def force_rate(robot: Robot) -> list[list[Expression]]:
    """(tau, tau_dot) of q, qd, qdd and qddd."""
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
    values, rates = zip(*(parts(x) for x in tau), strict=True)
    return [list(values), list(rates)]
