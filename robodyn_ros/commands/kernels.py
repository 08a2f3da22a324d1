"""`robodyn warmup`: the kernels of all parts, compiled ahead of their use."""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages
from typing import Annotated

from .common import app, console
from .options import Option

PARTS = (  # those with kernels
    "dynamics", "sensing", "trajectory", "control", "detection", "identification", "simulation"
)  # fmt: skip


@app.command()
def warmup(
    nodes: Annotated[bool, Option("--nodes", help="Only what the ROS 2 nodes use.")] = False,
) -> None:
    """Compile all kernels into the cache, so that first starts and calls need not wait."""
    from ..dynamics.compile import KERNELS
    from ..dynamics.compile_progress import compile_with_progress
    from ..nodes import node_kernels

    kernels = list(node_kernels.ALL)
    if not nodes:
        root = __package__.partition(".")[0]
        for part in PARTS:
            package = import_module(f"{root}.{part}")
            for module in walk_packages(package.__path__, f"{package.__name__}."):
                import_module(module.name)
        kernels = list(KERNELS)
    if compile_with_progress(kernels, console) == 0:
        console.print(f"all {len(kernels)} kernels are in the cache")
