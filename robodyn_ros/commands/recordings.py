"""`robodyn record`, `residual`, `report`, `tune`: bags and CSV files."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ..errors import ArgumentError
from .common import JsonOption, app, complain, complaints, console, parse_gains, ros_at_hand

Recording = Annotated[Path, typer.Argument(help="A bag of ROS 2 or 1, or a CSV file.")]
RobotOption = Annotated[
    str, typer.Option("--robot", "--urdf", help="A URDF or a built-in arm; else as the bag says.")
]
ParamsOption = Annotated[
    Path | None, typer.Option(help="Parameters of dynamics_node; else as the bag says.")
]
GainOption = Annotated[float | None, typer.Option(help="Observer gain [1/s].")]
EffortOption = Annotated[str, typer.Option(help="joint_states, command, or auto.")]
StatesOption = Annotated[str, typer.Option(help="Topic of joint states, or how it ends.")]
CommandsOption = Annotated[str, typer.Option(help="Topic of commands, or how it ends.")]
ColumnsOption = Annotated[
    str | None, typer.Option(help="Of a CSV: t=0 q=1-6 qd=7-12 tau=13-18, or names.")
]
DriveGainsOption = Annotated[
    str | None, typer.Option("--gains", help="Drive gains [N m/A], by commas, for currents.")
]
ContactsOption = Annotated[
    list[str] | None,
    typer.Option("--contact", help="FROM:TO [s], when something touched it; may repeat."),
]


@contextlib.contextmanager
def looked_at(
    path: Path,
    robot: str,
    params: Path | None,
    gain: float | None,
    effort: str,
    states: str,
    commands: str,
    columns: str | None,
    gains: str | None,
    contacts: list[str] | None,
) -> Iterator[tuple[Any, Any]]:
    """A recording with what the detector says about it, and a bar for what takes long."""
    from rich.progress import Progress

    from ..recording.command import Question, answered, parse_contacts
    from ..recording.run import Sources

    question = Question(
        path,
        robot,
        params,
        gain,
        Sources(states=states, commands=commands, effort=effort),
        columns,
        parse_gains(gains),
        parse_contacts(contacts or []),
    )
    with Progress(console=complaints, transient=True) as bar:
        task = bar.add_task("looking", total=1.0)

        def show(share: float, what: str) -> None:
            bar.update(task, completed=share, description=escape(what))

        with answered(question, show) as answer:
            yield answer, show


@app.command()
def record(
    topics: Annotated[
        list[str] | None, typer.Argument(help="Topics; all of the demo without.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the bag; else by the date.")] = None,
    duration: Annotated[float | None, typer.Option(help="[s]; else until Ctrl-C.")] = None,
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Record what the nodes say into a ROS 2 bag (MCAP), every message of it.

    Ctrl-C and SIGTERM finish the bag. Exit code 1 if nothing came.
    """
    with ros_at_hand():
        from ..nodes.recorder import record as record_topics
    from rich.live import Live

    from ..recording.bag_writer import BagWriter
    from ..recording.view import topics_table

    path = out or Path(time.strftime("robodyn_%Y%m%d_%H%M%S"))
    with (
        BagWriter(path) as sink,
        Live(console=complaints, refresh_per_second=4, transient=True) as screen,
    ):
        done = record_topics(
            sink,
            topics or [],
            namespace,
            duration,
            lambda recorder, elapsed: screen.update(
                topics_table(recorder.heard.values(), f"{path}: {elapsed:.1f} s, Ctrl-C ends it")
                if recorder.heard
                else "waiting for topics"
            ),
        )
    heard = [one for one in done.heard.values() if one.count]
    for topic, kind in done.strange.items():
        complain("[yellow]warning:[/]", f"not recorded, type unknown: {topic} ({kind})")
    if as_json:
        found = {h.topic: {"messages": h.count, "lost": h.missing} for h in heard}
        print(json.dumps({"bag": str(path), "topics": found}, indent=2))
    else:
        console.print(topics_table(heard, str(path)))
    if any(one.missing for one in heard):
        complain("[yellow]warning:[/]", "messages were lost: the machine is too busy")
    if not heard:
        raise ArgumentError("no message came, so there is no bag worth keeping")


@app.command()
def residual(
    recording: Recording,
    robot: RobotOption = "",
    out: Annotated[
        Path | None, typer.Option(help="New bag, or a .csv; else beside the recording.")
    ] = None,
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Residual and flags of a recording, written back as topics into a new bag."""
    from ..recording.command import save_residual, summary
    from ..recording.view import events_table

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        path = save_residual(answer, out, show)
        facts = summary(answer)
        happened = answer.events
    if as_json:
        print(json.dumps({"out": str(path), **facts}, indent=2))
        return
    console.print(events_table(happened))
    console.print(f"residual and flags: {escape(str(path))}", soft_wrap=True)


@app.command()
def report(
    recording: Recording,
    robot: RobotOption = "",
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("report.html"),
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """A recording as one HTML page: residual, events, tracking, torque, better thresholds."""
    from ..recording.command import save_report, summary
    from ..recording.view import events_table

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        save_report(answer, out, show)
        facts = summary(answer)
        happened = answer.events
    if as_json:
        print(json.dumps({"out": str(out), **facts}, indent=2))
        return
    console.print(events_table(happened))
    console.print(f"report: {escape(str(out))}", soft_wrap=True)


@app.command()
def tune(
    recording: Recording,
    robot: RobotOption = "",
    alarms: Annotated[float, typer.Option(help="False alarms an hour that are allowed.")] = 0.0,
    params: ParamsOption = None,
    gain: GainOption = None,
    effort: EffortOption = "auto",
    states: StatesOption = "joint_states",
    commands: CommandsOption = "effort_controller/commands",
    columns: ColumnsOption = None,
    gains: DriveGainsOption = None,
    contact: ContactsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print parameters of dynamics_node whose thresholds fit a recording, as YAML."""
    from ..recording.command import tuned_yaml

    how = (robot, params, gain, effort, states, commands, columns, gains, contact)
    with looked_at(recording, *how) as (answer, show):
        text = tuned_yaml(answer, alarms, show)
    print(json.dumps({"yaml": text}) if as_json else text, end="\n" if as_json else "")
