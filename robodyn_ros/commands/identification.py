"""`robodyn excite`, `identify`: what a robot really weighs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from ..errors import ArgumentError
from ..model.load import load_robot
from .common import (
    JsonOption,
    LockOption,
    RootOption,
    TipOption,
    app,
    complain,
    complaints,
    console,
    parse_gains,
    parse_lock,
)


@app.command()
def excite(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    out: Annotated[Path, typer.Option(help="A .csv table, or a .yaml JointTrajectory.")],
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    duration: Annotated[float, typer.Option(help="[s], whole periods.")] = 30.0,
    period: Annotated[float, typer.Option(help="[s]")] = 10.0,
    harmonics: Annotated[int, typer.Option(help="Of the Fourier series.")] = 5,
    qd_max: Annotated[float | None, typer.Option(help="[rad/s or m/s]; else the robot's.")] = None,
    qdd_max: Annotated[float, typer.Option(help="[rad/s^2 or m/s^2]")] = 4.0,
    floor: Annotated[float | None, typer.Option(help="[m] above which links stay.")] = None,
    rate: Annotated[float, typer.Option(help="Samples a second.")] = 100.0,
    seed: Annotated[int, typer.Option(help="Another one, another motion.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Plan a motion that tells a robot's parameters apart, for `robodyn identify`."""
    model = load_robot(robot, root, tip, parse_lock(lock or []))
    from ..identification.excitation import excitation, write_motion

    with complaints.status("looking for a good motion"):
        motion = excitation(
            model,
            duration=duration,
            period=period,
            harmonics=harmonics,
            qd_max=qd_max,
            qdd_max=qdd_max,
            workspace=floor,
            seed=seed,
        )
    write_motion(motion, model.joint_names, out, rate)
    if as_json:
        facts = {"file": str(out), "duration": motion.duration, "condition": motion.condition}
        print(json.dumps(facts, indent=2))
    else:
        console.print(f"{out}: {duration:g} s, condition number {motion.condition:.3g}")


@app.command()
def identify(
    robot: Annotated[str, typer.Argument(help="A URDF file, or a built-in arm.")],
    logs: Annotated[list[str], typer.Argument(help="CSV (file.csv:first:last for rows) or bag.")],
    root: RootOption = None,
    tip: TipOption = None,
    lock: LockOption = None,
    held_out: Annotated[list[str] | None, typer.Option(help="Only predicted; may repeat.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = Path("identified"),
    columns: Annotated[
        str | None, typer.Option(help="Of a CSV, by number or name: t=0 q=1-6 qd=7-12 tau=13-18")
    ] = None,
    topic: Annotated[str, typer.Option(help="Of a bag.")] = "/joint_states",
    gains: Annotated[str | None, typer.Option(help="Drive gains [N m/A], by commas.")] = None,
    loaded: Annotated[
        list[str] | None, typer.Option(help="Logs with a known payload: finds the drive gains.")
    ] = None,
    payload: Annotated[str | None, typer.Option(help="Which: link:kg or link:kg:x,y,z.")] = None,
    cutoff: Annotated[float | None, typer.Option(help="Of the filter [Hz].")] = None,
    method: Annotated[
        str, typer.Option(help="differences, or momentum: no acceleration.")
    ] = "differences",
    friction: Annotated[
        str, typer.Option(help="Terms by commas; none behind joint torque sensors.")
    ] = "viscous,coulomb,stribeck,offset,load",
    rotors: Annotated[bool, typer.Option(help="Look for rotor inertias too.")] = True,
    prior: Annotated[
        float, typer.Option(help="How far bodies may be from the nominal ones, as a share.")
    ] = 0.3,
    as_json: JsonOption = False,
) -> None:
    """Find a robot's masses, inertias and friction in logged motion."""
    from rich.progress import Progress

    from ..identification.command import facts_of, gains_by_payload, run

    model = load_robot(robot, root, tip, parse_lock(lock or []))
    numbers = parse_gains(gains)
    if loaded or payload:
        if not (loaded and payload) or gains:
            raise ArgumentError("drive gains: give --loaded and --payload, or --gains alone")
        numbers = tuple(gains_by_payload(model, logs, loaded, payload, columns, topic).gains)
        complaints.print(f"drive gains [N m/A]: {', '.join(f'{x:.4g}' for x in numbers)}")
    with Progress(console=complaints, transient=True) as bar:
        task = bar.add_task("identify", total=1.0)
        found = run(
            model,
            logs,
            held_out=held_out or [],
            original=robot if Path(robot).is_file() else None,
            out=out,
            columns=columns,
            gains=numbers,
            topic=topic,
            cutoff=cutoff,
            method=method,
            friction=() if friction == "none" else friction.split(","),
            rotors=rotors,
            prior=prior,
            progress=lambda share, what: bar.update(task, completed=share, description=what),
        )
    if as_json:
        print(json.dumps(facts_of(found, out), indent=2))
        return
    errors = Table(title="torque error", title_justify="left", box=box.SIMPLE_HEAD)
    errors.add_column("joint", overflow="fold")
    for fit in found.fits:
        use = "held out" if fit.held_out else "used"
        errors.add_column(f"{escape(fit.name)}\n{use}", justify="right", overflow="fold")
    for k, joint in enumerate(found.nominal.joint_names):
        errors.add_row(escape(joint), *(f"{100.0 * fit.relative[k]:.2f} %" for fit in found.fits))
    console.print(errors)
    console.print(escape(f"{out}: robot.urdf, nodes.yaml, report.html"), highlight=False)
    for doubt in found.doubts:
        complain("[yellow]warning:[/]", doubt)
