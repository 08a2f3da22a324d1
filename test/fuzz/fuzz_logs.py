"""Recordings that are damaged: CSV files and bags, by values and by bytes."""

from __future__ import annotations

import csv
import functools
import io
import math
import shutil
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz_tools import Verdict, expect, mutated_bytes, pick, random_of, time_limit

import robodyn_ros as rd
from robodyn_ros.sensing.bag_log import read_bag
from robodyn_ros.sensing.csv_log import ColumnMap, read_csv
from robodyn_ros.sensing.log import Log, value_limits

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


class Written(NamedTuple):
    """A CSV file, what must become of it, and what it says if that can be told."""

    text: str
    verdict: Verdict
    table: np.ndarray | None  # (T, 1 + 3 N)


def csv_text(random: Any) -> Written:
    """A CSV file with some cells exchanged."""
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
    if rows[0] != NAMES:
        return Written(text.getvalue(), Verdict.EITHER, None)
    if any(_is_bad(row) for row in rows[1:]):
        return Written(text.getvalue(), Verdict.BAD, None)
    table = np.array([[float(cell) for cell in row] for row in rows[1:]])
    return Written(text.getvalue(), Verdict.EITHER, table)


def _is_bad(row: list[str]) -> bool:
    """Return whether a row lacks a number or has an invalid one; clocks may start long ago."""
    try:
        t, *others = (abs(float(cell)) for cell in row)
    except ValueError:
        return True
    limits = [value_limits()[name.partition("_")[0]] for name in NAMES]
    return len(row) != len(NAMES) or not all(x <= y for x, y in zip((t, *others), limits))


def compare(log: Log, table: np.ndarray, warned: bool) -> None:
    """What was read is what was written, but for rows whose time repeats; without a warning no
    other row is left out.
    """
    found = np.column_stack([log.t, log.q, log.qd, log.tau])
    t = table[:, 0]
    kept = table[np.diff(t, prepend=-np.inf) > 0.0]
    expect(warned or (np.diff(t) >= 0.0).all(), "left out rows and did not say so")
    expect(
        np.array_equal(found, kept), "read", found[~np.isin(found, kept)], "that was not written"
    )


def csv_log(folder: Path, seed: int, case: int) -> str:
    """Read one damaged CSV file; 'refused' or 'read'."""
    random = random_of(seed, "csv", case)
    text, expected, table = csv_text(random)
    data = text.encode()
    if random.random() < 0.3:
        data, expected, table = mutated_bytes(random, data), Verdict.EITHER, None
    path = folder / "log.csv"
    path.write_bytes(data)
    with time_limit(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            log = read_csv(path, BY_NAME if random.random() < 0.7 else BY_NUMBER)
        except rd.RobodynError as refusal:
            return _refused(refusal)
        expect(expected is not Verdict.BAD, "read a CSV file with a cell that is no number")
        if table is not None:
            compare(log, table, any(w.category is rd.LogWarning for w in told))
        return _read(log)


@functools.cache
def _types() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


class Recorded(NamedTuple):
    """What was written into a bag."""

    rows: list[tuple[float, list[np.ndarray]]]  # stamp [s]; position, velocity, effort
    garbled: bool = False  # whether bytes of a message are not what they should be

    def kept(self) -> list[tuple[float, list[np.ndarray]]]:
        """Those with position and effort of all joints, as far as time goes on."""
        kept: list[tuple[float, list[np.ndarray]]] = []
        for t, values in self.rows:
            whole = values[0].size == values[2].size == N and values[1].size in (0, N)
            if whole and (not kept or t > kept[-1][0]):
                kept.append((t, values))
        return kept

    def verdict(self) -> Verdict:
        """BAD if a number that is kept cannot be; velocities are kept if all messages have any."""
        kept = self.kept()
        fields = [0, 2] + [1] * all(values[1].size == N for _, values in kept)
        limits = [value_limits()[name] for name in ("q", "qd", "tau")]
        bad = any((~(np.abs(row[k]) <= limits[k])).any() for _, row in kept for k in fields)
        return Verdict.BAD if bad and not self.garbled else Verdict.EITHER


def compare_bag(log: Log, recorded: Recorded, warned: bool) -> None:
    """What was read is what was written; without a warning no message is left out."""
    kept = recorded.kept()
    expect(warned or len(kept) == len(recorded.rows), "left out messages and did not say so")
    t = np.array([t for t, _ in kept])
    expect(np.array_equal(log.t, t - t[0]), "read times that was not written:", log.t)
    fields = {"q": 0, "tau": 2} | ({"qd": 1} if all(v[1].size == N for _, v in kept) else {})
    for name, k in fields.items():
        wanted = np.array([values[k] for _, values in kept])
        expect(np.array_equal(getattr(log, name), wanted), "read", name, "that was not written")


def write_bag(folder: Path, random: Any) -> tuple[Path, Recorded]:
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
    path, rows, garbled = folder / "bag", [], False
    plugin = pick(random, [StoragePlugin.SQLITE3, StoragePlugin.MCAP])
    with Writer(path, version=9, storage_plugin=plugin) as writer:
        connection = writer.add_connection("/joint_states", state.__msgtype__, typestore=store)
        for k, row in enumerate(motion()):
            stamp = round(1e9 * (1.0 + row[0]))
            if random.random() < 0.01:
                stamp -= 50_000_000
            values = [row[1:3].copy(), row[3:5].copy(), row[5:7].copy()]
            if random.random() < 0.01:
                values[int(random.integers(3))][0] = pick(random, [math.nan, math.inf, 1e308])
            if random.random() < 0.01:
                values[int(random.integers(3))] = np.zeros(int(random.integers(4)))
            message = state(header(time(stamp // 10**9, stamp % 10**9), ""), list(JOINTS), *values)
            raw = bytes(store.serialize_cdr(message, state.__msgtype__))
            if random.random() < 0.002:
                raw, garbled = mutated_bytes(random, raw), True
            rows.append((stamp // 10**9 + 1e-9 * (stamp % 10**9), values))
            writer.write(connection, 10**9 + k, raw)
    return path, Recorded(rows, garbled)


def bag_log(folder: Path, seed: int, case: int) -> str:
    """Read one damaged bag; 'refused' or 'read'."""
    random = random_of(seed, "bags", case)
    path, recorded = write_bag(folder, random)
    try:
        whole = random.random() < 0.4
        if not whole:
            hurt = pick(random, sorted(path.iterdir()))
            hurt.write_bytes(mutated_bytes(random, hurt.read_bytes(), most=20))
        with time_limit(), warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                log = read_bag(path, JOINTS)
            except rd.RobodynError as refusal:
                return _refused(refusal)
            if whole and not recorded.garbled:
                expect(recorded.verdict() is not Verdict.BAD, "read an invalid number")
                compare_bag(log, recorded, any(w.category is rd.LogWarning for w in told))
            return _read(log)
    finally:
        shutil.rmtree(path)


def _refused(refusal: Exception) -> str:
    expect(0 < len(str(refusal)) < 3000, "refused by", len(str(refusal)), "characters")
    return "refused"


def _read(log: Log) -> str:
    for values in (log.t, log.q, log.qd, log.tau):
        expect(np.isfinite(values).all(), "read what is not finite")
    for name in ("q", "qd", "tau"):
        largest = np.abs(getattr(log, name)).max()
        expect(largest <= value_limits()[name], "read", largest)
    expect((np.diff(log.t) > 0.0).all(), "time goes back")
    return "read"
