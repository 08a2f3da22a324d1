"""Many serialized JointState messages as arrays, and arrays as messages.

Messages of one publisher nearly always have the same layout: they form a table of bytes, which
numpy reads at once. A ROS 2 message (CDR) aligns numbers to their size and a ROS 1 message does
not; in both the stamp is at byte 4.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.joint_states import LONGEST_NAME
from ..sensing.sampler import Sampler, Samples, sample_rows
from ..sensing.settings import SensingSettings

Array = npt.NDArray[np.float64]

STAMP, BODY = 4, 12  # bytes where the stamp begins and ends
MAX_PADDING = 16  # bytes behind the last number
FIELDS = ("position", "velocity", "effort")
TYPE = "sensor_msgs/msg/JointState"


@dataclass(frozen=True)
class _Layout:
    """Positions of the numbers in a message."""

    size: int
    names: tuple[str, ...]
    begins: tuple[int, ...]  # offsets of position, velocity, effort [bytes]
    counts: tuple[int, ...]  # number of values of each
    fixed: tuple[tuple[slice, bytes], ...]  # bytes that all messages of this layout share

    def fits(self, raw: bytes) -> bool:
        """Return whether a message has this layout."""
        return len(raw) == self.size and all(raw[where] == same for where, same in self.fixed)

    def is_regular(self, joints: Sequence[str]) -> bool:
        """Return whether every joint is named once and all fields are complete or empty."""
        count = len(self.names)
        position, velocity, effort = self.counts
        return (
            set(joints) <= set(self.names)
            and len(set(self.names)) == count
            and all(0 < len(name) <= LONGEST_NAME for name in self.names)
            and position == count
            and velocity in (0, count)
            and effort in (0, count)
        )


class _Block(NamedTuple):
    """Consecutive messages of one layout."""

    layout: _Layout
    received: list[int]  # [ns]
    raws: list[bytes]

    @property
    def table(self) -> npt.NDArray[np.uint8]:
        """The messages, one per row."""
        return np.frombuffer(b"".join(self.raws), np.uint8).reshape(-1, self.layout.size)

    def stamps(self) -> Array:
        """Return the stamps (T,) [s]."""
        seconds, nanoseconds = self.table[:, STAMP:BODY].copy().view("<u4").T
        return np.asarray(seconds + 1e-9 * nanoseconds, dtype=np.float64)

    def numbers(self, field: str) -> Array:
        """Return a field of all messages, (T, numbers in it)."""
        k = FIELDS.index(field)
        begin, count = self.layout.begins[k], self.layout.counts[k]
        cells = self.table[:, begin : begin + 8 * count]
        numbers = np.frombuffer(cells.tobytes(), "<f8").astype(np.float64)
        return numbers.reshape(len(self.raws), count)

    def columns(self, field: str, joints: Sequence[str]) -> Array:
        """Return a field of these joints (T, n), NaN where the messages do not have it."""
        values = self.numbers(field)
        if values.shape[1] != len(self.layout.names):
            return np.full((len(self.raws), len(joints)), np.nan)
        return values[:, [self.layout.names.index(name) for name in joints]]


class JointStates:
    """Messages of a topic: times of recording [ns] and bytes, in order; aligned: of ROS 2."""

    def __init__(self, messages: Iterable[tuple[int, bytes]], aligned: bool) -> None:
        self._blocks: list[_Block] = []
        for received, raw in messages:
            if not self._blocks or not self._blocks[-1].layout.fits(raw):
                self._blocks.append(_Block(_layout(raw, aligned), [], []))
            self._blocks[-1].received.append(received)
            self._blocks[-1].raws.append(raw)

    @property
    def found(self) -> set[str]:
        """Names of all joints in the messages."""
        return {name for block in self._blocks for name in block.layout.names}

    def layouts(self) -> Counter[tuple[str, ...]]:
        """Return how many messages name which joints, in which order."""
        counts: Counter[tuple[str, ...]] = Counter()
        for block in self._blocks:
            counts[block.layout.names] += len(block.raws)
        return counts

    def fields(self, names: tuple[str, ...]) -> tuple[Array, Array, list[Array | None]]:
        """Return stamps and times of recording (T,) [s] of the messages that name these joints, in
        this order, and their positions, velocities and efforts (T, n), None where there are none.
        """
        blocks = [block for block in self._blocks if block.layout.names == names]
        found: list[Array | None] = []
        for name in FIELDS:
            values = np.concatenate([block.columns(name, names) for block in blocks])
            found.append(None if np.isnan(values).all() else values)
        stamps = np.concatenate([block.stamps() for block in blocks])
        received = 1e-9 * np.array([t for block in blocks for t in block.received])
        return stamps, received, found

    @cached_property
    def received(self) -> npt.NDArray[np.int64]:
        """Times of recording (T,) [ns]."""
        return np.array([t for block in self._blocks for t in block.received], np.int64)

    @cached_property
    def stamps(self) -> Array:
        """Stamps (T,) [s]."""
        return np.concatenate([np.zeros(0), *(block.stamps() for block in self._blocks)])

    def columns(self, joints: Sequence[str], field: str) -> tuple[Array, Array]:
        """Return times (T,) [s] and a field (T, n) of the messages that have it for all joints."""
        whole = [block for block in self._blocks if set(joints) <= set(block.layout.names)]
        t = np.concatenate([np.zeros(0), *(block.stamps() for block in whole)])
        values = np.concatenate(
            [np.zeros((0, len(joints))), *(block.columns(field, joints) for block in whole)]
        )
        kept = np.isfinite(values).all(axis=1)
        return t[kept], values[kept]

    def samples(
        self, model: RobotModel, sensing: SensingSettings, now: Array, period: float, gains: Array
    ) -> tuple[Samples, npt.NDArray[np.int64]]:
        """Return the samples of the messages, and their times of recording [ns].

        now: clock at receipt of each message (T,) [s]; period: nominal [s]; gains (n,): factors of
        the efforts. One compiled pass validates messages of a regular layout, else one by one.
        """
        if len(self._blocks) == 1 and self._blocks[0].layout.is_regular(model.joint_names):
            (block,) = self._blocks
            q, qd, tau = (block.columns(field, model.joint_names) for field in FIELDS)
            samples = sample_rows(
                model, self.stamps, q, qd, tau * gains, sensing, received=now, period=period
            )
            return samples, self.received
        sampler = Sampler(model, sensing, period)
        found = [sampler.message(m, t) for m, t in zip(self._messages(), now, strict=True)]
        kept = [k for k, sample in enumerate(found) if sample is not None]
        whole = [s if s.tau is None else s._replace(tau=s.tau * gains) for s in found if s]
        return Samples.of(model, whole), self.received[kept]

    def _messages(self) -> Iterator[Any]:
        """Yield the messages as objects with the fields of sensor_msgs/JointState."""
        for block in self._blocks:
            names, stamps = list(block.layout.names), block.table[:, STAMP:BODY].copy()
            times = stamps.view("<u4").tolist()
            fields = zip(*(block.numbers(field) for field in FIELDS), strict=True)
            for (sec, nanosec), values in zip(times, fields, strict=True):
                header = SimpleNamespace(stamp=SimpleNamespace(sec=sec, nanosec=nanosec))
                arrays = dict(zip(FIELDS, values, strict=True))
                yield SimpleNamespace(name=names, header=header, **arrays)


def serialized(template: bytes, t_ns: npt.NDArray[np.int64], *fields: Array) -> Iterator[bytes]:
    """Return CDR messages like the template, with these stamps [ns] and fields (T, n)."""
    layout = _layout(template, aligned=True)
    rows = np.tile(np.frombuffer(template, np.uint8), (len(t_ns), 1))
    stamps = np.column_stack(np.divmod(t_ns, 1_000_000_000)).astype("<u4")
    rows[:, STAMP:BODY] = stamps.view(np.uint8)
    used = [begin for begin, count in zip(layout.begins, layout.counts, strict=True) if count]
    for begin, numbers in zip(used, fields, strict=True):
        cells = np.ascontiguousarray(numbers, "<f8").view(np.uint8)
        rows[:, begin : begin + cells.shape[1]] = cells
    return (row.tobytes() for row in rows)


def _layout(raw: bytes, aligned: bool) -> _Layout:
    if aligned and raw[:2] != b"\x00\x01":
        raise ArgumentError("a JointState is not serialized as little-endian CDR")
    try:
        return _walk(raw, aligned)
    except (struct.error, UnicodeDecodeError):
        raise ArgumentError("a JointState message is damaged: its lengths do not fit") from None


def _walk(raw: bytes, aligned: bool) -> _Layout:
    """Return the layout of one message: frame, names, then three lists of numbers.

    Padding is not part of it: the middleware leaves it uninitialized, also behind the last number.
    """
    at = BODY
    fixed: list[tuple[int, int]] = []  # begin and end of what the layout has in common

    def skip(size: int) -> None:
        """Pass bytes that belong to the layout."""
        nonlocal at
        if fixed and fixed[-1][1] == at:
            fixed[-1] = (fixed[-1][0], at + size)
        else:
            fixed.append((at, at + size))
        at += size

    def align(size: int) -> None:
        nonlocal at
        if aligned:
            at += (STAMP - at) % size  # relative to the end of the encapsulation header

    def count() -> int:
        align(4)
        (value,) = struct.unpack_from("<I", raw, at)
        skip(4)
        return int(value)

    def text() -> str:
        size = count()
        if at + size > len(raw):
            raise struct.error
        skip(size)
        return raw[at - size : at].rstrip(b"\0").decode()

    text()
    names = tuple(text() for _ in range(count()))
    begins, counts = [], []
    for _ in FIELDS:
        items = count()
        if items:
            align(8)
        begins.append(at)
        counts.append(items)
        at += 8 * items
    if not 0 <= len(raw) - at <= MAX_PADDING:
        raise struct.error
    pieces = tuple((slice(a, b), raw[a:b]) for a, b in fixed)
    return _Layout(len(raw), names, tuple(begins), tuple(counts), pieces)
