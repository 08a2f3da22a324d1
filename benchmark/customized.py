"""Customized kernels beside the generic ones and Pinocchio, in one run.

    python benchmark/customized.py [--json FILE] [--check] [--quick]

Batches on one core, single calls as a user makes them, and how long a kernel takes to be made.
Candidates take turns, round after round; a ratio is the median over the rounds. Times are those
of the processor, so that other programs on the machine count less.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from figures import Figure, figures_table, finish, options
from rich.console import Console

import robodyn_ros as rd
from robodyn_ros.codegen.customized import BATCHES, load_customized
from robodyn_ros.codegen.quantities import QUANTITIES

BATCH, LOOP = 100_000, 2_000
MADE = """
import sys, time
import numpy as np
import robodyn_ros as rd
from robodyn_ros.codegen.customized import load_customized
model = getattr(rd.robots, sys.argv[1])()
count = 32 if sys.argv[3] == "batch" else None
state = np.zeros((32, model.n)) if count else np.zeros(model.n)
inputs = [state] * int(sys.argv[4])
call = getattr(rd, sys.argv[2])
call(model, *inputs)  # what is generic is there already
small = load_customized(rd.robots.planar_2r())
rd.gravity_torque(small, np.zeros(2))  # the compiler is awake
rd.gravity_torque(small, np.zeros((32, 2)))
start = time.process_time()
call(load_customized(model), *inputs)
print(time.process_time() - start)
"""


def in_turns(calls: dict[str, Callable[[], object]], rounds: int, burst: int) -> dict[str, list]:
    """Seconds of processor time per call, round by round."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            for _ in range(burst):
                call()
            times[name].append((time.process_time() - start) / burst)
    return times


def ratio(times: dict[str, list[float]], slow: str, fast: str) -> float:
    return statistics.median(a / b for a, b in zip(times[slow], times[fast], strict=True))


def inputs_of(model: rd.RobotModel, quantity: str, count: int | None) -> list[np.ndarray]:
    shape = (model.n,) if count is None else (count, model.n)
    random = np.random.default_rng(1)
    return [random.normal(size=shape) for _ in QUANTITIES[quantity].inputs]


def python_loop(model: rd.RobotModel) -> Callable[[], object]:
    """Pinocchio's best route from Python to p, C^T qd and g, state by state."""
    arm = pin.buildModelFromXML(rd.to_urdf(model))
    arm.armature = model.rotor_inertia
    data = arm.createData()
    q, qd = inputs_of(model, "momentum_terms", LOOP)
    p, ctqd, g = np.empty((3, LOOP, model.n))
    zero = np.zeros(model.n)

    def run() -> tuple[np.ndarray, ...]:
        for t in range(LOOP):
            C = pin.computeCoriolisMatrix(arm, data, q[t], qd[t])
            g[t] = pin.computeGeneralizedGravity(arm, data, q[t])
            p[t] = pin.rnea(arm, data, q[t], zero, qd[t]) - g[t]
            ctqd[t] = C.T @ qd[t]
        return p, ctqd, g

    states = rd.momentum_terms(model, q, qd)
    for ours, theirs in zip(states, run(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
    return run


def batches(rounds: int) -> list[Figure]:
    model = rd.robots.kuka_lwr4()
    fast = load_customized(model)
    q, qd = inputs_of(model, "momentum_terms", BATCH)
    calls = {
        "customized": lambda: rd.momentum_terms(fast, q, qd),
        "generic": lambda: rd.momentum_terms(model, q, qd),
        "Pinocchio": python_loop(model),
    }
    times = in_turns(calls, rounds, 1)
    found = ratio(times, "Pinocchio", "customized") * BATCH / LOOP
    milli = 1e3 * statistics.median(times["customized"])
    figures = [
        Figure(
            "momentum_terms, batch of 100 000, LWR 4+",
            f"{found:.0f} times",
            "100 times",
            found >= 100.0,
            f"as fast as a Python loop over Pinocchio; {milli:.1f} ms",
        )
    ]
    for quantity in sorted(set(BATCHES.values())):
        inputs = inputs_of(model, quantity, BATCH // 5)
        call = getattr(rd, quantity)
        calls = {
            "customized": lambda call=call, inputs=inputs: call(fast, *inputs),
            "generic": lambda call=call, inputs=inputs: call(model, *inputs),
        }
        found = ratio(in_turns(calls, rounds, 1), "generic", "customized")
        note = "as fast as the generic kernel"
        figures.append(Figure(f"{quantity}, batch", f"{found:.1f} times", "()", True, note))
    return figures


def singles(rounds: int) -> list[Figure]:
    figures = []
    model = rd.robots.kuka_lwr4()
    fast = load_customized(model)
    for quantity in QUANTITIES:
        inputs, call = inputs_of(model, quantity, None), getattr(rd, quantity)
        calls = {
            "customized": lambda call=call, inputs=inputs: call(fast, *inputs),
            "generic": lambda call=call, inputs=inputs: call(model, *inputs),
        }
        times = in_turns(calls, rounds, 300)
        found = ratio(times, "generic", "customized")
        micro = 1e6 * statistics.median(times["customized"])
        note = f"as fast as the generic kernel; {micro:.2f} µs"
        # Friction is a handful of operations either way: equal within what can be measured
        reached = found >= (0.95 if quantity == "friction_torque" else 1.0)
        figures.append(Figure(f"{quantity}, one call", f"{found:.2f} times", "1", reached, note))
    return figures


def making() -> list[Figure]:
    """How long a kernel takes to be written and compiled, and the next time; without the second
    or so that the compiler takes to wake up.
    """
    figures = []
    for quantity in ("momentum_terms", "inverse_dynamics", "forward_dynamics", "force_rate"):
        inputs = str(len(QUANTITIES[quantity].inputs))
        for kind in ("single", "batch"):
            command = [sys.executable, "-c", MADE, "kuka_lwr4", quantity, kind, inputs]
            with tempfile.TemporaryDirectory() as folder:
                env = os.environ | {"XDG_CACHE_HOME": folder}
                cold, warm = (
                    float(subprocess.run(command, env=env, check=True, capture_output=True).stdout)
                    for _ in range(2)
                )
            name = f"{quantity}, {kind}: made and compiled"
            note = f"from the cache {1e3 * warm:.0f} ms"
            figures.append(Figure(name, f"{cold:.2f} s", "3 s", cold < 3.0, note))
    return figures


def main() -> None:
    arguments = options(__doc__).parse_args()
    rounds = 15 if arguments.quick else 60
    figures: list[Figure] = []
    console = Console()
    for title, make in {
        "Batches, one core": lambda: batches(rounds),
        "Single calls": lambda: singles(rounds),
        "Compile times": making,
    }.items():
        found = make()
        console.print(figures_table(found, title))
        figures += found
    finish(figures, arguments)


if __name__ == "__main__":
    main()
