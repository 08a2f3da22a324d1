"""`robodyn doctor`: what a detector needs to know of a driver, from its joint states."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..errors import ArgumentError
from . import common
from .common import app, console, error_console
from .options import Argument, Option

COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@app.command()
def doctor(
    recording: Annotated[
        Path | None, Argument(help="A bag or a CSV file; by default the running system.")
    ] = None,
    robot: Annotated[
        str,
        Option("--robot", "--urdf", help="URDF file or built-in arm; else robot_description."),
    ] = "",
    states: Annotated[
        str, Option(help="Topic of joint states, or the end of its name.")
    ] = "joint_states",
    seconds: Annotated[float, Option(help=r"How long to listen \[s].", min=1.0)] = 10.0,
    columns: common.ColumnsOption = None,
    root: common.RootOption = None,
    tip: common.TipOption = None,
    lock: common.LockOption = None,
    out: Annotated[Path | None, Option(help="Write the parameters to this YAML file.")] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Check a driver's joint states: names, rate, stamps, velocities, and what its effort is.

    Move the arm's heavy joints to and fro meanwhile: kind, sign and side of the effort show only
    then. Exit code 1 if a detector cannot run on this.
    """
    from ..recording.doctor import examine

    model, table, which = _source(recording, robot, states, seconds, columns, (root, tip, lock))
    found = examine(model, table)
    found.values = which | found.values
    if out is not None:
        _write(out, found.yaml())
    if as_json:
        common.print_json(found.facts())
    else:
        rows = common.new_table(f"{model.name}, {table.source}", ("", "finding"))
        for finding in found.findings:
            colour = COLOURS[finding.weight]
            rows.add_row(f"[{colour}]{escape(finding.subject)}[/]", escape(finding.text))
        console.print(rows)
        print(found.yaml() if out is None else f"parameters: {out}")
    if not found.usable:
        raise typer.Exit(1)


def _source(
    recording: Path | None,
    robot: str,
    states: str,
    seconds: float,
    columns: str | None,
    parts: tuple[str | None, str | None, list[str] | None],
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the model, the joint states, and the parameters that name the robot."""
    from ..recording import doctor_sources as sources
    from ..recording.bags import is_bag, open_bag

    if recording is None:
        with common.imports():
            from ..nodes.joint_state_probe import listen
        with error_console.status(f"listening for {seconds:g} s"):
            topic, messages, description = listen(states, seconds)
        names = {name for _, message in messages for name in message.name}
        model, which = _model(robot, description, parts, names)
        return model, sources.table_of_messages(messages, model.joint_names, topic), which
    if not recording.exists():
        raise ArgumentError(f"there is no file or folder '{recording}'")
    if not is_bag(recording):
        model, which = _model(robot, "", parts, ())
        return model, sources.table_of_csv(recording, columns, model.n), which
    with open_bag(recording) as bag:
        description = "" if robot else sources.description_of_bag(bag)
        model, _ = _model(robot, description, parts, ())
        table = sources.table_of_bag(bag, states, model.joint_names)
        model, which = _model(robot, description, parts, table.names)
        return model, table, which


def _model(
    robot: str,
    description: str,
    parts: tuple[str | None, str | None, list[str] | None],
    names: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return the model and the parameters that name it; joints without messages are locked."""
    from ..model.robots import BUILT_IN
    from ..recording.doctor import joints_to_lock

    if not (robot or description):
        raise ArgumentError("no robot_description: give --robot, a URDF or a built-in arm")
    root, tip, lock = parts
    model = common.load(robot or description, root, tip, lock)
    locked = [*(lock or []), *joints_to_lock(model, names)]
    if len(locked) > len(lock or []):
        model = common.load(robot or description, root, tip, locked)
    which: dict[str, Any] = {}
    if robot:
        built_in = robot in BUILT_IN and not Path(robot).exists()
        which = {"robot.name": robot} if built_in else {"robot.urdf": str(Path(robot).resolve())}
    which |= {f"robot.{key}": value for key, value in (("root", root), ("tip", tip)) if value}
    if locked:
        which["robot.lock"] = [item.partition("=")[0] for item in locked]
    return model, which


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as reason:
        raise ArgumentError(f"cannot write '{path}': {reason.strerror}") from None
