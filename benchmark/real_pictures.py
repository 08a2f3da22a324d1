"""Pictures of the recordings of real arms: docs/images/real_*.png."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import real_dummy
import real_motion
import real_touches
import real_ur10e
import recorded_arms
from rich.console import Console

import robodyn_ros as rd

FOLDER = Path(__file__).parents[1] / "docs" / "images"
DARK, TEAL, ORANGE, PALE = "#1b263b", "#1d7874", "#ee6c4d", "#7d83ff"
SHOWN = ("link6_", "link3_", "link1_")  # recordings of these links are drawn
GAIN = 20.0  # [1/s], of the observer that draws effort against torque
EVERY = 8  # of so many recordings one is tuned on, for a picture
LAST = 1.0  # [s] before the dummy stops the arm


def save(figure: plt.Figure, name: str, folder: Path) -> Path:
    """Write a picture and let go of it."""
    figure.tight_layout()
    path = folder / f"real_{name}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def touches(folder: Path) -> Path:
    """Residual, labels and events of a firm, a middling and a faint touch."""
    robot, recordings = recorded_arms.panda(), recorded_arms.panda_touches()
    figure, rows = plt.subplots(len(SHOWN), 1, figsize=(9.0, 7.2))
    chosen = [next(x for x in recordings if x.name.startswith(name)) for name in SHOWN]
    for axes, recording in zip(rows, chosen, strict=True):
        known = [x for x in recordings if x.posture != recording.posture][::EVERY]
        found = rd.detect(robot, recording.log, real_touches.tuned(robot, known))
        size = np.abs(found.r).max(axis=1)
        axes.plot(found.t, size, color=DARK, linewidth=0.9, label="largest residual")
        for k, (begin, end) in enumerate(recording.touches):
            text = "label: touched" if k == 0 else None
            axes.axvspan(begin, end, color=PALE, alpha=0.3, linewidth=0, label=text)
        height = 1.08 * size.max()
        for k, event in enumerate(found.events):
            text = "contact detected" if k == 0 else None
            axes.plot([event.start, event.end], [height, height], ORANGE, linewidth=4, label=text)
        axes.set(title=f"Panda touched on link {recording.link}", ylabel="[N m]")
        axes.set_xlim(found.t[0], found.t[-1])
        axes.grid(alpha=0.25)
    rows[0].legend(loc="upper left", fontsize=8)
    rows[-1].set_xlabel("time [s]")
    return save(figure, "panda_touches", folder)


def motion(folder: Path) -> Path:
    """An FR3 in motion that it was not tuned on: the score stays below 1, a push of 12 N not."""
    model, runs = recorded_arms.model("fr3/fr3_hand.urdf"), recorded_arms.fr3()
    settings, log = rd.tune(model, [runs[0].log]), runs[1].log
    onset = float(log.t[0] + 0.6 * np.ptp(log.t))
    pushed = real_motion.with_force(log, model, onset, np.array([0.0, 0.0, -12.0]))
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(9.0, 5.6), sharex=True)
    upper.plot(log.t, log.qd, linewidth=0.8)
    upper.set(title="FR3, unseen run, with a force of 12 N from the dashed line on")
    upper.set_ylabel("velocities [rad/s]")
    for text, one, colour in (("free", log, TEAL), ("pushed", pushed, ORANGE)):
        found = rd.detect(model, one, settings)
        lower.plot(found.t, np.abs(found.r).max(axis=1), color=colour, linewidth=0.9, label=text)
        for event in found.events:
            lower.axvspan(event.start, event.end, color=colour, alpha=0.15, linewidth=0)
    for axes in (upper, lower):
        axes.axvline(onset, color=DARK, linestyle="--", linewidth=0.9)
        axes.grid(alpha=0.25)
    lower.set(xlabel="time [s]", ylabel="largest residual [N m]")
    lower.legend(loc="upper left", fontsize=8)
    return save(figure, "fr3", folder)


def efforts(folder: Path) -> Path:
    """Effort against the torque that the motion takes: the slope is the scale."""
    arms = (
        (
            "Med 7: sign reversed",
            recorded_arms.model("kuka_med7/med7dock.urdf"),
            recorded_arms.med7(),
        ),
        (
            "UR3: sign reversed, times 1.6",
            recorded_arms.model("ur3/ur3.urdf"),
            recorded_arms.ur3(),
        ),
        ("FR3: right", recorded_arms.model("fr3/fr3_hand.urdf"), recorded_arms.fr3()[0]),
    )
    figure, columns = plt.subplots(1, len(arms), figsize=(11.0, 3.9))
    for axes, (title, model, recording) in zip(columns, arms, strict=True):
        log = recording.log
        found = rd.detect(model, log, rd.MonitorSettings(gain=(GAIN,)))
        effort = rd.low_pass(log.t, log.tau, GAIN / (2.0 * np.pi))
        takes = effort + found.r
        for joint, colour in ((1, TEAL), (2, ORANGE), (3, PALE)):
            every = slice(200, None, max(1, log.t.size // 1500))
            axes.plot(
                takes[every, joint], effort[every, joint], ".", color=colour, markersize=2,
                label=f"joint {joint + 1}",
            )  # fmt: skip
        reach = np.array([np.percentile(takes[:, 1:4], 1), np.percentile(takes[:, 1:4], 99)])
        axes.plot(reach, reach, color=DARK, linewidth=0.9, label="a torque")
        axes.set(title=title, xlabel="torque that the motion takes [N m]")
        axes.grid(alpha=0.25)
    columns[0].set_ylabel("effort as reported")
    columns[0].legend(fontsize=8, markerscale=4)
    return save(figure, "effort", folder)


def dummy(folder: Path) -> Path:
    """The torque of joint 1 of a UR10 that runs into a forearm dummy: the last moments."""
    model, runs = recorded_arms.model("ur10/ur10.urdf"), recorded_arms.ur10_dummy()
    figure, rows = plt.subplots(len(runs), 1, figsize=(9.0, 8.0))
    for axes, run in zip(rows, runs, strict=True):
        log = recorded_arms.as_torque(run.log)
        settings = rd.tune(model, [real_dummy.free_part(x) for x in runs if x is not run])
        axes.plot(log.t, log.tau[:, 0], color=DARK, linewidth=0.8, label="torque of joint 1")
        for k, event in enumerate(rd.detect(model, log, settings).events):
            text = "contact detected" if k == 0 else None
            axes.axvspan(event.start, event.end, color=ORANGE, alpha=0.4, linewidth=2, label=text)
        stop = real_dummy.stop_of(log)
        axes.axvline(stop, color=TEAL, linestyle="--", label="motion stops")
        axes.set(
            title=f"UR10, run {run.name}", ylabel="[N m]", xlim=(stop - LAST, stop + LAST / 5)
        )
        axes.grid(alpha=0.25)
    rows[-1].set_xlabel("time [s]")
    rows[-1].legend(fontsize=8, loc="upper left")
    return save(figure, "ur10_dummy", folder)


def ur10e(folder: Path) -> Path:
    """A UR10e: an unseen free motion, which is quiet, and four pushes by hand."""
    known = [real_ur10e.read(real_ur10e.EXCITING, real_ur10e.MOTION)]
    model = rd.identify(recorded_arms.model("ur10e/ur10e.urdf"), known).model
    names = real_ur10e.free_names()
    unseen = next(name for name in names if "harm" in name and name != real_ur10e.EXCITING)
    settings = rd.tune(model, [real_ur10e.read(name) for name in names if name != unseen])
    figure, rows = plt.subplots(2, 1, figsize=(9.0, 5.6))
    titles = {unseen: "UR10e, unseen free motion", real_ur10e.PUSHED: "UR10e, pushed by hand"}
    for axes, (name, title) in zip(rows, titles.items(), strict=True):
        log = real_ur10e.read(name)
        found = rd.detect(model, log, settings)
        t = found.t - found.t[0]
        for joint, colour in ((0, TEAL), (1, ORANGE), (2, PALE)):
            axes.plot(
                t, found.r[:, joint], color=colour, linewidth=0.8, label=f"joint {joint + 1}"
            )
        for k, event in enumerate(found.events):
            span = event.start - found.t[0], event.end - found.t[0]
            text = "contact detected" if k == 0 else None
            axes.axvspan(*span, color=DARK, alpha=0.15, linewidth=0, label=text)
        axes.set(title=title, ylabel="residual [N m]", xlim=(t[0], t[-1]))
        axes.grid(alpha=0.25)
    rows[-1].legend(fontsize=8, loc="upper right", ncols=4)
    rows[-1].set_xlabel("time [s]")
    return save(figure, "ur10e", folder)


DRAWN = {
    touches: real_touches.NEEDS,
    motion: ("fr3/fr3_hand.urdf",),
    efforts: ("kuka_med7", "ur3", "fr3"),
    dummy: real_dummy.NEEDS,
    ur10e: real_ur10e.NEEDS,
}


def draw_all(console: Console, folder: Path = FOLDER) -> Iterator[Path]:
    """Draw every picture whose recordings are there."""
    for draw, files in DRAWN.items():
        why = recorded_arms.missing(*files)
        if why:
            console.print(f"picture '{draw.__name__}' skipped: {why}")
        else:
            yield draw(folder)


if __name__ == "__main__":
    for path in draw_all(Console(), Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER):
        print(path)
