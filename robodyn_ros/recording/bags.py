"""Bags: ROS 1 and ROS 2 bags are read, new ROS 2 bags (MCAP) are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from .bulk_messages import bulk_messages
from .joint_states import FIELDS, TYPE, Batch, JointStates

Progress = Callable[[float, str], None]  # share done (0 to 1), and what is being done

NO_ROSBAGS = "bags need rosbags: pip install rosbags"
PROGRESS_STEP = 5000  # messages between two progress updates
UNFINISHED = (
    "its recorder was killed before it could finish: `mcap recover` repairs the .mcap file, "
    "`ros2 bag reindex` writes the metadata"
)
METADATA_VERSION: Final = 8  # of the metadata; the newest that releases before Jazzy read, too
QOS_INFINITE = (2147483647, 4294967295)  # [s], [ns]


def quiet(share: float, what: str) -> None:
    """Show no progress."""


class Bag:
    """An open bag: its topics and their messages."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path, self.reader = path, reader
        self.topics = {c.topic: c.msgtype for c in reader.connections}

    @property
    def is_ros2(self) -> bool:
        """Whether the bag is of ROS 2."""
        return bool(self.reader.is2)

    @property
    def custom(self) -> dict[str, str]:
        """Texts that the recorder stored beside the messages, by key."""
        storage = getattr(self.reader.readers[0], "storage", None)
        return dict(getattr(getattr(storage, "metadata", None), "custom", None) or {})

    def find(self, name: str, kind: str = "") -> str | None:
        """Return the topic with this name or ending, and this type; None without one."""
        of_kind = [topic for topic, found in self.topics.items() if found == (kind or found)]
        if name in of_kind:
            return name
        ending = [topic for topic in of_kind if topic.endswith("/" + name.lstrip("/"))]
        if name.startswith("/") or not ending:
            return None
        if len(ending) > 1:
            raise ArgumentError(
                f"several topics of '{self.path}' end with '{name}': {', '.join(sorted(ending))}; "
                "give the full name"
            )
        return ending[0]

    def demand(self, name: str, kind: str) -> str:
        """Return the same topic; raise an error that lists the bag's topics if there is none."""
        topic = self.find(name, kind)
        if topic is None:
            raise ArgumentError(
                f"'{self.path}' has no {kind.rpartition('/')[2]} on a topic '{name}'; it has "
                f"{self.listing()}"
            )
        return topic

    def listing(self) -> str:
        """Return all topics with their types, as one text."""
        rows = (f"{topic} ({kind})" for topic, kind in sorted(self.topics.items()))
        return ", ".join(rows) or "no topics"

    def messages(
        self, topic: str | None = None, progress: Progress = quiet
    ) -> Iterator[tuple[Any, int, bytes]]:
        """Yield connection, time [ns] and bytes of each message, of one topic or of all."""
        connections = [c for c in self.reader.connections if topic in (None, c.topic)]
        total = max(sum(c.msgcount for c in connections), 1)
        with _readable(self.path):
            messages = self.reader.messages(connections=connections) if connections else ()
            for done, message in enumerate(messages):
                if done % PROGRESS_STEP == 0:
                    progress(done / total, f"reading {topic or self.path.name}")
                yield message

    def decoded(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Yield time [ns] and decoded message; slow, for topics with few messages."""
        for connection, received, raw in self.messages(topic):
            yield received, self.reader.deserialize(raw, connection.msgtype)

    def joint_states(self, topic: str, progress: Progress = quiet) -> JointStates:
        """Return the messages of a topic of JointStates, in bulk where the bag allows it."""
        count = sum(c.msgcount for c in self.reader.connections if c.topic == topic)
        with _readable(self.path):
            batches = bulk_messages(self.path, topic)
            if batches is not None:
                shown = _shown(batches, count, f"reading {topic}", progress)
                return JointStates.of_batches(shown, self.is_ros2, count)
        found = ((received, raw) for _, received, raw in self.messages(topic, progress))
        return JointStates(found, self.is_ros2)

    def number_rows(self, topic: str, n: int) -> tuple[npt.NDArray[np.int64], Any]:
        """Return times [ns] (T,) and values (T, n) of a topic of Float64MultiArrays."""
        times, rows, sizes = [], [], {}
        for connection, received, raw in self.messages(topic):
            if len(raw) not in sizes:
                sizes[len(raw)] = len(self.reader.deserialize(raw, connection.msgtype).data)
            if sizes[len(raw)] == n:
                times.append(received)
                rows.append(raw[-8 * n :])  # a message ends with its numbers
        if not rows:
            found = ", ".join(str(size) for size in sorted(set(sizes.values()))) or "none"
            raise ArgumentError(
                f"{topic} in '{self.path}' has no message of {n} numbers, but of: {found}"
            )
        return np.array(times, np.int64), np.frombuffer(b"".join(rows), "<f8").reshape(-1, n)


def _shown(batches: Iterable[Batch], count: int, what: str, progress: Progress) -> Iterator[Batch]:
    """Yield the batches and show how many of the messages are read."""
    done = 0
    for batch in batches:
        progress(done / max(count, 1), what)
        yield batch
        done += batch.begins.size


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """Open a bag of ROS 1 or 2 for reading."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ArgumentError(NO_ROSBAGS) from None
    if not path.exists():
        raise ArgumentError(f"there is no bag '{path}'")
    if path.is_dir() and not (path / "metadata.yaml").exists():
        killed = any(path.glob("*.mcap")) or any(path.glob("*.db3"))
        raise ArgumentError(
            f"'{path}' has no metadata.yaml: " + (UNFINISHED if killed else "it is not a bag")
        )
    with _readable(path):
        reader = AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY))
        reader.open()
    try:
        if not reader.message_count:
            raise ArgumentError(f"the bag '{path}' holds no messages")
        yield Bag(path, reader)
    finally:
        reader.close()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn any exception of the bag library into one error: the file is damaged."""
    try:
        yield
    except RobodynError:
        raise
    except Exception as reason:
        text = str(reason).strip() or type(reason).__name__
        raise ArgumentError(
            f"cannot read the bag '{path}': {text.splitlines()[0]}; is it complete?"
        ) from None


def is_bag(path: Path) -> bool:
    """Return whether a path is a bag: a folder, or a file with a bag's suffix."""
    return path.is_dir() or path.suffix in (".bag", ".mcap", ".db3")


class BagWriter(AbstractContextManager["BagWriter"]):
    """Writes a ROS 2 bag with message definitions and quality of service; close it in the end."""

    def __init__(self, path: Path) -> None:
        try:
            from rosbags.rosbag2 import StoragePlugin, Writer
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise ArgumentError(NO_ROSBAGS) from None
        if path.exists():
            raise ArgumentError(f"'{path}' exists already; name another folder")
        self.path = path
        self._writer = Writer(path, version=METADATA_VERSION, storage_plugin=StoragePlugin.MCAP)
        self.types = get_typestore(Stores.ROS2_JAZZY)
        self.counts: dict[str, int] = {}
        self._connections: dict[str, Any] = {}

    def __exit__(self, *_: object) -> None:
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

    def joint_state(self, names: Sequence[str], *values: npt.NDArray[np.float64]) -> bytes:
        """Return a JointState with stamp 0 as bytes; values: position, velocity and effort."""
        fields: dict[str, Any] = dict(zip(FIELDS, values, strict=True))
        return self.serialize(TYPE, header=self.header(0.0), name=list(names), **fields)

    def close(self) -> None:
        """Write index and metadata, which complete the bag."""
        if self._writer.storage is not None:
            self._writer.close()


def _profile(reliable: bool, latched: bool) -> Any:
    from rosbags import interfaces as ros

    reliability, durability = ros.QosReliability, ros.QosDurability
    never = ros.QosTime(*QOS_INFINITE)
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
