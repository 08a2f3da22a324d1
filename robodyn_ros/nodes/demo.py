"""`robodyn demo`: the nodes of collision_demo.launch.py, where there is no launch system.

Plant, controller, detector and demo_node run as processes, and the live page as another. This one
only subscribes, and in the end compares the detector's states with the external torque that the
plant publishes.
"""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

from rich.console import Console
from rich.live import Live

from ..dynamics.compile_progress import compile_with_progress
from ..errors import ArgumentError, RobodynError
from ..resources import share_path
from ..settings import yaml_section
from . import node_kernels
from .demo_observer import DemoObserver
from .demo_view import events_table, live_table, plot, verdict
from .first_parameters import (
    FIRST_PUSH,
    PUSH_INTERVAL,
    first_parameters,
    push_parameters,
    robot_settings,
)
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
SAME_PARAMETERS = ("lwr_iii", "kuka_lwr4")  # arms for which config/demo.yaml is right
NO_PAGE = "no live page: install it with `pip install 'robodyn_ros[dashboard]'`"


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
        commands = [
            [sys.executable, "-m", f"{__package__}.{name}", "--ros-args", *arguments]
            for name in (["composed"] if demo.composed else DEMO_NODES)
        ]
        processes = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
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
            for subscription in list(node.subscriptions):  # the result is known
                node.destroy_subscription(subscription)
            stay(observer)
            spin_until_signal(executor, lambda: any(p.poll() is not None for p in processes))
    return observer


def run_demo(
    robot: str,
    urdf: str,
    plant: str,
    pushes: list[str],
    params: Path | None,
    duration: float,
    composed: bool,
    headless: bool,
    page: bool,
    picture: Path,
    console: Console,
) -> bool:
    """Run the demo; return whether all pushes were found without a false alarm.

    At a terminal and with the live page, the nodes keep running in the end, for the user to push.
    """
    demo = Demo(
        params or share_path("config", "demo.yaml"),
        duration,
        composed,
        log=None if headless else picture.with_suffix(".log"),  # the live table needs the terminal
        overrides=overrides(robot, urdf, plant, pushes, guess=params is None),
    )
    compile_with_progress(node_kernels.ALL, console)
    if headless:
        observer = watch(demo, lambda observer: None)
        print_result(observer, picture, console)
    else:
        observer = watch_live(demo, page, picture, console)
    return verdict(observer)[0]


def watch_live(demo: Demo, page: bool, picture: Path, console: Console) -> DemoObserver:
    """Run the demo with a live table and, if installed, the live page."""
    with (
        page_process(page, demo.namespace, console) as beside,
        Live(console=console, refresh_per_second=10) as screen,
    ):

        def page_line() -> str:
            return beside.status if beside else ""

        def show(observer: DemoObserver) -> None:
            screen.update(live_table(observer, demo.duration, page_line()))

        def stay(observer: DemoObserver) -> None:
            screen.stop()
            print_result(observer, picture, console)
            console.print(f"{page_line()}  (the arm is yours to push; Ctrl-C ends it)")

        at_terminal = beside is not None and console.is_terminal and sys.stdin.isatty()
        observer = watch(demo, show, stay if at_terminal else None)
    if not at_terminal:
        print_result(observer, picture, console)
    return observer


def print_result(observer: DemoObserver, picture: Path, console: Console) -> None:
    """Print the events and the result, and save the plot."""
    console.print(events_table(observer.events()))
    if plot(observer, picture):
        console.print(f"plot: {picture}")
    ok, text = verdict(observer)
    console.print(f"[{'green' if ok else 'red'}]{text}[/]")


def overrides(robot: str, urdf: str, plant: str, pushes: list[str], guess: bool) -> dict[str, Any]:
    """Return parameters by node from the options; guess: also those for an arm without a file."""
    changed: dict[str, Any] = {node: {} for node in DEMO_NODES}
    if urdf or robot:
        settings = robot_settings(urdf or robot, "", "", [])
        other = guess and settings.name not in SAME_PARAMETERS
        first = first_parameters(settings.load(""), settings) if other else {}
        for node in DEMO_NODES:
            changed[node] |= first.get(node, {})
            changed[node] |= {"robot.name": settings.name, "robot.urdf": settings.urdf}
    if plant:
        changed["simulator_node"]["plant.kind"] = plant
    if pushes:
        parsed = [parse_push(x, FIRST_PUSH + k * PUSH_INTERVAL) for k, x in enumerate(pushes)]
        changed["simulator_node"] |= push_parameters(parsed)
    return changed


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


class PageProcess:
    """`robodyn view` for the nodes of a demo, as a process."""

    def __init__(self, namespace: str) -> None:
        command = [sys.executable, "-m", "robodyn_ros.cli", "view", "--namespace", namespace]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.status = "live page: starting"
        Thread(target=self._read_output, daemon=True).start()

    def _read_output(self) -> None:
        """Read its address; read the rest, too, so that the pipe does not fill up."""
        for line in self.process.stdout or ():
            if line.startswith("live page:"):
                self.status = line.strip()
        self.status = "live page: ended"


@contextmanager
def page_process(wanted: bool, namespace: str, console: Console) -> Iterator[PageProcess | None]:
    """Run the page in this context; yield None if it is not wanted or not installed."""
    if wanted and importlib.util.find_spec("viser") is None:
        console.print(NO_PAGE, markup=False)
        wanted = False
    if not wanted:
        yield None
        return
    use_loopback()
    page = PageProcess(namespace)
    try:
        yield page
    finally:
        stop_processes([page.process], signal.SIGTERM)
