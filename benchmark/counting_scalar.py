"""Counting the operations of the generic kernels: their own source, run on numbers that count.

A kernel is Python that the compiler usually takes over. Here it is taken uncompiled, with all it
calls, and given floats that keep a tally. Sines and cosines count on their own; the products with
a literal 0.0, by which kernels look for numbers that are not finite, do not count.
"""

from __future__ import annotations

import math
import types
from collections import Counter
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

import robodyn_ros as rd
from robodyn_ros.dynamics import joints
from robodyn_ros.dynamics.compile import Kernel

tally: Counter[str] = Counter()


class Counting(float):
    """A float that counts what is done to it."""

    def _did(self, what: str, value: float) -> Counting:
        tally[what] += 1
        return Counting(value)

    def __add__(self, other):
        return self._did("additions", float(self) + float(other))

    def __sub__(self, other):
        return self._did("additions", float(self) - float(other))

    def __rsub__(self, other):
        return self._did("additions", float(other) - float(self))

    def __mul__(self, other):
        if type(other) is float and other == 0.0:
            return 0.0
        return self._did("multiplications", float(self) * float(other))

    def __truediv__(self, other):
        return self._did("multiplications", float(self) / float(other))

    def __rtruediv__(self, other):
        return self._did("multiplications", float(other) / float(self))

    def __neg__(self):
        return Counting(-float(self))

    __radd__, __rmul__ = __add__, __mul__


def _set_sines(a: Any, x: int, count: int) -> float:
    for i in range(int(count)):
        angle = float(a[x + i])
        a[x + count + i] = Counting(math.sin(angle))
        a[x + count + count + i] = Counting(math.cos(angle))
    return 0.0


def plain(kernel: Any, known: dict[Any, Any]) -> Any:
    """A kernel, and all it calls, as Python functions."""
    if kernel not in known:
        function = kernel.py_func
        names = dict(function.__globals__)
        twin = types.FunctionType(function.__code__, names, function.__name__)
        known[kernel] = twin
        for name in function.__code__.co_names:
            if isinstance(names.get(name), (Dispatcher, Kernel)):
                names[name] = plain(names[name], known)
    return known[kernel]


def count(kernel: Any, block: np.ndarray, states: list[np.ndarray], sizes: list[int]) -> Counter:
    """What one evaluation of a kernel costs."""
    function = plain(kernel, {joints.set_sines: _set_sines})
    numbers = np.array([Counting(x) for x in block], dtype=object)
    given = [np.array([Counting(x) for x in state], dtype=object) for state in states]
    outputs = [np.array([Counting(0.0)] * size, dtype=object) for size in sizes]
    tally.clear()
    if function(numbers, *given, *outputs) != 0:
        raise rd.RobodynError(f"{function.__name__} refused its state")
    return Counter(tally)
