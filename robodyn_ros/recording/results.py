"""Residual and flags of a recording, written into a new bag or a CSV file."""

from __future__ import annotations

import csv
import heapq
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level
from ..detection.verdict import SEVERITY, Verdict
from ..errors import ArgumentError
from .bags import Bag, BagWriter, Progress, quiet
from .joint_states import TYPE, serialized
from .offline import Detection
from .run import Run

FLAG, STATE = "std_msgs/msg/Bool", "diagnostic_msgs/msg/DiagnosticArray"
Timed = tuple[int, int, str, bytes]  # time of recording [ns], rank of the topic, its name, message
TOPICS = ("residual", "collision", "collision_state")
BLOCK_SIZE = 20000  # messages serialized at once


def write_bag(
    path: Path, run: Run, found: Detection, bag: Bag | None, progress: Progress = quiet
) -> dict[str, int]:
    """Write the results into a new bag; return the number of messages on each new topic.

    The messages of a ROS 2 bag are copied; the samples of any other source become joint states.
    """
    prefix = run.states_topic.rpartition("/")[0]
    taken = set(bag.topics) if bag else set()
    names = [f"{prefix}/dynamics_node/{topic}" for topic in TOPICS]
    if taken & set(names):
        names = [f"/offline{name}" for name in names]
    if taken & set(names):
        raise ArgumentError(f"'{run.name}' has been computed offline already: {', '.join(names)}")
    joints, zeros, empty = found.model.joint_names, np.zeros(found.model.n), np.zeros(0)
    with BagWriter(path) as out:
        if bag is not None and bag.is_ros2:
            for connection in bag.reader.connections:
                out.add_like(connection, bag.reader.typestore)
            for key, value in bag.custom.items():
                out.remember(key, value)
            recorded: Iterator[Timed] = (
                (when, 0, connection.topic, raw)
                for connection, when, raw in bag.messages(progress=progress)
            )
        else:
            states = f"{prefix}/joint_states"
            out.add(states, TYPE)
            template = out.joint_state(joints, zeros, zeros, zeros)
            recorded = _series(template, 0, states, run, run.q, run.qd, run.tau)
        for name, kind in zip(names, (TYPE, FLAG, STATE), strict=True):
            out.add(name, kind, latched=kind != TYPE)
        template = out.joint_state(joints, empty, empty, zeros)
        residuals = _series(template, 1, names[0], run, found.r)
        streams = (residuals, _states(out, names[1:], run, found), recorded)
        for when, _, topic, raw in heapq.merge(*streams, key=lambda item: item[:2]):
            out.write(topic, when, raw)
        return {name: out.counts[name] for name in names}


def write_table(
    path: Path, run: Run, found: Detection, external: npt.NDArray[np.float64] | None = None
) -> None:
    """Write time, level, joints above a threshold and residual of each joint as a CSV file.

    external: the maker's external torque (T, n) [N m or N], written beside the residual.
    """
    if path.exists():
        raise ArgumentError(f"'{path}' exists already; name another file")
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        names = [f"r_{name}" for name in found.model.joint_names]
        if external is not None:
            names += [f"external_{name}" for name in found.model.joint_names]
        out.writerow(["t", "level", "joints", *names])
        for k, t in enumerate(run.t):
            level = Level(int(found.level[k])).name
            beside = () if external is None else external[k]
            numbers = (f"{x:.6g}" for x in (*found.r[k], *beside))
            out.writerow([f"{t:.6f}", level, " ".join(found.joints(k)), *numbers])


def _times(run: Run) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the stamps [ns] and the times of recording [ns] of the usable samples."""
    stamps = np.round((run.start + run.t) * 1e9).astype(np.int64)
    return stamps, stamps if run.received is None else run.received


def _series(
    template: bytes, order: int, topic: str, run: Run, *fields: npt.NDArray[np.float64]
) -> Iterator[Timed]:
    stamps, received = _times(run)
    for first in range(0, run.t.size, BLOCK_SIZE):
        part = slice(first, first + BLOCK_SIZE)
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
    above, touched = found.rows.above, found.touched[found.touched > 0]  # joints only in contacts
    others = touched[(above[touched] != above[touched - 1]).any(axis=1)]
    return np.unique(np.concatenate([[0], np.flatnonzero(np.diff(found.level)) + 1, others]))


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
