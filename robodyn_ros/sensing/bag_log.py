"""A Log from a ROS 2 bag of sensor_msgs/JointState."""

import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, LogWarning
from .csv_log import drive_gains
from .joint_states import JointStateReader, Reading
from .log import Log, derivative

MERGE_PERIOD = 0.02  # [s] within which parts of several publishers make one sample


def read_bag(
    path: str | PathLike[str],
    joint_names: Sequence[str],
    *,
    topic: str = "/joint_states",
    gains: npt.ArrayLike | None = None,
    rows: tuple[int, int | None] = (0, None),
) -> Log:
    """Return the motion of these joints, matched by name, with the messages' own stamps.

    The effort is the torque, or a current that `gains` [N m/A] turn into one. Messages that lack
    a joint or its effort, and those whose stamp does not advance, are left out with a LogWarning.
    Without velocities these are central differences. `rows` selects as a slice does.
    """
    reader, readings = JointStateReader(joint_names, MERGE_PERIOD), list[Reading]()
    lacking = late = 0
    for message in _messages(Path(path), topic):
        stamp = message.header.stamp
        t = stamp.sec + 1e-9 * stamp.nanosec
        cause = reader.reject_layout(message)
        reading = cause or reader.read(message, t)
        if isinstance(reading, str) or not reading.tau.size:
            lacking += 1
        elif readings and reading.t <= readings[-1].t:
            late += 1
        else:
            readings.append(reading)
    if readings and lacking + late:
        text = (
            f"'{path}': {lacking + late} of {len(readings) + lacking + late} messages on {topic} "
            f"left out: {lacking} lack a joint or its effort, the stamps of {late} do not advance"
        )
        warnings.warn(text, LogWarning, stacklevel=2)
    readings = readings[slice(*rows)]
    if not readings:
        raise ArgumentError(
            f"no message on {topic} in '{path}' has position and effort of all of "
            f"{', '.join(joint_names)}"
        )
    t, q, tau = (np.array([getattr(x, name) for x in readings]) for name in ("t", "q", "tau"))
    if all(reading.qd.size for reading in readings):
        qd = np.array([reading.qd for reading in readings])
    else:
        with np.errstate(invalid="ignore", over="ignore"):  # Log rejects what is not finite
            qd = derivative(t, q)
    return Log(t - t[0], q, qd, tau * drive_gains(gains, len(joint_names)), name=Path(path).stem)


def _messages(path: Path, topic: str) -> Any:
    """Yield every JointState on the topic, in the order of the bag."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ArgumentError("reading bags needs rosbags: pip install rosbags") from None
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
