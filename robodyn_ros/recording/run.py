"""Run: a recorded motion, the torque applied and, where there is one, reference and truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..identification.csv_log import ColumnMap, drive_gains, read_csv
from ..model.robot import RobotModel
from .bag_reader import Bag, Progress, quiet
from .joint_states import TYPE, JointSeries

Array = npt.NDArray[np.float64]
Span = tuple[float, float]  # [s], from when to when

COMMANDS = "std_msgs/msg/Float64MultiArray"
SHORTEST = 50  # samples
EFFORTS = ("auto", "joint_states", "command")


@dataclass(frozen=True)
class Sources:
    """Where a bag keeps what: full names of topics, or how they end."""

    states: str = "joint_states"
    commands: str = "effort_controller/commands"
    truth: str = "simulator_node/external_torque"
    reference: str = "controller_node/reference"
    effort: str = "auto"  # joint_states, command, or the first of these that the bag has

    def __post_init__(self) -> None:
        if self.effort not in EFFORTS:
            raise ArgumentError(f"effort must be one of {', '.join(EFFORTS)}, got {self.effort!r}")


@dataclass(frozen=True, eq=False)
class Run:
    """Samples of one arm, t = 0 at the first."""

    name: str
    t: Array  # (T,) [s]
    q: Array  # (T, n) [rad or m]
    qd: Array  # [rad/s or m/s]
    tau: Array  # [N m or N], applied during the step that ends with the sample
    effort: str  # where tau comes from
    start: float = 0.0  # [s], the stamp of t = 0
    received: npt.NDArray[np.int64] | None = None  # (T,) [ns], when a bag got them
    bad_before: npt.NDArray[np.int64] | None = None  # 1 where samples before were cut out
    states_topic: str = "/joint_states"
    truth: tuple[Array, Array] | None = None  # times, and external torques (T', n) [N m or N]
    reference: tuple[Array, Array] | None = None  # times, and wanted positions (T', n)
    remarks: list[str] = field(default_factory=list)  # what was odd

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self.t[-1] - self.t[0])

    @property
    def rate(self) -> float:
        """[Hz], the usual one."""
        return float(1.0 / np.median(np.diff(self.t)))


def read_table(
    path: Path, model: RobotModel, columns: str | None, gains: Sequence[float] | None
) -> Run:
    """A run from a CSV file; columns as 't=0 q=1-6 qd=7-12 tau=13-18', or names in its head."""
    n = model.n
    usual = f"t=0 q=1-{n} qd={n + 1}-{2 * n} tau={2 * n + 1}-{3 * n}"
    log = read_csv(path, ColumnMap.parse(columns or usual), gains=gains)
    if log.n != n:
        raise ArgumentError(
            f"the columns of '{path}' are those of {log.n} joints, but {model.name} has {n}: "
            f"{', '.join(model.joint_names)}"
        )
    t = log.t - log.t[0]
    return Run(path.stem, t, log.q, log.qd, log.tau, "columns", start=float(log.t[0]))


def read_run(
    bag: Bag,
    model: RobotModel,
    sources: Sources | None = None,
    gains: Sequence[float] | None = None,
    progress: Progress = quiet,
) -> Run:
    """A run from a bag; gains [N m/A] turn efforts that are currents into torques."""
    sources = sources or Sources()
    topic = bag.demand(sources.states, TYPE)
    states = bag.joint_series(topic, model.joint_names, progress)
    tau, effort = _torque(bag, model, sources, states)
    t, remarks = _times(states)
    kept = np.isfinite(states.position).all(axis=1) & np.isfinite(tau).all(axis=1)
    kept &= np.diff(t, prepend=-np.inf) != 0.0  # the same sample twice
    if kept.sum() < SHORTEST:
        raise ArgumentError(
            f"{topic} in '{bag.path}' has {int(kept.sum())} samples with position and torque of "
            f"all joints; {SHORTEST} at least are needed"
        )
    if not kept.all():
        remarks.append(f"{int((~kept).sum())} samples repeat or are not whole: left out")
    q, qd = _motion(model, t[kept], states.position[kept], states.velocity[kept], remarks)
    before = np.concatenate([[False], ~kept])[:-1]  # the sample before was cut out
    zero = float(t[kept][0])
    return Run(
        bag.path.stem,
        t[kept] - zero,
        q,
        qd,
        np.ascontiguousarray(tau[kept]) * drive_gains(gains, model.n),
        effort,
        zero,
        states.received[kept],
        before[kept].astype(np.int64),
        topic,
        _beside(bag, model, sources.truth, "effort", zero),
        _beside(bag, model, sources.reference, "position", zero),
        remarks,
    )


def _times(states: JointSeries) -> tuple[Array, list[str]]:
    """The stamps, or where there are none the times of recording."""
    if states.t.any():
        return states.t, []
    return np.asarray(1e-9 * states.received, np.float64), [
        "stamps are 0: the times of recording are taken"
    ]


def _torque(
    bag: Bag, model: RobotModel, sources: Sources, states: JointSeries
) -> tuple[Array, str]:
    """The torque applied before each sample, and where it was found."""
    reported = bool(np.isfinite(states.effort).all(axis=1).any())
    topic = bag.find(sources.commands, COMMANDS)
    wanted = sources.effort
    if wanted == "auto":
        wanted = "joint_states" if reported or topic is None else "command"
    if wanted == "joint_states":
        if not reported:
            raise ArgumentError(
                f"the joint states in '{bag.path}' have no effort, and there are no commands "
                f"(topic '{sources.commands}'); it has {bag.listing()}"
            )
        return states.effort, wanted
    times, rows = bag.number_rows(bag.demand(sources.commands, COMMANDS), model.n)
    last = np.searchsorted(times, states.received, side="left") - 1
    tau = np.clip(rows[np.maximum(last, 0)], -model.tau_max, model.tau_max)
    tau[last < 0] = np.nan  # no command had come
    return tau, wanted


def _motion(
    model: RobotModel, t: Array, q: Array, qd: Array, remarks: list[str]
) -> tuple[Array, Array]:
    """Positions without whole turns, and velocities, by differences where there are none."""
    endless = np.isinf(model.q_min) & np.isinf(model.q_max)
    if endless.any():
        q = np.where(endless, np.unwrap(q, axis=0), q)
    missing = np.asarray(~np.isfinite(qd).all(axis=1))
    if missing.any():
        remarks.append("no velocities: they are differences of positions")
        dt = np.diff(t, prepend=t[0] - 1.0)
        steps = np.diff(q, axis=0, prepend=q[:1]) / np.where(dt > 0.0, dt, np.inf)[:, None]
        qd = np.where(missing[:, None], steps, qd)
    return np.ascontiguousarray(q), np.ascontiguousarray(qd)


def _beside(
    bag: Bag, model: RobotModel, name: str, what: str, zero: float
) -> tuple[Array, Array] | None:
    """Times and numbers of another topic of joint states, if the bag has it."""
    topic = bag.find(name, TYPE)
    if topic is None:
        return None
    series = bag.joint_series(topic, model.joint_names)
    values: Any = getattr(series, what)
    kept = np.isfinite(values).all(axis=1)
    return (series.t[kept] - zero, values[kept]) if kept.any() else None
