"""Recordings of real arms, read as a user would: a model and logs of each.

The files are not part of the package: they lie in ../shared/data, or in the folder that
ROBODYN_DATA names. Every function says what it needs; `missing` tells which files are absent.
"""

from __future__ import annotations

import csv
import gzip
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

import robodyn_ros as rd

Array = np.ndarray
Span = tuple[float, float]
FOLDER = Path(os.environ.get("ROBODYN_DATA", Path(__file__).parents[2] / "shared" / "data"))
HAND = rd.Payload("panda_link7", 0.73, com=(-0.01, 0.0, 0.137))
# Drive gains of a UR10 CB3 are not published; these are a UR10e's [N m/A]
UR10_GAINS = (14.87, 13.26, 11.13, 10.62, 11.03, 11.47)
UR3_JOINTS = ("Base", "Shoulder", "Elbow", "Wrist 1", "Wrist 2", "Wrist 3")
STATE = ("position", "velocity", "effort")
SLOPE_SPAN = 0.04  # [s]
DUMMY_RUNS = ("Axis_3_1", "Axis_5_1", "Axis_7_1", "Drift00_NF_1")


@dataclass(frozen=True, eq=False)
class Recording:
    """A log, and what is known of it."""

    name: str
    log: rd.Log
    link: int = 0  # touched one, 1 to 7; 0: none
    posture: str = ""
    touches: list[Span] = field(default_factory=list)  # begin and end [s]
    external: Array | None = None  # (T, n) [N m], the maker's own external torque


def missing(*names: str) -> str:
    """Which of these files are absent; empty if none is."""
    absent = [name for name in names if not (FOLDER / name).exists()]
    return f"no {', '.join(absent)} in {FOLDER}" if absent else ""


@cache
def model(name: str) -> rd.RobotModel:
    """The model of a URDF in the folder."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        return rd.load_urdf(FOLDER / name)


def panda() -> rd.RobotModel:
    """The Panda of the touches, with its hand."""
    return model("panda/panda_gaz.urdf").replace(payload=HAND)


@cache
def panda_touches() -> tuple[Recording, ...]:
    """235 recordings of a Panda that stands still and is touched by hand."""
    with NpzFile(FOLDER / "panda" / "touches.npz", allow_pickle=False) as file:
        return tuple(_touches(key, file[key]) for key in file.files)


def _touches(key: str, raw: Array) -> Recording:
    t, q, qd, tau = raw[0] * 1e-4, raw[1:8].T * 1e-6, raw[8:15].T * 1e-5, raw[15:22].T * 1e-3
    edges = np.flatnonzero(np.diff(np.concatenate([[0], raw[29] > 0, [0]])))
    touches = [(float(t[a]), float(t[min(b, t.size - 1)])) for a, b in edges.reshape(-1, 2)]
    log = rd.Log(t, q, qd, tau, key)
    return Recording(key, log, int(key[4]), key.split("_")[2], touches, raw[22:29].T * 1e-3)


def panda_in_motion() -> list[Recording]:
    """The excitation of 21 s at 1 kHz, and the bag at 30 Hz; both without a hand."""
    path = FOLDER / "panda" / "exciting_1khz.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    table = table[np.diff(table[:, 0], prepend=-np.inf) > 0.0]
    fast = rd.Log(table[:, 0], table[:, 1:8], table[:, 8:15], table[:, 15:22], path.stem)
    names = [f"fer_joint{k}" for k in range(1, 8)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.LogWarning)
        slow = rd.read_bag(FOLDER / "panda" / "panda_exciting_trajectory.db3", names)
    return [Recording("1 kHz", fast), Recording("30 Hz", slow)]


def fr3() -> list[Recording]:
    """Two free runs of an FR3 with its hand, teleoperated."""
    found = []
    for path in sorted((FOLDER / "fr3").glob("*.npy")):
        with path.open("rb") as file:
            table = np.lib.format.read_array(file, allow_pickle=False)
        t = 1e-9 * (table[:, 0] - table[0, 0])
        log = rd.Log(t, table[:, 1:8], table[:, 8:15], table[:, 15:22], path.stem)
        found.append(Recording(path.stem[16:31], log, external=-table[:, 22:29]))
    return found


def med7() -> Recording:
    """Free motion of an LBR Med 7: fresh samples of a recorder that repeats them."""
    columns = []
    for name in ("positions", "velocities", "efforts"):
        with gzip.open(FOLDER / "kuka_med7" / f"joint_states_{name}.csv.gz", "rt") as file:
            rows = csv.reader(file)
            head = next(rows)
            table = np.array([[float(x) for x in row] for row in rows if len(row) == len(head)])
        order = [head.index(f"lbr_joint_{k}") for k in range(7)]
        columns.append((table[:, 0], table[:, order]))
    (t, q), (_, qd), (_, tau) = columns
    rows = min(len(x) for _, x in columns)
    t, q, qd, tau = t[:rows], q[:rows], qd[:rows], tau[:rows]
    fresh = np.concatenate([[True], np.any(np.diff(tau, axis=0) != 0.0, axis=1)])
    fresh &= np.diff(t, prepend=-np.inf) > 0.0
    t = t[fresh] - t[0]
    return Recording("free motion", rd.Log(t, q[fresh], qd[fresh], tau[fresh], "med7"))


def ur3() -> Recording:
    """Free motion of a UR3, from a ROS 1 bag."""
    from rosbags.highlevel import AnyReader

    t, rows = [], []
    with AnyReader([FOLDER / "ur3" / "id1.bag"]) as bag:
        chosen = [c for c in bag.connections if c.topic == "/arm"]
        for connection, _, data in bag.messages(chosen):
            message = bag.deserialize(data, connection.msgtype)
            order = [list(message.name).index(name) for name in UR3_JOINTS]
            stamp = message.header.stamp
            t.append(stamp.sec + 1e-9 * stamp.nanosec)
            rows.append([np.asarray(getattr(message, name))[order] for name in STATE])
    times, table = np.array(t), np.array(rows)
    kept = np.diff(times, prepend=-np.inf) > 0.0
    times, table = times[kept] - times[0], table[kept]
    return Recording("id1", rd.Log(times, table[:, 0], table[:, 1], table[:, 2], "id1"))


def ur10() -> Recording:
    """Free excitation of a UR10, 125 Hz."""
    names = model("ur10/ur10.urdf").joint_names
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.LogWarning)
        log = rd.read_bag(FOLDER / "ur10" / "ur10_exciting_trajectory.db3", names)
    return Recording("excitation", log)


def as_torque(log: rd.Log, gains: Sequence[float] = UR10_GAINS) -> rd.Log:
    """The log of currents as one of torques."""
    return replace(log, tau=log.tau * np.array(gains))


def slopes(t: Array, q: Array, span: float = SLOPE_SPAN) -> Array:
    """Velocities (T, n) of positions by straight lines through `span` [s] before and after: stamps
    are times of receipt, which differences of neighbours would follow.
    """
    first, last = np.searchsorted(t, t - span), np.searchsorted(t, t + span, side="right")
    qd = np.zeros_like(q)
    for k in range(t.size):
        rows = slice(int(first[k]), int(last[k]))
        qd[k] = np.polyfit(t[rows] - t[k], q[rows], 1)[0]
    return qd


def ur10_dummy(names: Sequence[str] = DUMMY_RUNS) -> list[Recording]:
    """A UR10 whose joint 1 turns slowly and runs into a forearm dummy; effort is a current [A]."""
    found = []
    for name in names:
        path = FOLDER / "ur10" / "nist_collisions" / f"{name}.csv"
        table = np.genfromtxt(path, delimiter=",", usecols=range(19))
        table = table[np.isfinite(table).all(axis=1)]
        table = table[np.diff(table[:, 0], prepend=-np.inf) > 0.0]
        t, q = 1e-3 * (table[:, 0] - table[0, 0]), np.radians(table[:, 1:7])
        log = rd.Log(t, q, slopes(t, q), table[:, 13:19], name)
        found.append(Recording(name, log))
    return found
