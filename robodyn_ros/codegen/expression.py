"""Symbolic scalars, simplified while a sweep runs on them; and dual numbers, which carry rates.

A `Graph` holds the expressions of one computation. An `Expression` of it behaves like a float, so
that a sweep written with + - * / runs on it unchanged. While it runs,

    0 x, 1 x, x + 0, x - x      vanish
    numbers                     are folded
    equal expressions           are stored once (operands in a fixed order)
    a minus sign                moves outwards, where it costs nothing

Some symbols are constants of the robot. Expressions of constants alone are computed off line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Scalar = Any  # a float, an Expression or a Dual

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "abs": abs,
    "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
}

# Index of an expression in its graph, counted from 1; negative for the negated expression
Reference = int


class Graph:
    """Expressions, each with its operation, its arguments, and whether it is a constant."""

    def __init__(self) -> None:
        self.operation: list[str] = []
        self.arguments: list[tuple[Any, ...]] = []
        self.constant: list[bool] = []
        self._known: dict[tuple[str, tuple[Any, ...]], Reference] = {}
        self.zero = self._node("number", (0.0,), True)
        self.one = self._node("number", (1.0,), True)

    def _node(self, operation: str, arguments: tuple[Any, ...], constant: bool) -> Reference:
        key = operation, arguments
        found = self._known.get(key)
        if found is None:
            self.operation.append(operation)
            self.arguments.append(arguments)
            self.constant.append(constant)
            found = self._known[key] = len(self.operation)
        return found

    def symbol(self, name: str, *, constant: bool = False) -> Expression:
        """Return an input, or a constant of the robot with an unknown value."""
        return Expression(self, self._node("symbol", (name,), constant))

    def number(self, value: float) -> Reference:
        if value == 0.0:
            return self.zero
        found = self._node("number", (abs(float(value)),), True)
        return found if value > 0.0 else -found

    def reference(self, x: Expression | float) -> Reference:
        """Return the reference of an expression or a number."""
        return x.reference if isinstance(x, Expression) else self.number(float(x))

    def value(self, x: Reference) -> float | None:
        """Return the value of x if it is a number, else None."""
        if self.operation[abs(x) - 1] != "number":
            return None
        value: float = self.arguments[abs(x) - 1][0]
        return value if x > 0 else -value

    def is_constant(self, x: Reference) -> bool:
        """Return whether x consists of constants alone."""
        return self.constant[abs(x) - 1]

    def split(self, x: Reference) -> tuple[Reference, Reference]:
        """Return (c, y) with x = c y and c the constant factor of a product, else 1."""
        place = abs(x) - 1
        if self.operation[place] == "*" and not self.constant[place]:
            first, second = self.arguments[place]
            if self.constant[first - 1]:
                return first if x > 0 else -first, second
        return self.one if x > 0 else -self.one, abs(x)

    def multiply(self, a: Reference, b: Reference) -> Reference:
        """Return a b, with at most one constant factor."""
        if self.zero in (a, b):
            return self.zero
        if a < 0:
            return -self.multiply(-a, b)
        if b < 0:
            return -self.multiply(a, -b)
        if a == self.one:
            return b
        if b == self.one:
            return a
        va, vb = self.value(a), self.value(b)
        if va is not None and vb is not None:
            return self.number(va * vb)
        if self.constant[b - 1] and not self.constant[a - 1]:
            a, b = b, a
        if self.constant[a - 1] and not self.constant[b - 1]:
            c, rest = self.split(b)
            if c != self.one:
                return self.multiply(self.multiply(a, c), rest)
            return self._node("*", (a, b), False)
        return self._node("*", (min(a, b), max(a, b)), self.constant[a - 1])

    def add(self, a: Reference, b: Reference) -> Reference:
        """Return a + b; multiples of one expression become one multiple."""
        if a == -b:
            return self.zero
        if self.zero in (a, b):
            return b if a == self.zero else a
        va, vb = self.value(a), self.value(b)
        if va is not None and vb is not None:
            return self.number(va + vb)
        (ca, ra), (cb, rb) = self.split(a), self.split(b)
        if ra == rb:
            return self.multiply(self.add(ca, cb), ra)
        if abs(a) > abs(b):
            a, b = b, a
        constant = self.is_constant(a) and self.is_constant(b)
        if a < 0:
            return -self._node("+", (-a, -b), constant)
        return self._node("+", (a, b), constant)

    def divide(self, a: Reference, b: Reference) -> Reference:
        """Return a / b; by a constant, it is a product with its inverse."""
        if a == self.zero:
            return a
        if a < 0:
            return -self.divide(-a, b)
        if b < 0:
            return -self.divide(a, -b)
        if b == self.one:
            return a
        if a == b:
            return self.one
        va, vb = self.value(a), self.value(b)
        if va is not None and vb is not None:
            return self.number(va / vb)
        if self.constant[b - 1] and not self.constant[a - 1]:
            return self.multiply(self.divide(self.one, b), a)
        return self._node("/", (a, b), self.constant[a - 1] and self.constant[b - 1])

    def function(self, name: str, x: Reference) -> Reference:
        value = self.value(x)
        if value is not None:
            return self.number(FUNCTIONS[name](value))
        if name in ("sin", "sign") and x < 0:
            return -self.function(name, -x)
        if name in ("cos", "abs"):
            x = abs(x)
        return self._node(name, (x,), self.constant[abs(x) - 1])


class Expression:
    """A scalar of a graph."""

    __slots__ = ("graph", "reference")

    def __init__(self, graph: Graph, reference: Reference):
        self.graph, self.reference = graph, reference

    def _with(self, reference: Reference) -> Expression:
        return Expression(self.graph, reference)

    def __neg__(self) -> Expression:
        zero = self.graph.zero
        return self if self.reference == zero else self._with(-self.reference)

    def __add__(self, other: Any) -> Expression:
        if not isinstance(other, (Expression, float, int)):
            return NotImplemented  # an array applies the operation to its elements
        return self._with(self.graph.add(self.reference, self.graph.reference(other)))

    def __mul__(self, other: Any) -> Expression:
        if not isinstance(other, (Expression, float, int)):
            return NotImplemented
        return self._with(self.graph.multiply(self.reference, self.graph.reference(other)))

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Expression:
        return self + -other

    def __rsub__(self, other: Any) -> Expression:
        return -self + other

    def __truediv__(self, other: Any) -> Expression:
        return self._with(self.graph.divide(self.reference, self.graph.reference(other)))

    def __rtruediv__(self, other: Any) -> Expression:
        return self._with(self.graph.divide(self.graph.reference(other), self.reference))

    def apply(self, name: str) -> Expression:
        return self._with(self.graph.function(name, self.reference))

    @property
    def is_zero(self) -> bool:
        """Whether this is the number 0."""
        return self.reference == self.graph.zero


class Dual:
    """Value and rate of a scalar: a sweep on duals returns its outputs with their rates.

    The rate is that of the component itself, in the turning frame. For the sine of an angle x,
    `spin` is the rate of x: a rotation by x then takes two more products instead of six,
    (R v)' = R v' + x' z x (R v), see `rotated`.
    """

    __slots__ = ("rate", "spin", "value")

    def __init__(self, value: Scalar, rate: Scalar, spin: Scalar = 0.0):
        self.value, self.rate, self.spin = value, rate, spin

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate, -self.spin)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value, rate = value_and_rate(other)
        return Dual(self.value + value, self.rate + rate)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value, rate = value_and_rate(other)
        return Dual(self.value * value, self.rate * value + self.value * rate)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Dual:
        return self + -other

    def __rsub__(self, other: Any) -> Dual:
        return -self + other


def value_and_rate(x: Any) -> tuple[Scalar, Scalar]:
    """Return value and rate of a scalar; without a rate it is 0."""
    return (x.value, x.rate) if isinstance(x, Dual) else (x, 0.0)
