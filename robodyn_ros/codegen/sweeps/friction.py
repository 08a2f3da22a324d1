"""Joint friction on symbols: [Khalil2019] (7.26), with a sharp sign."""

from __future__ import annotations

from ..expression import Expression
from ..robot import Robot


def friction_torque(robot: Robot) -> list[list[Expression]]:
    """tau of qd."""
    out = []
    for v, joint in zip(robot.inputs("qd"), robot.friction, strict=True):
        viscous, coulomb, stiction, fading = joint
        dry = coulomb
        if not (isinstance(coulomb, float) and stiction == coulomb):
            dry = dry + (stiction - coulomb) * (-(v.apply("abs") * fading)).apply("exp")
        out.append(viscous * v + v.apply("sign") * dry)
    return [out]
