"""Scalars with their rates: a sweep that runs on them gives its outputs and their rates.

The rate is that of the component as such, in the turning frame. A product costs two more, and a
turn by an angle x, whose sine and cosine would cost six more, only two:

    (R v)' = R v' + x' z x (R v)
"""

from __future__ import annotations

from typing import Any

import numpy as np

Scalar = Any


class Dual:
    """A value and its rate; for the sine of an angle also the rate of that angle."""

    __slots__ = ("rate", "spin", "value")

    def __init__(self, value: Scalar, rate: Scalar, spin: Scalar = 0.0):
        self.value, self.rate, self.spin = value, rate, spin

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate, -self.spin)

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value, rate = parts(other)
        return Dual(self.value + value, self.rate + rate)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, np.ndarray):
            return NotImplemented
        value, rate = parts(other)
        return Dual(self.value * value, self.rate * value + self.value * rate)

    __radd__, __rmul__ = __add__, __mul__

    def __sub__(self, other: Any) -> Dual:
        return self + -other

    def __rsub__(self, other: Any) -> Dual:
        return -self + other


def parts(x: Any) -> tuple[Scalar, Scalar]:
    return (x.value, x.rate) if isinstance(x, Dual) else (x, 0.0)
