"""Recordings that are damaged: CSV files and bags, by values and by bytes."""

from __future__ import annotations

import csv
import functools
import io
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from fuzz_tools import Verdict, expect, mutated_bytes, pick, random_of, time_limit

import robodyn_ros as rd
from robodyn_ros.identification.bag_log import read_bag
from robodyn_ros.identification.csv_log import ColumnMap, read_csv
from robodyn_ros.identification.log import LARGEST, Log

N, SAMPLES = 2, 60
JOINTS = ("joint_1", "joint_2")
NAMES = ["t", *(f"{what}_{k}" for what in ("q", "qd", "tau") for k in range(N))]
BY_NAME = ColumnMap("t", NAMES[1:3], NAMES[5:7], NAMES[3:5])
BY_NUMBER = ColumnMap(0, [1, 2], [5, 6], [3, 4])
FINE = ("0", "0.25", "-1.5", " 1", "1e-3")
CELLS = (
    *FINE,
    *FINE,
    *FINE,
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e7",
    "",
    "x",
    "é",
    "-1e400",
    "1,2",
    '"',
    "0x1",
    "\0",
)


def motion() -> np.ndarray:
    """(T, 1 + 3 N): a recording as it should be."""
    t = 0.01 * np.arange(SAMPLES)
    q = np.sin(np.outer(t, np.arange(1, N + 1)))
    qd = np.cos(np.outer(t, np.arange(1, N + 1))) * np.arange(1, N + 1)
    return np.column_stack([t, q, qd, 3.0 * q])


def csv_text(random: Any) -> tuple[str, Verdict]:
    """A CSV file with some cells exchanged, and what must become of it."""
    rows = [list(NAMES)] + [[f"{x:.9g}" for x in row] for row in motion()]
    for _ in range(int(random.integers(1, 4))):
        row = int(random.integers(len(rows)))
        how = int(random.integers(10))
        if how <= 6:
            rows[row][int(random.integers(len(rows[row])))] = pick(random, CELLS)
        elif how <= 8:
            rows.insert(row, list(rows[row]))
        else:
            rows[row] = rows[row][: int(random.integers(1, len(rows[row]) + 2))]
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_MINIMAL, escapechar="\\").writerows(rows)
    bad = any(_is_bad(cell) for row in rows[1:] for cell in row[1:])
    return text.getvalue(), Verdict.BAD if bad and rows[0] == NAMES else Verdict.EITHER


def _is_bad(cell: str) -> bool:
    try:
        return not abs(float(cell)) <= LARGEST
    except ValueError:
        return True


def csv_log(folder: Path, seed: int, case: int) -> str:
    """Read one damaged CSV file; 'refused' or 'read'."""
    random = random_of(seed, "csv", case)
    text, expected = csv_text(random)
    data = text.encode()
    if random.random() < 0.3:
        data, expected = mutated_bytes(random, data), Verdict.EITHER
    path = folder / "log.csv"
    path.write_bytes(data)
    with time_limit():
        try:
            log = read_csv(path, BY_NAME if random.random() < 0.7 else BY_NUMBER)
        except rd.RobodynError as refusal:
            return _refused(refusal)
        expect(expected is not Verdict.BAD, "read a CSV file with a cell that is no number")
        return _read(log)


@functools.cache
def _types() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def write_bag(folder: Path, random: Any) -> Path:
    """A bag of joint states, of sqlite or mcap, some of which are wrong."""
    from rosbags.rosbag2 import StoragePlugin, Writer

    store = _types()
    state, header, time = (
        store.types[name]
        for name in (
            "sensor_msgs/msg/JointState",
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
        )
    )
    path = folder / "bag"
    plugin = pick(random, [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, row in enumerate(motion()):
            stamp = round(1e9 * (1.0 + row[0]))
            values = [row[1:3].copy(), row[3:5].copy(), row[5:7].copy()]
            if random.random() < 0.01:
                values[int(random.integers(3))][0] = pick(random, [math.nan, math.inf, 1e308])
            if random.random() < 0.01:
                values[int(random.integers(3))] = np.zeros(int(random.integers(4)))
            message = state(header(time(stamp // 10**9, stamp % 10**9), ""), list(JOINTS), *values)
            raw = bytes(store.serialize_cdr(message, state.__msgtype__))
            if random.random() < 0.002:
                raw = mutated_bytes(random, raw)
            writer.write(connection, 10**9 + k, raw)
    return path


def bag_log(folder: Path, seed: int, case: int) -> str:
    """Read one damaged bag; 'refused' or 'read'."""
    random = random_of(seed, "bags", case)
    path = write_bag(folder, random)
    try:
        if random.random() < 0.8:
            hurt = pick(random, sorted(path.iterdir()))
            hurt.write_bytes(mutated_bytes(random, hurt.read_bytes(), most=20))
        with time_limit():
            try:
                log = read_bag(path, JOINTS)
            except rd.RobodynError as refusal:
                return _refused(refusal)
            return _read(log)
    finally:
        shutil.rmtree(path)


def _refused(refusal: Exception) -> str:
    expect(0 < len(str(refusal)) < 3000, "refused by", len(str(refusal)), "characters")
    return "refused"


def _read(log: Log) -> str:
    for values in (log.t, log.q, log.qd, log.tau):
        expect(np.isfinite(values).all(), "read what is not finite")
    for values in (log.q, log.qd, log.tau):
        expect(np.abs(values).max() <= LARGEST, "read", np.abs(values).max())
    expect((np.diff(log.t) > 0.0).all(), "time goes back")
    return "read"
