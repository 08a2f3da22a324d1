"""Many serialized JointState messages as arrays, and arrays as messages.

Messages of one publisher nearly always have the same layout: a compiled loop compares each with
the first and copies its numbers. A ROS 2 message (CDR) aligns numbers to their size and a ROS 1
message does not; in both the stamp is at byte 4.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import uncounted_inline as inline
from ..dynamics.compile import uncounted_kernel as kernel
from ..errors import ArgumentError
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..sensing.joint_states import LONGEST_NAME
from ..sensing.sampler import Sampler, Samples, sample_rows
from ..sensing.settings import SensingSettings

Array = npt.NDArray[np.float64]
Bytes = npt.NDArray[np.uint8]

STAMP, BODY = 4, 12  # bytes where the stamp begins and ends
MAX_PADDING = 16  # bytes behind the last number
BATCH_SIZE = 5000  # messages that are collected before their numbers are taken
FIELDS = ("position", "velocity", "effort")
TYPE = "sensor_msgs/msg/JointState"


@dataclass(frozen=True, eq=False)
class _Layout:
    """Positions of the numbers in a message."""

    names: tuple[str, ...]
    begins: tuple[int, ...]  # offsets of position, velocity, effort [bytes]
    counts: tuple[int, ...]  # number of values of each
    template: Bytes  # a message of this layout
    fixed: Bytes  # 255 at the bytes that all messages of this layout share, else 0

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


class Batch(NamedTuple):
    """Serialized messages in one buffer of bytes."""

    buffer: Bytes
    begins: npt.NDArray[np.int64]  # (T,), of each message
    sizes: npt.NDArray[np.int64]  # (T,)
    received: npt.NDArray[np.int64]  # (T,) times of recording [ns]

    @classmethod
    def of(cls, messages: Sequence[tuple[int, bytes]]) -> Batch:
        """Collect messages that were read one by one, with their times of recording [ns]."""
        sizes = np.array([len(raw) for _, raw in messages], np.int64)
        joined = bytearray().join(raw for _, raw in messages)
        buffer = np.frombuffer(joined or bytearray(1), np.uint8)
        received = np.array([when for when, _ in messages], np.int64)
        return cls(buffer, np.cumsum(sizes) - sizes, sizes, received)


@inline
def _copy(source, begin, target):
    for i in range(U(target.size)):
        target[i] = source[begin + i]


@kernel(
    "int64(uint8[::1], int64[::1], int64[::1], int64, uint8[::1], uint8[::1], int64[::1],"
    " uint8[:, ::1], uint8[:, ::1], uint8[:, ::1], uint8[:, ::1], int64)"
)
def _take(
    buffer, begins, sizes, first, template, fixed, fields, stamps, position, velocity, effort, row
):
    """Copy stamps and numbers of the messages from `first` on into these rows; return how many
    have the layout of the template: the first that has not ends it. fields: offsets of numbers.
    """
    size, to = U(template.size), U(row)
    for k in range(U(first), U(begins.size)):
        begin, different = U(begins[k]), np.uint8(0)
        if U(sizes[k]) == size:
            message = buffer[begin : begin + size]
            for i in range(size):
                different |= (message[i] ^ template[i]) & fixed[i]
        else:
            different = np.uint8(1)
        if different:
            return int(k) - first
        _copy(buffer, begin + U(STAMP), stamps[to])
        _copy(buffer, begin + U(fields[0]), position[to])
        _copy(buffer, begin + U(fields[1]), velocity[to])
        _copy(buffer, begin + U(fields[2]), effort[to])
        to += U(1)
    return begins.size - first


class _Block:
    """Consecutive messages of one layout: their numbers, in arrays that grow."""

    def __init__(self, layout: _Layout, capacity: int) -> None:
        self.layout, self.size = layout, 0
        self._fields = np.array(layout.begins, np.int64)
        widths = (BODY - STAMP, *(8 * count for count in layout.counts))
        self._bytes = [np.empty((capacity, width), np.uint8) for width in widths]
        self._received = np.empty(capacity, np.int64)

    def take(self, batch: Batch, first: int) -> int:
        """Take the messages from `first` on that have this layout; return their number."""
        more = batch.begins.size - first
        if self.size + more > self._received.size:
            self._grow(self.size + more)
        layout = self.layout
        taken = int(
            _take(
                *batch[:3],
                first,
                layout.template,
                layout.fixed,
                self._fields,
                *self._bytes,
                self.size,
            )
        )
        rows = slice(self.size, self.size + taken)
        self._received[rows] = batch.received[first : first + taken]
        self.size += taken
        return taken

    def _grow(self, least: int) -> None:
        capacity = max(least, 2 * self._received.size)

        def larger(x: Any) -> Any:
            return np.concatenate(
                [x[: self.size], np.empty((capacity - self.size, *x.shape[1:]), x.dtype)]
            )

        self._bytes = [larger(x) for x in self._bytes]
        self._received = larger(self._received)

    @property
    def received(self) -> npt.NDArray[np.int64]:
        """Times of recording (T,) [ns]."""
        return self._received[: self.size]

    def times(self) -> npt.NDArray[np.uint32]:
        """Return seconds and nanoseconds of the stamps (T, 2)."""
        return self._bytes[0][: self.size].view("<u4")

    def stamps(self) -> Array:
        """Return the stamps (T,) [s]."""
        seconds, nanoseconds = self.times().T
        return np.asarray(seconds + 1e-9 * nanoseconds, dtype=np.float64)

    def numbers(self, field: str) -> Array:
        """Return a field of all messages, (T, numbers in it)."""
        k = FIELDS.index(field)
        count = self.layout.counts[k]
        if not count:
            return np.zeros((self.size, 0))
        return self._bytes[1 + k][: self.size].view("<f8").astype(np.float64, copy=False)

    def columns(self, field: str, joints: Sequence[str]) -> Array:
        """Return a field of these joints (T, n), NaN where the messages do not have it."""
        values = self.numbers(field)
        if values.shape[1] != len(self.layout.names):
            return np.full((self.size, len(joints)), np.nan)
        if tuple(joints) == self.layout.names:
            return values
        return values[:, [self.layout.names.index(name) for name in joints]]


class JointStates:
    """Messages of a topic: times of recording [ns] and bytes, in order; aligned: of ROS 2."""

    def __init__(self, messages: Iterable[tuple[int, bytes]], aligned: bool) -> None:
        self._blocks: list[_Block] = []
        self._aligned = aligned
        remaining = iter(messages)
        while part := list(islice(remaining, BATCH_SIZE)):
            self.add(Batch.of(part))

    @classmethod
    def of_batches(cls, batches: Iterable[Batch], aligned: bool, count: int) -> JointStates:
        """Return the messages of many batches; count: their number, as far as it is known."""
        states = cls((), aligned)
        for batch in batches:
            states.add(batch, count)
        return states

    def add(self, batch: Batch, count: int = 0) -> None:
        """Add messages behind the others; count: as for `of_batches`."""
        first, total = 0, batch.begins.size
        while first < total:
            taken = self._blocks[-1].take(batch, first) if self._blocks else 0
            if not taken:
                begin = int(batch.begins[first])
                raw = batch.buffer[begin : begin + int(batch.sizes[first])].tobytes()
                capacity = total - first if self._blocks else max(count, total)
                self._blocks.append(_Block(_layout(raw, self._aligned), capacity))
                taken = self._blocks[-1].take(batch, first)
            first += taken

    @property
    def found(self) -> set[str]:
        """Names of all joints in the messages."""
        return {name for block in self._blocks for name in block.layout.names}

    def layouts(self) -> Counter[tuple[str, ...]]:
        """Return how many messages name which joints, in which order."""
        counts: Counter[tuple[str, ...]] = Counter()
        for block in self._blocks:
            counts[block.layout.names] += block.size
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
        received = 1e-9 * np.concatenate([block.received for block in blocks])
        return stamps, received, found

    @cached_property
    def received(self) -> npt.NDArray[np.int64]:
        """Times of recording (T,) [ns]."""
        return np.concatenate([np.zeros(0, np.int64), *(b.received for b in self._blocks)])

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
            tau = tau * gains  # its own memory, as what has no velocities: the rest is only read
            samples = sample_rows(
                model,
                self.stamps,
                q,
                qd,
                tau,
                sensing,
                received=now,
                period=period,
                copy=False,
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
            names, times = list(block.layout.names), block.times().tolist()
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
    template = np.frombuffer(bytearray(raw), np.uint8)
    mask = np.zeros_like(template)
    for a, b in fixed:
        mask[a:b] = 255
    return _Layout(names, tuple(begins), tuple(counts), template, mask)
