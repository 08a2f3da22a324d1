"""`robodyn detect`: the detector over many recordings, in parallel, with one summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape
from rich.table import Table

from . import common
from .common import JsonOption, app, console
from .options import Argument, Option

SHOWN_LINKS = 4  # most frequent ones


@app.command()
def detect(
    recordings: Annotated[list[Path], Argument(help="ROS 2 or ROS 1 bags, or CSV files.")],
    robot: Annotated[
        str, Option("--robot", "--urdf", help="A URDF file or a built-in arm; else the bags'.")
    ] = "",
    params: Annotated[
        Path | None, Option(help="Parameter YAML of dynamics_node; else the bags'.")
    ] = None,
    jobs: Annotated[int | None, Option(help="Processes; by default one per core.")] = None,
    dask: Annotated[
        str, Option(help="Address of a Dask scheduler, tcp://…, to use its workers.")
    ] = "",
    out: Annotated[Path, Option(help="File of results, a line of JSON per recording.")] = Path(
        "robodyn_detect.jsonl"
    ),
    again: Annotated[
        bool, Option("--again", help="Run recordings that have a result, too.")
    ] = False,
    each: Annotated[bool, Option("--each", help="List every recording, too.")] = False,
    effort: Annotated[str, Option(help="Torque from joint_states, command, or auto.")] = "auto",
    states: Annotated[
        str, Option(help="Topic of joint states, or the end of its name.")
    ] = "joint_states",
    columns: common.ColumnsOption = None,
    gains: common.DriveGainsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the detector over many recordings; print one summary.

    Run it again after an interruption: only missing recordings are analysed.
    Exit code 1 if a recording
    could not be used.
    """
    from rich.progress import MofNCompleteColumn, Progress

    from ..errors import ArgumentError
    from ..recording.command import AnalysisOptions
    from ..recording.fleet import Journal, Outcome, run_fleet, totals
    from ..recording.run import Sources

    paths = list(dict.fromkeys(path.resolve() for path in recordings))
    journal = Journal(out)
    if again:
        out.unlink(missing_ok=True)
    sources = Sources(states=states, effort=effort)
    used = params.resolve() if params else None
    work = [
        AnalysisOptions(path, robot, used, None, sources, columns, common.parse_gains(gains))
        for path in paths
    ]
    bar = Progress(
        *Progress.get_default_columns(),
        MofNCompleteColumn(),
        console=common.error_console,
        transient=True,
    )
    with bar:
        task = bar.add_task("detecting", total=len(work))

        def show(outcome: Outcome, resumed: bool) -> None:
            name = Path(outcome.path).name
            bar.update(task, advance=1, description=escape(f"{name}{' (known)' * resumed}"))

        found = run_fleet(work, journal, jobs or os.cpu_count() or 1, dask, show)
    failed = [outcome for outcome in found if outcome.error]
    if as_json:
        facts = [{**asdict(total), "per_hour": total.per_hour} for total in totals(found)]
        common.print_json(
            {"out": str(out), "totals": facts, "recordings": list(map(asdict, found))}
        )
    else:
        if each:
            console.print(recordings_table(found))
        console.print(summary_table(totals(found)))
        print(f"events: {out}")
    for outcome in failed:
        common.print_warning(f"{outcome.path}: {outcome.error}", "[red]failed:[/]")
    if failed:
        raise ArgumentError(f"{len(failed)} of {len(found)} recordings could not be used")


def summary_table(rows: Sequence[Any]) -> Table:
    """Return the summary: a row per arm, and one of all."""
    texts = ("arm", "touched links", "faults")
    numbers = ("recordings", "hours", "contacts", "collisions", "events per hour", "UNKNOWN")
    table = common.new_table("detected", texts, numbers)
    for row in rows:
        links = [f"{link or 'not known'} {count}" for link, count in row.links.items()]
        more = ["…"] * (len(links) > SHOWN_LINKS)
        faults = ", ".join(f"{kind} {count}" for kind, count in row.faults.items())
        per_hour = f"{row.per_hour:.3g}" if row.hours else ""
        failed = f" ([red]{row.failed} failed[/])" if row.failed else ""
        table.add_row(
            escape(row.robot),
            escape(", ".join([*links[:SHOWN_LINKS], *more])),
            escape(faults),
            f"{row.recordings}{failed}",
            f"{row.hours:.3g}",
            str(row.contacts),
            str(row.collisions),
            per_hour,
            f"{row.unknown:.2%}",
        )
    return table


def recordings_table(outcomes: Sequence[Any]) -> Table:
    """Return a row for each recording."""
    numbers = ("seconds", "events", "UNKNOWN", "x real time")
    table = common.new_table("recordings", ("recording", "arm"), numbers)
    for one in outcomes:
        speed = f"{one.duration / one.took:,.0f}" if one.took else ""
        row = (f"{one.duration:.1f}", str(len(one.events)), f"{one.unknown:.2%}", speed)
        name = Path(one.path).name
        table.add_row(escape(name), "[red]failed[/]" if one.error else escape(one.robot), *row)
    return table
