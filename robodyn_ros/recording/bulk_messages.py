"""All messages of a topic at once, from the storage of a ROS 2 bag, without a step per message.

An MCAP file has an index of the messages in each of its chunks; an SQLite file is asked for many
rows at a time. What is out of the ordinary (compressed files or messages, a topic whose chunks
overlap in time, no index) is left to the bag library, message by message.
"""

from __future__ import annotations

import mmap
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..errors import ArgumentError
from ..model.packed_model import U
from .joint_states import Batch, Bytes

Index = npt.NDArray[np.int64]  # (T, 2): times of recording [ns], offsets in a chunk

MAGIC = b"\x89MCAP0\r\n"
FOOTER_SIZE = 37  # bytes: the record, and the magic at the end
# Records of MCAP, by their first byte
FOOTER, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX, SUMMARY_OFFSET = (
    2, 4, 5, 6, 7, 8, 14,
)  # fmt: skip
RECORD_HEAD = 9  # bytes: kind and length
MESSAGE_HEAD = 22  # bytes: channel, sequence, time of recording and of publication
HEAD = RECORD_HEAD + MESSAGE_HEAD
CHUNK_HEAD = 40  # bytes: times, size, check sum, and two lengths without the compression's name
DECOMPRESSORS = {"lz4": ("lz4.frame",), "zstd": ("compression.zstd", "backports.zstd")}
ROWS = 10000  # of an SQLite file, read at once


class _Chunk(NamedTuple):
    """Where a chunk and the index of its messages stand in a file."""

    begin: int  # [bytes]
    compression: str
    packed_size: int  # [bytes]
    size: int
    indices: tuple[int, ...]  # begin of the message index of each channel of the topic


def bulk_messages(path: Path, topic: str) -> Iterator[Batch] | None:
    """Return the messages of a topic in order of their recording; None: take them one by one."""
    files = _files(path)
    if not files:
        return None
    if {file.suffix for file in files} == {".db3"}:
        return _of_sqlite(files, topic)
    if {file.suffix for file in files} != {".mcap"}:
        return None
    found: list[tuple[Bytes, _Chunk, Index]] = []
    for file in files:
        parts = _of_mcap(file, topic)
        if parts is None:
            return None
        found += parts
    spans = [(int(index[0, 0]), int(index[-1, 0])) for _, _, index in found]
    if any(after[0] < before[1] for before, after in zip(spans, spans[1:], strict=False)):
        return None
    return (_messages(_unpacked(whole, chunk), index) for whole, chunk, index in found)


def _files(path: Path) -> list[Path]:
    """Return the files of a bag as they follow each other; empty if they are compressed."""
    if not path.is_dir():
        return [path]
    metadata = (path / "metadata.yaml").read_text(encoding="utf-8")
    pairs = [line.strip().partition(":")[::2] for line in metadata.splitlines()]
    modes = [
        value.strip().strip("'\"").lower() for key, value in pairs if key == "compression_mode"
    ]
    files = [
        file for kind in ("*.mcap", "*.db3") for file in path.glob(kind) if file.name in metadata
    ]
    if any(mode not in ("", "none") for mode in modes) or not files:
        return []
    # The recorder numbers them: bag_0, bag_1, ... bag_10
    return sorted(files, key=lambda file: (len(file.name), file.name))


def _of_sqlite(files: list[Path], topic: str) -> Iterator[Batch]:
    for file in files:
        connection = sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True)
        try:
            rows = connection.execute(
                "SELECT timestamp, data FROM messages WHERE topic_id IN "
                "(SELECT id FROM topics WHERE name = ?) ORDER BY timestamp",
                (topic,),
            )
            while part := rows.fetchmany(ROWS):
                yield Batch.of(part)
        finally:
            connection.close()


def _of_mcap(path: Path, topic: str) -> list[tuple[Bytes, _Chunk, Index]] | None:
    """Return the bytes of a file, each chunk with messages of the topic, and their index, in order
    of time; None without an index.
    """
    chunks = _chunks(path, topic)
    if chunks is None:
        return None
    with path.open("rb") as file:
        # Nothing is copied until it is written to; kernels take no read-only arrays
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    whole = np.frombuffer(mapped, np.uint8)
    parts = [(whole, chunk, index) for chunk in chunks if (index := _index(whole, chunk)).size]
    return sorted(parts, key=lambda part: int(part[2][0, 0]))


def _unpacked(whole: Bytes, chunk: _Chunk) -> Bytes:
    """Return the records of a chunk, which its check sum confirms if it has one."""
    begin = chunk.begin + RECORD_HEAD + CHUNK_HEAD + len(chunk.compression)
    packed = whole[begin : begin + chunk.packed_size]
    (check_sum,) = struct.unpack_from("<I", whole.data, chunk.begin + RECORD_HEAD + 24)
    records = packed
    if chunk.compression:
        records = np.frombuffer(
            bytearray(_decompressor(chunk.compression)(packed.tobytes())), np.uint8
        )
    if records.size != chunk.size:
        raise ArgumentError(f"a chunk has {records.size} bytes instead of {chunk.size}")
    if check_sum and zlib.crc32(records.data) != check_sum:
        raise ArgumentError("the check sum of a chunk is wrong")
    return records


def _decompressor(name: str) -> Callable[[bytes], bytes]:
    """Return the function that decompresses a chunk; raise ImportError if it is not installed."""
    for module in DECOMPRESSORS.get(name, ()):
        with suppress(ImportError):
            return cast(Callable[[bytes], bytes], import_module(module).decompress)
    raise ImportError(name)


def _index(whole: Bytes, chunk: _Chunk) -> Index:
    """Return the index of the topic's messages in a chunk, in order of time."""
    parts = []
    for begin in chunk.indices:
        kind, _, _, size = struct.unpack_from("<BQHI", whole.data, begin)
        rows = whole[begin + 15 : begin + 15 + size]
        if kind != MESSAGE_INDEX or rows.size != size:
            raise ArgumentError("the index of a chunk is damaged")
        parts.append(np.frombuffer(rows.tobytes(), "<i8").reshape(-1, 2))
    index = np.concatenate(parts)
    if (np.diff(index[:, 0]) < 0).any():
        index = index[np.argsort(index[:, 0], kind="stable")]
    return index


@kernel("int64(uint8[::1], int64[::1], int64[::1])")
def _sizes(records, offsets, sizes):
    """Write the size of the message at each offset [bytes]; return 1 if there is none."""
    end = U(records.size)
    for k in range(U(offsets.size)):
        at = U(offsets[k])
        if end < U(HEAD) or at > end - U(HEAD) or records[at] != MESSAGE:
            return 1
        length = U(0)
        for i in range(U(8)):
            length |= U(records[at + U(1) + i]) << (U(8) * i)
        if length < U(MESSAGE_HEAD) or length > end - at - U(RECORD_HEAD):
            return 1
        sizes[k] = length - U(MESSAGE_HEAD)
    return 0


def _messages(records: Bytes, index: Index) -> Batch:
    received, offsets = index.T.copy()
    sizes = np.zeros_like(offsets)
    if _sizes(records, offsets, sizes):
        raise ArgumentError("the index of a chunk is damaged")
    return Batch(records, offsets + HEAD, sizes, received)


def _chunks(path: Path, topic: str) -> list[_Chunk] | None:
    """Return the chunks with messages of the topic; None if the file has no index of them."""
    with path.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            return None
        file.seek(-FOOTER_SIZE, 2)
        footer = file.tell()
        data = file.read()
        (begin,) = struct.unpack_from("<Q", data, RECORD_HEAD)
        if not 0 < begin < footer or data[0] != FOOTER or not data.endswith(MAGIC):
            return None
        file.seek(begin)
        summary = BytesIO(file.read(footer - begin))
    channels, chunks, indexed = set(), [], False
    while head := summary.read(RECORD_HEAD):
        kind, size = struct.unpack("<BQ", head)
        record = summary.read(size)
        if kind == CHANNEL:
            number, name_size = struct.unpack_from("<HxxI", record)
            if record[8 : 8 + name_size] == topic.encode():
                channels.add(number)
        elif kind == CHUNK_INDEX:
            indexed = True
            chunks.append(record)
    if not indexed or not channels:
        return None
    found = [_chunk(record, channels) for record in chunks]
    if any(chunk is None for chunk in found):
        return None
    own = [chunk for chunk in found if chunk is not None and chunk.indices]
    try:
        for compression in {chunk.compression for chunk in own} - {""}:
            _decompressor(compression)
    except ImportError:
        return None
    return own


def _chunk(record: bytes, channels: set[int]) -> _Chunk | None:
    """Return what an index record says of a chunk; None if the chunk has no message index."""
    begin, _, size = struct.unpack_from("<16xQQI", record)
    indices = dict(struct.iter_unpack("<HQ", record[36 : 36 + size]))
    (name_size,) = struct.unpack_from("<8xI", record, 36 + size)
    at = 48 + size
    compression = record[at : at + name_size].decode()
    packed_size, unpacked_size = struct.unpack_from("<QQ", record, at + name_size)
    if not indices:
        return None
    own = tuple(indices[number] for number in sorted(channels & indices.keys()))
    return _Chunk(begin, compression, packed_size, unpacked_size, own)
