"""Picture of how the evidence for the cause of a contact grows: docs/images/faults.png.

python benchmark/fault_pictures.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import fault_runs as runs
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from fault_runs import BEFORE, Case

import robodyn_ros as rd
from robodyn_ros.detection.faults.race import CAUSES
from robodyn_ros.sensing.effort_settings import EffortSettings

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "faults.png"
COLOURS = ("#1b263b", "#1d7874", "#ee6c4d", "#7d83ff", "#b08900", "#8d0801", "#6c757d")
SHOWN = (
    ("a push, torque commanded", Case("collision", "lwr_iii", 0, 3, True)),
    ("2.9 kg gripped, torque measured", Case("payload", "lwr_iii", 0, 1, False)),
    ("effort reversed", Case("effort_sign", "lwr_iii", 0, 200009, False)),
    ("drive with an offset", Case("bias", "kuka_lwr4", 1, 300004, True)),
)
SPAN = (-0.3, 2.0)  # [s] about the onset


def draw(axes, text: str, case: Case) -> None:
    """Draw the residual over its thresholds and the probability of each cause."""
    limit = np.array(runs.thresholds(case.robot, case.commanded))
    log, what = runs.simulate(case, limit)
    model = runs.known(case.robot, case.arm, case.commanded)
    effort = EffortSettings(side="motor" if case.commanded else "link")
    found = rd.detect(
        model, rd.Log(*log), runs.settings_of(case), commanded=case.commanded, effort=effort
    )
    upper, lower = axes
    share = np.abs(found.r) / limit
    for k in range(model.n):
        upper.plot(found.t - BEFORE, share[:, k], linewidth=0.8)
    upper.axhline(1.0, color="#444444", linewidth=0.8, linestyle="--")
    where = f", {what.joint}" if case.kind not in ("collision", "payload") else ""
    upper.set(title=text + where, yscale="log", ylim=(0.1, 3.0 * share.max()))
    rows, chances = found.cases.decisions()
    chances = np.where(chances.sum(axis=1, keepdims=True) > 0.0, chances, np.nan)
    for j, name in enumerate(CAUSES):
        lower.step(
            found.t[rows] - BEFORE, chances[:, j], COLOURS[j], where="post", label=name, lw=1.6
        )
    lower.set(xlim=SPAN, ylim=(-0.03, 1.03), xlabel="time after the onset [s]")
    for one in axes:
        one.grid(alpha=0.25)


def main() -> None:
    figure, axes = plt.subplots(2, len(SHOWN), figsize=(15.0, 5.2), sharex=True)
    for k, (text, case) in enumerate(SHOWN):
        draw(axes[:, k], text, case)
    axes[0, 0].set_ylabel("|residual| / threshold")
    axes[1, 0].set_ylabel("probability")
    axes[1, 0].legend(fontsize=7)
    figure.tight_layout()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGE
    figure.savefig(path, dpi=90)
    print(path)


if __name__ == "__main__":
    main()
