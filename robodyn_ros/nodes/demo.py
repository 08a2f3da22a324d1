"""`robodyn demo`: the nodes of collision_demo.launch.py, where there is no launch system.

Plant, controller, detector and demo_node run as processes, and the live page as another. This one
only subscribes, and in the end compares the detector's states with the external torque that the
plant publishes.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from rich.console import Console
from rich.live import Live

from ..dynamics.compile_progress import compile_with_progress
from ..dynamics.posture import start_posture
from ..errors import ArgumentError, RobodynError, one_of
from ..interrupts import held
from ..model.robot import RobotModel
from ..resources import share_path
from ..settings import yaml_section
from . import node_kernels
from .demo_observer import DemoObserver
from .demo_view import live_table, plot, print_tables, verdict
from .discovery import DEMO_NODES, use_loopback
from .first_parameters import (
    FIRST_PUSH,
    PUSH_INTERVAL,
    first_parameters,
    push_lever,
    push_parameters,
    robot_settings,
)
from .page_address import page_url
from .runtime import spin, spin_until_signal
from .terminal import open_terminal

NODES = DEMO_NODES[:3]  # without the demo's motion
START_TIMEOUT = 60.0  # [s] until the first residual
STOP_TIMEOUT = 10.0  # [s] for a process to end
RESUME_TIME = 10.0  # [s] after the end for an arm that still reacts
REACTING = ("REACTING", "RESUMING")
# A parameter file must not be empty
NO_PARAMETERS = "/unused:\n  ros__parameters:\n    none: 0\n"
SAME_PARAMETERS = ("lwr_iii", "kuka_lwr4")  # arms for which config/demo.yaml is right
DEMO_START = (0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5)  # [rad], of these arms in config/demo.yaml
COLLISIONS = "collisions"
# Scenarios, and how long each of them takes [s]
SCENARIOS = {COLLISIONS: 0.0, "payload": 25.0, "faults": 38.0, "all": 70.0}
IDEAL: dict[str, dict[str, Any]] = {  # node -> {parameter: value}
    "simulator_node": {"plant.friction": False, "plant.noise": False}
    | {f"plant.model_error.{name}": 0.0 for name in ("mass", "com", "friction")},
    "controller_node": {"arm.friction": False},
    "dynamics_node": {"effort.friction": "none"},
}
# Elastic joints: torque sensors behind the drives, and the law that knows the springs
ELASTIC: dict[str, dict[str, Any]] = {
    "simulator_node": {"plant.effort": "joint"},
    "controller_node": {"arm.controller": "elastic"},
    "dynamics_node": {"effort.side": "link", "effort.friction": "none"},
}


@dataclass(frozen=True)
class Demo:
    """Options of a demo."""

    params: Path
    duration: float  # [s]
    composed: bool = False
    namespace: str = ""
    log: Path | None = None  # file for the nodes' messages; None: the terminal
    overrides: dict[str, Any] = field(default_factory=dict)  # node -> {parameter: value}
    scenario: Sequence[Path] = ()  # parameter files that win over `params`


@dataclass(frozen=True)
class PlantOptions:
    """Options of a demo's simulated arm."""

    kind: str = ""  # of the simulation; empty: as in the parameter file
    pushes: Sequence[str] = ()  # LINK:NEWTON or LINK:FX,FY,FZ; empty: as in the parameter file
    seed: int | None = None  # of model error and sensor noise; None: as in the parameter file
    ideal: bool = False  # no model error, friction or sensor noise
    scenario: str = COLLISIONS  # one of SCENARIOS


def scenario_files(scenario: str, robot: str, urdf: str) -> list[Path]:
    """Return the parameter files of a scenario, or raise if it is not for this arm."""
    one_of("scenario", scenario, SCENARIOS)
    if scenario == COLLISIONS:
        return []
    if urdf or robot not in ("", *SAME_PARAMETERS):
        arms = " and ".join(SAME_PARAMETERS)
        raise ArgumentError(f"--scenario {scenario} names joints of {arms}: write your own script")
    return [share_path("config", "scenarios", f"{scenario}.yaml")]


@contextmanager
def running(demo: Demo) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the nodes as processes; stop them in the end.

    They ignore Ctrl-C while they start: this process gets it, too, and stops them.
    """
    use_loopback()
    with held(), tempfile.TemporaryDirectory() as folder, ExitStack() as files_open:
        log = files_open.enter_context(demo.log.open("w")) if demo.log else None
        overrides = Path(folder, "overrides.yaml")
        # Full names of the nodes win over patterns in the user's file
        prefix = f"/{demo.namespace}/" if demo.namespace else "/"
        given = ((f"{prefix}{node}", values) for node, values in demo.overrides.items() if values)
        text = "".join(yaml_section(*section) for section in given)
        overrides.write_text(text or NO_PARAMETERS, encoding="utf-8")
        files = [str(path) for path in (demo.params, *demo.scenario, overrides)]
        arguments = [part for path in files for part in ("--params-file", path)]
        if demo.namespace:
            arguments += ["-r", f"__ns:=/{demo.namespace}"]
        commands = [
            [sys.executable, "-m", f"{__package__}.{name}", "--ros-args", *arguments]
            for name in (["composed"] if demo.composed else DEMO_NODES)
        ]
        processes: list[subprocess.Popen[bytes]] = []
        try:
            with ctrl_c_ignored():
                for command in commands:
                    processes.append(subprocess.Popen(command, stdout=log, stderr=log))
            yield processes
        finally:
            stop_processes(processes, signal.SIGTERM)


@contextmanager
def ctrl_c_ignored() -> Iterator[None]:
    """Ignore Ctrl-C in this context; processes that it starts ignore it until they handle it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stop_processes(processes: list[subprocess.Popen[Any]], number: signal.Signals) -> None:
    """Send a signal to all processes, wait for them, and kill those that do not end."""
    for process in processes:
        process.send_signal(number)
    for process in processes:
        try:
            process.wait(STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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
    plant: PlantOptions,
    params: Path | None,
    duration: float,
    composed: bool,
    headless: bool,
    page: int | None,
    picture: Path,
    console: Console,
) -> bool:
    """Run the demo; return whether all pushes were found with their link, without a false alarm.

    page: port of the live page, or None for no page. A terminal shows a live table, and with the
    page the nodes keep running in the end, for the user to push. Else their messages are printed.
    """
    live = console.is_terminal and not headless
    demo = Demo(
        params or share_path("config", "demo.yaml"),
        max(duration, SCENARIOS[plant.scenario]),
        composed,
        log=picture.with_suffix(".log") if live else None,  # the live table needs the terminal
        overrides=overrides(robot, urdf, plant, guess=params is None),
        scenario=scenario_files(plant.scenario, robot, urdf),
    )
    compile_with_progress(node_kernels.ALL, console)
    with page_process(page, demo.namespace, console) as beside:
        if live:
            observer = watch_live(demo, beside, picture, console)
        else:
            observer = watch(demo, lambda observer: None)
            print_result(observer, picture, console)
    return verdict(observer)[0]


def watch_live(
    demo: Demo, beside: PageProcess | None, picture: Path, console: Console
) -> DemoObserver:
    """Run the demo with a live table; beside: the live page, if wanted."""
    with Live(console=console, refresh_per_second=10, transient=True) as screen:

        def page_line() -> str:
            return beside.status if beside else ""

        def show(observer: DemoObserver) -> None:
            screen.update(live_table(observer, demo.duration, page_line()))

        def stay(observer: DemoObserver) -> None:
            screen.stop()
            print_result(observer, picture, console)
            console.print(f"{page_line()}  (the arm is yours to push; Ctrl-C ends it)")

        stays = beside is not None and sys.stdin.isatty()
        observer = watch(demo, show, stay if stays else None)
    if not stays:
        print_result(observer, picture, console)
    return observer


def print_result(observer: DemoObserver, picture: Path, console: Console) -> None:
    """Print the events and the result, and save the plot."""
    print_tables(observer, console)
    if plot(observer, picture):
        console.print(f"plot: {picture}")
    ok, text = verdict(observer)
    console.print(f"[{'green' if ok else 'red'}]{text}[/]", soft_wrap=True)


def overrides(robot: str, urdf: str, plant: PlantOptions, guess: bool) -> dict[str, Any]:
    """Return parameters by node from the options; guess: also those for an arm without a file."""
    changed: dict[str, Any] = {node: {} for node in DEMO_NODES}
    of_plant = changed["simulator_node"]
    settings = robot_settings(urdf or robot or "lwr_iii", "", "", [])
    known = bool(urdf or robot) or guess  # else the robot is that of the user's file
    if urdf or robot:
        other = guess and settings.name not in SAME_PARAMETERS
        first = first_parameters(settings.load(""), settings) if other else {}
        for node in DEMO_NODES:
            changed[node] |= first.get(node, {})
            changed[node] |= {"robot.name": settings.name, "robot.urdf": settings.urdf}
    if plant.kind:
        of_plant["plant.kind"] = plant.kind
    if plant.kind == "elastic":
        for node, values in ELASTIC.items():
            changed[node] |= values
    if plant.seed is not None:
        of_plant["plant.seed"] = plant.seed
    if plant.ideal:
        for node, values in IDEAL.items():
            changed[node] |= values
    if plant.ideal and plant.scenario in ("faults", "all"):
        raise ArgumentError("--ideal: an arm without friction cannot have more of it")
    if plant.pushes:
        model = settings.load("") if known else None
        start = DEMO_START if settings.name in SAME_PARAMETERS else None
        pushes = [parse_push(text, model, start) for text in plant.pushes]
        for k, push in enumerate(pushes):
            push["at"] = FIRST_PUSH + k * PUSH_INTERVAL
        of_plant |= push_parameters(pushes)
    return changed


def parse_push(
    text: str, model: RobotModel | None, start: Sequence[float] | None
) -> dict[str, Any]:
    """Return LINK:NEWTON or LINK:FX,FY,FZ as parameters of a push.

    A single number pushes the link off the axis of its joint, so that the link can be identified;
    start: posture [rad or m] for that, by default `start_posture`.
    """
    link, _, force = text.partition(":")
    try:
        numbers = [float(x) for x in force.split(",")]
    except ValueError:
        numbers = []
    if not link or len(numbers) not in (1, 3):
        raise ArgumentError(f"--push {text}: write LINK:NEWTON or LINK:FX,FY,FZ, e.g. link_5:40")
    if len(numbers) == 3:
        return {"link": link, "force": numbers}
    if model is None:
        raise ArgumentError(
            f"--push {text}: with --params write LINK:FX,FY,FZ, or name the arm by --robot"
        )
    q = start_posture(model) if start is None else np.array(start)
    body = model.frame(link).body  # that carries the link
    point, direction, _ = push_lever(model, q, body)
    return {
        "link": model.link_names[body],
        "force": (numbers[0] * direction).tolist(),
        "point": point.tolist(),
    }


class PageProcess:
    """`robodyn view` for the nodes of a demo, as a process."""

    def __init__(self, namespace: str, port: int, console: Console) -> None:
        command = [sys.executable, "-m", "robodyn_ros.cli", "view", "--namespace", namespace]
        self.process = subprocess.Popen(
            [*command, "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._console, self._announced = console, f"live page: {page_url(port)}"
        self.status = f"{self._announced} starts"
        Thread(target=self._read_output, daemon=True).start()

    def _read_output(self) -> None:
        """Read its address; read the rest, too, so that the pipe does not fill up."""
        error = ""
        for line in map(str.strip, self.process.stdout or ()):
            if line.startswith("live page:"):
                self.status = line
                if line != self._announced:  # another program took the port meanwhile
                    self._console.print(line, markup=False, highlight=False, soft_wrap=True)
            elif line.startswith("error:"):
                error = f", {line}"
        ended = f"live page: ended{error}"
        if error:
            self._console.print(ended, markup=False, highlight=False, soft_wrap=True)
        self.status = ended


@contextmanager
def page_process(
    port: int | None, namespace: str, console: Console
) -> Iterator[PageProcess | None]:
    """Run the page at this port in this context; yield None without a port."""
    if port is None:
        yield None
        return
    use_loopback()
    with held():
        page = PageProcess(namespace, port, console)
        try:
            yield page
        finally:
            stop_processes([page.process], signal.SIGTERM)
