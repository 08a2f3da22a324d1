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
from drawing import draw_all, save

from robodyn_ros.trajectory.joint_move import PROFILES, joint_move

COLOURS = ("#1b263b", "#1d7874", "#ee6c4d", "#7d83ff")  # position and its derivatives
LABELS = ("position [rad]", "velocity [rad/s]", "acceleration [rad/s²]", "jerk [rad/s³]")
# One joint goes 1 rad with these limits, as fast as each profile can.
VELOCITY, ACCELERATION = 1.5, 6.0


def profiles(folder: Path) -> Path:
    """Every profile in its minimum time, one column each: position to jerk, limits dashed."""
    figure, grid = plt.subplots(4, len(PROFILES), figsize=(16.0, 7.5), sharex=True, sharey="row")
    for column, name in zip(grid.T, PROFILES, strict=True):
        limits = {"qd_max": VELOCITY}
        if name != "linear":
            limits["qdd_max"] = ACCELERATION
        move = joint_move([0.0], [1.0], profile=name, **limits)
        draw_motion(column, move)
        column[0].set_title(f"{name.replace('_', ' ')}\n{move.duration:.3f} s")
        column[-1].set_xlabel("time [s]")
    for axes, label in zip(grid[:, 0], LABELS, strict=True):
        axes.set_ylabel(label)
    return save(figure, folder / "profiles.png")


def draw_motion(column, move):
    """Four panels of one move, from a little before to a little after: at rest at both ends."""
    t = np.linspace(-0.1, move.duration + 0.1, 2000)
    for axes, values, colour in zip(column, move.at(t), COLOURS, strict=True):
        axes.plot(t, values[:, 0], color=colour)
        axes.grid(alpha=0.25)
    for axes, bound in ((column[1], VELOCITY), (column[2], ACCELERATION)):
        for side in (-bound, bound):
            axes.axhline(side, color="grey", linestyle="--", linewidth=0.8)


def reactions(folder: Path) -> Path:
    """One arm, one wall, five reactions: where the hand goes, and with which force it is met."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))
    from control_runs import REACTIONS, Run, drive_into_wall

    traces = [drive_into_wall(Run("lwr_iii", "rigid", 1, reaction=name)) for name in REACTIONS]
    figure, (tops, bottoms) = plt.subplots(
        2, len(REACTIONS), figsize=(16.0, 6.0), sharex=True, sharey="row"
    )
    for name, trace, top, bottom in zip(REACTIONS, traces, tops, bottoms, strict=True):
        hit, shown = trace.hit, (trace.t > -0.25) & (trace.t < 2.0)
        t = trace.t[shown]
        top.plot(t, -1e3 * trace.depth[shown], color=COLOURS[1])
        top.axhspan(-120.0, 0.0, color="grey", alpha=0.25, linewidth=0.0)
        rest = "goes on" if name == "none" else f"at rest after {hit.rest:.2f} s"
        top.set_title(f"{name}\n{rest}")
        bottom.plot(t, trace.force[shown], color=COLOURS[2])
        bottom.text(
            0.95,
            0.92,
            f"peak {hit.peak:.0f} N\nafter 0.3 s {hit.later:.0f} N\nimpulse {hit.impulse:.0f} N s",
            transform=bottom.transAxes,
            ha="right",
            va="top",
        )
        bottom.set_xlabel("time since contact [s]")
        for axes in (top, bottom):
            axes.axvline(hit.delay, color=COLOURS[3], linestyle=":", linewidth=1.0)
            axes.grid(alpha=0.25)
    tops[0].set(ylabel="hand before the wall [mm]", ylim=(-120.0, None))
    bottoms[0].set(ylabel="contact force [N]", ylim=(0.0, 620.0))
    return save(figure, folder / "reactions.png")


def elastic(folder: Path) -> Path:
    """One move on elastic joints, by a law for rigid arms and by the one for elastic joints."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))
    import elastic as bench

    laws = {"passivity law": bench.rigid_law, "elastic law": bench.elastic_law}
    figure, grid = plt.subplots(2, 2, figsize=(12.0, 6.0), sharex=True)
    for (name, law), (top, bottom) in zip(laws.items(), grid.T, strict=True):
        (run,) = bench.runs(law, *bench.SPRINGS[0], False, 1)
        top.plot(run.t, run.qd_error, linewidth=0.8)
        bottom.plot(run.t, 1e3 * run.error, linewidth=0.8)
        top.set_title(f"{name}: at most {1e3 * run.worst:.3g} mrad")
        bottom.set_xlabel("time [s]")
        for axes in (top, bottom):
            axes.axvline(run.arrival, color="grey", linestyle="--", linewidth=0.8)
            axes.grid(alpha=0.25)
    joints = [f"joint {k + 1}" for k in range(run.error.shape[1])]
    grid[1, 1].legend(joints, fontsize=7, ncols=2, loc="upper right")
    grid[0, 0].set_ylabel("velocity error [rad/s]")
    grid[1, 0].set_ylabel("tracking error [mrad]")
    return save(figure, folder / "elastic.png")


def live_scaling(folder: Path) -> Path:
    """A move that is asked for 3 times too fast, as asked for and as the arm follows it."""
    import robodyn_ros as rd
    from robodyn_ros.control.live_scaling import LiveScaling
    from robodyn_ros.control.path_shape import ScalingLimits
    from robodyn_ros.control.path_table import PathTable
    from robodyn_ros.dynamics.motion import Motion

    model, dt = rd.robots.lwr_iii(), 2e-3
    start = np.radians([-60.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
    end = np.radians([60.0, 60.0, 20.0, 50.0, 30.0, 20.0, 40.0])
    none = np.full(model.n, np.inf)
    limits = ScalingLimits(model.tau_max, np.full(model.n, 1000.0), model.qd_max, none)
    best = rd.fastest(model, joint_move(start, end, duration=1.0), tau_rate_max=1000.0)
    asked = joint_move(start, end, duration=best.duration / 3.0)
    law = LiveScaling(model, limits, 1.25)
    law.begin(law.start(PathTable(model, asked, limits=limits), Motion.at_rest(start)))
    clock, motions = [0.0], [Motion.at_rest(start)]
    while not law.arrived:
        motions.append(law.advance(dt))
        clock.append(law.s)
    t = dt * np.arange(len(motions))
    live = Motion(*(np.array(x) for x in zip(*motions, strict=True)))
    runs = {"as asked for": (t, asked.at(t)), "live": (t, live), "fastest": (t, best.at(t))}
    figure, grid = plt.subplots(1, 4, figsize=(16.0, 3.8))
    for (name, (times, motion)), colour in zip(runs.items(), COLOURS, strict=False):
        tau = rd.inverse_dynamics(model, *motion[:3])
        rates = np.diff(tau, axis=0) / dt
        shown = (times, times, times, times[1:])
        speed = (np.abs(motion.qd) / model.qd_max).max(axis=1)
        torque = (np.abs(tau) / model.tau_max).max(axis=1)
        values = (motion.q[:, 0], speed, torque, np.abs(rates).max(axis=1) / 1000.0)
        for axes, x, y in zip(grid, shown, values, strict=True):
            axes.plot(x, y, color=colour, label=name)
    titles = ("joint 1 [rad]", "largest speed", "largest torque", "largest torque rate")
    for axes, title in zip(grid, titles, strict=True):
        axes.set(title=title, xlabel="time [s]")
        axes.grid(alpha=0.25)
    for axes in grid[1:]:
        axes.axhline(1.0, color="grey", linestyle="--", linewidth=0.8)
        axes.set(ylim=(0.0, 2.0), ylabel="over its limit")
    grid[0].legend()
    return save(figure, folder / "live_scaling.png")


if __name__ == "__main__":
    draw_all(profiles, reactions, elastic, live_scaling)
