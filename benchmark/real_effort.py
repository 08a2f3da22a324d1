"""Arms whose effort is no torque: reversed sign, wrong scale, currents. It must be told."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import recorded_arms
from real_figures import RealFigure
from rich.console import Console

import robodyn_ros as rd

KINDS = ("effort_scale", "effort_sign")
LATEST = 1.0  # [s] of motion with two loaded joints, within which it must be told


def faults(found: rd.Detection) -> list[tuple[float, rd.Fault, str]]:
    """Time [s] since the start, fault and cause of every sample whose effort is called wrong."""
    rows = []
    for k in range(found.t.size):
        verdict = found.verdict(k) if found.level[k] == rd.Level.UNKNOWN else None
        if verdict and verdict.fault and verdict.fault.kind in KINDS:
            rows.append((float(found.t[k] - found.t[0]), verdict.fault, verdict.cause))
    return rows


def reversed_arms() -> Iterator[tuple[str, rd.RobotModel, rd.Log]]:
    """The arms whose effort has the wrong sign."""
    if not recorded_arms.missing("kuka_med7"):
        model = recorded_arms.model("kuka_med7/med7dock.urdf")
        yield "Med 7", model, recorded_arms.med7().log
    if not recorded_arms.missing("ur3"):
        yield "UR3", recorded_arms.model("ur3/ur3.urdf"), recorded_arms.ur3().log


def right_arms() -> Iterator[tuple[str, rd.RobotModel, rd.Log]]:
    """Recordings whose effort is a torque."""
    if not recorded_arms.missing("panda"):
        model = recorded_arms.model("panda/panda_gaz.urdf")
        for recording in recorded_arms.panda_in_motion():
            yield f"Panda {recording.name}", model, recording.log
        for recording in recorded_arms.panda_touches():
            yield f"Panda {recording.name}", recorded_arms.panda(), recording.log
    if not recorded_arms.missing("fr3"):
        for recording in recorded_arms.fr3():
            model = recorded_arms.model("fr3/fr3_hand.urdf")
            yield f"FR3 {recording.name}", model, recording.log
    if not recorded_arms.missing("ur10"):
        model = recorded_arms.model("ur10/ur10.urdf")
        yield "UR10", model, recorded_arms.ur10().log
        for recording in recorded_arms.ur10_dummy():
            yield f"UR10 {recording.name}", model, recorded_arms.as_torque(recording.log)


def figures(console: Console, quick: bool) -> list[RealFigure]:
    """The figures of the table."""
    rows = []
    for arm, model, log in reversed_arms():
        found = rd.detect(model, log)
        told = faults(found)
        moving = np.abs(log.qd).max(axis=1) > 0.05
        moves = float(log.t[np.argmax(moving)] - log.t[0])
        value = float(np.median([fault.value or 0.0 for _, fault, _ in told])) if told else 0.0
        good = bool(told) and all("effort.gain" in cause for _, _, cause in told) and value < 0.0
        kind = told[0][1].kind if told else "not told"
        note = f"{told[0][0] - moves:.1f} s after the first motion; {told[-1][2]}" if told else ""
        text = f"{kind} {value:.2f}"
        rows.append(RealFigure(f"{arm}: reversed sign", text, "told", good, note, "computed with"))
    wrong, count = [], 0
    for name, model, log in list(right_arms())[:: 5 if quick else 1]:
        count += 1
        if faults(rd.detect(model, log)):
            wrong.append(name)
    if count:
        note = f"{count} recordings with torque {', '.join(wrong)}".strip()
        rows.append(
            RealFigure("right sign and scale: called wrong", f"{len(wrong)}", "0", not wrong, note)
        )
    return rows
