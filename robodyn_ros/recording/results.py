"""Residual and flags written back: into a new bag beside what was recorded, or as a table."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level
from ..errors import ArgumentError
from .bag_reader import Bag, Progress, quiet
from .bag_writer import BagWriter
from .events import link_and_force
from .joint_states import TYPE, serialized
from .offline import CONTACT, Watched
from .run import Run

FLAG, STATE = "std_msgs/msg/Bool", "diagnostic_msgs/msg/DiagnosticStatus"
STALE, OK, WARN, ERROR = 3, 0, 1, 2  # levels of a DiagnosticStatus
SEVERITY = {
    Level.UNKNOWN: STALE,
    Level.CLEAR: OK,
    Level.CONTACT: WARN,
    Level.COLLISION: ERROR,
}
Timed = tuple[int, int, str, bytes]  # when [ns], which of the topics, its name, message
TOPICS = ("residual", "collision", "collision_state")
BLOCK = 20000  # messages made at once


def write_bag(
    path: Path, run: Run, watched: Watched, bag: Bag | None, progress: Progress = quiet
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
        streams = [_residuals(out, names[0], run, watched), _words(out, names[1:], run, watched)]
        if copied is not None:
            streams.append(_copy(copied, progress))
        else:
            states = f"{prefix}/joint_states"
            out.add(states, TYPE)
            streams.append(_samples(out, states, run, watched.model.joint_names))
        for when, _, topic, raw in heapq.merge(*streams, key=lambda item: item[:2]):
            out.write(topic, when, raw)
        return {name: out.counts[name] for name in names}


def write_table(path: Path, run: Run, watched: Watched) -> None:
    """A CSV file: time, level, joints above a threshold, residual of each joint."""
    if path.exists():
        raise ArgumentError(f"'{path}' is there already; name another file")
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            ["t", "level", "joints", *(f"r_{name}" for name in watched.model.joint_names)]
        )
        joints = {int(b): " ".join(watched.names(k)) for b, k in _first_of_each(watched.joints)}
        for k, t in enumerate(run.t):
            level = Level(int(watched.level[k])).name
            numbers = (f"{x:.6g}" for x in watched.r[k])
            out.writerow([f"{t:.6f}", level, joints[int(watched.joints[k])], *numbers])


def _first_of_each(bits: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    values, rows = np.unique(bits, return_index=True)
    return list(zip(values.tolist(), rows.tolist(), strict=True))


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


def _residuals(out: BagWriter, topic: str, run: Run, watched: Watched) -> Iterator[Timed]:
    names, empty = watched.model.joint_names, np.zeros(0)
    template = out.joint_state(names, empty, empty, np.zeros(len(names)))
    return _series(template, 1, topic, run, watched.r)


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


def _words(out: BagWriter, topics: list[str], run: Run, watched: Watched) -> Iterator[Timed]:
    """The flag where the level changes, the state where the level or the joints do."""
    _, received = _times(run)
    before = None
    for k in watched.changes.tolist():
        level = Level(int(watched.level[k]))
        if level is not before:
            flag: dict[str, Any] = {"data": level >= Level.CONTACT}
            yield int(received[k]), 2, topics[0], out.serialize(FLAG, **flag)
        before = level
        yield int(received[k]), 3, topics[1], _state(out, run, watched, k, level)


def _state(out: BagWriter, run: Run, watched: Watched, k: int, level: Level) -> bytes:
    touched = watched.level[k] >= CONTACT
    link, force = link_and_force(run, watched, k) if touched else ("", 0.0)
    told = {
        "joints": " ".join(watched.names(k)),
        "link": link,
        "force": f"{force:.3f}",
        "residual": " ".join(f"{x:.6g}" for x in watched.r[k]) if touched else "",
        "reason": "",
        "stamp": f"{run.start + run.t[k]:.9f}",
    }
    return out.serialize(
        STATE,
        level=SEVERITY[level],
        name="dynamics_node",
        message=level.name,
        hardware_id="",
        values=[out.make("diagnostic_msgs/msg/KeyValue", key=a, value=b) for a, b in told.items()],
    )
