"""`robodyn info`, `tour`, `configure`, `generate`: commands that need only a robot's model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from rich.markup import escape
from typer import Option

from ..errors import ArgumentError, ResourceError
from ..model.robots import load_robot
from .common import (
    JsonOption,
    LockOption,
    RobotArgument,
    RootOption,
    TipOption,
    app,
    console,
    load,
    new_table,
    parse_lock,
    print_json,
)


@app.command()
def info(
    robot: RobotArgument,
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    strict: Annotated[bool, Option(help="Turn warnings about the model into errors.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a robot: joints, limits, masses, and the gravity torque when it is stretched out."""
    model = load_robot(robot, root, tip, parse_lock(lock or []), strict)
    from ..dynamics.newton_euler import gravity_torque
    from ..dynamics.posture import heaviest_posture

    q = heaviest_posture(model)
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
        print_json(facts)
        return
    print(model)
    torques = new_table(
        "gravity torque, stretched out", ("joint",), ("q", "torque", "share of the effort limit")
    )
    for k, joint in enumerate(model.joint_names):
        share = abs(torque[k]) / model.tau_max[k]
        torques.add_row(
            escape(joint),
            f"{q[k]:.3f}",
            f"{torque[k]:.3f}",
            f"{share:.0%}" if np.isfinite(model.tau_max[k]) else "no limit",
        )
    console.print(torques)


@app.command()
def tour(robot: RobotArgument = "lwr_iii") -> None:
    """Show every quantity of the dynamics, an identity that proves it, and its time."""
    from ..tour import walk

    walk(load_robot(robot), console)


@app.command()
def configure(
    robot: RobotArgument,
    root: RootOption = None,
    tip: TipOption = None,
    lock: Annotated[
        list[str] | None, Option(help="Joint to lock at 0, as a finger's; may be repeated.")
    ] = None,
    out: Annotated[Path | None, Option(help="YAML file; by default printed.")] = None,
) -> None:
    """Write parameters for a first run of the nodes on this arm: `robodyn demo --params FILE`."""
    from ..nodes.first_parameters import SOURCE, as_yaml, first_parameters, robot_settings

    settings = robot_settings(robot, root or "", tip or "", lock or [])
    text = SOURCE + as_yaml(first_parameters(settings.load(""), settings))
    if out is None:
        print(text, end="")
    elif out.exists():
        raise ArgumentError(f"{out} exists already: choose another --out, or remove it")
    else:
        out.write_text(text, encoding="utf-8")
        console.print(f"{out}: for `robodyn demo --params {out}`")


@app.command()
def generate(
    robot: RobotArgument,
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    quantity: Annotated[
        str, Option(help="momentum_terms, inverse_dynamics, forward_dynamics, ….")
    ] = "momentum_terms",
    language: Annotated[str, Option(help="c or python.")] = "c",
    out: Annotated[
        Path | None, Option(help="File to write; by default only the counts are shown.")
    ] = None,
    base: Annotated[
        bool | None,
        Option("--base/--standard", help="Inertial parameters; by default the cheaper."),
    ] = None,
    symbolic_parameters: Annotated[
        bool, Option("--symbolic-parameters", help="Take inertial parameters as an argument.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write straight-line code for one quantity of one robot, and count its operations."""
    model = load(robot, root, tip, lock)
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
        print_json(facts)
        return
    counts = new_table(str(out or ""), ("", " "))
    counts.show_header = False
    for heading, fact in facts.items():
        counts.add_row(heading, escape(str(fact)))
    console.print(counts)
