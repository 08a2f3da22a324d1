"""How long nodes take to start: the first time, with an empty kernel cache, and afterwards.

    python benchmark/node_start.py [--quick] [--json FILE] [--check]

A start lasts from the process to its line "ready for …". The cache is a temporary folder. --quick
leaves out the composed process. On a shared machine run it more than once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from figures import Figure, figures_table, finish, options
from rich.console import Console
from sensor_msgs.msg import JointState
from soak_processes import stay_apart

from robodyn_ros.nodes.demo import DEMO_NODES, stop_processes
from robodyn_ros.nodes.runtime import STATE_IN, spin
from robodyn_ros.nodes.terminal import open_terminal
from robodyn_ros.resources import share_path

COLD_BAR, WARM_BAR = 8.0, 1.5  # [s]
LONGEST = 300.0  # [s]
WARM_UP = """
from robodyn_ros.dynamics.compile_ahead import compile_kernels
from robodyn_ros.nodes.node_kernels import ALL
compile_kernels(ALL, helpers=True)
"""


@contextmanager
def started(names: Sequence[str], cache: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Run nodes in this context, as in the demo."""
    parameters = ["--ros-args", "--params-file", str(share_path("config", "demo.yaml"))]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", f"robodyn_ros.nodes.{name}", *parameters],
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    try:
        yield processes
    finally:
        stop_processes(processes, signal.SIGINT)


def until_ready(names: Sequence[str], cache: Path) -> float:
    """Time until all of these nodes are ready [s]."""
    begun = time.perf_counter()
    with started(names, cache) as processes:
        for process in processes:
            missing = len(DEMO_NODES) if "composed" in names else 1
            for line in process.stderr or ():
                missing -= "ready for" in line
                if missing == 0:
                    break
        return time.perf_counter() - begun


def warm_up(cache: Path) -> None:
    """Compile what nodes otherwise compile behind "ready", beside the next one that starts."""
    subprocess.run(
        [sys.executable, "-c", WARM_UP],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        check=True,
    )


def until_residual(cache: Path) -> float:
    """Time from the start of dynamics_node beside a running arm to its first residual [s]."""
    heard: list[JointState] = []
    others = [name for name in DEMO_NODES if name != "dynamics_node"]
    with open_terminal() as (node, executor), started(others, cache):
        states: list[JointState] = []
        opened = node.create_subscription(JointState, "joint_states", states.append, STATE_IN)
        spin(executor, lambda: bool(states), LONGEST, every=0.01)
        node.destroy_subscription(opened)
        node.create_subscription(JointState, "dynamics_node/residual", heard.append, STATE_IN)
        begun = time.perf_counter()
        with started(["dynamics_node"], cache):
            spin(executor, lambda: bool(heard), LONGEST, every=0.01)
            return time.perf_counter() - begun


def figure(what: str, seconds: float, bar: float | None, note: str) -> Figure:
    """One line of the table; without a bar it is only shown."""
    text = f"{bar:g} s" if bar else "(none)"
    return Figure(what, f"{seconds:.1f} s", text, bar is None or seconds <= bar, note)


def measured(quick: bool) -> Iterator[Figure]:
    """All figures, each cold one with a cache of its own."""
    alone = 0.0
    for name in (*DEMO_NODES, *(() if quick else ("composed",))):
        node = name in DEMO_NODES  # composed: all of them in one process
        with tempfile.TemporaryDirectory() as folder:
            cold, note = until_ready([name], Path(folder)), "to ready, empty cache"
            yield figure(f"{name}, first start", cold, COLD_BAR if node else None, note)
            yield figure(f"{name}, warm", until_ready([name], Path(folder)), None, "to ready")
        alone += cold if node else 0.0
    with tempfile.TemporaryDirectory() as folder:
        together = until_ready(DEMO_NODES, Path(folder))
        note = "to ready, empty cache; the bar is one after the other"
        yield figure("all together, first start", together, round(alone, 1), note)
        warm_up(Path(folder))
        warm = min(until_residual(Path(folder)) for _ in range(3))
        note = "to the first residual of a running arm, best of 3"
        yield figure("dynamics_node, warm", warm, WARM_BAR, note)


def main() -> None:
    """Measure, print, and fail where a bar is missed and that is asked for."""
    arguments = options(__doc__ or "").parse_args()
    stay_apart()
    found = list(measured(arguments.quick))
    Console().print(figures_table(found, "first and warm starts of the nodes"))
    finish(found, arguments)


if __name__ == "__main__":
    main()
