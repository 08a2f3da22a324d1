"""Compilation of kernels with a progress bar, for commands."""

import signal
import time
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .compile import Kernel
from .compile_ahead import compile_kernels, ended_by, missing


def compile_with_progress(kernels: Sequence[Kernel], console: Console) -> int:
    """Compile the kernels that are missing, and say so; return their number.

    At a terminal a bar shows the kernel that was compiled last; else there are two lines.
    """
    count, begun = len(missing(kernels)), time.perf_counter()
    if count == 0:
        compile_kernels(kernels)
        return 0
    if console.is_terminal:
        _compile_with_bar(kernels, count, console)
    else:
        with ended_by({signal.SIGINT: 130}):
            console.print(f"compiling {count} kernels, once on this machine")
            compile_kernels(kernels, helpers=True)
    console.print(f"compiled {count} kernels in {time.perf_counter() - begun:.1f} s")
    return count


def _compile_with_bar(kernels: Sequence[Kernel], count: int, console: Console) -> None:
    columns = (
        TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=count)

        def on_done(kernel: Kernel) -> None:
            progress.update(bar, advance=1, description=kernel.__name__.strip("_"))

        with ended_by({signal.SIGINT: 130}, progress.stop):
            compile_kernels(kernels, on_done, helpers=True)
