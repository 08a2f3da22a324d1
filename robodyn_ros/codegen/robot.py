"""A robot for the sweeps on symbols: frames that make most numbers 0, and positions as symbols.

The frames are those of Khalil and Kleinfinger: z along the joint's axis, x along the common normal
with the next axis, the origin where both meet. From body to body there is then one turn about x,
one move, and the joint. Angles between the chosen x axes go into the joints' positions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .dual import Dual, parts
from .expression import Expression, Graph

Scalar = Any  # a float or an Expression
Vector = npt.NDArray[Any]  # (3,) of them; matrices likewise

TINY = 1e-13  # what a sine or cosine, or a place [m], may miss 0 or 1 by


def vector(*elements: Scalar) -> Vector:
    return np.array(elements, dtype=object)


ZERO = vector(0.0, 0.0, 0.0)


def cross(a: Vector, b: Vector) -> Vector:
    return vector(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def turned(axis: int, sine: Scalar, cosine: Scalar, v: Vector) -> Vector:
    """v turned about a coordinate axis: R v."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    if isinstance(sine, Dual):
        values, rates = (vector(*column) for column in zip(*map(parts, v), strict=True))
        values, rates = (turned(axis, sine.value, cosine, x) for x in (values, rates))
        rates[i], rates[j] = rates[i] - sine.spin * values[j], rates[j] + sine.spin * values[i]
        return vector(*map(Dual, values, rates))
    out = v.copy()
    out[i], out[j] = cosine * v[i] - sine * v[j], sine * v[i] + cosine * v[j]
    return out


def turned_matrix(axis: int, sine: Scalar, cosine: Scalar, S: Vector) -> Vector:
    """R S R^T; what is symmetric stays so."""
    i, j, k = (axis + 1) % 3, (axis + 2) % 3, axis
    out = S.copy()
    t = sine * (S[i, i] - S[j, j]) + cosine * (S[i, j] + S[j, i])
    out[i, i], out[j, j] = S[i, i] - sine * t, S[j, j] + sine * t
    out[i, j], out[j, i] = cosine * t - S[j, i], cosine * t - S[i, j]
    out[i, k], out[j, k] = cosine * S[i, k] - sine * S[j, k], sine * S[i, k] + cosine * S[j, k]
    out[k, i], out[k, j] = cosine * S[k, i] - sine * S[k, j], sine * S[k, i] + cosine * S[k, j]
    return out


def sine_cosine(x: Expression, quarters: int) -> tuple[Expression, Expression]:
    """Those of the angle x and so many quarter turns."""
    sine, cosine = x.apply("sin"), x.apply("cos")
    for _ in range(quarters % 4):
        sine, cosine = cosine, -sine
    return sine, cosine


@dataclass
class Body:
    """A moving body: how it sits on its parent, and what it weighs, in the frame chosen for it."""

    parent: int
    prismatic: bool
    coordinate: int
    ratio: float
    tilt: list[tuple[int, float, float]]  # constant turns (axis, sine, cosine) from the parent
    place: Vector  # origin in the parent's frame
    axis: Vector  # z seen from the parent
    x: Expression  # position of the joint, but for
    quarters: int  # so many quarter turns
    sine: Scalar
    cosine: Scalar
    m: Scalar = 0.0
    mc: Vector = field(default_factory=lambda: ZERO.copy())
    J: Vector = field(default_factory=lambda: np.full((3, 3), 0.0, dtype=object))
    spread: Scalar = 0.0  # m |c|^2, which NE* needs beside the ten
    own: Vector = field(default_factory=lambda: np.eye(3))  # from here to the model's own axes

    def tilted(self, v: Vector) -> Vector:
        """A vector of the parent in this frame as it stands at position 0."""
        for axis, sine, cosine in self.tilt:
            v = turned(axis, -sine, cosine, v)
        return v

    def from_parent(self, v: Vector) -> Vector:
        v = self.tilted(v)
        return v if self.prismatic else turned(2, -self.sine, self.cosine, v)

    def to_parent(self, v: Vector) -> Vector:
        v = v if self.prismatic else turned(2, self.sine, self.cosine, v)
        for axis, sine, cosine in reversed(self.tilt):
            v = turned(axis, sine, cosine, v)
        return v

    def matrix_to_parent(self, S: Vector) -> Vector:
        """R S R^T."""
        S = S if self.prismatic else turned_matrix(2, self.sine, self.cosine, S)
        for axis, sine, cosine in reversed(self.tilt):
            S = turned_matrix(axis, sine, cosine, S)
        return S


@dataclass
class Robot:
    """The bodies, parents first, with the symbols that move them."""

    graph: Graph
    bodies: list[Body]
    n: int
    rotors: list[Scalar]
    gravity: Vector  # of the base, in its axes
    friction: list[tuple[Scalar, ...]]  # per joint: viscous, Coulomb, static, fading

    def inputs(self, name: str) -> list[Expression]:
        return [self.graph.symbol(f"{name}[{k}]") for k in range(self.n)]

    def rates(self, name: str) -> list[Scalar]:
        """The joints' own rates: those of a coordinate times each joint's ratio."""
        given = self.inputs(name)
        return [body.ratio * given[body.coordinate] for body in self.bodies]
