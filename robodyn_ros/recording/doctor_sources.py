"""Joint states for `robodyn doctor` from bags, CSV files and lists of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..sensing.csv_log import ColumnMap, read_csv
from .bags import Bag
from .doctor import StateTable, table_of_log
from .joint_states import FIELDS, TYPE, JointStates

DESCRIPTION_TYPE = "std_msgs/msg/String"


def table_of_bag(bag: Bag, topic: str, joints: Collection[str]) -> StateTable:
    """Return the joint states of a topic; of several publishers those that name most of `joints`.

    Where the bag has joint states on one other topic only, that one is taken.
    """
    found = bag.find(topic, TYPE)
    others = [name for name, kind in bag.topics.items() if kind == TYPE]
    if found is None and len(others) == 1:
        (found,) = others
    found = found or bag.demand(topic, TYPE)
    messages = ((received, raw) for _, received, raw in bag.messages(found))
    states = JointStates(messages, bag.is_ros2)
    names = best_names(states.layouts(), joints)
    stamps, received, (q, qd, effort) = states.fields(names)
    if q is None:
        raise ArgumentError(f"{found} of '{bag.path}' has no positions")
    return StateTable(names, stamps, q, qd, effort, received, found)


def description_of_bag(bag: Bag) -> str:
    """Return the URDF that was published in a bag, or ''."""
    topic = bag.find("robot_description", DESCRIPTION_TYPE)
    found = [message.data for _, message in bag.decoded(topic)] if topic else []
    return found[-1] if found else ""


def table_of_csv(path: Path, columns: str | None, n: int) -> StateTable:
    """Return the rows of a CSV file; columns: as for `robodyn residual`."""
    usual = f"t=0 q=1-{n} qd={n + 1}-{2 * n} tau={2 * n + 1}-{3 * n}"
    return table_of_log(read_csv(path, ColumnMap.parse(columns or usual)), str(path))


def table_of_messages(
    messages: Sequence[tuple[float, Any]], joints: Collection[str], source: str
) -> StateTable:
    """Return the joint states of messages with their times of receipt [s]."""
    names = best_names(Counter(tuple(message.name) for _, message in messages), joints)
    kept = [item for item in messages if tuple(item[1].name) == names]
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for _, m in kept]
    q, qd, effort = (_field(kept, name, len(names)) for name in FIELDS)
    if q is None:
        raise ArgumentError(f"the messages on {source} have no positions")
    received = np.array([t for t, _ in kept])
    return StateTable(names, np.array(stamps), q, qd, effort, received, source)


def _field(messages: Sequence[tuple[float, Any]], name: str, n: int) -> np.ndarray | None:
    values = [getattr(message, name) for _, message in messages]
    return np.array(values, dtype=float) if all(len(row) == n for row in values) else None


def best_names(counts: Counter[tuple[str, ...]], joints: Collection[str]) -> tuple[str, ...]:
    """Return the names of those messages that name most of the joints; of the most frequent."""
    if not counts:
        raise ArgumentError("no joint states were found")
    return max(counts, key=lambda names: (len(set(names) & set(joints)), counts[names]))
