"""`robodyn demo`, `view`, `topics`, `echo`, `param`: arms that run."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ArgumentError
from .common import JsonOption, app, console, dashboard_at_hand, ros_at_hand


@app.command()
def demo(
    robot: Annotated[str, typer.Option(help="A built-in arm.")] = "",
    urdf: Annotated[str, typer.Option(help="Your own arm's URDF instead.")] = "",
    plant: Annotated[str, typer.Option(help="rigid, elastic or mujoco.")] = "",
    push: Annotated[
        list[str] | None,
        typer.Option(help="LINK:NEWTON or LINK:FX,FY,FZ, instead of the script's."),
    ] = None,
    params: Annotated[Path | None, typer.Option(help="Parameter YAML of all nodes.")] = None,
    duration: Annotated[float, typer.Option(help="[s]; until the arm is back.")] = 30.0,
    composed: Annotated[bool, typer.Option(help="All nodes in one process.")] = False,
    headless: Annotated[bool, typer.Option(help="No table, no page; for scripts.")] = False,
    page: Annotated[bool, typer.Option(help="The live page, too.")] = True,
    picture: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("demo.png"),
) -> None:
    """The collision demo: an arm moves, is pushed, feels it, gives way and goes on.

    Exit code 0 only if every push was found, none was invented, and the arm resumed.
    """
    with ros_at_hand():
        from ..nodes.demo_command import show
    pushes = push or []
    ok = show(
        robot, urdf, plant, pushes, params, duration, composed, headless, page, picture, console
    )
    raise typer.Exit(0 if ok else 1)


@app.command()
def view(
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    robot: Annotated[str, typer.Option(help="A built-in arm; else dynamics_node tells.")] = "",
    urdf: Annotated[str, typer.Option(help="Your own arm's URDF instead.")] = "",
    port: Annotated[int, typer.Option(help="The next free one from here on.", min=1)] = 8080,
    read_only: Annotated[bool, typer.Option("--read-only", help="Look on only.")] = False,
    wait: Annotated[float, typer.Option(help="For dynamics_node [s].")] = 60.0,
) -> None:
    """The live page of a running arm, for a browser on this machine."""
    with ros_at_hand():
        from ..nodes.dashboard_bridge import live_arm
    with dashboard_at_hand():
        from ..dashboard.page import RATE, open_page
    with contextlib.suppress(KeyboardInterrupt), live_arm(namespace, read_only) as arm:
        model, description = arm.find_robot(robot, urdf, wait)
        with open_page(model, description, None if read_only else arm, port) as page:
            print(f"live page: {page.url}", flush=True)
            arm.run(page.feed, page.draw, RATE)


@app.command()
def topics(as_json: JsonOption = False) -> None:
    """List the topics of running nodes."""
    with ros_at_hand():
        from ..nodes import terminal
    found = list(terminal.topics())
    if as_json:
        keys = ("name", "type", "publishers")
        print(json.dumps([dict(zip(keys, topic)) for topic in found], indent=2))
        return
    for name, kind, publishers in found:
        print(f"{name}  {kind}  publishers: {publishers}")


@app.command()
def echo(
    topic: Annotated[str, typer.Argument(help="A topic, or the end of its name: residual.")],
    count: Annotated[int, typer.Option(help="End after so many messages; 0: never.")] = 0,
) -> None:
    """Print what comes on a topic."""
    with ros_at_hand():
        from ..nodes import terminal
    with contextlib.suppress(KeyboardInterrupt):
        for text in terminal.echo(topic, count):
            print(text, "---", sep="\n", flush=True)


param = typer.Typer(help="Parameters of running nodes.", no_args_is_help=True)


app.add_typer(param, name="param")


@param.command("get")
def param_get(
    node: Annotated[str, typer.Argument(help="Its name, e.g. dynamics_node.")],
    name: Annotated[str, typer.Argument(help="A parameter; all of them without.")] = "",
) -> None:
    """Print one or all parameters of a node."""
    with ros_at_hand():
        from ..nodes import terminal
    for key, value in terminal.get_parameters(node, [name] if name else None).items():
        print(f"{key}: {value if isinstance(value, (str, bool, int, float)) else list(value)}")


@param.command("set")
def param_set(
    node: Annotated[str, typer.Argument(help="Its name, e.g. dynamics_node.")],
    name: Annotated[str, typer.Argument(help="A parameter, e.g. monitor.gain.")],
    value: Annotated[str, typer.Argument(help="As in YAML: 0.5, true, text, [1.0, 2.0].")],
) -> None:
    """Set a parameter of a node while it runs."""
    with ros_at_hand():
        from ..nodes import terminal
    done, reason = terminal.set_parameter(node, name, parse_value(value))
    if not done:
        raise ArgumentError(f"{node} refused {name} = {value}: {reason}")
    print(f"{node}: {name} = {value}")


def parse_value(text: str) -> Any:
    """A number, a truth value, a list of such, or else text."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, list) and any(isinstance(x, float) for x in value):
        value = [float(x) for x in value]
    return value
