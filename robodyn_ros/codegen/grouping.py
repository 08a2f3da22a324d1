"""Base parameters in place of the standard ones: [Khalil2019] 7.5.3.

Some of what a body weighs moves just as well with its parent: on a revolute joint its mass, its
first moment along the axis, and an inertia that is equal all round the axis; on a prismatic joint
its whole inertia tensor. From the tips to the base, that part is handed to the parent. What is
left of the body has zeros in its place, and parameters that no torque feels fall away by
themselves when the outputs are traced back.

NE* has an eleventh parameter, the spread m |c|^2, which is handed on by the same rules: it is half
the trace of the inertia that the body would have if it were made of points.
"""

from __future__ import annotations

import numpy as np

from .frames import without_residue
from .robot import Body, Robot, Scalar, Vector


def group(robot: Robot) -> None:
    """Hand on from each body what its parent can carry for it."""
    for i in reversed(range(len(robot.bodies))):
        body = robot.bodies[i]
        _fold_rotor(robot, body)
        if body.parent >= 0:
            parent = robot.bodies[body.parent]
            if body.prismatic:
                _hand_inertia(body, parent)
            else:
                _hand_what_turns_in_vain(body, parent)


def _hand_inertia(body: Body, parent: Body) -> None:
    parent.J = parent.J + body.matrix_to_parent(body.J)
    parent.spread = parent.spread + body.spread
    body.J, body.spread = np.full((3, 3), 0.0, dtype=object), 0.0


def _hand_what_turns_in_vain(body: Body, parent: Body) -> None:
    m, h, a = body.m, body.mc[2], body.J[1, 1]
    r, z = body.place, body.axis
    moment = m * r + h * z
    # Seen from the parent's origin: a mass at r, a moment along z there, and a (1 - z z^T)
    about = (m * (r @ r) + 2.0 * h * (r @ z) + a) * np.eye(3)
    parent.J = parent.J + about - m * np.outer(r, r) - a * np.outer(z, z)
    parent.J = parent.J - h * (np.outer(r, z) + np.outer(z, r))
    parent.spread = parent.spread + (m * (r @ r) + 2.0 * h * (r @ z) + a)
    parent.m, parent.mc = parent.m + m, parent.mc + moment
    body.m, body.mc[2], body.J[1, 1] = 0.0, 0.0, 0.0
    body.J[0, 0] = _difference(body.J[0, 0], a)
    body.spread = body.spread - a
    if not _symbolic(parent.J):
        parent.J = without_residue(parent.J.astype(float))


def _fold_rotor(robot: Robot, body: Body) -> None:
    """A rotor that turns just as fast as its body does about the axis is part of it."""
    k = body.coordinate
    alone = sum(other.coordinate == k for other in robot.bodies) == 1 and body.ratio == 1.0
    if alone and not body.prismatic and _turns_alone_about_its_axis(robot, body):
        body.J[2, 2], robot.rotors[k] = body.J[2, 2] + robot.rotors[k], 0.0


def _turns_alone_about_its_axis(robot: Robot, body: Body) -> bool:
    """Whether no joint below turns the body about its own axis as well."""
    if body.parent < 0:
        return True
    parent = robot.bodies[body.parent]
    if parent.prismatic:
        return parent.parent < 0
    return parent.parent < 0 and body.axis[2] == 0.0


def _difference(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float) and isinstance(b, float) and abs(a - b) < 4e-16 * max(abs(a), abs(b)):
        return 0.0
    return a - b


def _symbolic(J: Vector) -> bool:
    return not all(isinstance(x, float) for x in J.flat)
