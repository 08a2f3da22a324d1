"""Draw the pictures of the documentation again.

python docs/figures.py [FOLDER]
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from drawing import draw_all, save

import robodyn_ros as rd

RECORDINGS = Path(__file__).parents[2] / "shared" / "data" / "ur10e"
COLOURS = {"total": "#1b263b", "inertial": "#1d7874", "velocity": "#ee6c4d", "gravity": "#7d83ff"}
DASHES = {"total": "-", "inertial": "--", "velocity": "-.", "gravity": ":"}


def quintic(start, end, duration, t):
    """Rest-to-rest motion: q, qd, qdd at the times t."""
    s = (np.asarray(t) / duration)[:, None]
    way = np.subtract(end, start)
    q = start + way * s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    qd = way * 30.0 * s**2 * (1.0 - s) ** 2 / duration
    qdd = way * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / duration**2
    return q, qd, qdd


def torque_split(model, q, qd, qdd):
    """The torque of a motion and its three parts, each by one role of NE."""
    still = np.zeros(model.n)
    return {
        "total": rd.inverse_dynamics(model, q, qd, qdd),
        "inertial": rd.inverse_dynamics(model, q, still, qdd, gravity=False),
        "velocity": rd.velocity_torque(model, q, qd),
        "gravity": rd.gravity_torque(model, q),
    }


def draw_split(axes, t, parts, joint, title):
    for name, torque in parts.items():
        axes.plot(t, torque[:, joint], DASHES[name], color=COLOURS[name], label=name)
    axes.set(title=title, xlabel="time [s]", ylabel="torque [N m]")
    axes.grid(alpha=0.25)


def two_link_arm(folder: Path) -> Path:
    """De Luca's 2R arm: the motion of his slides and the torque split into its parts."""
    model = rd.robots.planar_2r()
    t = np.linspace(0.0, 1.0, 400)
    q, qd, qdd = quintic(np.radians([90.0, -180.0]), np.radians([0.0, 90.0]), 1.0, t)
    parts = torque_split(model, q, qd, qdd)
    figure, (arm, first, second) = plt.subplots(1, 3, figsize=(12.0, 3.8))
    for k, posture in enumerate(q[::50]):
        poses = [rd.forward_kinematics(model, posture, link)[:3, 3] for link in ("dh_1", "dh_2")]
        path = np.vstack([np.zeros(3), *poses])
        arm.plot(path[:, 0], path[:, 2], "o-", color=plt.cm.viridis(k / 8.0), lw=2.5, ms=4)
    arm.set(title="from (90°, −180°) to (0°, 90°) in 1 s", xlabel="x [m]", ylabel="z [m]")
    arm.set_aspect("equal")
    arm.grid(alpha=0.25)
    for joint, axes in enumerate((first, second)):
        draw_split(axes, t, parts, joint, f"joint {joint + 1}")
    first.legend(frameon=False)
    return save(figure, folder / "torque_split_2r.png")


def lightweight_arm(folder: Path) -> Path:
    """The LWR-III on its way, and what the way asks of two of its joints."""
    model = rd.robots.lwr_iii()
    t = np.linspace(0.0, 1.5, 300)
    start, end = np.radians([[-80, -50, 0, 70, 0, 40, 0], [70, -75, 30, -20, 60, -60, 90]])
    q, qd, qdd = quintic(start, end, 1.5, t)
    parts = torque_split(model, q, qd, qdd)
    figure = plt.figure(figsize=(12.0, 4.4))
    columns = figure.add_gridspec(1, 3, width_ratios=(1.25, 1.0, 1.0))
    arm = figure.add_subplot(columns[0], projection="3d")
    links = ["base_link", *model.link_names, "dh_7"]
    for k in np.linspace(0, 299, 7).astype(int):
        path = np.array([rd.forward_kinematics(model, q[k], link)[:3, 3] for link in links])
        colour = plt.cm.viridis(0.9 - 0.8 * k / 299.0)
        arm.plot(*path.T, "-", color=colour, lw=4, solid_capstyle="round")
        arm.plot(*path.T, "o", color="#1b263b", ms=3)
    hand = rd.forward_kinematics(model, q, "dh_7")[:, :3, 3]
    arm.plot(*hand.T, ":", color="#ee6c4d", lw=2)
    arm.set(
        title="LWR-III, 1.5 s from start (light) to end (dark)", xlabel="x [m]", ylabel="y [m]"
    )
    arm.set_aspect("equal")
    arm.locator_params(nbins=4)
    arm.view_init(24, 35)
    for column, joint in ((1, 1), (2, 3)):
        axes = figure.add_subplot(columns[column])
        draw_split(axes, t, parts, joint, f"joint {joint + 1}")
        if column == 1:
            axes.legend(frameon=False)
    return save(figure, folder / "lwr_iii.png")


def real_arm(folder: Path) -> Path | None:
    """A recorded UR10e that holds a pose and is pushed four times: residual, thresholds, flags.

    The recordings are not part of the project; without them there is nothing to draw.
    """
    if not RECORDINGS.is_dir():
        return None
    from robodyn_ros.detection.detector import CollisionDetector, Level
    from robodyn_ros.detection.observer import residual
    from robodyn_ros.detection.thresholds import calibrate

    gains = np.array([14.87, 13.26, 11.13, 10.62, 11.03, 11.47])  # [N m/A], as published
    model = rd.load_urdf(RECORDINGS / "ur10e.urdf")
    logs = []
    for name in ("20_01_31-unload", "20_02_05-20sec_8harm", "20_01_22-push_pose_1"):
        table = np.loadtxt(RECORDINGS / f"ur-{name}.csv", delimiter=",")
        table = table[np.diff(table[:, 0], prepend=-np.inf) > 0.0]
        t, q, qd, tau = table[:, 0], table[:, 1:7], table[:, 7:13], table[:, 13:19] * gains
        logs.append((t - t[0], qd, residual(model, t, q, qd, tau, 20.0)))
    limits = calibrate([r[50:] for _, _, r in logs[:2]], [qd[50:] for _, qd, _ in logs[:2]])
    t, qd, r = logs[2]
    watch = CollisionDetector(limits, limits.scaled(1.5), model, debounce=0.025, settling=0.5)
    levels = [watch.update(r[k], t[k] - t[k - 1], qd[k]).level for k in range(1, len(t))]
    flag = np.array([Level.UNKNOWN, *levels])
    figure, rows = plt.subplots(4, 1, figsize=(11.0, 7.5), sharex=True)
    bound = limits.at(qd)
    for joint, axes in enumerate(rows[:3]):
        axes.plot(t, r[:, joint], color=COLOURS["total"], lw=1.2)
        axes.plot(t, bound[:, joint], ":", color=COLOURS["velocity"])
        axes.plot(t, -bound[:, joint], ":", color=COLOURS["velocity"], label="threshold")
        axes.set_ylabel(f"joint {joint + 1} [N m]")
        axes.grid(alpha=0.25)
    rows[3].step(t, flag, where="post", color=COLOURS["inertial"])
    rows[3].set_yticks(list(Level), [level.name for level in Level])
    rows[3].set_xlabel("time [s]")
    for axes in rows:
        for start, end in ((2.1, 3.1), (4.8, 6.0), (8.6, 9.7), (12.0, 13.1)):
            axes.axvspan(start, end, color="#ee6c4d", alpha=0.12)
    rows[0].set_title("UR10e, nominal model: residual, thresholds, flag; shaded: pushed by hand")
    rows[0].legend(frameon=False, loc="upper right")
    return save(figure, folder / "ur10e.png")


if __name__ == "__main__":
    draw_all(lightweight_arm, two_link_arm, real_arm)
