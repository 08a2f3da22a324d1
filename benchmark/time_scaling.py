"""Moves that are asked for too fast, slowed down on their path by the controlled arm.

    python benchmark/time_scaling.py [--quick] [--seed N] [--robot NAME] [--json FILE] [--check]

Random moves from rest to rest are asked for 1.5 to 4 times faster than the fastest feasible run of
the same path, by `rd.fastest` with the same limits. A `Supervisor` with the passivity law follows
them on a rigid plant and on one of MuJoCo. Torques are what the law wants before they are limited,
rates their change from one sample to the next; distances are those of the plant from the path.
"""

from __future__ import annotations

import time

import numpy as np
from figures import Figure, figures_table, finish, options
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.live_scaling import LiveScaling, PathTable
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.rigid import RigidPlant

DT = 2e-3  # [s]
RATE = 1000.0  # [N m/s]
REACH = 0.8  # of the joints' ranges
FASTER = (1.5, 4.0)
LONGEST = 3.0  # times the fastest run, after which a move counts as stuck


def plant_of(kind: str, model: rd.RobotModel, q: np.ndarray) -> RigidPlant | MujocoPlant:
    if kind == "rigid":
        return RigidPlant(model, q, friction=False)
    return MujocoPlant(model, q, friction=False, integrator="rk4", timestep=DT / 2.0)


def run(kind: str, model: rd.RobotModel, start: np.ndarray, end: np.ndarray, T: float) -> dict:
    """Follow a move that is to take T [s]; return what was measured."""
    plant, arm = plant_of(kind, model, start), ArmController(model, ArmSettings())
    tau = arm.update(0.0, plant.state.q, plant.state.qd)
    arm.follow(rd.joint_move(start, end, duration=T))
    along = (end - start) / np.linalg.norm(end - start)
    law, before = arm._arm.parts.law, tau.copy()
    torque = rate = away = speed = 0.0
    while arm.mode is Mode.TRACKING and plant.state.t < 60.0:
        state = plant.step(tau, DT)
        tau = arm.update(state.t, state.q, state.qd)
        wanted = law._wanted.copy()
        torque = max(torque, float((np.abs(wanted) / model.tau_max).max()))
        rate = max(rate, float(np.abs(wanted - before).max()) / DT / RATE)
        speed = max(speed, float((np.abs(state.qd) / model.qd_max).max()))
        d = state.q - start
        away = max(away, float(np.abs(d - along * (d @ along)).max()))
        before = wanted
    arrived = arm.mode is Mode.HOLDING and np.abs(plant.state.q - end).max() < 1e-3
    seconds = plant.state.t if arrived else np.inf
    return {"torque": torque, "rate": rate, "away": away, "speed": speed, "time": seconds}


def step_times(model: rd.RobotModel, start: np.ndarray, end: np.ndarray, T: float) -> list[float]:
    """Return how long each step of the time law takes [s]."""
    arm = ArmController(model)
    law = LiveScaling(model, arm._arm.parts.scaling, 1.25)
    law.begin(PathTable(model, rd.joint_move(start, end, duration=T)), Motion.at_rest(start))
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
            result = run(kind, model, start, end, best / factor)
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
    median, late = 1e6 * float(np.median(steps)), 1e6 * float(np.percentile(steps, 99))
    note = f"99 of 100 below {late:.1f} us; {len(steps)} steps"
    figures.append(
        Figure("a step of the time law", f"{median:.1f} us", "20 us", median < 20.0, note)
    )
    title = f"{count} moves of {arguments.robot}, 1.5 to 4 times too fast, seed {arguments.seed}"
    console.print(figures_table(figures, title))
    finish(figures, arguments)


def _share(what: str, share: float) -> Figure:
    return Figure(what, f"{100.0 * share:.1f} %", "100 %", share <= 1.0, "of its limit")


if __name__ == "__main__":
    main()
