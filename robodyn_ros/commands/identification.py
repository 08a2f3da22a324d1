"""`robodyn excite`, `identify`: a robot's inertias and friction from logged motion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rich.markup import escape

from ..errors import ArgumentError
from . import common
from .common import app, console, error_console
from .options import Argument, Option


@app.command()
def excite(
    robot: common.RobotArgument,
    out: Annotated[Path, Option(help="A .csv table, or a .yaml JointTrajectory.")],
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: common.LockOption = None,
    duration: Annotated[float, Option(help=r"Duration \[s], whole periods.")] = 30.0,
    period: Annotated[float, Option(help=r"Period \[s].")] = 10.0,
    harmonics: Annotated[int, Option(help="Harmonics of the Fourier series.")] = 5,
    qd_max: Annotated[
        float | None, Option(help=r"Velocity limit \[rad/s or m/s]; else the robot's.")
    ] = None,
    qdd_max: Annotated[float, Option(help=r"Acceleration limit \[rad/s^2 or m/s^2].")] = 4.0,
    floor: Annotated[float | None, Option(help=r"Height \[m] above which all links stay.")] = None,
    rate: Annotated[float, Option(help="Sampling rate [Hz].")] = 100.0,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    as_json: common.JsonOption = False,
) -> None:
    """Plan a motion that excites a robot's parameters, for `robodyn identify`."""
    model = common.load(robot, root, tip, lock)
    from ..identification.excitation import excitation, write_motion

    with error_console.status("optimizing the motion"):
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
        duration = motion.duration
        common.print_json({"file": str(out), "duration": duration, "condition": motion.condition})
    else:
        console.print(f"{out}: {duration:g} s, condition number {motion.condition:.3g}")


@app.command()
def identify(
    robot: common.RobotArgument,
    logs: Annotated[list[str], Argument(help="CSV files (file.csv:first:last for rows) or bags.")],
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: common.LockOption = None,
    held_out: Annotated[
        list[str] | None, Option(help="Log to predict only; may be repeated.")
    ] = None,
    out: Annotated[Path, Option(help="Folder of the results.")] = Path("identified"),
    columns: common.ColumnsOption = None,
    topic: Annotated[str, Option(help="Topic of joint states in a bag.")] = "/joint_states",
    gains: common.DriveGainsOption = None,
    loaded: Annotated[
        list[str] | None,
        Option(help="Log with a known payload, to find the drive gains; may be repeated."),
    ] = None,
    payload: Annotated[
        str | None, Option(help="The known payload: link:kg or link:kg:x,y,z.")
    ] = None,
    cutoff: Annotated[float | None, Option(help="Cutoff of the filter [Hz].")] = None,
    method: Annotated[
        str, Option(help="differences, or momentum, which needs no acceleration.")
    ] = "differences",
    friction: Annotated[
        str, Option(help="Friction terms; none for joint torque sensors.")
    ] = "viscous,coulomb,stribeck,offset,load",
    rotors: Annotated[bool, Option(help="Identify rotor inertias, too.")] = True,
    prior: Annotated[
        float, Option(help="Expected relative error of the nominal inertial parameters.")
    ] = 0.3,
    as_json: common.JsonOption = False,
) -> None:
    """Identify a robot's masses, inertias and friction from logged motion."""
    from rich.progress import Progress

    from ..identification.command import facts_of, gains_by_payload, run

    model = common.load(robot, root, tip, lock)
    numbers = common.parse_gains(gains)
    if loaded or payload:
        if not (loaded and payload) or gains:
            raise ArgumentError("drive gains: give --loaded and --payload, or --gains alone")
        numbers = tuple(gains_by_payload(model, logs, loaded, payload, columns, topic).gains)
        error_console.print(f"drive gains [N m/A]: {', '.join(f'{x:.4g}' for x in numbers)}")
    with Progress(console=error_console, transient=True) as bar:
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
        common.print_json(facts_of(found, out))
        return
    uses = (f"{fit.name}\n{'held out' if fit.held_out else 'used'}" for fit in found.fits)
    errors = common.new_table("torque error", ("joint",), tuple(uses))
    for k, joint in enumerate(found.nominal.joint_names):
        errors.add_row(escape(joint), *(f"{100.0 * fit.relative[k]:.2f} %" for fit in found.fits))
    console.print(errors)
    console.print(escape(f"{out}: robot.urdf, nodes.yaml, report.html"), highlight=False)
    for doubt in found.doubts:
        common.print_warning(doubt)
