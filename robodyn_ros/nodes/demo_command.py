"""`robodyn demo`, from its options to its exit code, with the live page beside it."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from rich.console import Console
from rich.live import Live

from ..dynamics.warmup import warmup
from ..model.robots import load_robot
from ..resources import share_path
from .demo import DEMO_NODES, Demo, parse_push, stop_processes, watch
from .demo_observer import DemoObserver
from .demo_view import events_table, live_table, plot, verdict
from .first_parameters import (
    FIRST_PUSH,
    PUSH_INTERVAL,
    first_parameters,
    push_parameters,
    robot_settings,
)
from .terminal import use_loopback

SAME_PARAMETERS = ("lwr_iii", "kuka_lwr4")  # arms for which config/demo.yaml is right
NO_PAGE = "no live page: install it with `pip install 'robodyn_ros[dashboard]'`"


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
    console.print("compiling, up to a minute the first time")
    warmup(load_robot(urdf or robot or "lwr_iii"))
    from . import composed as _  # noqa: F401  compiles the nodes' kernels into the cache

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
    """Print the events and the verdict, and save the plot."""
    console.print(events_table(observer.events()))
    if plot(observer, picture):
        console.print(f"plot: {picture}")
    ok, text = verdict(observer)
    console.print(f"[{'green' if ok else 'red'}]{text}[/]")


def overrides(robot: str, urdf: str, plant: str, pushes: list[str], guess: bool) -> dict[str, Any]:
    """Return the parameters that the options change: node -> {parameter: value}.

    guess: add guessed parameters for an arm other than those of config/demo.yaml.
    """
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
        """Read its address; read everything else, too, so that the pipe does not fill up."""
        for line in self.process.stdout or ():
            if line.startswith("live page:"):
                self.status = line.strip()
        self.status = "live page: ended"


@contextmanager
def page_process(wanted: bool, namespace: str, console: Console) -> Iterator[PageProcess | None]:
    """Run the page in this context; yields None if it is not wanted or not installed."""
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
