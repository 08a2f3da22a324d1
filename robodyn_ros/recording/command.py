"""What `residual`, `report` and `tune` do, without the command line: files in, files out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..model.load import load_robot
from ..model.robot import RobotModel
from ..resources import share_path
from . import node_yaml
from .bag_reader import Bag, Progress, is_bag, open_bag, quiet
from .events import TOGETHER, Event, events, true_spans
from .node_yaml import NodeParameters
from .offline import Watched, watch
from .report import report, yaml_at
from .results import write_bag, write_table
from .run import Run, Sources, Span, read_run, read_table
from .tuning import Tuning, tune

ROBOT = "std_msgs/msg/String"


@dataclass(frozen=True)
class Question:
    """Which recording, of which robot, and how to look at it."""

    path: Path
    robot: str = ""  # a URDF or a built-in arm; empty: as the bag says
    params: Path | None = None  # of dynamics_node; None: as the bag says, or the arm's own
    gain: float | None = None  # [1/s], instead of the parameters'
    sources: Sources = Sources()
    columns: str | None = None  # of a CSV file
    gains: tuple[float, ...] | None = None  # [N m/A]
    contacts: tuple[Span, ...] | None = None  # [s], where the user knows of contacts


@dataclass(frozen=True, eq=False)
class Answer:
    """A run and what the detector says about it."""

    run: Run
    watched: Watched
    parameters: NodeParameters
    spans: list[Span] | None  # when something touched the arm, if that is known
    truth: str  # and from where
    early: float  # [s], by how much a contact may have begun before that
    bag: Bag | None

    @property
    def events(self) -> list[Event]:
        """Every contact, told or missed, and every false alarm."""
        return events(self.run, self.watched, self.spans, self.early)


@contextmanager
def answered(question: Question, progress: Progress = quiet) -> Iterator[Answer]:
    """Read, compute; a bag stays open meanwhile."""
    path = question.path
    if not path.exists():
        raise ArgumentError(f"there is no file or folder '{path}'")
    if not is_bag(path):
        model, parameters = _known(question, {}, "")
        run = read_table(path, model, question.columns, question.gains)
        yield _answer(question, run, model, parameters, None)
        return
    with open_bag(path) as bag:
        model, parameters = _known(question, bag.custom, _described(bag))
        sources = question.sources
        if sources.effort == "auto" and parameters.effort:
            sources = replace(sources, effort=parameters.effort)
        run = read_run(bag, model, sources, question.gains, progress)
        yield _answer(question, run, model, parameters, bag)


def save_residual(answer: Answer, out: Path | None, progress: Progress = quiet) -> Path:
    """Residual and flags as a bag beside the recording, or as a CSV file; where they are."""
    source = answer.bag.path if answer.bag else Path(answer.run.name)
    path = out or source.with_name(f"{source.stem}_residual")
    if path.suffix == ".csv":
        write_table(path, answer.run, answer.watched)
    else:
        write_bag(path, answer.run, answer.watched, answer.bag, progress)
    return path


def save_report(answer: Answer, out: Path, progress: Progress = quiet) -> Tuning:
    """The page; what it suggests."""
    tuning = _tuned(answer, progress)
    happened = answer.events
    page = report(answer.run, answer.watched, tuning, happened, answer.parameters, answer.truth)
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as reason:
        raise ArgumentError(f"cannot write '{out}': {reason.strerror}") from None
    return tuning


def tuned_yaml(answer: Answer, rate: float, progress: Progress = quiet) -> str:
    """Parameters with thresholds for so many false alarms an hour."""
    tuning = _tuned(answer, progress)
    return yaml_at(tuning, answer.parameters, tuning.scale(rate), answer.run.name)


def _tuned(answer: Answer, progress: Progress) -> Tuning:
    return tune(answer.run, answer.watched, answer.spans or (), answer.early, progress)


def parse_contacts(items: Sequence[str]) -> tuple[Span, ...] | None:
    """FROM:TO pairs [s], as spans."""
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


def _answer(
    question: Question,
    run: Run,
    model: RobotModel,
    parameters: NodeParameters,
    bag: Bag | None,
) -> Answer:
    watched = watch(model, run.t, run.q, run.qd, run.tau, parameters.monitor, run.bad_before)
    parameters = replace(parameters, effort="" if run.effort == "columns" else run.effort)
    spans, truth = true_spans(run), f"the topic {question.sources.truth}"
    if question.contacts is not None:
        spans, truth = list(question.contacts), "what was given by --contact"
    early = 0.0 if question.contacts is None else TOGETHER
    truth = truth if spans is not None else ""
    return Answer(run, watched, parameters, spans, truth, early, bag)


def _described(bag: Bag) -> str:
    """The URDF that was published while the bag was recorded, if any."""
    topic = bag.find("robot_description", ROBOT)
    found = [message.data for _, message in bag.decoded(topic)] if topic else []
    return found[-1] if found else ""


def _known(
    question: Question, custom: dict[str, str], described: str
) -> tuple[RobotModel, NodeParameters]:
    """The robot and the parameters: as asked for, else as the bag says, else the arm's own."""
    recorded = node_yaml.from_bag(custom)
    given = node_yaml.from_file(question.params) if question.params else recorded
    robot = dict(given.robot) if given else {}
    own_text = custom.get(node_yaml.DESCRIPTION, "") or described
    source = question.robot or robot.get("name") or own_text or robot.get("urdf")
    if not source:
        raise ArgumentError(
            f"'{question.path}' does not say which robot it is of: give --robot, a URDF or a "
            "built-in arm such as lwr_iii"
        )
    parts = {} if question.robot else robot
    lock = [joint for joint in parts.get("lock") or () if joint]
    model = load_robot(str(source), parts.get("root") or None, parts.get("tip") or None, lock)
    if question.robot:
        is_file = Path(question.robot).exists()
        robot = (
            {"urdf": str(Path(question.robot).resolve())} if is_file else {"name": question.robot}
        )
    if given is None or (question.robot and not question.params and not recorded):
        given = _usual(model)
    monitor = given.monitor
    if question.gain is not None:
        monitor = replace(monitor, gain=(question.gain,))
    return model, NodeParameters(robot, given.effort, _fitting(model, monitor))


def _usual(model: RobotModel) -> NodeParameters:
    """The parameters in config/ for a built-in arm, else the defaults."""
    try:
        return replace(
            node_yaml.from_file(share_path("config", model.name, "dynamics_node.yaml")), effort=""
        )
    except (ArgumentError, FileNotFoundError):
        return NodeParameters({}, "", MonitorSettings())


def _fitting(model: RobotModel, monitor: MonitorSettings) -> MonitorSettings:
    """The settings, or an error where they are those of another robot."""
    sizes = {len(monitor.gain), len(monitor.contact.base), len(monitor.collision.base)}
    if sizes - {1, model.n}:
        raise ArgumentError(
            f"the parameters are for {max(sizes)} joints, but {model.name} has {model.n}: "
            f"{', '.join(model.joint_names)}; give others by --params"
        )
    return monitor


def summary(answer: Answer) -> dict[str, object]:
    """What a script wants to know about a run."""

    def number(value: float) -> float | None:
        return value if np.isfinite(value) else None

    return {
        "robot": answer.watched.model.name,
        "joints": list(answer.watched.model.joint_names),
        "duration": answer.run.duration,
        "samples": int(answer.run.t.size),
        "rate": answer.run.rate,
        "effort": answer.run.effort,
        "contacts_known": answer.spans is not None,
        "largest_residual": np.abs(answer.watched.r).max(axis=0).tolist(),
        "events": [
            {
                "t": event.t,
                "end": event.end,
                "told": event.level,
                "true": event.true,
                "joints": list(event.joints),
                "link": event.link,
                "force": number(event.force),
                "delay": number(event.delay),
            }
            for event in answer.events
        ],
    }
