"""Bags of ROS 1 and ROS 2, opened with errors that say what is wrong and what is there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from .joint_states import JointSeries, NoSuchJointsError, joint_series

Progress = Callable[[float, str], None]  # share done, of what

STEP = 5000  # messages between two words of progress
UNFINISHED = (
    "its recording was killed before it could finish: `mcap recover` saves what is in the .mcap, "
    "`ros2 bag reindex` writes the metadata"
)


def quiet(share: float, what: str) -> None:
    """No progress is shown."""


class Bag:
    """An open bag: its topics, and what was said on them."""

    def __init__(self, path: Path, reader: Any) -> None:
        self.path, self.reader = path, reader
        self.topics = {c.topic: c.msgtype for c in reader.connections}

    @property
    def is_ros2(self) -> bool:
        return bool(self.reader.is2)

    @property
    def custom(self) -> dict[str, str]:
        """What a recorder wrote beside the messages."""
        storage = getattr(self.reader.readers[0], "storage", None)
        return dict(getattr(getattr(storage, "metadata", None), "custom", None) or {})

    def find(self, name: str, kind: str = "") -> str | None:
        """The topic of this name, or the one whose name ends with it, of this type; else None."""
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
        """The same, or an error that lists what the bag has."""
        topic = self.find(name, kind)
        if topic is None:
            raise ArgumentError(
                f"'{self.path}' has no {kind.rpartition('/')[2]} on a topic '{name}'; it has "
                f"{self.listing()}"
            )
        return topic

    def listing(self) -> str:
        """All topics with their types, for people."""
        rows = (f"{topic} ({kind})" for topic, kind in sorted(self.topics.items()))
        return ", ".join(rows) or "no topics at all"

    def messages(
        self, topic: str | None = None, progress: Progress = quiet
    ) -> Iterator[tuple[Any, int, bytes]]:
        """Connection, time [ns] and bytes of every message, of one topic or of all."""
        kept = [c for c in self.reader.connections if topic in (None, c.topic)]
        total = max(sum(c.msgcount for c in kept), 1)
        with _readable(self.path):
            for done, message in enumerate(self.reader.messages(connections=kept) if kept else ()):
                if done % STEP == 0:
                    progress(done / total, f"reading {topic or self.path.name}")
                yield message

    def decoded(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Time [ns] and message; for topics on which little is said."""
        for connection, received, raw in self.messages(topic):
            yield received, self.reader.deserialize(raw, connection.msgtype)

    def joint_series(
        self, topic: str, joints: Sequence[str], progress: Progress = quiet
    ) -> JointSeries:
        """What a topic of JointStates says about these joints."""
        found = ((received, raw) for _, received, raw in self.messages(topic, progress))
        try:
            return joint_series(found, joints, self.is_ros2)
        except NoSuchJointsError as names:
            raise ArgumentError(
                f"no message on {topic} in '{self.path}' names all of {', '.join(joints)}; the "
                f"joints found are: {names}"
            ) from None

    def number_rows(self, topic: str, n: int) -> tuple[npt.NDArray[np.int64], Any]:
        """Times [ns] and rows (T, n) of a topic of Float64MultiArrays, whose numbers come last."""
        times, rows, sizes = [], [], {}
        for connection, received, raw in self.messages(topic):
            if len(raw) not in sizes:
                sizes[len(raw)] = len(self.reader.deserialize(raw, connection.msgtype).data)
            if sizes[len(raw)] == n:
                times.append(received)
                rows.append(raw[-8 * n :])
        if not rows:
            found = ", ".join(str(size) for size in sorted(set(sizes.values()))) or "none"
            raise ArgumentError(
                f"{topic} in '{self.path}' has no command of {n} numbers; it has: {found}"
            )
        return np.array(times, np.int64), np.frombuffer(b"".join(rows), "<f8").reshape(-1, n)


@contextmanager
def open_bag(path: Path) -> Iterator[Bag]:
    """A bag to read, of ROS 1 or 2."""
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError:
        raise ArgumentError("bags need rosbags: pip install 'robodyn_ros[bags]'") from None
    if not path.exists():
        raise ArgumentError(f"there is no bag '{path}'")
    if path.is_dir() and not (path / "metadata.yaml").exists():
        killed = any(path.glob("*.mcap")) or any(path.glob("*.db3"))
        raise ArgumentError(
            f"'{path}' has no metadata.yaml: " + (UNFINISHED if killed else "it is no bag")
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
    """Whatever a damaged file does to its reader is one error."""
    try:
        yield
    except RobodynError:
        raise
    except Exception as reason:
        text = str(reason).strip() or type(reason).__name__
        raise ArgumentError(
            f"cannot read the bag '{path}': {text.splitlines()[0]}; is it whole?"
        ) from None


def is_bag(path: Path) -> bool:
    """Whether a path is to be opened as a bag: a folder, or a file of one."""
    return path.is_dir() or path.suffix in (".bag", ".mcap", ".db3")
