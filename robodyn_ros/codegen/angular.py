"""How bodies turn, with joints about parallel axes taken together.

The bodies behind two parallel joints turn by the sum of both angles. Where the angular velocity
below them is along one axis of the frame, its components behind both are two products with the
sine and cosine of the sum, instead of four with those of the second angle. The sum costs one more
sine and cosine.
"""

from __future__ import annotations

from dataclasses import dataclass

from .robot import ZERO, Body, Robot, Scalar, Vector, sine_cosine, turned, vector


@dataclass
class Turn:
    """The turn of a body against the body `parent`, by all joints of `members` together."""

    parent: int
    lead: Body  # the first of them
    members: tuple[int, ...]
    sine: Scalar
    cosine: Scalar

    def tilted(self, v: Vector) -> Vector:
        return self.lead.tilted(v)

    def turned(self, tilted: Vector) -> Vector:
        return turned(2, -self.sine, self.cosine, tilted) if self.members else tilted

    def from_parent(self, v: Vector) -> Vector:
        return self.turned(self.tilted(v))

    def total(self, rates: list[Scalar]) -> Scalar:
        total: Scalar = 0.0
        for member in self.members:
            total = total + rates[member]
        return total


def turns(robot: Robot) -> list[Turn]:
    """For each body, what it turns against and by which joints."""
    found: list[Turn] = []
    spin: list[Vector] = []  # angular velocity: only whether it is zero matters here
    rates = robot.rates("qd")
    for i, body in enumerate(robot.bodies):
        turn = Turn(body.parent, body, () if body.prismatic else (i,), body.sine, body.cosine)
        before = found[body.parent] if body.parent >= 0 else None
        if before is not None and before.members and turn.members and not body.tilt:
            tilted = before.tilted(spin[before.parent] if before.parent >= 0 else ZERO)
            if _is_zero(tilted[0]) != _is_zero(tilted[1]):
                turn = _joined(robot, before, i)
        below = spin[turn.parent] if turn.parent >= 0 else ZERO
        spin.append(turn.from_parent(below) + vector(0.0, 0.0, turn.total(rates)))
        found.append(turn)
    return found


def _joined(robot: Robot, before: Turn, i: int) -> Turn:
    members = (*before.members, i)
    x, quarters = robot.bodies[members[0]].x, robot.bodies[members[0]].quarters
    for member in members[1:]:
        x = x + robot.bodies[member].x
        quarters += robot.bodies[member].quarters
    return Turn(before.parent, before.lead, members, *sine_cosine(x, quarters))


def _is_zero(x: Scalar) -> bool:
    return bool(x == 0.0) if isinstance(x, float) else bool(x.is_zero)
