"""A UR10 that runs into a forearm dummy at 3 to 7 deg/s: told before the motion stops.

Effort is a current; tuned on the free parts of the other runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import recorded_arms
from real_figures import RealFigure, todays_settings
from recorded_arms import Recording
from rich.console import Console

import robodyn_ros as rd

Array = np.ndarray
NEEDS = ("ur10/ur10.urdf", "ur10/nist_collisions")
FREE_END = 0.5  # [s] before the stop that are not called free
SMOOTH = 0.05  # [s], over which the speed of joint 1 is averaged
STOPPED = 0.3  # share of the usual speed below which the motion has stopped


@dataclass(frozen=True)
class DummyRun:
    """A run, when its motion stops, and what was told."""

    name: str
    stop: float  # [s]
    early: int  # alarms more than FREE_END before the stop
    told: float  # [s], the first contact after that; infinite: none


def stop_of(log: rd.Log) -> float:
    """The time [s] at which joint 1 comes to rest; the end if it does not."""
    t, q = log.t, log.q[:, 0]
    speed = np.abs(q - np.interp(t - SMOOTH, t, q)) / SMOOTH
    usual = np.median(speed[speed > 0.2 * np.percentile(speed, 90)])
    moving = np.flatnonzero(speed > STOPPED * usual)
    return float(t[moving[-1]])


def free_part(recording: Recording) -> rd.Log:
    """The motion before the dummy, as torque."""
    log = recorded_arms.as_torque(recording.log)
    return log.part(0, int(np.searchsorted(log.t, stop_of(log) - FREE_END)))


def judge(model: rd.RobotModel, run: Recording, settings: rd.MonitorSettings) -> DummyRun:
    """What the monitor tells of a run."""
    log = recorded_arms.as_torque(run.log)
    stop = stop_of(log)
    starts = [event.start for event in rd.detect(model, log, settings).events]
    early = sum(start < stop - FREE_END for start in starts)
    told = min((start for start in starts if start >= stop - FREE_END), default=np.inf)
    return DummyRun(run.name, stop, early, float(told))


def figures(console: Console, quick: bool) -> list[RealFigure]:
    """The figures of the table."""
    model, runs = recorded_arms.model("ur10/ur10.urdf"), recorded_arms.ur10_dummy()
    found: dict[str, list[DummyRun]] = {"today": [], "now": []}
    for run in runs:
        known = [free_part(x) for x in runs if x is not run]
        found["today"].append(judge(model, run, todays_settings(model, known)))
        found["now"].append(judge(model, run, rd.tune(model, known)))
    texts = []
    for rows in found.values():
        in_time = sum(x.told <= x.stop for x in rows)
        texts.append((f"{in_time} of {len(rows)}", f"{sum(x.early > 0 for x in rows)}"))
    note = ", ".join(f"{x.name} {1e3 * (x.stop - x.told):.0f} ms before" for x in found["now"])
    good = texts[1][0] == f"{len(runs)} of {len(runs)}"
    return [
        RealFigure(
            "UR10, forearm dummy: detected before the stop",
            texts[1][0],
            f"{len(runs)} of {len(runs)}",
            good,
            note,
            texts[0][0],
        ),
        RealFigure(
            "– runs with an alarm before", texts[1][1], "0", texts[1][1] == "0", "", texts[0][1]
        ),
    ]
