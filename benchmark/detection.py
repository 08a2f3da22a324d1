"""How soon, how surely and how exactly the residual tells what touches an arm.

    python benchmark/detection.py [--quick] [--seed N] [--plant rigid] [--json FILE] [--check]
                                  [--hours H] [--pushes N] [--checkpoint FILE]

Every simulated arm is a perturbed one. Before it is used, its contact-free motion is recorded and
the nominal model set right by it, as a user would do. Thresholds come from other arms than those
they are tried on. rho is the external torque over the threshold, of the joint where that is most.
docs/detection.md says how each figure is measured and what bounds it. With a checkpoint a run that
was ended goes on where it was, with the same figures in the end.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path

import checkpoint
import detection_runs as runs
import fault_scenarios
import numpy as np
from detection_bench import MARGIN, Bench, Settings
from detection_runs import Arm, Run
from figures import Figure, figures_table, finish, options
from rich import box
from rich.console import Console
from rich.table import Table

import robodyn_ros as rd

THRESHOLD_BARS = (2.0, 0.4)  # [N m], of joints 1 to 4 and of those beyond

Array = np.ndarray


def step_delay(bench: Bench) -> Iterator[Figure]:
    settings = bench.settings
    made = [
        Run(Arm(settings.robots[i % len(settings.robots)], 0), settings.plant, seed, 0.6)
        for i, seed in enumerate(bench.seeds(0, settings.steps))
    ]
    off = np.array(bench.map_once("noiseless steps", runs.noiseless_step, made, float))
    share = np.mean(np.abs(off) <= 2.0)
    yield Figure(
        "noiseless step: delay less -ln(1 - 1/rho)/K",
        f"{share:.1%} within 2 samples",
        "≥ 99 %",
        bool(share >= 0.99),
        f"{off.size} steps, {off.min():+.2f} to {off.max():+.2f} samples",
    )


def delays(bench: Bench) -> Iterator[Figure]:
    middle = np.array([one.delay for one in bench.told_of("middle")])
    strong = np.array([one.delay for one in bench.told_of("strong")])
    name, note = "delay, rho 2 to 3, 5 ms ramp", f"{middle.size} pushes, K of at most 100 1/s"
    yield delay_figure(f"{name}: median", np.percentile(middle, 50), 8, note)
    yield delay_figure(f"{name}: 99 %", np.percentile(middle, 99), 12, note)
    note = f"{strong.size} pushes, the same ramp; the last came after {strong.max():.0f} ms"
    yield delay_figure("delay, rho ≥ 5: 99 %", np.percentile(strong, 99), 6, note)


def delay_figure(name: str, samples: float, bar: int, note: str) -> Figure:
    """A delay in samples, which are milliseconds."""
    return Figure(name, f"{samples:.1f} ms", f"≤ {bar} ms", bool(samples <= bar), note)


def missed(bench: Bench) -> Iterator[Figure]:
    lost = [one for one in bench.told if math.isinf(one.delay)]
    worst = max((one.rho for one in lost), default=0.0)
    yield Figure(
        "missed, rho ≥ 1.5",
        f"{len(lost)} of {len(bench.told)}",
        "0",
        not lost,
        f"the strongest had rho = {worst:.2f}" if lost else "",
    )


def alarms(bench: Bench) -> Iterator[Figure]:
    count, hours = sum(q.alarms for q in bench.quiet), sum(q.seconds for q in bench.quiet) / 3600.0
    nearest = max(q.nearest.max() for q in bench.quiet)
    note = f"the residual came to {nearest:.0%} of a threshold"
    yield Figure("false alarms", f"{count} in {hours:.3g} h", "0", count == 0, note)


def threshold_sizes(bench: Bench) -> Iterator[Figure]:
    for first, last, bar in ((0, 4, THRESHOLD_BARS[0]), (4, 7, THRESHOLD_BARS[1])):
        worst, notes = 0.0, []
        for robot in bench.settings.robots:
            limit = bench.levels[robot][0].base[first:last]
            worst = max(worst, limit.max())
            notes.append(f"{robot} " + ", ".join(f"{x:.2f}" for x in limit))
        yield Figure(
            f"thresholds, joints {first + 1}–{last}",
            f"{worst:.2f} N m",
            f"≤ {bar:g} N m",
            bool(worst <= bar),
            "; ".join(notes),
        )


def links(bench: Bench) -> Iterator[Figure]:
    strong = bench.told_of("strong")
    answered = [one for one in strong if one.answer >= 0]
    off = np.array([abs(one.answer - one.row) for one in answered])
    exact, near = np.mean(off == 0), np.mean(off <= 1)
    note = f"{len(answered)} of {len(strong)} answered"
    yield Figure("link, rho ≥ 5: exact", f"{exact:.1%}", "≥ 90 %", bool(exact >= 0.9), note)
    yield Figure("link, rho ≥ 5: within one", f"{near:.1%}", "≥ 99 %", bool(near >= 0.99))


def forces(bench: Bench) -> Iterator[Figure]:
    """Answered are the forces whose doubt is no more than the error allowed."""
    strong = bench.told_of("strong")
    good = np.array([one.error <= allowed(one.force) for one in strong])
    answered = np.array([one.doubt <= allowed(one.found) for one in strong])
    joints = np.array([one.joints for one in strong])
    what = "force at a known link and point, within 10 % or 1 N"
    shares = (f"{j}: {answered[joints == j].mean():.0%}" for j in np.unique(joints))
    note = f"answered, by joints that move the link {', '.join(shares)}"
    yield force_figure(f"{what}: answered cases", good[answered], good.size, note)
    determined = np.isfinite([one.doubt for one in strong])
    note = "where all three directions move joints"
    yield force_figure(
        "the same: all postures that determine it", good[determined], good.size, note
    )


def force_figure(name: str, good: Array, of: int, note: str) -> Figure:
    share = good.mean()
    return Figure(
        name, f"{share:.1%}", "≥ 95 %", bool(share >= 0.95), f"{good.size} of {of} pushes; {note}"
    )


def allowed(force: float) -> float:
    """[N], how far off a force may be."""
    return max(1.0, 0.1 * force)


def read_named(row: list) -> fault_scenarios.Answer:
    """What was said about a fault, from a checkpoint."""
    return fault_scenarios.Answer(*row)


def payloads(bench: Bench) -> Iterator[Figure]:
    cases = [("payload", seed) for seed in bench.seeds(6, bench.settings.payloads)]
    found = bench.map_once("payloads", fault_scenarios.identify_case, cases, read_named)
    named = np.array([one.found == "payload" for one in found])
    off = np.array([(one.size or np.inf) / one.value - 1.0 for one in found])
    right = named & (np.abs(off) <= 0.05)
    yield Figure(
        "payload 0.2–2 kg: named, mass within 5 %",
        f"{right.mean():.1%}",
        "≥ 99 %",
        bool(right.mean() >= 0.99),
        f"{right.sum()} of {right.size}; {named.sum()} named, error of their mass "
        f"{np.sqrt(np.mean(off[named] ** 2)):.1%} rms, {np.abs(off[named]).max():.1%} at most",
    )


def faults(bench: Bench) -> Iterator[Figure]:
    kinds = fault_scenarios.FAULTS
    seeds = bench.seeds(7, bench.settings.faults * len(kinds))
    cases = [(kinds[i % len(kinds)], seed) for i, seed in enumerate(seeds)]
    found = bench.map_once("faults", fault_scenarios.identify_case, cases, read_named)
    right = np.mean([one.found == one.kind for one in found])
    wrong = [f"{one.kind} as {one.found}" for one in found if one.found != one.kind]
    note = f"{len(found)} faults" + (f"; {', '.join(wrong)}" if wrong else "")
    yield Figure("fault named, nine kinds", f"{right:.1%}", "≥ 95 %", bool(right >= 0.95), note)


def commanded(bench: Bench) -> Iterator[Figure]:
    """The same from commanded torque, with friction and its errors."""
    if bench.by_command.settings.robots:
        for measure in (missed, alarms, threshold_sizes, slower):
            for figure in measure(bench.by_command):
                yield replace(figure, figure=f"commanded torque, friction ±20 %: {figure.figure}")


def slower(bench: Bench) -> Iterator[Figure]:
    """What the lower gain of commanded torque costs."""
    middle = np.array([one.delay for one in bench.told_of("middle")])
    shown = " and ".join(f"{np.percentile(middle, share):.1f}" for share in (50, 99))
    note = f"{middle.size} pushes, median and 99 %; K of {runs.COMMANDED_GAIN:g} 1/s"
    yield Figure("delay, rho 2 to 3, 5 ms ramp", f"{shown} ms", "(none)", True, note)


# Each measures what it needs with the bench and yields lines of the table
FIGURES = [
    step_delay, delays, missed, alarms, threshold_sizes, links, forces, payloads, faults,
    commanded,
]  # fmt: skip


def alarms_of_noise(noise: Array, limit: Array, hours: float) -> Array:
    """(n,): how many samples of so many hours noise alone is expected to lift above the limit."""
    beyond = np.vectorize(math.erfc)(limit / (math.sqrt(2.0) * noise)).mean(axis=0)
    return beyond * hours * 3600.0 / runs.DT


def bounds(bench: Bench) -> dict[str, dict[str, list[float]]]:
    """What the thresholds of each robot consist of, and what noise makes of the bars."""
    found = {}
    for robot in bench.settings.robots:
        random = np.random.default_rng(bench.settings.seed)
        model = runs.nominal(robot)
        motions = [runs.random_motion(model, random, 20.0).q[::200] for _ in range(200)]
        levels, noise = (
            bench.levels[robot],
            runs.residual_noise(robot, np.vstack(motions), runs.gains(robot)),
        )
        bars = np.where(np.arange(model.n) < 4, *THRESHOLD_BARS)
        rows = {
            "observer gain [1/s]": runs.gains(robot),
            "threshold [N m]": levels[0].base,
            "noise, one sigma, worst posture [N m]": noise.max(axis=0),
            "largest mean over 40 ms [N m]": levels[1].base / MARGIN,
            "alarms in 100 h from noise alone": alarms_of_noise(noise, levels[0].base, 100.0),
            "the same with 2 and 0.4 N m": alarms_of_noise(noise, bars, 100.0),
        }
        found[robot] = {name: row.tolist() for name, row in rows.items()}
    return found


def bounds_table(found: dict[str, dict[str, list[float]]]) -> Table:
    table = Table(title="joints 1, 2, …", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("robot")
    table.add_column("")
    for robot, rows in found.items():
        for name, row in rows.items():
            table.add_row(robot, name, *(f"{x:.2g}" if x < 1e-3 else f"{x:.3f}" for x in row))
    return table


def plants() -> list[str]:
    """The plants that can be had, the best first."""
    return ["mujoco", "rigid"] if find_spec("mujoco") else ["rigid"]


def settings_from(arguments: argparse.Namespace) -> Settings:
    quick = arguments.quick
    return Settings(
        robots=tuple(arguments.robots.split(",")),
        seed=arguments.seed,
        plant=arguments.plant,
        hours=arguments.hours or (0.05 if quick else 10.0),
        pushes=arguments.pushes or (300 if quick else 10_000),
        steps=60 if quick else 500,
        arms=4 if quick else 20,
        calibration_arms=6 if quick else 20,
        calibration_motions=1 if quick else 3,
        faults=2 if quick else 20,
        payloads=10 if quick else 200,
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=["rigid", "mujoco"], default=plants()[0])
    parser.add_argument(
        "--robots",
        default="lwr_iii,kuka_lwr4,panda",
        help="names, or URDFs below example-robot-data's robots/, with commas between",
    )
    parser.add_argument("--hours", type=float, help="without contact; 10, quick: 0.05")
    parser.add_argument("--pushes", type=int, help="10000, quick: 300")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--checkpoint", type=Path, help=checkpoint.OPTION)
    arguments = parser.parse_args()
    settings = settings_from(arguments)
    what = {"program": "detection", **asdict(settings)}
    kept = checkpoint.Checkpoint(arguments.checkpoint, what)
    console, start = Console(), time.perf_counter()
    for robot in settings.robots:
        rd.warmup(runs.nominal(robot))
        runs.record(Run(Arm(robot, 0), "rigid", 0, 0.01))  # compiled before there are processes
    with ProcessPoolExecutor(arguments.processes) as pool:
        bench = Bench(settings, console, pool, kept)
        figures = []
        for measure in FIGURES:
            for figure in measure(bench):
                console.print(f"[bold]{figure.figure}: {figure.measured}[/] {figure.note}")
                figures.append(figure)
    seconds = time.perf_counter() - start
    title = f"{', '.join(settings.robots)}; {settings.plant} plant, seed {settings.seed}"
    console.print(figures_table(figures, f"{title}, {seconds:.0f} s"))
    limits = bounds(bench)
    console.print(bounds_table(limits))
    finish(figures, arguments, settings=asdict(settings), bounds=limits)


if __name__ == "__main__":
    main()
