"""Compiler options of the kernels: one set of options, explicit signatures, one cache.

A kernel is compiled when it is first needed, or ahead of that by `compile_ahead`: a program that
uses ten of them does not wait for a hundred.
"""

import hashlib
import sys
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
from numba import config, njit
from numba.extending import typeof_impl

from ..model import packed_model as at
from ..model.packed_model import U
from .kernel_cache import is_cached, locked
from .kernel_passes import KernelCompiler
from .kernel_symbol import KernelSymbol

# 'contract' lets the compiler fuse a*b + c and changes nothing else: NaN and infinity keep their
# meaning, so that bad data stays visible.
OPTIONS = {"fastmath": {"contract"}, "error_model": "numpy", "pipeline_class": KernelCompiler}
COMPILE = {"cache": True, "no_cfunc_wrapper": True, **OPTIONS}

# Only kernels call these: without an entry for Python they are compiled sooner
INLINE = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
inline = njit(**INLINE)
# The same without reference counts, each of which locks the memory bus: a function with many views
# of arrays takes half the time. It can neither allocate nor return an array.
UNCOUNTED = {"_nrt": False}
uncounted_inline = njit(**INLINE, **UNCOUNTED)


# The compiler's cache on disk only compares a kernel's own file. With a digest of all sources that
# it may include in its name, a kernel is also compiled anew when one of these changes. With the
# compiler and the processor, too, the name of a file tells whether it can be used.
_machine = f"{sys.version} {numba.__version__} {llvm.get_host_cpu_name()}"
_root = Path(__file__).parents[1]


BASE = ("dynamics", "sensing")  # parts whose kernels those of all other parts call


@cache
def edition(part: str) -> str:
    """Return the digest for kernels of a part of the package, such as 'detection': of this part
    and of those below it that have kernels.

    It builds on that of the parts below, which is computed once: if a source changes while a
    process imports the package, the name of a kernel still says which others it calls.
    """
    above = part not in BASE
    below = edition(BASE[0]) if above else _machine
    digest = hashlib.sha1(below.encode(), usedforsecurity=False)
    folders = (part,) if above else BASE
    sources = [path for name in folders for path in sorted((_root / name).rglob("*.py"))]
    for path in sources if above else [Path(at.__file__), *sources]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


EDITION = edition("dynamics")
KERNELS: "list[Kernel]" = []  # of all modules that are imported
_thread_lock = RLock()
_at_work: "list[Kernel]" = []  # those that the compiler works on


class Kernel:
    """A function that is compiled for one signature; other types raise.

    `compiled` is what the compiler makes of it, from its cache if it is there, and can be called;
    `alone` cannot until all that it calls is compiled, too. Of several processes that need it at
    once, one compiles it. on_request: it is not compiled with the kernels that call it; the
    program compiles it before it makes them call it.
    """

    def __init__(
        self, function: Any, signature: str, *, on_request: bool = False, **options: Any
    ) -> None:
        self.py_func, self.signatures = function, [signature]  # as the compiler names them
        self.on_request = on_request
        self._options = {**COMPILE, **options}
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        part = function.__module__.removeprefix(f"{_root.name}.").partition(".")[0]
        function.__qualname__ = f"{function.__name__}_{edition(part)}"
        self.symbol = KernelSymbol(f"{function.__module__}.{function.__qualname__}", signature)
        KERNELS.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)

    @cached_property
    def compiled(self) -> Any:
        """The compiled function, with all that it calls."""
        for kernel in with_callees([self])[:-1]:
            _ = kernel.compiled
        return self.alone

    @cached_property
    def alone(self) -> Any:
        """The compiled function by itself."""
        with _thread_lock, locked(self.py_func):
            _at_work.append(self)
            try:
                return self.__dict__.get("alone") or self._compile()
            finally:
                _at_work.pop()

    def _compile(self) -> Any:
        made = njit(self.signatures[0], **self._options)(self.py_func)
        if not config.DISABLE_JIT:
            self.symbol.set_address(made)
        return made

    @property
    def is_ready(self) -> bool:
        """Whether the function is compiled already, here or in the cache."""
        return "alone" in self.__dict__ or is_cached(self.py_func)


def with_callees(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return the kernels and all that they call, each behind those that it calls; but not those
    that they only call on request.
    """
    found: dict[Any, None] = {}

    def visit(target: Any) -> None:
        if target in found:
            return
        for called in callees(target):
            if not getattr(called, "on_request", False):
                visit(called)
        found[target] = None

    for kernel in kernels:
        visit(kernel)
    return [target for target in found if isinstance(target, Kernel)]


def callees(target: Any) -> list[Any]:
    """Return the compiled functions, kernels or not, that one names, also as module.name."""
    function = target.py_func
    names = function.__code__.co_names
    found = [function.__globals__.get(name) for name in names]
    modules = [value for value in found if isinstance(value, ModuleType)]
    found += [getattr(module, name, None) for module in modules for name in names]
    return [value for value in found if hasattr(value, "py_func")]


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, context: Any) -> Any:
    """Tell the compiler how a function calls a kernel.

    A kernel is compiled together with those that it calls. A function of `njit` is not: it must
    not be cached on disk, because only its compilation loads the kernels that it calls.
    """
    if not _at_work:
        _ = kernel.compiled
    return kernel.symbol.type


def kernel(signature, **options):
    """Return a decorator that makes a kernel of a function.

    `vector` and `matrix` stand for contiguous arrays of float64 with one and two dimensions.
    """
    signature = signature.replace("vector", "float64[::1]").replace("matrix", "float64[:, ::1]")
    return lambda function: Kernel(function, signature, **options)


def uncounted_kernel(signature, **options):
    """Return the same without reference counts, see `UNCOUNTED`."""
    return kernel(signature, **UNCOUNTED, **options)


U1, U2, U3, U6 = U(1), U(2), U(3), U(6)


@inline
def index(x):
    """Return a whole number that is stored as a float, as an array index."""
    return U(int(x))


@inline
def samples(n, size):
    """Return the number of states of n joints in an array of that size; 0 if it is uneven."""
    if size == n:
        return U1
    count = size // n
    return count if count * n == size else U(0)
