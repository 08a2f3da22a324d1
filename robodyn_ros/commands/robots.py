"""`robodyn info`, `tour`, `configure`, `generate`: what follows from a robot alone."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from ..errors import ArgumentError, ResourceError
from ..model import table
from ..model.load import load_robot
from .common import JsonOption, LockOption, RootOption, TipOption, app, console, parse_lock


@app.command()
def info(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm such as lwr_iii.")],
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    strict: Annotated[bool, typer.Option(help="Refuse what is merely odd.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a robot: joints, limits, masses, and the torque it takes to hold it stretched out."""
    model = load_robot(robot, root, tip, parse_lock(lock or []), strict)
    from ..dynamics.newton_euler import gravity_torque
    from ..dynamics.posture import stretched_out

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
    from ..tour import walk

    walk(load_robot(robot), console)


@app.command()
def configure(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    root: Annotated[str, typer.Option(help="Link to take as the fixed base.")] = "",
    tip: Annotated[str, typer.Option(help="Link at which the arm ends.")] = "",
    lock: Annotated[
        list[str] | None, typer.Option(help="Joint to hold at 0, as a finger's; may be repeated.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file; without it, the terminal.")] = None,
) -> None:
    """Write parameters for a first run of the nodes on this arm: `robodyn demo --params FILE`."""
    from ..nodes.first_parameters import SOURCE, as_yaml, first_parameters, robot_settings

    settings = robot_settings(robot, root, tip, lock or [])
    text = SOURCE + as_yaml(first_parameters(settings.load(""), settings))
    if out is None:
        print(text, end="")
    elif out.exists():
        raise ArgumentError(f"{out} is there already: choose another --out, or remove it")
    else:
        out.write_text(text, encoding="utf-8")
        console.print(f"{out}: for `robodyn demo --params {out}`")


@app.command()
def generate(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    quantity: Annotated[
        str, typer.Option(help="momentum_terms, inverse_dynamics, forward_dynamics, ….")
    ] = "momentum_terms",
    language: Annotated[str, typer.Option(help="c or python.")] = "c",
    out: Annotated[Path | None, typer.Option(help="The file; else only counts.")] = None,
    base: Annotated[
        bool | None,
        typer.Option("--base/--standard", help="Inertial parameters; else what costs less."),
    ] = None,
    symbolic_parameters: Annotated[
        bool, typer.Option("--symbolic-parameters", help="An argument, not numbers.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write straight-line code for one quantity of one robot, and count its operations."""
    model = load_robot(robot, root, tip, parse_lock(lock or []))
    from ..codegen.generate import generate as generated

    made = generated(model, quantity, language, base=base, symbolic_parameters=symbolic_parameters)
    if out is not None:
        try:
            out.write_text(made.text, encoding="utf-8")
        except OSError as error:
            raise ResourceError(f"{out} cannot be written: {error.strerror}") from None
    facts: dict[str, Any] = {"robot": model.name, "quantity": quantity, "language": language}
    facts["parameters"] = "base" if made.base else "standard"
    facts |= asdict(made.operations)
    if as_json:
        facts |= {"checksum": made.checksum, "file": None if out is None else str(out)}
        print(json.dumps(facts, indent=2))
        return
    counts = Table(title=escape(str(out or "")), title_justify="left", box=box.SIMPLE)
    counts.show_header = False
    for heading, fact in facts.items():
        counts.add_row(heading, escape(str(fact)))
    console.print(counts)
