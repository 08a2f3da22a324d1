"""How fast residual and flags of a recording are, as a multiple of real time.

    python benchmark/offline_residual.py [--quick] [--json FILE] [--check]

Ten minutes of a seven-joint arm at 1 kHz (one minute with --quick), already read: `rd.detect`
judges the samples and runs the monitor's compiled step over them; the best of several runs in
turns. Beside it the same by `ContactMonitor`, sample by sample as the node does it; from bag to
events, as `robodyn detect` does it for each recording, and reading the bag alone. Multiples are by
the processor's time, that is per core; those by the clock stand beside them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figures import Figure, figures_table, finish
from figures import options as arguments_of
from rich.console import Console

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.recording import node_yaml
from robodyn_ros.recording.bags import BagWriter, open_bag
from robodyn_ros.recording.command import AnalysisOptions
from robodyn_ros.recording.fleet import outcome_of
from robodyn_ros.recording.joint_states import TYPE, serialized
from robodyn_ros.recording.node_yaml import NodeParameters
from robodyn_ros.recording.run import Sources, read_samples

Array = np.ndarray

RATE = 1000.0  # [Hz]
BAR = 1000.0
TURNS = 5
PUSH_EVERY, PUSH_TIME, PUSH = 60.0, 0.3, 8.0  # [s], [s], [N m]
MONITORED = 5000  # samples, of which one by one there are enough
FIXED = ThresholdSettings((2.0,))
MOVING = ThresholdSettings((2.0,), (0.3,), (0.3,), (0.1,))


def recording(model: rd.RobotModel, seconds: float) -> tuple[Array, Array, Array, Array]:
    """Times, positions, velocities and noisy torques of a swinging arm."""
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 0.4 + 0.2 * np.arange(model.n)
    angle = t[:, None] * w
    q, qd, qdd = 0.5 * np.sin(angle), 0.5 * w * np.cos(angle), -0.5 * w**2 * np.sin(angle)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    tau += np.random.default_rng(0).normal(size=q.shape)
    tau[t % PUSH_EVERY > PUSH_EVERY - PUSH_TIME, 2] -= PUSH
    return t, q, qd, tau


def best(*works: Callable[[], object]) -> list[tuple[float, float]]:
    """[s]: the shortest time of each, on the wall and of the processor, taken in turns."""
    times: list[list[tuple[float, float]]] = [[] for _ in works]
    for _ in range(TURNS):
        for kept, work in zip(times, works, strict=True):
            wall, processor = time.perf_counter(), time.thread_time()
            work()
            kept.append((time.perf_counter() - wall, time.thread_time() - processor))
    return [(min(w for w, _ in kept), min(p for _, p in kept)) for kept in times]


def by_samples(model: rd.RobotModel, log: tuple[Array, ...], settings: MonitorSettings) -> None:
    """The node's way."""
    monitor = ContactMonitor(model, settings)
    for t, q, qd, tau in zip(*(x[:MONITORED] for x in log), strict=True):
        monitor.update(rd.Sample(t, 1.0 / RATE, q, qd, tau, rd.Status.OK))


def write(path: Path, model: rd.RobotModel, log: tuple[Array, ...]) -> None:
    """Write the joint states as a bag (MCAP)."""
    t, *fields = log
    when = np.round(t * 1e9).astype(np.int64)
    with BagWriter(path) as out:
        out.add("/joint_states", TYPE)
        template = out.joint_state(model.joint_names, *(np.zeros((3, model.n))))
        for k, raw in zip(when.tolist(), serialized(template, when, *fields), strict=True):
            out.write("/joint_states", k, raw)


def read(path: Path, model: rd.RobotModel) -> None:
    """Read the samples of a bag."""
    with open_bag(path) as bag:
        read_samples(bag, model, Sources())


def main() -> None:
    """Measure, show, check."""
    arguments = arguments_of(__doc__ or "").parse_args()
    seconds = 60.0 if arguments.quick else 600.0
    model = rd.robots.lwr_iii()
    log = recording(model, seconds)
    whole = rd.Log(*log)
    settings = [MonitorSettings(contact=x, collision=x) for x in (FIXED, MOVING)]
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder, "run")
        write(bag, model, log)
        params = Path(folder, "params.yaml")
        params.write_text(node_yaml.text(NodeParameters({}, "joint_states", settings[0])))
        options = AnalysisOptions(bag, robot="lwr_iii", params=params)
        outcome = outcome_of(options)
        fixed, moving, (single, _), from_bag, alone = best(
            *(lambda s=s: rd.detect(model, whole, s) for s in settings),
            lambda: by_samples(model, log, settings[0]),
            lambda: outcome_of(options),
            lambda: read(bag, model),
        )
    one_by_one = single * log[0].size / MONITORED
    what = f"{seconds:g} s at 1 kHz, 7 joints"
    pushes = f"{what}, {len(outcome.events)} events"
    figures = [
        Figure(
            name,
            f"{seconds / processor:,.0f} x real time",
            f">= {BAR:,.0f}",
            seconds / processor >= BAR,
            f"{about}; by the clock {seconds / wall:,.0f} x",
        )
        for name, about, (wall, processor) in (
            ("residual and flags, fixed thresholds", what, fixed),
            ("residual and flags, thresholds that move", what, moving),
            ("from bag to events", pushes, from_bag),
        )
    ]
    figures.append(
        Figure(
            "the same sample by sample",
            f"{seconds / one_by_one:,.0f} x real time",
            "(none)",
            True,
            f"{one_by_one / fixed[0]:.0f} times longer",
        )
    )
    figures.append(
        Figure(
            "reading the bag alone", f"{seconds / alone[1]:,.0f} x real time", "(none)", True, what
        )
    )
    Console().print(figures_table(figures, "offline residual"))
    finish(figures, arguments)


if __name__ == "__main__":
    main()
