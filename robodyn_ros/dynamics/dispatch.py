"""Calls of the kernels by the public functions: one state fast, lists and batches with checks.

A kernel takes the packed model with its work space, flat arrays of one or many states, and its
outputs. It returns 0, or 1 if the arrays do not fit or hold a number that is not finite. A public
function first calls the kernel bound to its model; arguments are checked if that rejects them.
"""

import types
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .compile import Kernel
from .cpython_binding import bind

Array = npt.NDArray[np.float64]
ArrayLike = npt.ArrayLike
Function = Callable[..., int]  # a kernel, or one of a customized model


def bind_to(
    model: RobotModel,
    name: str,
    kernel: Function,
    inputs: int,
    shapes: Sequence[tuple[int, ...]],
    packed: Array | None = None,
) -> Callable[..., Any]:
    """Bind a kernel to a model's work space, or to `packed`, and keep it in `model.bound`."""
    packed = workspace(model) if packed is None else packed
    model.bound[name] = bind(packed, model.n, kernel, inputs, shapes)
    return model.bound[name]


def workspace(model: RobotModel, gravity: bool = True) -> Array:
    """Return the packed model that all bound kernels share: they hold the interpreter's lock."""
    key = "workspace" if gravity else "workspace without gravity"
    if key not in model.bound:
        packed = aligned_copy(model.packed)
        if not gravity:
            packed[int(at.GRAVITY) : int(at.GRAVITY) + 3] = 0.0
        model.bound[key] = packed
    return model.bound[key]


def checked(model: RobotModel, **arguments: Any) -> list[Array]:
    """Return all arguments as finite arrays of equal shape: (n,), or (T, n) if one is a batch."""
    states = {name: states_of(model, name, value) for name, value in arguments.items()}
    for name, array in states.items():
        _check_finite(model, name, array)
    if any(array.ndim == 2 for array in states.values()):
        shape = (_common_length(states), model.n)
        return [np.broadcast_to(array, shape) for array in states.values()]
    return list(states.values())


def per_joint(model: RobotModel, name: str, value: ArrayLike) -> Array:
    """Return (n,) finite numbers, from one number for all joints or one per joint."""
    try:
        numbers = np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), (model.n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {model.n}, got {value!r}") from None
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{name} must be finite, got {value!r}")
    return numbers


def finite(model: RobotModel, result: Array, **arguments: Any) -> Array:
    """Return the result; raise ArgumentError if an argument was too large for it."""
    if not np.isfinite(result).all():
        explain(model, **arguments)
    return result


def _common_length(states: dict[str, Array]) -> int:
    """Return the number of samples of the batches among these states; 1 without a batch."""
    counts = {array.shape[0] for array in states.values() if array.ndim == 2}
    if len(counts) > 1:
        given = ", ".join(f"{name} {array.shape}" for name, array in states.items())
        raise ArgumentError(f"batches must have the same number of samples, got {given}")
    return counts.pop() if counts else 1


def explain(model: RobotModel, **arguments: Any) -> NoReturn:
    """Raise the error that says what is wrong with arguments that a kernel rejected."""
    checked(model, **arguments)
    raise ArgumentError(
        f"the result is not finite: one of {', '.join(arguments)} is too large for robot "
        f"'{model.name}'"
    )


def states_of(model: RobotModel, name: str, value: Any) -> Array:
    """Return `value` as an (n,) or (T, n) array; raise ArgumentError, which names it."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "biuf":
        raise ArgumentError(f"{name} must be real numbers, got {value!r}")
    array = array.astype(np.float64, copy=False)
    if array.ndim not in (1, 2) or array.shape[-1] != model.n:
        raise ArgumentError(
            f"{name} must have shape ({model.n},) or (T, {model.n}) for robot '{model.name}', "
            f"got {array.shape}"
        )
    return array


def for_kernel(array: Array) -> Array:
    """Return the array, or a copy, that is contiguous, writable and aligned, as signatures ask."""
    return np.require(array, requirements=["C", "W", "A"])


def _check_finite(model: RobotModel, name: str, array: Array) -> None:
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        sample = f" in sample {where[0]}" if array.ndim == 2 else ""
        raise ArgumentError(
            f"{name} of joint '{model.joint_names[where[-1]]}'{sample} is {array[where]}; "
            "it must be finite"
        )


def evaluate(
    kernel: Function,
    model: RobotModel,
    arguments: dict[str, Any],
    shapes: Sequence[tuple[int, ...]],
    packed: Array | None = None,
    constants: tuple[Any, ...] = (),
    threads: int = 1,
) -> list[Array]:
    """Run a kernel on lists, integers, strided arrays or batches; return one array per shape.

    `shapes` are those of the outputs for a single state; a batch of T returns (T, *shape).
    """
    packed = workspace(model) if packed is None else packed
    if threads < 1:
        raise ArgumentError(f"threads must be at least 1, got {threads}")
    states = {name: states_of(model, name, value) for name, value in arguments.items()}
    batch = any(array.ndim == 2 for array in states.values())
    T = _common_length(states)
    if T > 1:
        weightless = not packed[int(at.GRAVITY) : int(at.GRAVITY) + 3].any()
        own: dict[Any, Any] = model.bound
        with suppress(KeyError):  # kernels of a customized model: see codegen
            kernel = own[kernel, constants, weightless]
    whole = (x if x.ndim == 2 else np.tile(x, (T, 1)) for x in states.values())
    inputs = [for_kernel(x) for x in whole]
    if len(set(shapes)) == 1:  # one allocation is faster than several
        outputs = list(np.empty((len(shapes), T, *shapes[0])))
    else:
        outputs = [np.empty((T, *shape)) for shape in shapes]

    def run(call: Function, rows: slice) -> int:
        if rows.start == rows.stop:
            return 0
        flat_in = [x[rows].reshape(-1) for x in inputs]
        flat_out = [y[rows].reshape(-1) for y in outputs]
        # A work space for each call: the kernel may run without the interpreter's lock.
        return call(aligned_copy(packed), *flat_in, *constants, *flat_out)

    if threads == 1 or threads >= T:
        failed = run(kernel, slice(0, T))
    else:
        unlocked = without_lock(kernel)
        edges = np.linspace(0, T, threads + 1).astype(int)
        chunks = [slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True)]
        with ThreadPoolExecutor(threads) as pool:
            failed = any(list(pool.map(lambda rows: run(unlocked, rows), chunks)))
    if failed:
        explain(model, **arguments)
    return [y if batch else y[0] for y in outputs]


@cache
def without_lock(kernel: Any) -> Function:
    """Return the kernel compiled to release the interpreter's lock, under a name of its own."""
    function = kernel.py_func
    code = function.__code__.replace(co_name=function.__name__ + "_without_lock")
    twin = types.FunctionType(code, function.__globals__, code.co_name)
    twin.__module__ = function.__module__
    return Kernel(twin, kernel.signatures[0], nogil=True).compiled
