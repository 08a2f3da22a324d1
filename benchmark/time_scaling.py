"""Moves that are asked for too fast, slowed down on their path by the controlled arm.

    python benchmark/time_scaling.py [--quick] [--seed N] [--robot NAME] [--json FILE] [--check]

Random moves from rest to rest are asked for 1.5 to 4 times faster than the fastest feasible run of
the same path, by `rd.fastest` with the same limits. A `Supervisor` with the passivity law follows
them on a rigid plant and on one of MuJoCo. Torques are what the law wants before they are limited,
rates their change from one sample to the next; distances are those of the plant from the path.

So are paths through points whose velocity or acceleration jumps: lines with corners, cubic pieces,
stops at every point, points 20 ms apart, an end with velocity; asked for at a speed that a smooth
path could have, and 3 times faster.
"""

from __future__ import annotations

import time

import numpy as np
from figures import Figure, figures_table, finish, options
from rich.console import Console
from rich.progress import track
from scipy.spatial import cKDTree

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.live_scaling import LiveScaling
from robodyn_ros.control.path_table import PathTable
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.trajectory.trajectory_msg import TrajectoryPoint, from_points

DT = 2e-3  # [s]
RATE = 1000.0  # [N m/s]
REACH = 0.8  # of the joints' ranges
FASTER = (1.5, 4.0)
POINTS, APART, AWAY = 5, 0.6, 0.6  # of a path; [s], [rad] from one to the next
KINDS = ("lines", "cubic pieces", "cubic pieces with stops", "end with velocity", "20 ms apart")


def plant_of(kind: str, model: rd.RobotModel, q: np.ndarray) -> RigidPlant | MujocoPlant:
    if kind == "rigid":
        return RigidPlant(model, q, friction=False)
    return MujocoPlant(model, q, friction=False, integrator="rk4", timestep=DT / 2.0)


def run(kind: str, model: rd.RobotModel, path: rd.Trajectory) -> dict:
    """Follow a path; return what was measured."""
    start, end = path.at(0.0).q, path.at(path.duration).q
    plant, arm = plant_of(kind, model, start), ArmController(model, ArmSettings())
    tau = arm.update(0.0, plant.state.q, plant.state.qd)
    arm.follow(path)
    law, before = arm._arm.parts.law, tau.copy()
    torque = rate = speed = 0.0
    places = []
    while arm.mode is Mode.TRACKING and plant.state.t < 60.0:
        state = plant.step(tau, DT)
        tau = arm.update(state.t, state.q, state.qd)
        wanted = law._wanted.copy()
        torque = max(torque, float((np.abs(wanted) / model.tau_max).max()))
        rate = max(rate, float(np.abs(wanted - before).max()) / DT / RATE)
        speed = max(speed, float((np.abs(state.qd) / model.qd_max).max()))
        places.append(state.q)
        before = wanted
    arrived = arm.mode is Mode.HOLDING and np.abs(plant.state.q - end).max() < 1e-3
    seconds = plant.state.t if arrived else np.inf
    away = distance(path, np.array(places))
    return {"torque": torque, "rate": rate, "away": away, "speed": speed, "time": seconds}


def distance(path: rd.Trajectory, places: np.ndarray) -> float:
    """Return the largest distance of one joint from the nearest point of the path."""
    points = path.at(np.linspace(0.0, path.duration, 20001)).q
    nearest = cKDTree(points).query(places)[1]
    found = np.full(len(places), np.inf)
    for k in (nearest, nearest + 1):  # the pieces on both sides
        k = np.clip(k, 1, len(points) - 1)
        a, along = points[k - 1], points[k] - points[k - 1]
        x = ((places - a) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-30)
        at = a + np.clip(x, 0.0, 1.0)[:, None] * along
        found = np.minimum(found, np.abs(places - at).max(axis=1))
    return float(found.max())


def path_through(
    kind: str, model: rd.RobotModel, random: np.random.Generator, faster: float
) -> rd.Trajectory:
    """Return a path of this kind through random points."""
    points = [0.5 * random.uniform(model.q_min, model.q_max)]
    for _ in range(POINTS - 1):
        point = points[-1] + random.uniform(-AWAY, AWAY, model.n)
        points.append(np.clip(point, REACH * model.q_min, REACH * model.q_max))
    q, t = np.array(points), APART / faster * np.arange(POINTS)
    qd, rest = np.gradient(q, t, axis=0), np.zeros_like(q)
    qd[0] = 0.0
    if kind != "end with velocity":
        qd[-1] = 0.0
    if kind == "20 ms apart":
        smooth = _through(model, t, q, qd, rest)
        t = np.arange(0.0, smooth.duration, 0.02)
        return _through(model, t, smooth.at(t).q)
    known = {"lines": (), "cubic pieces": (qd,), "cubic pieces with stops": (rest,)}
    return _through(model, t, q, *known.get(kind, (qd, rest)))


def _through(model: rd.RobotModel, t: np.ndarray, *known: np.ndarray) -> rd.Trajectory:
    rows = [
        TrajectoryPoint(*(tuple(x[k]) for x in known), time_from_start=at)
        for k, at in enumerate(t.tolist())
    ]
    return from_points(model.joint_names, rows)


def step_times(model: rd.RobotModel, start: np.ndarray, end: np.ndarray, T: float) -> list[float]:
    """Return how long each step of the time law takes [s]."""
    arm = ArmController(model)
    law = LiveScaling(model, arm._arm.parts.scaling, 1.25)
    move = rd.joint_move(start, end, duration=T)
    law.begin(law.start(PathTable(model, move, limits=law.limits), Motion.at_rest(start)))
    times = []
    while not law.arrived:
        begun = time.perf_counter()
        law.advance(DT)
        times.append(time.perf_counter() - begun)
    return times


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robot", default="lwr_iii")
    arguments = parser.parse_args()
    console, model = Console(), rd.load_robot(arguments.robot)
    random, count = np.random.default_rng(arguments.seed), 6 if arguments.quick else 50
    found: dict[str, list[dict]] = {"rigid": [], "mujoco": []}
    steps: list[float] = []
    for _ in track(range(count), "moves", console=console):
        start, end = (REACH * random.uniform(model.q_min, model.q_max) for _ in range(2))
        factor = random.uniform(*FASTER)
        move = rd.joint_move(start, end, duration=1.0)
        best = rd.fastest(model, move, tau_rate_max=RATE, intervals=40).duration
        steps += step_times(model, start, end, best / factor)
        for kind, results in found.items():
            result = run(kind, model, rd.joint_move(start, end, duration=best / factor))
            results.append(result | {"time": result["time"] / best})
    figures = []
    for kind, results in found.items():
        worst = {name: max(result[name] for result in results) for name in results[0]}
        mean = float(np.mean([result["time"] for result in results]))
        figures += [
            _share(f"{kind}: largest torque", worst["torque"]),
            _share(f"{kind}: largest torque rate", worst["rate"]),
            _share(f"{kind}: largest speed", worst["speed"]),
            Figure(
                f"{kind}: distance to the path",
                f"{1e3 * worst['away']:.3f} mrad",
                "1 mrad",
                worst["away"] <= 1e-3,
            ),
            Figure(
                f"{kind}: time over that of fastest",
                f"{worst['time']:.3f}",
                "1.5",
                worst["time"] <= 1.5,
                f"mean {mean:.3f}",
            ),
        ]
    paths = []
    for name in track(KINDS, "paths with breaks", console=console):
        for faster in (1.0, 3.0):
            for _ in range(1 if arguments.quick else 4):
                path = path_through(name, model, random, faster)
                for kind in found:
                    paths.append(run(kind, model, path))
    figures += _of_paths(paths)
    median, late = 1e6 * float(np.median(steps)), 1e6 * float(np.percentile(steps, 99))
    note = f"99 of 100 below {late:.1f} us; {len(steps)} steps"
    figures.append(
        Figure("a step of the time law", f"{median:.1f} us", "20 us", median < 20.0, note)
    )
    title = f"{count} moves of {arguments.robot}, 1.5 to 4 times too fast, seed {arguments.seed}"
    console.print(figures_table(figures, title))
    finish(figures, arguments)


def _of_paths(paths: list[dict]) -> list[Figure]:
    worst = {name: max(result[name] for result in paths) for name in paths[0]}
    name = f"{len(paths)} runs of paths with breaks"
    away = Figure(
        f"{name}: distance to the path",
        f"{1e3 * worst['away']:.3f} mrad",
        "1 mrad",
        worst["away"] <= 1e-3 and np.isfinite(worst["time"]),
        ", ".join(KINDS),
    )
    return [
        _share(f"{name}: largest torque", worst["torque"]),
        _share(f"{name}: largest torque rate", worst["rate"]),
        away,
    ]


def _share(what: str, share: float) -> Figure:
    return Figure(what, f"{100.0 * share:.1f} %", "100 %", share <= 1.0, "of its limit")


if __name__ == "__main__":
    main()
