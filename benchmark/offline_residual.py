"""How fast residual and flags of a recording are, as a multiple of real time.

    python benchmark/offline_residual.py [--quick] [--json FILE] [--check]

Ten minutes of a seven-joint arm at 1 kHz (one minute with --quick), already read: `rd.detect`
judges the samples and runs the monitor's compiled step over them; the best of several runs in
turns. Beside it the same by `ContactMonitor`, sample by sample as the node does it, and reading a
bag.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from figures import Figure, figures_table, finish, options
from rich.console import Console

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.recording.bags import BagWriter, open_bag
from robodyn_ros.recording.joint_states import TYPE, serialized
from robodyn_ros.recording.run import Sources, read_samples

Array = np.ndarray

RATE = 1000.0  # [Hz]
BAR = 1000.0
TURNS = 5
MONITORED = 5000  # samples, of which one by one there are enough
FIXED = ThresholdSettings((1.0,))
MOVING = ThresholdSettings((1.0,), (0.3,), (0.3,), (0.1,))


def recording(model: rd.RobotModel, seconds: float) -> tuple[Array, Array, Array, Array]:
    """Times, positions, velocities and noisy torques of a swinging arm."""
    t = np.arange(0.0, seconds, 1.0 / RATE)
    w = 0.4 + 0.2 * np.arange(model.n)
    angle = t[:, None] * w
    q, qd, qdd = 0.5 * np.sin(angle), 0.5 * w * np.cos(angle), -0.5 * w**2 * np.sin(angle)
    noise = np.random.default_rng(0).normal(size=q.shape)
    return t, q, qd, rd.inverse_dynamics(model, q, qd, qdd) + noise


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


def reading(model: rd.RobotModel, log: tuple[Array, ...]) -> float:
    """[s], to read the joint states of a bag."""
    t, *fields = log
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run")
        when = np.round(t * 1e9).astype(np.int64)
        with BagWriter(path) as out:
            out.add("/joint_states", TYPE)
            template = out.joint_state(model.joint_names, *(np.zeros((3, model.n))))
            for k, raw in zip(when.tolist(), serialized(template, when, *fields), strict=True):
                out.write("/joint_states", k, raw)
        begun = time.perf_counter()
        with open_bag(path) as bag:
            read_samples(bag, model, Sources())
        return time.perf_counter() - begun


def main() -> None:
    """Measure, show, check."""
    arguments = options(__doc__ or "").parse_args()
    seconds = 60.0 if arguments.quick else 600.0
    model = rd.robots.lwr_iii()
    log = recording(model, seconds)
    whole = rd.Log(*log)
    settings = [MonitorSettings(contact=x, collision=x) for x in (FIXED, MOVING)]
    fixed, moving, (single, _) = best(
        *(lambda s=s: rd.detect(model, whole, s) for s in settings),
        lambda: by_samples(model, log, settings[0]),
    )
    one_by_one = single * log[0].size / MONITORED
    read = reading(model, log)
    what = f"{seconds:g} s at 1 kHz, 7 joints"
    figures = [
        Figure(
            f"residual and flags, {name}",
            f"{seconds / wall:,.0f} x real time",
            f">= {BAR:,.0f}",
            seconds / wall >= BAR,
            f"{what}: {1e3 * wall:.0f} ms, of the processor {1e3 * processor:.0f} ms",
        )
        for name, (wall, processor) in (
            ("fixed thresholds", fixed),
            ("thresholds that move", moving),
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
        Figure("reading the bag", f"{seconds / read:,.0f} x real time", "(none)", True, what)
    )
    Console().print(figures_table(figures, "offline residual"))
    finish(figures, arguments)


if __name__ == "__main__":
    main()
