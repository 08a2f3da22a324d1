"""The robot that symbolic sweeps run on: bodies, their frames, and how they turn.

The frames are those of Khalil and Kleinfinger: z along the joint's axis, x along the common normal
with the next axis, the origin where both meet. From body to body there is then one rotation about
x, one translation, and the joint. Angles between the chosen x axes go into the joint positions.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .expression import Dual, Expression, Graph, Scalar, value_and_rate

Vector = npt.NDArray[Any]  # (3,) of scalars; matrices likewise

TINY = 1e-13  # rounding error of a sine or cosine, or of an origin [m]


def vector(*elements: Scalar) -> Vector:
    return np.array(elements, dtype=object)


ZERO = vector(0.0, 0.0, 0.0)


def cross(a: Vector, b: Vector) -> Vector:
    return vector(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def rotated(axis: int, sine: Scalar, cosine: Scalar, v: Vector) -> Vector:
    """Return R v, with R a rotation about a coordinate axis."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    if isinstance(sine, Dual):
        values, rates = (vector(*column) for column in zip(*map(value_and_rate, v), strict=True))
        values, rates = (rotated(axis, sine.value, cosine, x) for x in (values, rates))
        rates[i], rates[j] = rates[i] - sine.spin * values[j], rates[j] + sine.spin * values[i]
        return vector(*map(Dual, values, rates))
    out = v.copy()
    out[i], out[j] = cosine * v[i] - sine * v[j], sine * v[i] + cosine * v[j]
    return out


def rotated_matrix(axis: int, sine: Scalar, cosine: Scalar, S: Vector) -> Vector:
    """Return R S R^T; a symmetric S stays symmetric."""
    i, j, k = (axis + 1) % 3, (axis + 2) % 3, axis
    out = S.copy()
    t = sine * (S[i, i] - S[j, j]) + cosine * (S[i, j] + S[j, i])
    out[i, i], out[j, j] = S[i, i] - sine * t, S[j, j] + sine * t
    out[i, j], out[j, i] = cosine * t - S[j, i], cosine * t - S[i, j]
    out[i, k], out[j, k] = cosine * S[i, k] - sine * S[j, k], sine * S[i, k] + cosine * S[j, k]
    out[k, i], out[k, j] = cosine * S[k, i] - sine * S[k, j], sine * S[k, i] + cosine * S[k, j]
    return out


def sine_cosine(x: Expression, quarters: int) -> tuple[Expression, Expression]:
    """Return sine and cosine of the angle x plus `quarters` quarter turns."""
    sine, cosine = x.apply("sin"), x.apply("cos")
    for _ in range(quarters % 4):
        sine, cosine = cosine, -sine
    return sine, cosine


@dataclass
class Body:
    """A moving body: its placement on the parent and its inertia, in the frame chosen for it."""

    parent: int
    prismatic: bool
    coordinate: int
    ratio: float
    tilt: list[tuple[int, float, float]]  # constant rotations (axis, sine, cosine) from the parent
    place: Vector  # origin in the parent's frame
    axis: Vector  # z axis in the parent's frame
    x: Expression  # position of the joint, without the quarter turns
    quarters: int  # number of quarter turns to add
    sine: Scalar
    cosine: Scalar
    m: Scalar = 0.0
    mc: Vector = field(default_factory=lambda: ZERO.copy())
    J: Vector = field(default_factory=lambda: np.full((3, 3), 0.0, dtype=object))
    spread: Scalar = 0.0  # m |c|^2, the eleventh parameter of NE*
    own: Vector = field(default_factory=lambda: np.eye(3))  # rotation to the model's own frame

    def tilted(self, v: Vector) -> Vector:
        """Return a vector of the parent's frame in this frame at joint position 0."""
        for axis, sine, cosine in self.tilt:
            v = rotated(axis, -sine, cosine, v)
        return v

    def from_parent(self, v: Vector) -> Vector:
        """Return a vector of the parent's frame in this frame."""
        v = self.tilted(v)
        return v if self.prismatic else rotated(2, -self.sine, self.cosine, v)

    def to_parent(self, v: Vector) -> Vector:
        """Return a vector of this frame in the parent's frame."""
        v = v if self.prismatic else rotated(2, self.sine, self.cosine, v)
        for axis, sine, cosine in reversed(self.tilt):
            v = rotated(axis, sine, cosine, v)
        return v

    def matrix_to_parent(self, S: Vector) -> Vector:
        """Return a matrix of this frame in the parent's frame: R S R^T."""
        S = S if self.prismatic else rotated_matrix(2, self.sine, self.cosine, S)
        for axis, sine, cosine in reversed(self.tilt):
            S = rotated_matrix(axis, sine, cosine, S)
        return S


@dataclass
class Robot:
    """The bodies, parents first, with the symbols of their motion."""

    graph: Graph
    bodies: list[Body]
    n: int
    rotors: list[Scalar]
    gravity: Vector  # in the base frame
    friction: list[tuple[Scalar, ...]]  # per joint: viscous, Coulomb, static, Stribeck rate

    def inputs(self, name: str) -> list[Expression]:
        return [self.graph.symbol(f"{name}[{k}]") for k in range(self.n)]

    def rates(self, name: str) -> list[Scalar]:
        """Return an input for each body's joint: that of its coordinate times the ratio."""
        given = self.inputs(name)
        return [body.ratio * given[body.coordinate] for body in self.bodies]


@dataclass
class Turn:
    """Rotation of a body relative to the body `parent`, by all joints of `members` together.

    Bodies behind two parallel joints turn by the sum of both angles. If the angular velocity below
    them is along one axis of the frame, its components behind both are two products with sine and
    cosine of the sum, instead of four with those of the second angle. The sum costs one more sine
    and cosine.
    """

    parent: int
    lead: Body  # the first of the members
    members: tuple[int, ...]
    sine: Scalar
    cosine: Scalar

    def tilted(self, v: Vector) -> Vector:
        """Return a vector of the parent's frame at joint position 0."""
        return self.lead.tilted(v)

    def turned(self, tilted: Vector) -> Vector:
        """Return a tilted vector after the rotation about z."""
        return rotated(2, -self.sine, self.cosine, tilted) if self.members else tilted

    def from_parent(self, v: Vector) -> Vector:
        """Return a vector of the parent's frame in the body's frame."""
        return self.turned(self.tilted(v))

    def total(self, rates: list[Scalar]) -> Scalar:
        total: Scalar = 0.0
        for member in self.members:
            total = total + rates[member]
        return total

    def parent_of(self, values: list[Vector], base: Vector = ZERO) -> Vector:
        """Return the parent's entry of `values`; `base` if the parent is the base."""
        return values[self.parent] if self.parent >= 0 else base


def turns(robot: Robot) -> list[Turn]:
    """Return the turn of each body; those of parallel joints are joined where that saves work."""
    found: list[Turn] = []
    spin: list[Vector] = []  # angular velocity: only its zeros matter here
    rates = robot.rates("qd")
    for i, body in enumerate(robot.bodies):
        turn = Turn(body.parent, body, () if body.prismatic else (i,), body.sine, body.cosine)
        before = found[body.parent] if body.parent >= 0 else None
        if before is not None and before.members and turn.members and not body.tilt:
            tilted = before.tilted(before.parent_of(spin))
            if is_zero(tilted[0]) != is_zero(tilted[1]):
                turn = _joined(robot, before, i)
        spin.append(turn.from_parent(turn.parent_of(spin)) + vector(0.0, 0.0, turn.total(rates)))
        found.append(turn)
    return found


def _joined(robot: Robot, before: Turn, i: int) -> Turn:
    """Return the turn `before` together with the joint of body i."""
    members = (*before.members, i)
    x, quarters = robot.bodies[members[0]].x, robot.bodies[members[0]].quarters
    for member in members[1:]:
        x = x + robot.bodies[member].x
        quarters += robot.bodies[member].quarters
    return Turn(before.parent, before.lead, members, *sine_cosine(x, quarters))


def is_zero(x: Scalar) -> bool:
    """Return whether a scalar is the number 0."""
    return bool(x == 0.0) if isinstance(x, float) else bool(x.is_zero)
