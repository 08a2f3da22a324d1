"""Run-time part of the customized kernels: generated files import it.

`straight_line` gives a program directly to the compiler's back end: as Python, some hundred
operations take it seconds, to infer that every value is a float. `set_sines` is that of
`dynamics/joints.py` with the rounding error of the reduction added: error below 1 ulp.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from ..dynamics import joints as j
from ..dynamics.compile import inline
from .program import Assignment

Slot = tuple[int, int]  # which array, and which number of it

double, word = ir.DoubleType(), ir.IntType(64)
CONTRACT = ("contract",)  # a * b + c may be fused, as in all kernels
NO_OVERFLOW = ("nsw", "nuw")


def straight_line(
    steps: Sequence[Assignment],
    inputs: Mapping[str, Slot],
    outputs: Mapping[Slot, str],
    stride: int,
    widths: Sequence[int],
) -> Any:
    """Return a function (arrays, lane, sample) for compiled code. It reads its inputs from the
    arrays, writes its outputs to them, and returns 0, or NaN if one of them is not finite.

    Number k of the first array, the work space, is element k * stride + lane; number k of another
    array is element sample * width + k.
    """

    @intrinsic
    def run(typing_context, arrays, lane, sample):
        def build(context, builder, signature, arguments):
            parts = cgutils.unpack_tuple(builder, arguments[0], len(arrays))
            pointers = [context.make_array(arrays.dtype)(context, builder, x).data for x in parts]
            line = _Builder(builder, pointers, arguments[1], arguments[2], stride, widths)
            return line.run(steps, inputs, outputs)

        return nb.float64(arrays, nb.int64, nb.int64), build

    return run


class _Builder:
    def __init__(
        self,
        builder: Any,
        arrays: list[Any],
        lane: Any,
        sample: Any,
        stride: int,
        widths: Sequence[int],
    ):
        self.builder, self.arrays, self.lane, self.stride = builder, arrays, lane, stride
        self.starts = [self._by(sample, width) for width in widths]
        self.values: dict[str, Any] = {}

    def run(
        self, steps: Sequence[Assignment], inputs: Mapping[str, Slot], outputs: Mapping[Slot, str]
    ) -> Any:
        for name, slot in inputs.items():
            self.values[name] = self.builder.load(self._pointer(slot))
        given = list(self.values.values())
        for step in steps:
            value = self._sum(step.value)
            self.values[step.name] = self._function(step.function, value)
        values = [self._sum(text) for text in outputs.values()]
        for slot, value in zip(outputs, values, strict=True):
            self.builder.store(value, self._pointer(slot))
        return self._multiply(ir.Constant(double, 0.0), self._total(given + values))

    def _by(self, index: Any, width: int) -> Any:
        return self.builder.mul(index, ir.Constant(word, width), flags=NO_OVERFLOW)

    def _pointer(self, slot: Slot) -> Any:
        array, k = slot
        first, step = (self.starts[array - 1], k) if array else (self.lane, k * self.stride)
        offset = self.builder.add(first, ir.Constant(word, step), flags=NO_OVERFLOW)
        return self.builder.gep(self.arrays[array], [offset], inbounds=True)

    def _sum(self, text: str) -> Any:
        """Return a sum of products, written with blanks around every operator but a first sign."""
        words = text.removeprefix("-").split(" ")
        value = self._product(words)
        if text.startswith("-"):
            value = self.builder.fneg(value)
        while words:
            add = {"+": self.builder.fadd, "-": self.builder.fsub}[words.pop(0)]
            value = add(value, self._product(words), flags=CONTRACT)
        return value

    def _product(self, words: list[str]) -> Any:
        """Return the product at the start of `words`, and remove it from them."""
        value = self._factor(words.pop(0))
        while words and words[0] in "*/":
            by = self._multiply if words.pop(0) == "*" else self._divide
            value = by(value, self._factor(words.pop(0)))
        return value

    def _factor(self, word: str) -> Any:
        return self.values[word] if word in self.values else ir.Constant(double, float(word))

    def _multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=CONTRACT)

    def _divide(self, a: Any, b: Any) -> Any:
        return self.builder.fdiv(a, b, flags=CONTRACT)

    def _total(self, values: list[Any]) -> Any:
        """Return the sum of the values, in pairs, so that additions run in parallel."""
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=False)
            odd = values[len(values) - len(values) % 2 :]
            values = [self.builder.fadd(a, b) for a, b in pairs] + odd
        return values[0]

    def _function(self, name: str, x: Any) -> Any:
        if not name:
            return x
        return FUNCTIONS[name](self.builder, x)


def _library(name: str) -> Callable[[Any, Any], Any]:

    def call(builder: Any, x: Any) -> Any:
        return builder.call(builder.module.declare_intrinsic(name, [double]), [x])

    return call


def _sign(builder: Any, x: Any) -> Any:
    zero = ir.Constant(double, 0.0)
    above = builder.uitofp(builder.fcmp_ordered(">", x, zero), double)
    below = builder.uitofp(builder.fcmp_ordered("<", x, zero), double)
    return builder.fsub(above, below)


FUNCTIONS = {"abs": _library("llvm.fabs"), "exp": _library("llvm.exp"), "sign": _sign}


@inline
def sine_cosine(x):
    """Return sine and cosine of x, for |x| <= LARGE_ANGLE."""
    k = np.floor(x * (2.0 / math.pi) + 0.5)
    high = x - k * j.PI_2_HIGH  # exact
    middle = high - k * j.PI_2_MIDDLE
    lost = k * j.PI_2_LOW - ((high - middle) - k * j.PI_2_MIDDLE)
    y = middle - lost
    tail = (middle - y) - lost  # the reduced angle is y + tail
    z = y * y
    rest = y * z * (j.S1 + z * (j.S2 + z * (j.S3 + z * (j.S4 + z * (j.S5 + z * j.S6)))))
    s = y + (rest + tail * (1.0 - 0.5 * z))
    rest = z * z * (j.C1 + z * (j.C2 + z * (j.C3 + z * (j.C4 + z * (j.C5 + z * j.C6)))))
    most = 1.0 - 0.5 * z
    c = most + (((1.0 - most) - 0.5 * z) + (rest - y * tail))
    # Quarter turn k: sine and cosine are swapped for odd k, and change signs with k // 2
    half = np.floor(0.5 * k)
    sign = 1.0 - 2.0 * (half - 2.0 * np.floor(0.5 * half))
    odd = k != 2.0 * half
    return sign * (c if odd else s), sign * (-s if odd else c)


@inline
def set_sines(a, count):
    """Store sines and cosines of `count` angles behind them; return 0, NaN if not finite."""
    large, infinite = 0, 0
    for i in range(count):
        large += not abs(a[i]) <= j.LARGE_ANGLE
        infinite += not abs(a[i]) < np.inf
        s, c = sine_cosine(a[i])
        a[count + i] = s
        a[count + count + i] = c
    if large > 0:
        for i in range(count):
            a[count + i] = math.sin(a[i])
            a[count + count + i] = math.cos(a[i])
    return 0.0 if infinite == 0 else np.nan


@inline
def filled(a, size):
    """Return `size` numbers: those of a, repeated."""
    out = np.empty(size)
    for i in range(size):
        out[i] = a[i % a.size]
    return out
