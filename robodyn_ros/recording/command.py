"""`robodyn residual`, `report` and `tune` without the command line: files in, files out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..model.robots import load_robot
from ..resources import share_path
from . import node_yaml
from .bags import Bag, Progress, is_bag, open_bag, quiet
from .events import SAME_CONTACT, events, true_spans
from .external_torque import ExternalTorque, compared
from .node_yaml import NodeParameters
from .noise_tuning import has_friction, learn, smallest_forces
from .offline import Detection, Event, detect
from .report import report
from .results import write_bag, write_table
from .run import Run, Sources, Span, read_run, read_table
from .tuning import Tuning, tune

DESCRIPTION_TYPE = "std_msgs/msg/String"


@dataclass(frozen=True)
class AnalysisOptions:
    """Which recording, of which robot, and how to analyse it."""

    path: Path
    robot: str = ""  # a URDF or a built-in arm; empty: the one of the bag
    params: Path | None = None  # of dynamics_node; None: those of the bag, else of config/
    gain: float | None = None  # observer gain [1/s], replaces that of the parameters
    sources: Sources = Sources()
    columns: str | None = None  # of a CSV file
    gains: tuple[float, ...] | None = None  # drive gains [N m/A]
    contacts: tuple[Span, ...] | None = None  # [s], contacts known to the user
    tunable: bool = True  # keep what `tune` needs


@dataclass(frozen=True, eq=False)
class Analysis:
    """A recorded run and the detector's output for it."""

    run: Run
    found: Detection  # on the run's usable samples, by its times
    parameters: NodeParameters
    spans: list[Span] | None  # true contacts [s], if they are known
    truth: str  # source of this knowledge, in words
    early: float  # [s] by which a contact may have begun before its span
    bag: Bag | None
    external: ExternalTorque | None = None  # the maker's, if asked for

    @property
    def events(self) -> list[Event]:
        """Contacts, detected or missed, and false alarms, in order of time."""
        return events(self.found, self.spans, self.early)


@contextmanager
def analysed(options: AnalysisOptions, progress: Progress = quiet) -> Iterator[Analysis]:
    """Read a recording and run the detector over it; its bag stays open inside the block."""
    path = options.path
    if not path.exists():
        raise ArgumentError(f"there is no file or folder '{path}'")
    if not is_bag(path):
        model, parameters = _model_and_parameters(options, {}, "")
        external = options.sources.external
        columns, gains = options.columns, options.gains
        run = read_table(path, model, columns, gains, parameters.sensing, external)
        yield _analysis(options, run, model, parameters, None)
        return
    with open_bag(path) as bag:
        model, parameters = _model_and_parameters(options, bag.custom, _description(bag))
        sources = options.sources
        if sources.effort == "auto" and parameters.source:
            sources = replace(sources, effort=parameters.source)
        sensing, rate = parameters.sensing, parameters.rate
        run = read_run(bag, model, sources, options.gains, progress, sensing=sensing, rate=rate)
        yield _analysis(options, run, model, parameters, bag)


def save_residual(analysis: Analysis, out: Path | None, progress: Progress = quiet) -> Path:
    """Write residual and flags as a bag beside the recording, or as CSV; return its path."""
    source = analysis.bag.path if analysis.bag else Path(analysis.run.name)
    path = out or source.with_name(f"{source.stem}_residual")
    if path.suffix == ".csv":
        external = analysis.external
        beside = None if external is None else external.values
        write_table(path, analysis.run, analysis.found, beside)
    else:
        write_bag(path, analysis.run, analysis.found, analysis.bag, progress)
    return path


def save_report(analysis: Analysis, out: Path, progress: Progress = quiet) -> Tuning:
    """Write the HTML report; return the thresholds it suggests."""
    tuning = _tuning(analysis, progress)
    run, found, parameters = analysis.run, analysis.found, analysis.parameters
    page = report(
        run, found, tuning, analysis.events, parameters, analysis.truth, analysis.external
    )
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as reason:
        raise ArgumentError(f"cannot write '{out}': {reason.strerror}") from None
    return tuning


@dataclass(frozen=True, eq=False)
class Tuned:
    """Parameters learnt from recordings, and what they can feel."""

    yaml: str  # of dynamics_node
    friction: str  # whether the model's friction is taken off, and why
    warnings: list[str]  # recordings that disagree, recordings with alarms
    forces: dict[str, float]  # [N], the smallest one found at each link in 95 % of postures
    hours: float  # [h], free of contact


def tuned(analyses: Sequence[Analysis], rate: float, progress: Progress = quiet) -> Tuned:
    """Return dynamics_node's parameters from several recordings of one robot, with at most `rate`
    false alarms per hour on them.
    """
    first = analyses[0]
    model, parameters, effort = first.found.model, first.parameters, first.parameters.effort
    if effort.side == "link":
        model = model.replace(rotor_inertia=0.0)
    settings = replace(
        parameters.monitor,
        friction=effort.friction == "model",
        gravity_free=effort.gravity == "removed",
    )
    contacts = [
        [(a - x.early + x.run.start, b + x.run.start) for a, b in x.spans or ()] for x in analyses
    ]
    learnt = learn(
        model,
        [x.run.samples for x in analyses],
        settings,
        names=[x.run.name for x in analyses],
        contacts=contacts,
        alarms_per_hour=rate,
        sensing=parameters.sensing,
        progress=progress,
    )
    chosen = learnt.settings
    q, qd = (np.vstack([getattr(x.run, name) for x in analyses]) for name in ("q", "qd"))
    forces = smallest_forces(model, chosen, q, qd)
    friction = "the model has none"
    if has_friction(model):
        taken = "taken off" if chosen.friction else "not taken off"
        friction = f"that of the model is {taken}, which is quieter"
    remarks = [
        f"From {', '.join(x.run.name for x in analyses)}, {60.0 * learnt.hours:.1f} min free of "
        "contact.",
        f"Friction: {friction}.",
        *(f"{link}: {force:.3g} N is found" for link, force in forces.items() if force < np.inf),
        "(force at the link's centre of mass, in 95 % of postures and directions).",
    ]
    effort = replace(effort, friction="model" if chosen.friction else "none")
    yaml = node_yaml.text(replace(parameters, monitor=chosen, effort=effort), remarks)
    return Tuned(yaml, friction, learnt.warnings(model.joint_names), forces, learnt.hours)


def _tuning(analysis: Analysis, progress: Progress) -> Tuning:
    return tune(analysis.run, analysis.found, analysis.spans or (), analysis.early, progress)


def parse_contacts(items: Sequence[str]) -> tuple[Span, ...] | None:
    """Return spans [s] from FROM:TO texts; None without any."""
    spans = []
    for item in items:
        first, _, last = item.partition(":")
        try:
            span = float(first), float(last)
        except ValueError:
            span = (0.0, 0.0)
        if not span[0] < span[1]:
            raise ArgumentError(f"--contact {item}: write FROM:TO in seconds, e.g. 2.1:3.1")
        spans.append(span)
    return tuple(spans) or None


def _analysis(
    options: AnalysisOptions,
    run: Run,
    model: RobotModel,
    parameters: NodeParameters,
    bag: Bag | None,
) -> Analysis:
    found = detect(
        model,
        run.samples,
        parameters.monitor,
        parameters.sensing,
        commanded=run.effort == "command",
        certain=options.tunable,
        effort=parameters.effort,
    )
    run = replace(run, samples=found.samples)
    found = found.only(run.usable).since(run.start)
    parameters = replace(parameters, source="" if run.effort == "columns" else run.effort)
    spans, truth = true_spans(run), f"the topic {options.sources.truth}"
    if options.contacts is not None:
        spans, truth = list(options.contacts), "--contact"
    early = 0.0 if options.contacts is None else SAME_CONTACT
    truth = truth if spans is not None else ""
    external = None
    if run.external is not None:
        external = compared(found, run, options.sources.external, *run.external)
    return Analysis(run, found, parameters, spans, truth, early, bag, external)


def _description(bag: Bag) -> str:
    """Return the last URDF published in the bag; empty without any."""
    topic = bag.find("robot_description", DESCRIPTION_TYPE)
    found = [message.data for _, message in bag.decoded(topic)] if topic else []
    return found[-1] if found else ""


def _model_and_parameters(
    options: AnalysisOptions, custom: dict[str, str], description: str
) -> tuple[RobotModel, NodeParameters]:
    """Return robot and parameters: those of the options, else of the bag, else of config/."""
    recorded = node_yaml.from_bag(custom)
    given = node_yaml.from_file(options.params) if options.params else recorded
    robot = dict(given.robot) if given else {}
    urdf_text = custom.get(node_yaml.DESCRIPTION, "") or description
    source = options.robot or robot.get("name") or urdf_text or robot.get("urdf")
    if not source:
        raise ArgumentError(
            f"'{options.path}' does not name its robot: give --robot, a URDF or a built-in arm "
            "such as lwr_iii"
        )
    parts = {} if options.robot else robot
    lock = [joint for joint in parts.get("lock") or () if joint]
    model = load_robot(str(source), parts.get("root") or None, parts.get("tip") or None, lock)
    model = node_yaml.friction_of(parts).of(model)
    if parts.get("shapes"):
        model = model.replace(geometry=str(parts["shapes"]))
    if options.robot:
        path = Path(options.robot)
        robot = {"urdf": str(path.resolve())} if path.exists() else {"name": options.robot}
    if given is None or (options.robot and not options.params and not recorded):
        given = _default_parameters(model)
    monitor = given.monitor
    if options.gain is not None:
        monitor = replace(monitor, gain=(options.gain,))
    sizes = {len(monitor.gain), len(monitor.contact.base), len(monitor.collision.base)}
    if sizes - {1, model.n}:
        raise ArgumentError(
            f"the parameters are for {max(sizes)} joints, but {model.name} has {model.n}: "
            f"{', '.join(model.joint_names)}; give others by --params"
        )
    return model, replace(given, robot=robot, monitor=monitor)


def _default_parameters(model: RobotModel) -> NodeParameters:
    """Return the parameters in config/ for a built-in arm, else the defaults."""
    try:
        path = share_path("config", model.name, "dynamics_node.yaml")
        return replace(node_yaml.from_file(path), source="")
    except (ArgumentError, FileNotFoundError):
        return NodeParameters({}, "", MonitorSettings())


def _external_facts(
    external: ExternalTorque, number: Callable[[float], float | None]
) -> dict[str, object]:
    return {
        "source": external.source,
        "sign": external.sign if external.known else None,
        "correlation": external.correlation,
        "delay": number(external.delay),
        "noise": dict(zip(("residual", "maker"), external.noise.tolist(), strict=True)),
        "offset": dict(zip(("residual", "maker"), external.offset.tolist(), strict=True)),
        "events_by_both": external.both,
        "events_only_by_residual": external.only_residual,
        "events_only_by_maker": external.only_maker,
    }


def summary(analysis: Analysis) -> dict[str, object]:
    """Return the run and its events as plain numbers and texts, for JSON; None for nan."""

    def number(value: float) -> float | None:
        return value if np.isfinite(value) else None

    run, found, external = analysis.run, analysis.found, analysis.external
    beside = {} if external is None else {"external": _external_facts(external, number)}
    return {
        **beside,
        "robot": found.model.name,
        "joints": list(found.model.joint_names),
        "duration": run.duration,
        "samples": int(run.t.size),
        "rate": run.rate,
        "effort": run.effort,
        "contacts_known": analysis.spans is not None,
        "largest_residual": np.abs(found.r).max(axis=0).tolist(),
        "events": [
            {
                "t": event.start,
                "end": event.end,
                "told": event.detected,
                "true": event.true,
                "joints": list(event.joints),
                "link": event.link,
                "confidence": event.confidence,
                "where": event.where,
                "force": number(event.force),
                "delay": number(event.delay),
            }
            for event in analysis.events
        ],
    }
