"""Compilation of kernels before they are needed, on all cores, shared among processes.

Each process takes a kernel that no other compiles at the moment, and in the end loads those of
the others.
"""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .compile import Kernel, callees, with_callees
from .kernel_cache import locked

SECONDS_PER_KERNEL = 0.25  # [s] on one core, for an estimate
MOST_HELPERS = 3  # processes beside this one
KERNELS_PER_HELPER = 4  # a helper needs a while until it is of use


def missing(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return those of the kernels, and of those that they call, that are not compiled yet.

    Large ones come first: the last one to be compiled by several processes should be small.
    """
    todo = [kernel for kernel in with_callees(kernels) if not kernel.is_ready]
    return sorted(todo, key=_code_size, reverse=True)


def _code_size(kernel: Kernel) -> int:
    """Return the length of the code that is compiled with a kernel: a measure of the time."""
    found: set[Any] = set()
    left: list[Any] = [kernel]
    while left:
        target = left.pop()
        found.add(target)
        left += (f for f in callees(target) if f not in found and not isinstance(f, Kernel))
    return sum(len(target.py_func.__code__.co_code) for target in found)


def estimate(todo: Sequence[Kernel]) -> float:
    """Return about how long the compilation of these kernels takes with helpers [s]."""
    return len(todo) * SECONDS_PER_KERNEL / (1 + _helper_count(todo))


def compile_kernels(
    kernels: Sequence[Kernel],
    on_done: Callable[[Kernel], None] = lambda kernel: None,
    *,
    helpers: bool = False,
) -> None:
    """Have all kernels compiled and loaded; on_done: called for each that was missing.

    helpers: also on other cores, by forks of this process; not for one that runs threads.
    """
    todo = missing(kernels)
    with _without_garbage_collection(), _helpers(todo if helpers else ()):
        _compile_in_turn(todo, on_done)
    for kernel in kernels:
        _ = kernel.compiled


def _compile_in_turn(
    todo: Sequence[Kernel], on_done: Callable[[Kernel], None] = lambda kernel: None
) -> None:
    """Compile what no other process compiles at the moment, and load what others have compiled."""
    left = list(todo)
    while left:
        kernel = next(filter(_compile_if_free, left), left[0])
        _ = kernel.alone  # waits for another process if all are locked
        left.remove(kernel)
        on_done(kernel)


def _compile_if_free(kernel: Kernel) -> bool:
    """Compile or load a kernel, unless another process compiles it; return whether we did."""
    with locked(kernel.py_func, wait=False) as free:
        return free and kernel.alone is not None


@contextmanager
def ended_by(codes: dict[int, int], before: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let signals, with their exit codes, end the process with one line in this context.

    An exception instead could arrive where the compiler ignores it, or prints it.
    """

    def end(number: int, _: Any) -> None:
        before()
        os.write(2, b"interrupted while compiling kernels\n")
        os._exit(codes[number])

    previous = {number: signal.signal(number, end) for number in codes}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _helpers(todo: Sequence[Kernel]) -> Iterator[None]:
    """Fork processes that compile the same kernels in this context, unless another has some."""
    with locked(fork_compiler, wait=False) as first:
        helpers = [fork_compiler(todo) for _ in range(_helper_count(todo) if first else 0)]
        try:
            yield
        finally:
            for helper in helpers:
                os.kill(helper, signal.SIGKILL)
                os.waitpid(helper, 0)


def _helper_count(todo: Sequence[Kernel]) -> int:
    cores = len(os.sched_getaffinity(0))
    return min(MOST_HELPERS, cores - 1, len(todo) // KERNELS_PER_HELPER)


def fork_compiler(todo: Sequence[Kernel], niceness: int = 0) -> int:
    """Return the id of a new process that compiles these kernels, while this one lives."""
    parent, process = os.getpid(), os.fork()
    if process == 0:
        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            os.nice(niceness)
            _compile_in_turn(todo, lambda kernel: None if os.getppid() == parent else os._exit(0))
        finally:
            os._exit(0)
    return process


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Switch the garbage collection off: the compiler makes many objects, and most stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
