"""`robodyn demo`: the nodes of collision_demo.launch.py, where there is no launch system.

Plant, controller, detector and demo_node run as processes. This one only subscribes, and in the
end compares the detector's states with the external torque that the plant publishes.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError, RobodynError
from ..settings import yaml_section
from .demo_observer import DemoObserver
from .runtime import spin, spin_until_signal
from .terminal import open_terminal, use_loopback

NODES = ("simulator_node", "controller_node", "dynamics_node")
DEMO_NODES = (*NODES, "demo_node")
START_TIMEOUT = 60.0  # [s] until the first residual
STOP_TIMEOUT = 10.0  # [s] for a process to end
RESUME_TIME = 10.0  # [s] after the end for an arm that still reacts
REACTING = ("REACTING", "RESUMING")
# A parameter file must not be empty
NO_PARAMETERS = "/unused:\n  ros__parameters:\n    none: 0\n"


@dataclass(frozen=True)
class Demo:
    """Options of a demo."""

    params: Path
    duration: float  # [s]
    composed: bool = False
    namespace: str = ""
    log: Path | None = None  # file for the nodes' messages; None: the terminal
    overrides: dict[str, Any] = field(default_factory=dict)  # node -> {parameter: value}


@contextmanager
def running(demo: Demo) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the nodes as processes; stop them in the end."""
    use_loopback()
    modules = ["composed"] if demo.composed else DEMO_NODES
    with tempfile.TemporaryDirectory() as folder, ExitStack() as files_open:
        log = files_open.enter_context(demo.log.open("w")) if demo.log else None
        overrides = Path(folder, "overrides.yaml")
        # Full names of the nodes win over patterns in the user's file
        prefix = f"/{demo.namespace}/" if demo.namespace else "/"
        given = ((f"{prefix}{node}", values) for node, values in demo.overrides.items() if values)
        text = "".join(yaml_section(*section) for section in given)
        overrides.write_text(text or NO_PARAMETERS, encoding="utf-8")
        arguments = ["--params-file", str(demo.params), "--params-file", str(overrides)]
        if demo.namespace:
            arguments += ["-r", f"__ns:=/{demo.namespace}"]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.{name}", "--ros-args", *arguments],
                stdout=log,
                stderr=log,
            )
            for name in modules
        ]
        try:
            yield processes
        finally:
            stop_processes(processes, signal.SIGINT)


def stop_processes(processes: list[subprocess.Popen[Any]], number: signal.Signals) -> None:
    """Send a signal to all processes, wait for them, and kill those that do not end."""
    for process in processes:
        process.send_signal(number)
    for process in processes:
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()


def watch(
    demo: Demo,
    show: Callable[[DemoObserver], None],
    stay: Callable[[DemoObserver], None] | None = None,
) -> DemoObserver:
    """Run the nodes and observe them; call show(observer) several times a second.

    stay: called in the end, if given; the nodes then keep running until a signal.
    """
    with running(demo) as processes, open_terminal() as (node, executor):
        observer = DemoObserver(node)
        begun = time.monotonic()

        def over() -> bool:
            for process in processes:
                if process.poll() is not None:
                    raise RobodynError(f"a node ended by itself, exit code {process.returncode}")
            if not observer.t and time.monotonic() - begun > START_TIMEOUT:
                raise RobodynError(
                    f"no residual received within {START_TIMEOUT:g} s: see the nodes' messages"
                )
            show(observer)
            late = observer.elapsed - demo.duration
            return late >= (RESUME_TIME if observer.mode in REACTING else 0.0)

        spin(executor, over)
        if stay is not None:
            for subscription in list(node.subscriptions):  # the verdict is made
                node.destroy_subscription(subscription)
            stay(observer)
            spin_until_signal(executor, lambda: any(p.poll() is not None for p in processes))
    return observer


def parse_push(text: str, at: float) -> dict[str, Any]:
    """Return LINK:NEWTON or LINK:FX,FY,FZ as the parameters of a scripted push at a time [s]."""
    link, _, force = text.partition(":")
    try:
        numbers = [float(x) for x in force.split(",")]
    except ValueError:
        numbers = []
    if not link or len(numbers) not in (1, 3):
        raise ArgumentError(f"--push {text}: write LINK:NEWTON or LINK:FX,FY,FZ, e.g. link_5:40")
    vector = numbers if len(numbers) == 3 else [numbers[0], 0.0, 0.0]
    return {"at": at, "link": link, "force": vector}
