"""Residual and flags written back: into a new bag beside what was recorded, or as a table."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level
from ..detection.verdict import SEVERITY, Verdict
from ..errors import ArgumentError
from .bag_reader import Bag, Progress, quiet
from .bag_writer import BagWriter
from .joint_states import TYPE, serialized
from .offline import Detection
from .run import Run

FLAG, STATE = "std_msgs/msg/Bool", "diagnostic_msgs/msg/DiagnosticArray"
Timed = tuple[int, int, str, bytes]  # when [ns], which of the topics, its name, message
TOPICS = ("residual", "collision", "collision_state")
BLOCK = 20000  # messages made at once


def write_bag(
    path: Path, run: Run, found: Detection, bag: Bag | None, progress: Progress = quiet
) -> dict[str, int]:
    """A new bag with all that a ROS 2 bag had and the results; messages on each new topic.

    From a table or a ROS 1 bag it has the samples as joint states beside the results.
    """
    prefix = run.states_topic.rpartition("/")[0]
    taken = set(bag.topics) if bag else set()
    names = [f"{prefix}/dynamics_node/{topic}" for topic in TOPICS]
    if taken & set(names):
        names = [f"/offline{name}" for name in names]
    if taken & set(names):
        raise ArgumentError(f"'{run.name}' has been computed offline already: {', '.join(names)}")
    with BagWriter(path) as out:
        copied = bag if bag is not None and bag.is_ros2 else None
        if copied is not None:
            _take_over(out, copied)
        for name, kind in zip(names, (TYPE, FLAG, STATE), strict=True):
            out.add(name, kind, latched=kind != TYPE)
        streams = [_residuals(out, names[0], run, found), _states(out, names[1:], run, found)]
        if copied is not None:
            streams.append(_copy(copied, progress))
        else:
            states = f"{prefix}/joint_states"
            out.add(states, TYPE)
            streams.append(_samples(out, states, run, found.model.joint_names))
        for when, _, topic, raw in heapq.merge(*streams, key=lambda item: item[:2]):
            out.write(topic, when, raw)
        return {name: out.counts[name] for name in names}


def write_table(path: Path, run: Run, found: Detection) -> None:
    """A CSV file: time, level, joints above a threshold, residual of each joint."""
    if path.exists():
        raise ArgumentError(f"'{path}' is there already; name another file")
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["t", "level", "joints", *(f"r_{name}" for name in found.model.joint_names)])
        for k, t in enumerate(run.t):
            level = Level(int(found.level[k])).name
            numbers = (f"{x:.6g}" for x in found.r[k])
            out.writerow([f"{t:.6f}", level, " ".join(found.joints(k)), *numbers])


def _times(run: Run) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """[ns]: the stamps, and when the messages were recorded."""
    stamps = np.round((run.start + run.t) * 1e9).astype(np.int64)
    return stamps, stamps if run.received is None else run.received


def _take_over(out: BagWriter, bag: Bag) -> None:
    """The topics of the bag as they are."""
    for connection in bag.reader.connections:
        out.add_like(connection, bag.reader.typestore)
    for key, value in bag.custom.items():
        out.remember(key, value)


def _copy(bag: Bag, progress: Progress) -> Iterator[Timed]:
    for connection, when, raw in bag.messages(progress=progress):
        yield when, 0, connection.topic, raw


def _residuals(out: BagWriter, topic: str, run: Run, found: Detection) -> Iterator[Timed]:
    names, empty = found.model.joint_names, np.zeros(0)
    template = out.joint_state(names, empty, empty, np.zeros(len(names)))
    return _series(template, 1, topic, run, found.r)


def _samples(out: BagWriter, topic: str, run: Run, names: Sequence[str]) -> Iterator[Timed]:
    """What a table or a ROS 1 bag said, as joint states."""
    zeros = np.zeros(len(names))
    template = out.joint_state(names, zeros, zeros, zeros)
    return _series(template, 0, topic, run, run.q, run.qd, run.tau)


def _series(
    template: bytes, order: int, topic: str, run: Run, *fields: npt.NDArray[np.float64]
) -> Iterator[Timed]:
    """A message like the template for each sample."""
    stamps, received = _times(run)
    for first in range(0, run.t.size, BLOCK):
        part = slice(first, first + BLOCK)
        raws = serialized(template, stamps[part], *(numbers[part] for numbers in fields))
        for when, raw in zip(received[part].tolist(), raws, strict=True):
            yield when, order, topic, raw


def _states(out: BagWriter, topics: list[str], run: Run, found: Detection) -> Iterator[Timed]:
    """Yield the flag where the level changes, the state where level or joints do."""
    _, received = _times(run)
    before, worst = None, Level.CLEAR
    for k in changes(found).tolist():
        verdict = found.verdict(k)
        worst = max(worst, verdict.level)
        when = int(received[k])
        if verdict.level is not before:
            yield when, 2, topics[0], out.serialize(FLAG, data=verdict.touched)
        before = verdict.level
        yield when, 3, topics[1], _state(out, run.start + float(run.t[k]), verdict, worst)


def changes(found: Detection) -> npt.NDArray[np.int64]:
    """Return the samples at which level or joints change; the first is one of them."""
    above = found.rows.above
    changed = (np.diff(found.level) != 0) | (above[1:] != above[:-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changed) + 1]).astype(np.int64)


def _state(out: BagWriter, t: float, verdict: Verdict, worst: Level) -> bytes:
    """Return the message of the node's `~/collision_state` at the time t [s]."""
    texts = verdict.texts() | {"worst": worst.name}
    pairs = [out.make("diagnostic_msgs/msg/KeyValue", key=a, value=b) for a, b in texts.items()]
    status = out.make(
        "diagnostic_msgs/msg/DiagnosticStatus",
        level=SEVERITY[verdict.level],
        name="dynamics_node",
        message=verdict.level.name,
        hardware_id="",
        values=pairs,
    )
    return out.serialize(STATE, header=out.header(t), status=[status])
