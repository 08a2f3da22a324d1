"""The `robodyn` command."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from . import __version__
from .errors import ArgumentError, ModelWarning, RobodynError
from .model import robots, table
from .model.robot import RobotModel
from .model.urdf import load_urdf
from .model.urdf_writer import to_urdf

BUILT_IN = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")

app = typer.Typer(
    help="Rigid-body dynamics of robot arms, and what touches them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()
complaints = Console(stderr=True)


def load_robot(
    robot: str,
    root: str | None = None,
    tip: str | None = None,
    lock: dict[str, float] | None = None,
    strict: bool = False,
) -> RobotModel:
    """One of the built-in arms by name, or a URDF by path."""
    description = robot
    if robot in BUILT_IN and not Path(robot).exists():
        model: RobotModel = getattr(robots, robot)()
        if not (root or tip or lock or strict):
            return model
        description = to_urdf(model)
    return load_urdf(description, root=root, tip=tip, lock=lock, strict=strict)


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
