"""Kernels as built-in functions of Python, because a short kernel takes less time than its call.

Behind the compiler's dispatcher, a kernel of 0.2 µs costs 0.35 µs for the call and 0.1 µs for each
array. Bound to a model, it checks the arrays itself, allocates the outputs and runs: 0.2 µs.

    p, ctqd, g = bind(workspace(model), n, _momentum_terms, 2, [(n,), (n,), (n,)])(q, qd)

It accepts aligned, contiguous float64 arrays of n numbers only. For anything else (also unpickled
arrays, whose dtype is another object) it returns None, and `dispatch.evaluate` converts.
Where the interpreter is not CPython with its lock, `bind` returns an equal function in Python.
"""

import ctypes
import sys
import sysconfig
import types
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import carray, cfunc, config
from numba import types as nb
from numba.core import cgutils
from numba.extending import intrinsic

from .compile import COMPILE, Kernel, inline

# The context of a bound function, in words of 8 bytes. First the frame that its kernel reads:
PACKED, N, IN, OUT, SIZE = 0, 1, 2, 7, 10
# then the function's own data: counts, addresses, and the outputs' shapes.
INPUTS, OUTPUTS, KERNEL = 13, 14, 15
ARRAY_TYPE, FLOAT64, NEW_ARRAY, NONE, SHAPES = 16, 17, 18, 19, 20
CONTEXT_SIZE = SHAPES + 3 * 3

# NumPy's documented array object, in words of 8 bytes behind the reference count
TYPE, DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS = 1, 2, 3, 4, 7, 8
C_CONTIGUOUS_ALIGNED = 0x0101
NPY_DOUBLE = 12
INT32 = 0xFFFFFFFF

word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()


def _pointer_to(item: Any, llvm_item: Any) -> Any:
    @intrinsic
    def at(typing_context, address):
        def build(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], llvm_item.as_pointer())

        return nb.CPointer(item)(nb.int64), build

    return at


words_at = _pointer_to(nb.int64, ir.IntType(64))
floats_at = _pointer_to(nb.float64, ir.DoubleType())


def _python_api(name: str, count: int) -> Any:
    """Return a function of Python's C interface, with whole numbers for pointers."""

    @intrinsic
    def call(typing_context, arguments_tuple):
        def build(context, builder, signature, arguments):
            values = cgutils.unpack_tuple(builder, arguments[0], count)
            kind = ir.FunctionType(word, [word] * count)
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            return builder.call(function, values)

        return nb.int64(nb.UniTuple(nb.int64, count)), build

    return call


py_incref, py_decref = _python_api("Py_IncRef", 1), _python_api("Py_DecRef", 1)
py_tuple_new, py_tuple_set = _python_api("PyTuple_New", 1), _python_api("PyTuple_SetItem", 3)


@intrinsic
def new_array(typing_context, function, array_type, dimensions, shape):
    """PyArray_New of NumPy's C interface, for float64."""

    def build(context, builder, signature, arguments):
        i32 = ir.IntType(32)
        parameters = [pointer, i32, pointer, i32, pointer, pointer, i32, i32, pointer]
        kind = ir.FunctionType(word, parameters).as_pointer()
        call, array_type, dimensions, shape = arguments
        null, zero = ir.Constant(pointer, None), ir.Constant(i32, 0)
        values = [
            builder.inttoptr(array_type, pointer),
            builder.trunc(dimensions, i32),
            builder.inttoptr(shape, pointer),
            ir.Constant(i32, NPY_DOUBLE),
            null,
            null,
            zero,
            zero,
            null,
        ]
        return builder.call(builder.inttoptr(call, kind), values)

    return nb.int64(nb.int64, nb.int64, nb.int64, nb.int64), build


@intrinsic
def call_kernel(typing_context, function, frame):
    def build(context, builder, signature, arguments):
        kind = ir.FunctionType(word, [word]).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], kind), [arguments[1]])

    return nb.int64(nb.int64, nb.int64), build


@inline
def _fits(context, array):
    """Return whether an argument is an array that a kernel may read.

    The type is checked first: an object of another type may be shorter than an array.
    """
    return (
        array[TYPE] == context[ARRAY_TYPE]
        and array[DTYPE] == context[FLOAT64]
        and array[DIMENSIONS] & INT32 == 1
        and array[FLAGS] & C_CONTIGUOUS_ALIGNED == C_CONTIGUOUS_ALIGNED
        and words_at(array[SHAPE])[0] == context[N]
    )


def _call(self, arguments, count):
    """The built-in function itself: (context, array of arguments, their number) to a new object.

    The tuple is made first, because that may start a garbage collection, and with it any Python
    code. After it only C code runs, so the checked arrays cannot change.
    """
    address = words_at(self)[DATA]
    context, given = words_at(address), words_at(arguments)
    outputs = context[OUTPUTS]
    result = 0
    if outputs > 1:
        result = py_tuple_new((outputs,))
        if result == 0:
            return 0  # Python has set its MemoryError
    fits = count == context[INPUTS]
    for i in range(count):
        fits = fits and _fits(context, words_at(given[i]))
    if not fits:
        if result != 0:
            py_decref((result,))
        py_incref((context[NONE],))
        return context[NONE]
    for i in range(count):
        context[IN + i] = words_at(given[i])[DATA]
    for i in range(outputs):
        shape = SHAPES + 3 * i
        array = new_array(
            context[NEW_ARRAY], context[ARRAY_TYPE], context[shape], address + 8 * (shape + 1)
        )
        if array == 0:
            if result != 0:
                py_decref((result,))
            return 0
        context[OUT + i] = words_at(array)[DATA]
        if outputs > 1:
            py_tuple_set((result, i, array))
        else:
            result = array
    if call_kernel(context[KERNEL], address) != 0:
        py_decref((result,))
        py_incref((context[NONE],))
        return context[NONE]
    return result


# One template per number of inputs and outputs: from the frame's addresses to the kernel's arrays.
# `kernel` is replaced by the kernel to bind.
kernel: Any = None
UNKNOWN_LENGTH = 1 << 40  # no kernel reads the length of the packed model


@inline
def _packed(f):
    return carray(floats_at(f[PACKED]), UNKNOWN_LENGTH)


@inline
def _in(f, i):
    return carray(floats_at(f[IN + i]), f[N])


@inline
def _out(f, i):
    return carray(floats_at(f[OUT + i]), f[SIZE + i])


def _frame_1_1(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _out(f, 0))


def _frame_2_1(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _in(f, 1), _out(f, 0))


def _frame_2_3(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _in(f, 1), _out(f, 0), _out(f, 1), _out(f, 2))


def _frame_3_1(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _in(f, 1), _in(f, 2), _out(f, 0))


def _frame_4_1(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _in(f, 1), _in(f, 2), _in(f, 3), _out(f, 0))


def _frame_4_2(frame):
    f = words_at(frame)
    return kernel(_packed(f), _in(f, 0), _in(f, 1), _in(f, 2), _in(f, 3), _out(f, 0), _out(f, 1))


def _frame_5_3(frame):
    f = words_at(frame)
    q, qd, qdd, qddd, qdddd = _in(f, 0), _in(f, 1), _in(f, 2), _in(f, 3), _in(f, 4)
    return kernel(_packed(f), q, qd, qdd, qddd, qdddd, _out(f, 0), _out(f, 1), _out(f, 2))


TEMPLATES = {
    (1, 1): _frame_1_1,
    (2, 1): _frame_2_1,
    (2, 3): _frame_2_3,
    (3, 1): _frame_3_1,
    (4, 1): _frame_4_1,
    (4, 2): _frame_4_2,
    (5, 3): _frame_5_3,
}


class Frame(Kernel):
    """A kernel with its frame, as a C function, cached as of the kernel's own file."""

    def __init__(self, target: Any, inputs: int, outputs: int) -> None:
        function = target.py_func
        name = f"{function.__name__}_framed"
        code = TEMPLATES[inputs, outputs].__code__.replace(
            co_name=name,
            co_filename=function.__code__.co_filename,
            co_firstlineno=function.__code__.co_firstlineno,
        )
        names = {
            "kernel": target, "words_at": words_at, "_packed": _packed, "_in": _in, "_out": _out
        }  # fmt: skip
        twin = types.FunctionType(code, names, name)
        twin.__module__ = function.__module__
        super().__init__(twin, "int64(int64)")

    def _compile(self) -> Any:
        return cfunc(self.signatures[0], **COMPILE)(self.py_func)


framed = cache(Frame)


class _Call(Kernel):
    """The built-in function itself, as a C function."""

    _compile = Frame._compile


builtin = _Call(_call, "int64(int64, int64, int64)")


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


METH_FASTCALL = 0x0080


@cache
def _method() -> _MethodDef:
    """Return Python's description of the function."""
    return _MethodDef(b"kernel", builtin.compiled.address, METH_FASTCALL, None)


@cache
def _numpy_new_array() -> int:
    """Return the address of PyArray_New: entry 93 of NumPy's table for C programs."""
    core = getattr(np, "_core", None) or np.core
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = get(core._multiarray_umath._ARRAY_API, None)
    return int(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[93])


@cache
def available() -> bool:
    """Return whether this interpreter is supported and its arrays are laid out as documented."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or config.DISABLE_JIT:
        return False
    sample = np.zeros(3)
    seen = (ctypes.c_int64 * 9).from_address(id(sample))
    return (
        seen[TYPE] == id(np.ndarray)
        and seen[DATA] == sample.ctypes.data
        and seen[DIMENSIONS] & INT32 == 1
        and ctypes.c_int64.from_address(seen[SHAPE]).value == 3
        and seen[DTYPE] == id(np.dtype(np.float64))
        and seen[FLAGS] & INT32 == sample.flags.num
    )


class _Context(np.ndarray):
    """Context of a bound function; it keeps the packed model alive whose address it holds."""

    keeps: npt.NDArray[np.float64]


def bind(
    packed: npt.NDArray[np.float64],
    n: int,
    target: Any,
    inputs: int,
    outputs: Sequence[tuple[int, ...]],
) -> Callable[..., Any]:
    """Return a function from n-vectors to new arrays, or to None if it rejects them."""
    if not available():
        return _in_python(packed, n, target, inputs, outputs)
    context = np.zeros(CONTEXT_SIZE, dtype=np.int64).view(_Context)
    context.keeps = packed
    context[PACKED], context[N] = packed.ctypes.data, n
    context[INPUTS], context[OUTPUTS] = inputs, len(outputs)
    context[KERNEL] = framed(target, inputs, len(outputs)).compiled.address
    context[ARRAY_TYPE], context[FLOAT64] = id(np.ndarray), id(np.dtype(np.float64))
    context[NEW_ARRAY], context[NONE] = _numpy_new_array(), id(None)
    for i, shape in enumerate(outputs):
        context[SIZE + i] = int(np.prod(shape))
        at = SHAPES + 3 * i
        context[at : at + 1 + len(shape)] = [len(shape), *shape]
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    return make(ctypes.byref(_method()), context, None)


def _in_python(
    packed: npt.NDArray[np.float64],
    n: int,
    target: Any,
    inputs: int,
    shapes: Sequence[tuple[int, ...]],
) -> Callable[..., Any]:

    def fits(array: Any) -> bool:
        return (
            type(array) is np.ndarray
            and array.dtype == np.float64
            and array.dtype.isnative
            and array.shape == (n,)
        )

    def call(*arrays: Any) -> Any:
        if len(arrays) != inputs or not all(map(fits, arrays)):
            return None
        arrays = tuple(np.require(array, requirements=["C", "W", "A"]) for array in arrays)
        made = [np.empty(shape) for shape in shapes]
        try:
            bad = target(packed, *arrays, *(array.reshape(-1) for array in made))
        except TypeError:
            return None
        if bad:
            return None
        return made[0] if len(made) == 1 else tuple(made)

    return call
