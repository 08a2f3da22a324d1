"""Robots, states, customized quantities and references that the tests of codegen share."""

from __future__ import annotations

import ctypes
import subprocess
from functools import cache

import numpy as np
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.codegen.expression import FUNCTIONS
from robodyn_ros.codegen.quantities import QUANTITIES, customized

ROBOTS = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")
TREES = {f"tree_{seed}": {"seed": seed, "bodies": 6, "mimic": 0.3 * (seed % 2)} for seed in (3, 4)}
NAMES = ("q", "qd", "qd_a", "qdd", "qddd", "tau")
C99 = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]


@cache
def robot(name):
    """A built-in arm or one of TREES."""
    return random_tree(**TREES[name]) if name in TREES else getattr(rd.robots, name)()


@cache
def made(name, quantity, base=None, symbolic=False):
    """A customized quantity, made once for all tests; without `base` the cheaper one."""
    if base is None and QUANTITIES[quantity].inertial:
        choices = (made(name, quantity, choice, symbolic) for choice in (True, False))
        return min(choices, key=lambda found: found.operations.total)
    return customized(robot(name), quantity, base=base, symbolic=symbolic)


def states(model, seed=0, count=None):
    """A random value for every input that any quantity takes."""
    random = np.random.default_rng(seed)
    shape = (model.n,) if count is None else (count, model.n)
    return {name: random.normal(size=shape) for name in NAMES}


def everything(result):
    """All numbers of a result in one array."""
    return np.hstack([np.ravel(part) for part in result if part is not None])


def reference(model, name, state):
    """The result of the generic function."""
    result = getattr(rd, name)(model, *(state[x] for x in QUANTITIES[name].inputs))
    return everything(result if isinstance(result, tuple) else (result,))


def error(found, expected):
    """The largest difference, relative to the largest number."""
    size = np.abs(expected).max()
    return np.abs(found - expected).max() / (size if size > 0.0 else 1.0)


def evaluated(outputs, values):
    """The values of expressions, computed one by one."""
    graph, known = outputs[0].graph, []

    def of(x):
        return known[abs(x) - 1] * (1.0 if x > 0 else -1.0)

    for kind, arguments in zip(graph.operation, graph.arguments, strict=True):
        if kind == "number":
            known.append(arguments[0])
        elif kind == "symbol":
            name, _, place = arguments[0].rstrip("]").partition("[")
            known.append(values[name][int(place)] if place else values[name])
        elif kind == "+":
            known.append(sum(map(of, arguments)))
        elif kind == "*":
            known.append(of(arguments[0]) * of(arguments[1]))
        elif kind == "/":
            known.append(of(arguments[0]) / of(arguments[1]))
        else:
            known.append(FUNCTIONS[kind](of(arguments[0])))
    return np.array([of(graph.reference(x)) for x in outputs])


def run_c(text, folder, function, inputs, size, constants=None):
    """Compile C without any warning, and run it; constants: (parameters, number of constants)."""
    source, library = folder / "code.c", folder / "code.so"
    source.write_text(text, encoding="utf-8")
    subprocess.run(["gcc", *C99, source, "-o", library, "-lm"], check=True, timeout=60)
    code = ctypes.CDLL(str(library))
    arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
    if constants is not None:
        parameters, count = constants
        values = np.zeros(count)
        getattr(code, f"{function}_constants")(pointer(parameters), pointer(values))
        arrays.append(values)
    outputs = [np.zeros(k) for k in size]
    getattr(code, function)(*map(pointer, [*arrays, *outputs]))
    return np.hstack(outputs)


def pointer(array):
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
