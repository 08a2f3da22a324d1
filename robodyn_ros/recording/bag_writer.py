"""BagWriter: writes a new ROS 2 bag (MCAP) for `ros2 bag`, PlotJuggler and Foxglove.

The bag holds the message definitions and quality of service of its topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError

VERSION: Final = 8  # of the metadata; the newest that releases before Jazzy read, too
INFINITE = (2147483647, 4294967295)  # [s], [ns]


class BagWriter:
    """Writes serialized messages; the bag is complete when the writer is closed."""

    def __init__(self, path: Path) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise ArgumentError("bags need rosbags: pip install 'robodyn_ros[bags]'") from None
        if path.exists():
            raise ArgumentError(f"'{path}' exists already; name another folder")
        self.path = path
        self._writer = Writer(path, version=VERSION, storage_plugin=StoragePlugin.MCAP)
        self.types = get_typestore(Stores.ROS2_JAZZY)
        self.counts: dict[str, int] = {}
        self._connections: dict[str, Any] = {}

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        self.close()

    def knows(self, kind: str) -> bool:
        """Return whether the definition of a message type is known."""
        return kind in self.types.fielddefs

    def add(self, topic: str, kind: str, reliable: bool = True, latched: bool = False) -> None:
        """Add a topic; the first one creates the folder."""
        self._add(topic, kind, self.types, [_profile(reliable, latched)])

    def add_like(self, connection: Any, typestore: Any) -> None:
        """Add a topic of another bag, with its type and quality of service."""
        if connection.topic not in self._connections:
            profiles = connection.ext.offered_qos_profiles
            self._add(connection.topic, connection.msgtype, typestore, profiles)

    def _add(self, topic: str, kind: str, typestore: Any, profiles: list[Any]) -> None:
        if self._writer.storage is None:
            try:
                self._writer.open()
            except OSError as reason:
                raise ArgumentError(f"cannot write the bag '{self.path}': {reason}") from None
        self._connections[topic] = self._writer.add_connection(
            topic, kind, typestore=typestore, offered_qos_profiles=profiles
        )
        self.counts[topic] = 0

    def write(self, topic: str, when: int, raw: bytes) -> None:
        """Write a serialized message received at time `when` [ns]."""
        try:
            self._writer.write(self._connections[topic], when, raw)
        except OSError as reason:
            raise RobodynError(f"cannot write to the bag '{self.path}': {reason}") from None
        self.counts[topic] += 1

    def remember(self, key: str, value: str) -> None:
        """Store a text in the bag's metadata."""
        self._writer.set_custom_data(key, value)

    def make(self, kind: str, **fields: Any) -> Any:
        """Return a message of this type."""
        return self.types.types[kind](**fields)

    def serialize(self, kind: str, **fields: Any) -> bytes:
        """Return a message of this type as bytes."""
        return bytes(self.types.serialize_cdr(self.make(kind, **fields), kind))

    def header(self, t: float) -> Any:
        """Return a header with the stamp t [s]."""
        sec, nanosec = divmod(round(t * 1e9), 1_000_000_000)
        stamp = self.make("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self.make("std_msgs/msg/Header", stamp=stamp, frame_id="")

    def joint_state(
        self,
        names: Sequence[str],
        position: npt.NDArray[np.float64],
        velocity: npt.NDArray[np.float64],
        effort: npt.NDArray[np.float64],
    ) -> bytes:
        """Return a JointState with stamp 0 as bytes."""
        return self.serialize(
            "sensor_msgs/msg/JointState",
            header=self.header(0.0),
            name=list(names),
            position=position,
            velocity=velocity,
            effort=effort,
        )

    def close(self) -> None:
        """Write index and metadata, which complete the bag."""
        if self._writer.storage is not None:
            self._writer.close()


def _profile(reliable: bool, latched: bool) -> Any:
    """Return the quality of service of a publisher of the nodes."""
    from rosbags import interfaces as ros

    reliability, durability = ros.QosReliability, ros.QosDurability
    never = ros.QosTime(*INFINITE)
    return ros.Qos(
        history=ros.QosHistory.KEEP_LAST,
        depth=1 if latched else 10,
        reliability=reliability.RELIABLE if reliable else reliability.BEST_EFFORT,
        durability=durability.TRANSIENT_LOCAL if latched else durability.VOLATILE,
        deadline=never,
        lifespan=never,
        liveliness=ros.QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=never,
        avoid_ros_namespace_conventions=False,
    )
