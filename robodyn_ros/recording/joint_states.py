"""JointState messages by the hundred thousand: arrays from their bytes, and bytes from arrays.

Messages of one publisher nearly always have the same layout: then a message is a row of a table,
and numpy reads all rows at once. Serialized, a ROS 2 message (CDR) aligns numbers to their size
and a ROS 1 message does not; in both the stamp is at byte 4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError

Array = npt.NDArray[np.float64]

STAMP, BODY = 4, 12  # bytes where the stamp begins and ends
FIELDS = ("position", "velocity", "effort")
TYPE = "sensor_msgs/msg/JointState"


@dataclass(frozen=True, eq=False)
class JointSeries:
    """What one topic said about some joints, in the order of the bag."""

    t: Array  # (T,) [s], the messages' stamps
    received: npt.NDArray[np.int64]  # (T,) [ns], when they were recorded
    position: Array  # (T, n), nan where a message had none; the same for the others
    velocity: Array
    effort: Array


@dataclass(frozen=True)
class _Layout:
    """Where the numbers are in messages of one shape."""

    size: int
    names: tuple[str, ...]
    begins: tuple[int, ...]  # byte of position, velocity, effort
    counts: tuple[int, ...]  # how many numbers each has
    fixed: tuple[tuple[slice, bytes], ...]  # what all messages of this shape have in common

    def fits(self, raw: bytes) -> bool:
        return len(raw) == self.size and all(raw[where] == same for where, same in self.fixed)


class NoSuchJointsError(Exception):
    """No message names all of the joints; its text says which names came."""


def joint_series(
    messages: Iterable[tuple[int, bytes]], joints: Sequence[str], aligned: bool
) -> JointSeries:
    """The series of these joints, matched by name, from (time [ns], serialized message) pairs.

    aligned: ROS 2. Messages that lack one of the joints are left out.
    """
    blocks: list[tuple[_Layout, list[int], list[bytes]]] = []
    seen: set[str] = set()
    layout: _Layout | None = None
    for received, raw in messages:
        if layout is None or not layout.fits(raw):
            layout = _layout(raw, aligned)
            seen.update(layout.names)
            blocks.append((layout, [], []))
        blocks[-1][1].append(received)
        blocks[-1][2].append(raw)
    parts = [_columns(*block, joints) for block in blocks if set(joints) <= set(block[0].names)]
    if not parts:
        raise NoSuchJointsError(", ".join(sorted(seen)) or "none")
    return JointSeries(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def serialized(template: bytes, t_ns: npt.NDArray[np.int64], *fields: Array) -> Iterator[bytes]:
    """CDR messages like the template, one per time [ns], with these numbers (T, n) in the fields
    that it has.
    """
    layout = _layout(template, aligned=True)
    rows = np.tile(np.frombuffer(template, np.uint8), (len(t_ns), 1))
    stamps = np.column_stack(np.divmod(t_ns, 1_000_000_000)).astype("<u4")
    rows[:, STAMP:BODY] = stamps.view(np.uint8)
    used = [begin for begin, count in zip(layout.begins, layout.counts, strict=True) if count]
    for begin, numbers in zip(used, fields, strict=True):
        cells = np.ascontiguousarray(numbers, "<f8").view(np.uint8)
        rows[:, begin : begin + cells.shape[1]] = cells
    return (row.tobytes() for row in rows)


def _columns(
    layout: _Layout, received: list[int], raws: list[bytes], joints: Sequence[str]
) -> tuple[Array, npt.NDArray[np.int64], Array, Array, Array]:
    table = np.frombuffer(b"".join(raws), np.uint8).reshape(len(raws), layout.size)
    seconds, nanoseconds = table[:, STAMP:BODY].copy().view("<u4").T
    order = [layout.names.index(name) for name in joints]

    def numbers(begin: int, count: int) -> Array:
        if count != len(layout.names):
            return np.full((len(raws), len(order)), np.nan)
        cells = table[:, begin : begin + 8 * count]
        return np.asarray(cells.copy().view("<f8")[:, order], dtype=np.float64)

    fields = [numbers(*where) for where in zip(layout.begins, layout.counts, strict=True)]
    return seconds + 1e-9 * nanoseconds, np.array(received, np.int64), *fields


def _layout(raw: bytes, aligned: bool) -> _Layout:
    if aligned and raw[:2] != b"\x00\x01":
        raise ArgumentError("a JointState is not serialized as little-endian CDR")
    try:
        return _walk(raw, aligned)
    except (struct.error, UnicodeDecodeError):
        raise ArgumentError("a JointState message is damaged: its lengths do not fit") from None


def _walk(raw: bytes, aligned: bool) -> _Layout:
    """Through one message: frame, names, then three lists of numbers."""
    at = BODY

    def align(size: int) -> None:
        nonlocal at
        if aligned:
            at += (STAMP - at) % size  # counted from behind the four bytes of the encapsulation

    def count() -> int:
        nonlocal at
        align(4)
        (value,) = struct.unpack_from("<I", raw, at)
        at += 4
        return int(value)

    def text() -> str:
        nonlocal at
        size = count()
        if at + size > len(raw):
            raise struct.error
        at += size
        return raw[at - size : at].rstrip(b"\0").decode()

    text()
    names = tuple(text() for _ in range(count()))
    begins, counts, fixed = [], [], []
    last = BODY
    for _ in FIELDS:
        items = count()
        if items:
            align(8)
        fixed.append((slice(last, at), raw[last:at]))
        begins.append(at)
        counts.append(items)
        at += 8 * items
        last = at
    if at != len(raw):
        raise struct.error
    return _Layout(len(raw), names, tuple(begins), tuple(counts), tuple(fixed))
