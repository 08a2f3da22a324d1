"""A program as machine code: handed to the compiler as what it is, one operation after the other.

The compiler reads Python, finds the types of all its values, and optimizes; for straight-line code
of some hundred operations that takes seconds, nearly all of it for finding out that everything is
a float. Here the operations are given to its back end directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llvmlite import ir
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from .program import Assignment

double, word = ir.DoubleType(), ir.IntType(64)
CONTRACT = ("contract",)  # a * b + c may be fused, as in all kernels
NO_OVERFLOW = ("nsw", "nuw")


Place = tuple[int, int]  # which array, and which number of it


def straight_line(
    steps: Sequence[Assignment],
    inputs: Mapping[str, Place],
    outputs: Mapping[Place, str],
    stride: int,
    widths: Sequence[int],
) -> Any:
    """A function (arrays, lane, sample) for compiled code. It reads its inputs from the arrays,
    writes its outputs to them, and returns 0, or NaN if one of them is not finite.

    Number k of the first array, the work space, is its element k * stride + lane; number k of
    another is element sample * width + k.
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
        self.known: dict[str, Any] = {}

    def run(
        self,
        steps: Sequence[Assignment],
        inputs: Mapping[str, Place],
        outputs: Mapping[Place, str],
    ) -> Any:
        for name, place in inputs.items():
            self.known[name] = self.builder.load(self._pointer(place))
        given = list(self.known.values())
        for step in steps:
            value = self._sum(step.value)
            self.known[step.name] = self._function(step.function, value)
        values = [self._sum(text) for text in outputs.values()]
        for place, value in zip(outputs, values, strict=True):
            self.builder.store(value, self._pointer(place))
        return self._multiply(ir.Constant(double, 0.0), self._total(given + values))

    def _by(self, index: Any, width: int) -> Any:
        return self.builder.mul(index, ir.Constant(word, width), flags=NO_OVERFLOW)

    def _pointer(self, place: Place) -> Any:
        array, k = place
        first, step = (self.starts[array - 1], k) if array else (self.lane, k * self.stride)
        offset = self.builder.add(first, ir.Constant(word, step), flags=NO_OVERFLOW)
        return self.builder.gep(self.arrays[array], [offset], inbounds=True)

    def _sum(self, text: str) -> Any:
        """A sum of products, as the programs write them: blanks around every sign but a first."""
        words = text.removeprefix("-").split(" ")
        value = self._product(words)
        if text.startswith("-"):
            value = self.builder.fneg(value)
        while words:
            add = {"+": self.builder.fadd, "-": self.builder.fsub}[words.pop(0)]
            value = add(value, self._product(words), flags=CONTRACT)
        return value

    def _product(self, words: list[str]) -> Any:
        """Use up words as far as a product goes."""
        value = self._factor(words.pop(0))
        while words and words[0] in "*/":
            by = self._multiply if words.pop(0) == "*" else self._divide
            value = by(value, self._factor(words.pop(0)))
        return value

    def _factor(self, word: str) -> Any:
        return self.known[word] if word in self.known else ir.Constant(double, float(word))

    def _multiply(self, a: Any, b: Any) -> Any:
        return self.builder.fmul(a, b, flags=CONTRACT)

    def _divide(self, a: Any, b: Any) -> Any:
        return self.builder.fdiv(a, b, flags=CONTRACT)

    def _total(self, values: list[Any]) -> Any:
        """Their sum, in pairs: no addition waits long for another."""
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
