"""Kernels that a node can do without at first: another process compiles them while it runs.

A first start must not wait for what only the first contact, or another control law, will need.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from threading import Thread

from ..dynamics.compile import Kernel, with_callees
from ..dynamics.compile_ahead import fork_compiler, missing

POLL = 0.1  # [s]
NICENESS = 10  # of the process that compiles, beside nodes that keep real time

_pending: set[Kernel] = set()


def compile_later(
    kernels: Sequence[Kernel], say: Callable[[str], None], fail: Callable[[str], None]
) -> None:
    """Have these kernels compiled by another process, then loaded by a thread of this one.

    say, fail: called with a line for the log when all are compiled, or when that failed; not if
    none was missing. Call it before this process runs threads: the other one is a fork of it.
    """
    todo = missing(kernels)
    if not todo:
        for kernel in kernels:
            _ = kernel.compiled
        return
    _pending.update(with_callees(kernels))
    process = fork_compiler(todo, NICENESS)
    Thread(target=_load, args=(process, kernels, len(todo), say, fail), daemon=True).start()


def _load(
    process: int,
    kernels: Sequence[Kernel],
    count: int,
    say: Callable[[str], None],
    fail: Callable[[str], None],
) -> None:
    os.waitpid(process, 0)
    if missing(kernels):
        fail("kernels could not be compiled; stop this node and run `robodyn warmup`")
        return
    for kernel in with_callees(kernels):
        _ = kernel.compiled
    _pending.clear()
    say(f"compiled {count} more kernels: links, causes and all control laws are at hand")


def have_arrived(kernels: Sequence[Kernel]) -> bool:
    """Return whether none of these kernels is being compiled by the other process."""
    return _pending.isdisjoint(kernels)


def wait_for(kernels: Sequence[Kernel]) -> None:
    """Wait until these kernels are compiled and loaded."""
    while not have_arrived(kernels):
        time.sleep(POLL)
