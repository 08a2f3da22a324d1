"""The `robodyn` command."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import __version__
from .errors import ArgumentError, ModelWarning, ResourceError, RobodynError
from .model import table
from .model.load import load_robot

app = typer.Typer(
    help="Rigid-body dynamics of robot arms, and what touches them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()
complaints = Console(stderr=True)


def parse_lock(items: list[str]) -> dict[str, float]:
    """joint=position pairs; a bare name locks at 0."""
    lock = {}
    for item in items:
        name, _, value = item.partition("=")
        try:
            lock[name] = float(value or 0.0)
        except ValueError:
            raise ArgumentError(f"--lock {item}: '{value}' is no number") from None
    return lock


def show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"robodyn_ros {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Rigid-body dynamics of robot arms, and what touches them."""


@app.command()
def info(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm such as lwr_iii.")],
    root: Annotated[str | None, typer.Option(help="Link to take as the fixed base.")] = None,
    tip: Annotated[str | None, typer.Option(help="Link at which the chain ends.")] = None,
    lock: Annotated[
        list[str] | None, typer.Option(help="joint=position to freeze; may be repeated.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Refuse what is merely odd.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False,
) -> None:
    """Show a robot: joints, limits, masses, and the torque it takes to hold it stretched out."""
    model = load_robot(robot, root, tip, parse_lock(lock or []), strict)
    from .dynamics.newton_euler import gravity_torque
    from .dynamics.posture import stretched_out

    q = stretched_out(model)
    torque = gravity_torque(model, q)
    if as_json:
        facts = {
            "name": model.name,
            "joints": list(model.joint_names),
            "links": list(model.link_names),
            "mass": dict(zip(model.link_names, model.mass.tolist(), strict=True)),
            "moving_mass": float(model.mass.sum()),
            "total_mass": float(model.mass.sum() + model.base_body.mass),
            "stretched_out": {"q": q.tolist(), "gravity_torque": torque.tolist()},
        }
        for key in ("q_min", "q_max", "qd_max", "tau_max", "rotor_inertia", "viscous", "coulomb"):
            values = getattr(model, key)
            facts[key] = [x if np.isfinite(x) else None for x in values.tolist()]
        print(json.dumps(facts, indent=2))
        return
    print(table.text(model))
    heavy = Table(title="gravity torque, stretched out", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("joint", "q", "torque", "share of the effort limit"):
        heavy.add_column(heading, justify="left" if heading == "joint" else "right")
    for k, joint in enumerate(model.joint_names):
        share = abs(torque[k]) / model.tau_max[k]
        heavy.add_row(
            escape(joint),
            f"{q[k]:.3f}",
            f"{torque[k]:.3f}",
            f"{share:.0%}" if np.isfinite(model.tau_max[k]) else "no limit",
        )
    console.print(heavy)


@app.command()
def tour(
    robot: Annotated[str, typer.Argument(help="A URDF file or a built-in arm.")] = "lwr_iii",
) -> None:
    """A short tour of the dynamics: what is computed, an identity that proves it, and its time."""
    from .tour import walk

    walk(load_robot(robot), console)


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
    duration: Annotated[float, typer.Option(help="[s]")] = 30.0,
    composed: Annotated[bool, typer.Option(help="All nodes in one process.")] = False,
    headless: Annotated[bool, typer.Option(help="No live table; for scripts.")] = False,
    picture: Annotated[Path, typer.Option(help="Where the plot goes.")] = Path("demo.png"),
) -> None:
    """The collision demo: an arm moves, is pushed, feels it, gives way and goes on.

    Exit code 0 only if every push was found, none was invented, and the arm resumed.
    """
    with ros_at_hand():
        from .nodes.demo_command import show
    ok = show(
        robot, urdf, plant, push or [], params, duration, composed, headless, picture, console
    )
    raise typer.Exit(0 if ok else 1)


@app.command()
def identify(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    logs: Annotated[list[str], typer.Argument(help="CSV (file.csv:first:last for rows) or bag.")],
    held_out: Annotated[list[str] | None, typer.Option(help="Only predicted; may repeat.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("identified"),
    columns: Annotated[str | None, typer.Option(help="t=0 q=1-6 qd=7-12 tau=13-18")] = None,
    gains: Annotated[str | None, typer.Option(help="Drive gains [N m/A], by commas.")] = None,
    topic: Annotated[str, typer.Option(help="Of a bag.")] = "/joint_states",
    cutoff: Annotated[float | None, typer.Option(help="Of the filter [Hz].")] = None,
) -> None:
    """Find a robot's masses, inertias and friction in logged motion."""
    from rich.progress import Progress

    from .identification.command import run

    try:
        numbers = [float(x) for x in gains.split(",")] if gains else None
    except ValueError:
        raise ArgumentError(f"--gains {gains}: write numbers with commas between") from None
    with Progress(console=complaints) as bar:
        task = bar.add_task("identify", total=1.0)
        found = run(
            load_robot(robot),
            logs,
            held_out=held_out or [],
            out=out,
            columns=columns,
            gains=numbers,
            topic=topic,
            cutoff=cutoff,
            progress=lambda share, what: bar.update(task, completed=share, description=what),
        )
    for fit in found.fits:
        print(fit.name, *(f"{share:.2%}" for share in fit.relative))


@app.command()
def topics() -> None:
    """List the topics of running nodes."""
    with ros_at_hand():
        from .nodes import terminal
    for name, kind, publishers in terminal.topics():
        print(f"{name}  {kind}  publishers: {publishers}")


@app.command()
def echo(
    topic: Annotated[str, typer.Argument(help="A topic, or the end of its name: residual.")],
    count: Annotated[int, typer.Option(help="End after so many messages; 0: never.")] = 0,
) -> None:
    """Print what comes on a topic."""
    with ros_at_hand():
        from .nodes import terminal
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
        from .nodes import terminal
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
        from .nodes import terminal
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


@contextlib.contextmanager
def ros_at_hand() -> Iterator[None]:
    """Say what to do where ROS 2 is missing."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(
            f"ROS 2 is missing ({error}): source your installation, or without one "
            "`pip install 'robodyn_ros[ros]'`"
        ) from None


def complain(kind: str, message: object) -> None:
    """One line, whatever a stranger's file is called."""
    complaints.print(kind, escape(str(message)), highlight=False, soft_wrap=True)


def show_warning(message: Any, category: Any, *_: Any) -> None:
    """What is odd about a robot, in one line."""
    if issubclass(category, ModelWarning):
        complain("[yellow]warning:[/]", message)


def main() -> None:
    """Run the command; errors are one line, not a traceback."""
    warnings.showwarning = show_warning  # type: ignore[assignment]
    try:
        app()
    except RobodynError as error:
        complain("[red]error:[/]", error)
        sys.exit(1)


if __name__ == "__main__":
    main()
