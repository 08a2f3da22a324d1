"""Messages in bulk: the same as one by one, and what is left to the bag library."""

import random
import struct

import numpy as np
import pytest
from recording_cases import MODEL, motion, nanoseconds, write_bag

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError
from robodyn_ros.recording import bags
from robodyn_ros.recording.bags import open_bag
from robodyn_ros.recording.bulk_messages import bulk_messages
from robodyn_ros.recording.joint_states import FIELDS, TYPE, serialized
from robodyn_ros.recording.run import Sources, read_samples

rosbag2 = pytest.importorskip("rosbags.rosbag2")
typesys = pytest.importorskip("rosbags.typesys")


def messages(duration=8.0, changing=False):
    """Yield topic, time [ns] and bytes: joint states, with other topics between them."""
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    t, q, qd, tau, _ = motion(duration=duration)
    stamp = store.types["builtin_interfaces/msg/Time"](0, 0)
    header = store.types["std_msgs/msg/Header"](stamp, "")

    def template(names):
        zeros = [np.zeros(len(names))] * 3
        return bytes(store.serialize_cdr(store.types[TYPE](header, list(names), *zeros), TYPE))

    when, names = nanoseconds(t), MODEL.joint_names
    whole = list(serialized(template(names), when, q, qd, tau))
    turned = list(serialized(template(names[::-1]), when, *(x[:, ::-1] for x in (q, qd, tau))))
    text = bytes(store.serialize_cdr(store.types["std_msgs/msg/String"]("x" * 50), STRING))
    for k, raw in enumerate(whole):
        yield "/joint_states", int(when[k]) + 1000, turned[k] if changing and k % 3 else raw
        if k % 7 == 0:
            yield "/text", int(when[k]) + 1001, text


STRING = "std_msgs/msg/String"
MAGIC = b"\x89MCAP0\r\n"
FOOTER, CHUNK, CHUNK_INDEX, SUMMARY_OFFSET = 2, 6, 8, 14  # records of MCAP


def write(path, storage="MCAP", compressed=False, shuffled=0, **how):
    store = typesys.get_typestore(typesys.Stores.ROS2_JAZZY)
    writer = rosbag2.Writer(path, version=8, storage_plugin=rosbag2.StoragePlugin[storage])
    if compressed and compressed != "lz4":
        mode = rosbag2.CompressionMode.STORAGE if compressed == "storage" else compressed
        writer.set_compression(mode, rosbag2.CompressionFormat.ZSTD)
    todo = list(messages(**how))
    if shuffled:
        todo[:shuffled] = random.Random(1).sample(todo[:shuffled], shuffled)
    with writer:
        topics = {
            topic: writer.add_connection(topic, kind, typestore=store)
            for topic, kind in (("/joint_states", TYPE), ("/text", STRING))
        }
        for topic, when, raw in todo:
            writer.write(topics[topic], when, raw)
    return with_lz4(path) if compressed == "lz4" else path


def with_lz4(path):
    """Compress the chunks of an MCAP file by lz4, as `ros2 bag record` can; rosbags cannot."""
    frame = pytest.importorskip("lz4.frame")
    (file,) = path.glob("*.mcap")
    data, out, moved, at = file.read_bytes(), bytearray(MAGIC), {}, len(MAGIC)
    while at < len(data) - len(MAGIC):
        kind, size = struct.unpack_from("<BQ", data, at)
        body = data[at + 9 : at + 9 + size]
        moved[at] = len(out)
        at += 9 + size
        if kind == CHUNK:  # times, size, check sum; name of the compression, records
            packed = frame.compress(body[40:])
            assert len(packed) < len(body)
            body = body[:28] + struct.pack("<I3sQ", 3, b"lz4", len(packed)) + packed
        elif kind == CHUNK_INDEX:
            start, length, count = struct.unpack_from("<16xQQI", body)
            places = struct.iter_unpack("<HQ", body[36 : 36 + count])
            new = b"".join(struct.pack("<HQ", channel, moved[x]) for channel, x in places)
            (unpacked,) = struct.unpack("<Q", body[-8:])
            begin = moved[start]
            (inside,) = struct.unpack_from("<Q", out, begin + 1)
            sizes = struct.pack("<QQ", inside - 43, unpacked)
            tail = body[36 + count : 44 + count] + struct.pack("<I3s", 3, b"lz4") + sizes
            body = body[:16] + struct.pack("<QQI", begin, inside + 9, count) + new + tail
        elif kind == SUMMARY_OFFSET:
            group, start, length = struct.unpack("<BQQ", body)
            end = moved.get(start + length, moved[start] + length)
            body = struct.pack("<BQQ", group, moved[start], end - moved[start])
        elif kind == FOOTER:
            begins = (moved[x] if x else 0 for x in struct.unpack("<QQ", body[:16]))
            body = struct.pack("<QQI", *begins, 0)
        out += struct.pack("<BQ", kind, len(body)) + body
    file.write_bytes(out + MAGIC)
    return path


def both_ways(path, monkeypatch):
    """Return the joint states of a bag read in bulk, and message by message."""
    with open_bag(path) as bag:
        in_bulk = bag.joint_states("/joint_states")
    with monkeypatch.context() as patch, open_bag(path) as bag:
        patch.setattr(bags, "bulk_messages", lambda *_: None)
        return in_bulk, bag.joint_states("/joint_states")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"compressed": "storage"},
        {"compressed": "lz4"},
        {"shuffled": 1000},  # in the first chunk
        {"changing": True},
        {"storage": "SQLITE3"},
        {"storage": "SQLITE3", "shuffled": 4000},
    ],
    ids=str,
)
def test_in_bulk_as_one_by_one(how, tmp_path, monkeypatch):
    path = write(tmp_path / "bag", **how)
    assert bulk_messages(path, "/joint_states") is not None
    in_bulk, single = both_ways(path, monkeypatch)
    np.testing.assert_array_equal(in_bulk.received, single.received)
    np.testing.assert_array_equal(in_bulk.stamps, single.stamps)
    assert in_bulk.received.size == 4000 and in_bulk.layouts() == single.layouts()
    for field in FIELDS:
        for one, other in zip(
            in_bulk.columns(MODEL.joint_names, field),
            single.columns(MODEL.joint_names, field),
            strict=True,
        ):
            np.testing.assert_array_equal(one, other)


def test_the_verdicts_are_the_same(tmp_path, monkeypatch):
    path = write_bag(tmp_path / "bag", truth=False)
    found = []
    for bulk in (True, False):
        with monkeypatch.context() as patch, open_bag(path) as bag:
            if not bulk:
                patch.setattr(bags, "bulk_messages", lambda *_: None)
            found.append(rd.detect(MODEL, read_samples(bag, MODEL, Sources()).samples))
    np.testing.assert_array_equal(found[0].level, found[1].level)
    np.testing.assert_array_equal(found[0].r, found[1].r)
    assert len(found[0].events) >= 2


def test_a_file_and_its_folder(tmp_path):
    path = write_bag(tmp_path / "bag")
    (file,) = path.glob("*.mcap")
    counts = [
        sum(batch.begins.size for batch in bulk_messages(one, "/joint_states"))
        for one in (path, file)
    ]
    assert counts == [4000, 4000]
    assert bulk_messages(path, "/no_such_topic") is None


@pytest.mark.parametrize("mode", ["FILE", "MESSAGE"])
def test_compressed_files_and_messages_are_left_to_the_library(mode, tmp_path, monkeypatch):
    path = write(
        tmp_path / "bag", "SQLITE3", compressed=rosbag2.CompressionMode[mode], duration=0.5
    )
    assert bulk_messages(path, "/joint_states") is None
    in_bulk, single = both_ways(path, monkeypatch)
    np.testing.assert_array_equal(in_bulk.received, single.received)


def test_a_file_without_an_index_is_left_to_the_library(tmp_path):
    (file,) = write_bag(tmp_path / "bag").glob("*.mcap")
    data = bytearray(file.read_bytes())
    data[-28:-20] = bytes(8)  # where the summary begins: nowhere
    file.write_bytes(data)
    assert bulk_messages(file, "/joint_states") is None


def test_chunks_that_overlap_are_left_to_the_library(tmp_path, monkeypatch):
    path = write(tmp_path / "bag", shuffled=4000)
    assert bulk_messages(path, "/joint_states") is None
    in_bulk, single = both_ways(path, monkeypatch)
    np.testing.assert_array_equal(in_bulk.received, single.received)


def first_chunk(data):
    """Return where the first chunk of a file begins: behind magic and header."""
    begin = 8 + 9 + struct.unpack_from("<Q", data, 9)[0]
    assert data[begin] == 6
    return begin


def test_a_damaged_index_is_an_error(tmp_path):
    (file,) = write_bag(tmp_path / "bag").glob("*.mcap")
    data = bytearray(file.read_bytes())
    chunk = first_chunk(data)
    index = chunk + 9 + struct.unpack_from("<Q", data, chunk + 1)[0]
    assert data[index] == 7
    struct.pack_into("<Q", data, index + 15 + 8, 1 << 40)  # offset of its first message
    file.write_bytes(data)
    with open_bag(file) as bag, pytest.raises(ArgumentError, match="index of a chunk is damaged"):
        bag.joint_states("/joint_states")


def test_a_wrong_check_sum_is_an_error(tmp_path):
    (file,) = write_bag(tmp_path / "bag").glob("*.mcap")
    data = bytearray(file.read_bytes())
    struct.pack_into("<I", data, first_chunk(data) + 9 + 24, 12345)
    file.write_bytes(data)
    with (
        open_bag(file) as bag,
        pytest.raises(ArgumentError, match="check sum of a chunk is wrong"),
    ):
        bag.joint_states("/joint_states")
