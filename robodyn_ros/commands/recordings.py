"""`robodyn record`, `residual`, `report`, `tune`: bags and CSV files."""

from __future__ import annotations

import contextlib
import inspect
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from rich.markup import escape
from rich.table import Table

from ..errors import ArgumentError
from ..interrupts import held
from . import common
from .common import JsonOption, app, console
from .options import Argument, Option

MAX_MISSING = 0.2  # [s] of a topic that may be missing without a warning
KEYWORD = inspect.Parameter.KEYWORD_ONLY
Output = tuple[dict[str, Any], list[Any]]  # facts for --json; texts and tables for people


@contextlib.contextmanager
def open_analysis(
    recording: Annotated[Path, Argument(help="A ROS 2 or ROS 1 bag, or a CSV file.")],
    robot: Annotated[
        str, Option("--robot", "--urdf", help="A URDF file or a built-in arm; else the bag's.")
    ] = "",
    params: Annotated[
        Path | None, Option(help="Parameter YAML of dynamics_node; else the bag's.")
    ] = None,
    gain: Annotated[float | None, Option(help="Observer gain [1/s].")] = None,
    effort: Annotated[str, Option(help="Torque from joint_states, command, or auto.")] = "auto",
    states: Annotated[
        str, Option(help="Topic of joint states, or the end of its name.")
    ] = "joint_states",
    commands: Annotated[
        str, Option(help="Topic of commands, or the end of its name.")
    ] = "effort_controller/commands",
    external: Annotated[
        str,
        Option(
            help="The maker's external torque: its topic (JointState), or columns of a CSV file, "
            "e.g. 22-28."
        ),
    ] = "",
    columns: common.ColumnsOption = None,
    gains: common.DriveGainsOption = None,
    contact: Annotated[
        list[str] | None, Option(help=r"FROM:TO \[s] of a known contact; may be repeated.")
    ] = None,
) -> Iterator[tuple[Any, Any]]:
    """Yield the analysis of a recording and a callback that shows progress."""
    from ..recording.command import AnalysisOptions, analysed, parse_contacts
    from ..recording.run import Sources

    options = AnalysisOptions(
        recording,
        robot,
        params,
        gain,
        Sources(states=states, commands=commands, external=external, effort=effort),
        columns,
        common.parse_gains(gains),
        parse_contacts(contact or []),
    )
    with _progress("analysing") as show, analysed(options, show) as analysis:
        yield analysis, show


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[float, str], None]]:
    """Yield a callback that shows progress: share done, current step."""
    from rich.progress import Progress

    with Progress(console=common.error_console, transient=True) as bar:
        task = bar.add_task(what, total=1.0)

        def show(share: float, step: str) -> None:
            bar.update(task, completed=share, description=escape(step))

        yield show


def recording_command(function: Callable[..., Output]) -> Callable[..., Output]:
    """Register a command that takes a recording, the options of `open_analysis` and --json.

    The function gets the analysis, the progress callback and its own options. What it returns is
    printed after the progress bar has closed: an open bar redirects stdout.
    """

    def command(as_json: bool, **options: Any) -> None:
        shared_options = {parameter.name: options.pop(parameter.name) for parameter in shared}
        with open_analysis(**shared_options) as (analysis, progress):
            facts, shown = function(analysis, progress, **options)
        if as_json:
            common.print_json(facts)
            return
        for part in shown:
            print(part) if isinstance(part, str) else console.print(part)

    shared = _parameters(open_analysis)
    own = _parameters(function)[2:]
    json_option = inspect.Parameter("as_json", KEYWORD, default=False, annotation=JsonOption)
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*shared[:2], *own, *shared[2:], json_option]
    )
    app.command()(command)
    return function


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    signature = inspect.signature(function, eval_str=True)
    return [parameter.replace(kind=KEYWORD) for parameter in signature.parameters.values()]


@app.command()
def record(
    topics: Annotated[
        list[str] | None, Argument(help="Topics; by default all topics of the nodes.")
    ] = None,
    out: Annotated[
        Path | None, Option(help="Folder of the new bag; by default named by the date.")
    ] = None,
    duration: Annotated[
        float | None, Option(help=r"Duration \[s]; by default until Ctrl-C.")
    ] = None,
    namespace: common.NamespaceOption = "",
    as_json: JsonOption = False,
) -> None:
    """Record every message of the nodes' topics into a ROS 2 bag (MCAP).

    Ctrl-C and SIGTERM finish the bag. Exit code 1 if no message was received.
    """
    with common.imports():
        from ..nodes.recorder import record as record_topics
    from rich.live import Live

    from ..recording.bags import BagWriter

    path = out or Path(time.strftime("robodyn_%Y%m%d_%H%M%S"))
    with (
        held(),
        BagWriter(path) as writer,
        Live(console=common.error_console, refresh_per_second=4, transient=True) as screen,
    ):
        done = record_topics(
            writer,
            topics or [],
            namespace,
            math.inf if duration is None else duration,
            lambda recorder, elapsed: screen.update(
                topics_table(recorder.topics.values(), f"{path}: {elapsed:.1f} s, Ctrl-C ends it")
                if recorder.topics
                else "waiting for topics"
            ),
        )
    recorded = [topic for topic in done.topics.values() if topic.count]
    for name, kind in done.unknown.items():
        common.print_warning(f"not recorded, type unknown: {name} ({kind})")
    for name in sorted(done.wanted - done.topics.keys() - done.unknown.keys() if topics else ()):
        common.print_warning(f"not recorded, never found: {name}")
    edges = {topic.topic: topic_edges(topic, done.begin, done.end) for topic in recorded}
    if as_json:
        facts = {
            t.topic: {"messages": t.count, "lost": t.lost, **edges[t.topic]} for t in recorded
        }
        length = round(done.end - done.begin, 3) if recorded else 0.0
        common.print_json({"bag": str(path), "duration": length, "topics": facts})
    else:
        console.print(topics_table(recorded, str(path), edges))
    if any(topic.lost for topic in recorded):
        common.print_warning("messages were lost: the machine is overloaded")
    for topic in recorded:
        for text in edge_warnings(edges[topic.topic]):
            common.print_warning(f"{topic.topic}: {text}")
    if not recorded:
        raise ArgumentError("no message was received: there is nothing to record")


@recording_command
def residual(
    analysis: Any,
    progress: Any,
    out: Annotated[
        Path | None, Option(help="New bag, or a .csv file; by default beside the recording.")
    ] = None,
) -> Output:
    """Compute residual and collision flags of a recording; write them into a new bag."""
    from ..recording.command import save_residual, summary

    path = save_residual(analysis, out, progress)
    shown = [events_table(analysis.events), *external_parts(analysis)]
    shown.append(f"residual and flags: {path}")
    return {"out": str(path), **summary(analysis)}, shown


@recording_command
def report(
    analysis: Any,
    progress: Any,
    out: Annotated[Path, Option(help="HTML file to write.")] = Path("report.html"),
) -> Output:
    """Write a recording as one HTML page: residual, events, tracking, torque, thresholds."""
    from ..recording.command import save_report, summary

    save_report(analysis, out, progress)
    shown = [events_table(analysis.events), *external_parts(analysis), f"report: {out}"]
    return {"out": str(out), **summary(analysis)}, shown


def tune(
    as_json: bool,
    recordings: Annotated[
        list[Path], Argument(help="ROS 2 or ROS 1 bags, or CSV files, without contact.")
    ],
    alarms: Annotated[float, Option(help="Allowed false alarms per hour.")] = 0.0,
    **options: Any,
) -> None:
    """Learn offsets, friction, noise and thresholds from recordings without contact.

    Prints parameters of dynamics_node as YAML, with the smallest force found at each link.
    """
    from ..recording.command import tuned

    analyses = []
    for path in recordings:
        with open_analysis(path, **options) as (analysis, _):
            analyses.append(analysis)
    with _progress("tuning") as show:
        found = tuned(analyses, alarms, show)
    for text in found.warnings:
        common.print_warning(text)
    if as_json:
        facts = {"yaml": found.yaml, "friction": found.friction, "warnings": found.warnings}
        common.print_json({**facts, "forces": found.forces, "hours": found.hours})
    else:
        print(found.yaml.removesuffix("\n"))


def _register_tune() -> None:
    """Register `tune` with the options of the other commands on recordings."""
    own = {p.name: p for p in _parameters(tune)}
    shared = _parameters(open_analysis)[1:]
    json_option = inspect.Parameter("as_json", KEYWORD, default=False, annotation=JsonOption)
    tune.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [own["recordings"], own["alarms"], *shared, json_option]
    )
    app.command()(tune)


_register_tune()


def events_table(events: Sequence[Any]) -> Table:
    """Return a row for each contact, detected or missed, and each false alarm."""
    from ..recording.report import event_row

    texts = ("time [s]", "detected", "truth", "link", "joints")
    table = common.new_table("events", texts, ("force [N]", "delay [ms]"))
    for event in events:
        start, level, truth, *others = event_row(event)
        colour = "dark_orange" if level == "CONTACT" else "red"
        shown = f"[red]{truth}[/]" if event.true is False else truth
        table.add_row(start, f"[{colour}]{level}[/]", shown, *map(escape, others))
    return table


def external_parts(analysis: Any) -> list[Any]:
    """Return the comparison with the maker's external torque, if there is one."""
    from ..recording.report import EXTERNAL_HEAD, external_rows

    external = analysis.external
    if external is None:
        return []
    title = f"the maker's external torque: {external.source}"
    table = common.new_table(title, EXTERNAL_HEAD[:1], EXTERNAL_HEAD[1:])
    for row in external_rows(external, analysis.found.model.joint_names):
        table.add_row(*map(escape, row))
    return [table, *external.sentences()]


def topic_edges(topic: Any, begin: float, end: float) -> dict[str, float]:
    """Return when a topic was found, its first and last message, [s] after the recording began,
    and for how long it is missing at the edges and between.
    """
    missing = topic.missing(begin, end)
    facts = {
        "found": max(topic.found - begin, 0.0),
        "first": topic.first - begin,
        "last": topic.latest - begin,
        "missing_at_start": missing["start"],
        "missing_between": missing["between"],
        "missing_at_end": missing["end"],
        "silent_at_end": topic.silent(end),
    }
    return {key: round(value, 3) for key, value in facts.items()}


def edge_warnings(edges: dict[str, float]) -> Iterator[str]:
    """Yield what is missing of a topic, longer than `MAX_MISSING`."""
    if edges["missing_at_start"] > MAX_MISSING:
        yield f"the first {edges['missing_at_start']:.2f} s are missing: it was found late"
    if edges["missing_between"] > MAX_MISSING:
        yield f"{edges['missing_between']:.2f} s are missing: it had no publisher for a while"
    if edges["missing_at_end"] > MAX_MISSING:
        yield f"the last {edges['missing_at_end']:.2f} s are missing: its publisher is gone"
    elif edges["silent_at_end"] > MAX_MISSING:
        yield f"no message in the last {edges['silent_at_end']:.2f} s; before, they were steady"


def topics_table(
    topics: Iterable[Any], title: str, edges: Mapping[str, dict[str, float]] | None = None
) -> Table:
    """Return a row for each recorded topic: messages received and lost, first and last one."""
    numbers = ("messages", "lost") + (("from [s]", "to [s]", "missing [s]") if edges else ())
    table = common.new_table(title, ("topic", "type"), numbers)
    for column in table.columns:
        column.no_wrap = column.header != "type"
    for topic in topics:
        lost = "cannot tell" if topic.lost is None else str(topic.lost)
        row = [f"{topic.count:,}", f"[red]{lost}[/]" if topic.lost else lost]
        if edges:
            known = edges[topic.topic]
            missing = sum(known[f"missing_{part}"] for part in ("at_start", "between", "at_end"))
            text = f"{missing:.2f}"
            row += [f"{known['first']:.2f}", f"{known['last']:.2f}"]
            row.append(f"[red]{text}[/]" if missing > MAX_MISSING else text)
        table.add_row(escape(topic.topic), escape(topic.kind), *row)
    return table
