"""An excitation written out: for a robot's own controller, a spreadsheet, or a ROS 2 topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ArgumentError
from .excitation import Excitation


def write_motion(
    motion: Excitation, joint_names: Sequence[str], path: str | PathLike[str], rate: float = 100.0
) -> None:
    """The motion every 1 / rate [s], to the end: a table if the file is called .csv, a
    trajectory_msgs/JointTrajectory if it is called .yaml or .yml.
    """
    if not 0.0 < rate < np.inf:
        raise ArgumentError(f"rate must be positive and finite [Hz], got {rate!r}")
    target = Path(path)
    kinds = {".csv": _csv, ".yaml": _yaml, ".yml": _yaml}
    if target.suffix not in kinds:
        raise ArgumentError(f"'{target}' must end in .csv or .yaml, to say what to write")
    t = np.linspace(0.0, motion.duration, round(motion.duration * rate) + 1)
    try:
        target.write_text(kinds[target.suffix](motion, joint_names, t), encoding="utf-8")
    except OSError as reason:
        raise ArgumentError(f"cannot write '{target}': {reason.strerror}") from None


def _csv(motion: Excitation, joint_names: Sequence[str], t: np.ndarray) -> str:
    q, qd, qdd, _ = motion.at(t)
    names = ["t", *(f"{what}_{joint}" for what in ("q", "qd", "qdd") for joint in joint_names)]
    table = np.round(np.column_stack([t, q, qd, qdd]), 9) + 0.0  # no -0
    rows = (",".join(f"{x:.9g}" for x in row) for row in table)
    return "\n".join([",".join(names), *rows]) + "\n"


def _yaml(motion: Excitation, joint_names: Sequence[str], t: np.ndarray) -> str:
    lines = [f"joint_names: {json.dumps(list(joint_names))}", "points:"]
    for time, q, qd, qdd in zip(t, *motion.at(t)[:3], strict=True):
        sec, nanosec = divmod(round(1e9 * time), 10**9)
        lines += [
            f"- positions: {_numbers(q)}",
            f"  velocities: {_numbers(qd)}",
            f"  accelerations: {_numbers(qdd)}",
            f"  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}",
        ]
    return "\n".join(lines) + "\n"


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.9f}" for x in np.round(values, 9) + 0.0) + "]"
