"""What `robodyn demo` does, from its options to its exit code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live

from ..dynamics.warmup import warmup
from ..model.robots import load_robot
from ..resources import share_path
from .demo import DEMO_NODES, Demo, Onlooker, parse_push, watch
from .demo_view import events_table, live, plot, verdict
from .first_parameters import first_parameters, robot_settings
from .page_process import page_process

LIKE_THE_DEMO = ("lwr_iii", "kuka_lwr4")  # arms for which config/demo.yaml is right
FIRST, EVERY = 3.0, 5.0  # [s], when pushes that are given by hand happen


def show(
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
    """Run the demo; whether every push was found, none invented, and the arm resumed.

    At a terminal and with the live page, the arm goes on in the end, for the user to push.
    """
    overrides = overridden(robot, urdf, plant, pushes, guess=params is None)
    demo = Demo(
        params or share_path("config", "demo.yaml"),
        duration,
        composed,
        log=None if headless else picture.with_suffix(".log"),  # a live table needs the terminal
        overrides=overrides,
    )
    console.print("compiling what is not yet compiled: up to a minute the first time")
    warmup(load_robot(urdf or robot or "lwr_iii"))
    from . import composed as all_nodes  # noqa: F401  their kernels, so that the nodes find them

    if headless:
        onlooker = watch(demo, lambda onlooker: None)
        conclude(onlooker, picture, console)
    else:
        onlooker = watch_live(demo, page, picture, console)
    return verdict(onlooker)[0]


def watch_live(demo: Demo, page: bool, picture: Path, console: Console) -> Onlooker:
    """The demo with a live table and, if it can be had, the live page."""
    with (
        page_process(page, demo.namespace, console) as beside,
        Live(console=console, refresh_per_second=10) as screen,
    ):

        def show(onlooker: Onlooker) -> None:
            screen.update(live(onlooker, demo.duration, beside.said if beside else ""))

        def stay(onlooker: Onlooker) -> None:
            screen.stop()
            conclude(onlooker, picture, console)
            said = beside.said if beside else ""
            console.print(f"{said}  (the arm is yours to push; Ctrl-C ends it)")

        at_terminal = beside is not None and console.is_terminal and sys.stdin.isatty()
        onlooker = watch(demo, show, stay if at_terminal else None)
    if not at_terminal:
        conclude(onlooker, picture, console)
    return onlooker


def conclude(onlooker: Onlooker, picture: Path, console: Console) -> None:
    """What happened, as a table, a plot and a verdict."""
    console.print(events_table(onlooker.events()))
    if plot(onlooker, picture):
        console.print(f"plot: {picture}")
    ok, text = verdict(onlooker)
    console.print(f"[{'green' if ok else 'red'}]{text}[/]")


def overridden(
    robot: str, urdf: str, plant: str, pushes: list[str], guess: bool
) -> dict[str, Any]:
    """Parameters that the options change, node by node.

    guess: all that depends on the arm, where it is another than that of config/demo.yaml.
    """
    own: dict[str, Any] = {node: {} for node in DEMO_NODES}
    if urdf or robot:
        settings = robot_settings(urdf or robot, "", "", [])
        other = guess and settings.name not in LIKE_THE_DEMO
        first = first_parameters(settings.load(""), settings) if other else {}
        for node in DEMO_NODES:
            own[node] |= first.get(node, {})
            own[node] |= {"robot.name": settings.name, "robot.urdf": settings.urdf}
    if plant:
        own["simulator_node"]["plant.kind"] = plant
    if pushes:
        names = [f"given_{k + 1}" for k in range(len(pushes))]
        own["simulator_node"]["pushes.names"] = names
        for k, (name, text) in enumerate(zip(names, pushes, strict=True)):
            push = parse_push(text, FIRST + k * EVERY)
            own["simulator_node"] |= {f"pushes.{name}.{key}": v for key, v in push.items()}
    return own
