"""Draw the pictures of trajectories and of reactions to a collision again.

python docs/control_figures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from robodyn_ros.trajectory.joint_move import joint_move
from robodyn_ros.trajectory.profiles import NAMES

COLOURS = ("#1b263b", "#1d7874", "#ee6c4d", "#7d83ff")  # position and its derivatives
LABELS = ("position [rad]", "velocity [rad/s]", "acceleration [rad/s²]", "jerk [rad/s³]")
# One joint goes 1 rad with these limits, as fast as each profile can.
VELOCITY, ACCELERATION = 1.5, 6.0


def profiles(folder: Path) -> Path:
    """Every profile in its minimum time, one column each: position to jerk, limits dashed."""
    figure, grid = plt.subplots(4, len(NAMES), figsize=(16.0, 7.5), sharex=True, sharey="row")
    for column, name in zip(grid.T, NAMES, strict=True):
        limits = {"qd_max": VELOCITY}
        if name != "linear":
            limits["qdd_max"] = ACCELERATION
        move = joint_move([0.0], [1.0], profile=name, **limits)
        draw_motion(column, move)
        column[0].set_title(f"{name.replace('_', ' ')}\n{move.duration:.3f} s")
        column[-1].set_xlabel("time [s]")
    for axes, label in zip(grid[:, 0], LABELS, strict=True):
        axes.set_ylabel(label)
    return _save(figure, folder / "profiles.png")


def draw_motion(column, move):
    """Four panels of one move, from a little before to a little after: at rest at both ends."""
    t = np.linspace(-0.1, move.duration + 0.1, 2000)
    for axes, values, colour in zip(column, move.at(t), COLOURS, strict=True):
        axes.plot(t, values[:, 0], color=colour)
        axes.grid(alpha=0.25)
    for axes, bound in ((column[1], VELOCITY), (column[2], ACCELERATION)):
        for side in (-bound, bound):
            axes.axhline(side, color="grey", linestyle="--", linewidth=0.8)


def _save(figure, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (profiles,):
        print(draw(folder))


if __name__ == "__main__":
    main()
