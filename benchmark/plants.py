"""The simulated arms: how fast they run and how well they keep their energy.

    python benchmark/plants.py [--rounds 30] [--seconds 10] [--check]

Speed: steps of 1 ms from Python, with friction, stops and saturation; the plants take turns, the
median over the rounds counts. Energy: of the free-swinging LWR-III with its rotors, no friction;
the largest change over the run, relative to the energy at the start.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.simulation.elastic import ElasticJointPlant
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rigid import RigidPlant

DT = 1e-3  # [s]
BURST = 200  # steps
MODEL = rd.robots.lwr_iii()
BENT = np.array([0.3, 0.7, -0.4, 1.1, 0.2, -0.6, 0.1])

PLANTS: dict[str, Callable[..., Plant]] = {
    "RigidPlant, fourth order": RigidPlant,
    "RigidPlant, semi-implicit": lambda *a, **k: RigidPlant(*a, method="semi_implicit", **k),
    "ElasticJointPlant, 1e4 N m/rad": ElasticJointPlant,
    "MujocoPlant, RK4": lambda *a, **k: MujocoPlant(*a, integrator="rk4", **k),
    "MujocoPlant, implicitfast": MujocoPlant,
}
# What the first must reach: times real time, and relative drift in 10 s.
FAST, EXACT = 100.0, 1e-6


def energy(plant: Plant) -> float:
    """All energy in the arm [J]."""
    model, state = plant.model, plant.state
    total = rd.potential_energy(model, state.q)
    if not isinstance(plant, ElasticJointPlant):
        return float(total + rd.kinetic_energy(model, state.q, state.qd))
    links = model.replace(rotor_inertia=0.0)
    total += rd.kinetic_energy(links, state.q, state.qd)
    total += 0.5 * model.rotor_inertia @ plant.motor_qd**2
    total += 0.5 * plant.stiffness @ (plant.motor_q - state.q) ** 2
    return float(total)


def drift(make: Callable[..., Plant], seconds: float) -> float:
    plant = make(MODEL, BENT, friction=False, stops=False)
    still, start, worst = np.zeros(MODEL.n), energy(plant), 0.0
    for i in range(round(seconds / DT)):
        plant.step(still, DT)
        if i % 10 == 9:
            worst = max(worst, abs(energy(plant) - start))
    return worst / abs(start)


def burst(plant: Plant) -> float:
    """Seconds that a step takes."""
    tau = rd.gravity_torque(MODEL, BENT)
    plant.reset()
    start = time.perf_counter()
    for _ in range(BURST):
        plant.step(tau, DT)
    return (time.perf_counter() - start) / BURST


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10.0, help="simulated, for the energy")
    parser.add_argument("--check", action="store_true", help="fail if a figure misses its bar")
    arguments = parser.parse_args()
    console = Console()
    plants = {name: make(MODEL, BENT) for name, make in PLANTS.items()}
    times: dict[str, list[float]] = {name: [] for name in plants}
    for plant in plants.values():
        burst(plant)  # once for the caches
    for _ in track(range(arguments.rounds), description="measuring speed", console=console):
        for name, plant in plants.items():
            times[name].append(burst(plant))
    drifts = {
        name: drift(make, arguments.seconds)
        for name, make in track(PLANTS.items(), description="measuring energy", console=console)
    }
    table = Table(box=box.SIMPLE, title=f"steps of {DT * 1e3:g} ms, {MODEL.name}")
    for title in ("plant", "a step", "steps per second", "× real time", "energy drift"):
        table.add_column(title, justify="left" if title == "plant" else "right")
    missed = False
    for name, samples in times.items():
        step = statistics.median(samples)
        ratio, lost = DT / step, drifts[name]
        shown = [f"{ratio:.0f}", f"{lost:.1e}"]
        if name == next(iter(times)):
            good = [ratio >= FAST, lost <= EXACT]
            missed = not all(good)
            shown = [
                f"[{'green' if g else 'red'}]{s}[/]" for g, s in zip(good, shown, strict=True)
            ]
        table.add_row(name, f"{step * 1e6:.1f} µs", f"{1.0 / step:,.0f}", *shown)
    console.print(table)
    console.print(f"the first row must reach {FAST:g} times real time and a drift of {EXACT:g}")
    if arguments.check and missed:
        sys.exit("some figures missed their bars")


if __name__ == "__main__":
    main()
