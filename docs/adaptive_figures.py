"""Draw figures 4 and 5 of [LuMeng1993] again, and an LWR that learns what it has picked up.

python docs/adaptive_figures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from drawing import draw_all, save

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))
from adaptive import CHOSEN, CONTACT, TRUE, Story, paper_case, payload_story

COLOURS = ("#1b263b", "#1d7874", "#ee6c4d", "#7d83ff")
TITLES = {"lu_meng": "modified Slotine-Li (figure 4)", "craig": "Craig (figure 5)"}


def paper(folder: Path) -> Path:
    """One column per law: joints and their reference, tracking errors, estimated m4."""
    figure, grid = plt.subplots(3, 2, figsize=(11.0, 9.0), sharex=True, sharey="row")
    for (law, chosen), column in zip(CHOSEN.items(), grid.T, strict=True):
        run = paper_case(law)
        for k, colour in enumerate(COLOURS):
            column[0].plot(run.t, run.q[:, k], color=colour, label=f"joint {k + 1}")
            column[0].plot(run.t, run.q_d[:, k], color=colour, linestyle=":")
            column[1].plot(run.t, run.q[:, k] - run.q_d[:, k], color=colour)
        column[2].plot(run.t, run.mass, color=COLOURS[0])
        column[2].axhline(TRUE, color="grey", linestyle="--", linewidth=0.8)
        for axes in column:
            axes.grid(alpha=0.25)
        for axes, at in ((column[1], run.tracked_after), (column[2], run.found_after)):
            axes.axvline(at, color=COLOURS[2], linestyle=":", linewidth=1.0)
            axes.text(at + 0.03, 0.5, f"{at:.2f} s", transform=axes.get_xaxis_transform())
        column[0].set_title(f"{TITLES[law]}\nλ = {chosen.rate:g} 1/s, Γ = {chosen.gain:g} kg²/J")
        column[-1].set_xlabel("time [s]")
    grid[0, 0].legend(ncols=2, fontsize="small")
    labels = ("joints, dotted: wanted [rad]", "tracking error [rad]", "estimated m₄ [kg]")
    for axes, label in zip(grid[:, 0], labels, strict=True):
        axes.set_ylabel(label)
    return save(figure, folder / "adaptive_lu_meng.png")


def payload(folder: Path) -> Path:
    """Residual over threshold with the nominal and the adapted model, and the learnt mass."""
    story = Story()
    run = payload_story(story)
    figure, (top, middle, bottom) = plt.subplots(
        3, 1, figsize=(11.0, 8.0), sharex=True, height_ratios=(2, 2, 1)
    )
    rows = (
        (top, run.r_nominal, run.flag_nominal, "nominal model"),
        (middle, run.r_adapted, run.flag_adapted, "adapted model"),
    )
    for axes, r, flag, name in rows:
        axes.plot(run.t, np.abs(r / CONTACT).max(axis=1), color=COLOURS[1], linewidth=0.8)
        axes.axhline(1.0, color="grey", linestyle="--", linewidth=0.8)
        axes.fill_between(
            run.t,
            0.0,
            1.0,
            where=flag,
            transform=axes.get_xaxis_transform(),
            color=COLOURS[2],
            alpha=0.25,
            linewidth=0.0,
        )
        axes.set(ylabel="largest |residual|\nover its threshold", title=name, ylim=(0.0, None))
    bottom.plot(run.t, run.mass, color=COLOURS[0])
    bottom.axhline(story.load.mass, color="grey", linestyle="--", linewidth=0.8)
    bottom.set(ylabel="payload found [kg]", xlabel="time [s]")
    events = {"picked up": story.picked, "adaptation ends": story.learnt, "push": story.pushed}
    for axes in (top, middle, bottom):
        axes.grid(alpha=0.25)
        for at in events.values():
            axes.axvline(at, color=COLOURS[3], linestyle=":", linewidth=1.0)
    for name, at in events.items():
        bottom.text(at + 0.05, 0.2, name, color=COLOURS[3])
    return save(figure, folder / "adaptive_payload.png")


if __name__ == "__main__":
    draw_all(paper, payload)
