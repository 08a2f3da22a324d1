"""A Log from a ROS 2 bag of sensor_msgs/JointState."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, LogWarning
from .csv_log import drive_gains
from .log import Log, derivative


def read_bag(
    path: str | PathLike[str],
    joint_names: Sequence[str],
    *,
    topic: str = "/joint_states",
    gains: npt.ArrayLike | None = None,
    rows: tuple[int, int | None] = (0, None),
) -> Log:
    """The motion of these joints, matched by name, with the messages' own stamps.

    The effort is the torque, or a current that `gains` [N m/A] turn into one. Messages that lack
    a joint or its effort, and those whose stamp does not go on, are left out with a LogWarning;
    without velocities these are central differences.
    """
    samples: list[tuple[float, Any, Any, Any]] = []
    lacking = late = 0
    for message in _messages(Path(path), topic):
        sample = _sample(message, joint_names)
        if sample is None:
            lacking += 1
        elif samples and sample[0] <= samples[-1][0]:
            late += 1
        else:
            samples.append(sample)
    if samples and lacking + late:
        told = (
            f"'{path}': {lacking + late} of {len(samples) + lacking + late} messages on {topic} "
            f"left out: {lacking} lack a joint or its effort, the stamps of {late} do not go on"
        )
        warnings.warn(told, LogWarning, stacklevel=2)
    samples = samples[slice(*rows)]
    if not samples:
        raise ArgumentError(
            f"no message on {topic} in '{path}' has position and effort of all of "
            f"{', '.join(joint_names)}"
        )
    t, q, tau = (np.array([sample[k] for sample in samples]) for k in (0, 1, 3))
    velocities = [sample[2] for sample in samples]
    if any(velocity is None for velocity in velocities):
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused below
            qd = derivative(t, q)
    else:
        qd = np.array(velocities)
    return Log(t - t[0], q, qd, tau * drive_gains(gains, len(joint_names)), name=Path(path).stem)


def _messages(path: Path, topic: str) -> Any:
    """Every JointState on the topic, in the order of the bag."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ArgumentError(
            "reading bags needs rosbags: pip install 'robodyn_ros[bags]'"
        ) from None
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            kept = [c for c in reader.connections if c.topic == topic]
            if not kept or kept[0].msgtype != "sensor_msgs/msg/JointState":
                known = ", ".join(f"{c.topic} ({c.msgtype})" for c in reader.connections)
                raise ArgumentError(f"'{path}' has no JointState on {topic}; it has {known}")
            for connection, _, raw in reader.messages(connections=kept):
                yield reader.deserialize(raw, connection.msgtype)
    except ArgumentError:
        raise
    except Exception as reason:  # a damaged file makes the reader fail in any way
        why = str(reason) or type(reason).__name__
        raise ArgumentError(f"cannot read the bag '{path}': {why[:500]}") from None


def _sample(message: Any, joint_names: Sequence[str]) -> tuple[float, Any, Any, Any] | None:
    """Time, position, velocity (None if there is none) and effort; None if something lacks."""
    names = list(message.name)
    if not set(joint_names) <= set(names):
        return None
    order = [names.index(name) for name in joint_names]
    count = len(names)
    if len(message.position) != count or len(message.effort) != count:
        return None
    t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    whole = len(message.velocity) == count
    qd = message.velocity[order] if whole else None
    return t, message.position[order], qd, message.effort[order]
