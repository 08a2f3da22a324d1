"""How well an arm is controlled, and what it does to a wall that it runs into.

    python benchmark/control.py [--quick] [--seed N] [--plant rigid|mujoco|both] [--json FILE]
                                [--check]

Tracking, the Lyapunov function and scaled moves are measured with exact states. Walls and pushes
are told by a momentum observer and a detector from what the LWR's sensors report. Each figure is
the worst of all robots, plants and motions unless its line says otherwise. docs/control.md says
how each is measured.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass

import control_runs as runs
import numpy as np
import pinocchio as pin
from control_runs import REACTIONS, Hit, Run
from figures import Figure, figures_table, finish, options
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.trajectory.joint_move import joint_move

ROBOTS = ("lwr_iii", "kuka_lwr4")
LAWS = ("passivity", "computed_torque")
FELT = 10.0  # [N]: less than that without a reaction is nothing to compare with
ROUNDING = 1e-6  # by how much a limit may be passed


@dataclass(frozen=True)
class Settings:
    """What is run, and how much of it."""

    seed: int
    plants: tuple[str, ...]
    moves: int  # of each robot on each plant, for tracking
    heavier: int  # moves with a wrong model
    starts: int  # of the Lyapunov function
    scaled: int  # moves
    hits: int  # of each robot on each plant, with each reaction
    rounds: int  # of timing


class Bench:
    """Runs what the figures need, in several processes."""

    def __init__(self, settings: Settings, console: Console, pool: ProcessPoolExecutor) -> None:
        self.settings, self.console, self.pool = settings, console, pool
        self.tables: list[Table] = []

    def map(self, what: str, function: Callable, made: list[Run]) -> list:
        results = self.pool.map(function, made, chunksize=1)
        return list(track(results, what, len(made), console=self.console))

    def runs(self, stage: int, count: int, **more) -> list[Run]:
        """So many of each robot on each plant; the plants get the same motions."""
        seeds = np.random.SeedSequence([self.settings.seed, stage]).generate_state(count)
        return [
            Run(robot, plant, int(seed), **more)
            for seed in seeds
            for robot in ROBOTS
            for plant in self.settings.plants
        ]

    def mixed(self, stage: int, count: int, **more) -> list[Run]:
        """So many in all, robots and plants by turns."""
        seeds = np.random.SeedSequence([self.settings.seed, stage]).generate_state(count)
        plants = self.settings.plants
        return [
            Run(ROBOTS[i % 2], plants[i // 2 % len(plants)], int(seed), **more)
            for i, seed in enumerate(seeds)
        ]


# ---------------------------------------------------------------- the figures


def tracking(bench: Bench) -> Iterator[Figure]:
    for dt, bar in ((1e-3, 1e-3), (1e-4, 1e-4)):
        for law in LAWS:
            made = bench.runs(0, bench.settings.moves, law=law, dt=dt)
            done = bench.map(f"{law}, {1e-3 / dt:g} kHz", runs.track, made)
            worst = max(done, key=lambda one: one.error.max())
            joint = int(np.argmax(worst.error)) + 1
            speed = max(one.speed for one in done)
            yield Figure(
                f"tracking error, {law}, exact model, {1e-3 / dt:g} kHz",
                f"{worst.error.max():.1e} rad",
                f"< {bar:g} rad",
                bool(worst.error.max() < bar),
                f"{len(done)} quintics, up to {speed:.1f} rad/s; joint {joint} of "
                f"{worst.run.robot}",
            )


def wrong_model(bench: Bench) -> Iterator[Figure]:
    """Both laws with links 20 % heavier than they believe, and the same gains at home."""
    table = Table(
        title="links 20 % heavier than the laws believe: each the mean over the moves of the "
        "joint where it is largest",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in ("robot", "law", "largest error", "rms error", "largest torque", "rms torque"):
        table.add_column(name, justify="left" if name in ("robot", "law") else "right")
    measured = {}
    for law in LAWS:
        made = bench.mixed(1, bench.settings.heavier, law=law)
        done = bench.map(f"20 % heavier, {law}", runs.track_heavier, made)
        measured[law] = float(np.mean([one.error.max() for one in done]))
        for robot in ROBOTS:
            mine = [one for one in done if one.run.robot == robot]
            columns = ((("error", "rms"), 1e3, "mrad"), (("torque", "torque_rms"), 1.0, "N m"))
            cells = [
                f"{scale * np.mean([getattr(one, name).max() for one in mine]):.2f} {unit}"
                for names, scale, unit in columns
                for name in names
            ]
            table.add_row(robot, law, *cells)
    bench.tables.append(table)
    passivity, computed = (measured[law] for law in LAWS)
    yield Figure(
        "20 % mass error, largest error, passivity / computed torque",
        f"{1e3 * passivity:.2f} / {1e3 * computed:.2f} mrad",
        "(table)",
        True,
        f"mean over {bench.settings.heavier} moves, no integral action",
    )


def falling(bench: Bench) -> Iterator[Figure]:
    made = bench.mixed(2, bench.settings.starts)
    done = bench.map("Lyapunov function", runs.lyapunov, made)
    rises = np.array([one.rise / one.start for one in done])
    worst = [made[i]._replace(dt=1e-4) for i in np.argsort(rises)[-4:]]
    finer = bench.map("the worst at 10 kHz", runs.lyapunov, worst)
    finest = max(one.rise / one.start for one in finer)
    yield Figure(
        "Lyapunov function: largest rise in a sample / V(0), 1 kHz",
        f"{max(rises.max(), 0.0):.1e}",
        "≤ 1e-9",
        bool(rises.max() <= 1e-9 and finest <= max(0.01 * rises.max(), 0.0)),
        f"{len(done)} starts, V(0) {min(o.start for o in done):.0f} to "
        f"{max(o.start for o in done):.0f} J; the worst four at 10 kHz: {max(finest, 0.0):.0e}, "
        "so it is the sampling",
    )


def timing(bench: Bench) -> Iterator[Figure]:
    """Our law and the same with Pinocchio's parts, by turns."""
    ours, theirs = passivity_calls(runs.robot("kuka_lwr4"))
    times: dict[Callable, list[float]] = {ours: [], theirs: []}
    for _ in range(bench.settings.rounds):
        for call, taken in times.items():
            start = time.perf_counter()
            for _ in range(200):
                call()
            taken.append((time.perf_counter() - start) / 200)
    median = statistics.median(times[ours])
    ratio = statistics.median(b / a for a, b in zip(times[ours], times[theirs], strict=True))
    note = f"{bench.settings.rounds} rounds by turns, kuka_lwr4, limits and checks included"
    name = "control torque per cycle, PassivityController"
    yield Figure(name, f"{1e6 * median:.2f} µs", "< 10 µs", median < 10e-6, note)
    yield Figure(
        "the same with Pinocchio's rnea + C qd_r",
        f"{ratio:.2f} × longer",
        "≥ 3 ×",
        ratio >= 3.0,
        f"{1e6 * statistics.median(times[theirs]):.2f} µs, without limits and checks",
    )


def whole_cycle(bench: Bench) -> Iterator[Figure]:
    """What a sample costs in all: checks, reference, law, limits; and in each reaction."""
    taken = {}
    for what in ("tracking", *REACTIONS[1:]):
        call = arm_call(runs.robot("kuka_lwr4"), what)
        bursts = []
        for _ in range(bench.settings.rounds):
            start = time.perf_counter()
            for _ in range(200):
                call()
            bursts.append((time.perf_counter() - start) / 200)
        taken[what] = 1e6 * float(np.percentile(bursts, 10))  # there is nothing to compare with
    note = ", ".join(f"{what} {took:.1f}" for what, took in taken.items() if what != "tracking")
    yield Figure(
        "ArmController.update, tracking",
        f"{taken['tracking']:.1f} µs",
        "< 30 µs",
        taken["tracking"] < 30.0,
        f"the fastest tenth of {bench.settings.rounds} rounds; in the reactions: {note} µs",
    )


def arm_call(model: rd.RobotModel, what: str) -> Callable:
    """One sample after the other, of an arm that tracks or reacts."""
    reaction = "stop" if what == "tracking" else what
    arm, still = ArmController(model, ArmSettings(reaction=reaction)), np.zeros(model.n)
    arm.update(0.0, runs.HOME, still)
    arm.follow(joint_move(runs.HOME, runs.HOME + 0.1, duration=1e5))
    arm.contact(what != "tracking", np.ones(model.n))
    t, q = 0.0, runs.HOME.copy()

    def call():
        nonlocal t
        t += runs.DT
        q[1] += 1e-9  # or the values would look frozen
        arm.update(t, q, still)

    return call


def passivity_calls(model: rd.RobotModel) -> tuple[Callable, Callable]:
    """The same control torque from our law and by Pinocchio, ready to be called."""
    random = np.random.default_rng(0)
    q, qd, q_d, qd_d, qdd_d = random.uniform(-1.0, 1.0, (5, model.n))
    law = PassivityController.with_frequency(
        model, 30.0, runs.HOME, limits=TorqueLimits(model.tau_max, runs.RATE)
    )
    kp, kd, rate, still = law.kp, law.kd, law.rate, np.zeros(model.n)
    P = pin.buildModelFromXML(rd.to_urdf(model))
    P.armature = np.array(model.rotor_inertia)
    D = P.createData()

    def theirs(q_d=q_d, qd_d=qd_d):
        e, ed = q_d - q, qd_d - qd
        qd_r, qdd_r = qd_d + rate * e, qdd_d + rate * ed
        tau = pin.rnea(P, D, q, still, qdd_r)
        tau += pin.computeCoriolisMatrix(P, D, q, qd).dot(qd_r)
        return tau + kp * e + kd * ed

    # Another factorization of c: the torques are the same where qd_r = qd, and only there.
    free = PassivityController(model, kd, rate, kp, limits=TorqueLimits(np.inf))
    same = free.torque(JointState(q, qd), Motion(q, qd, qdd_d, still))
    np.testing.assert_allclose(same, theirs(q, qd), rtol=1e-9, atol=1e-9)
    state, wanted = JointState(q, qd), Motion(q_d, qd_d, qdd_d, still)
    return lambda: law.torque(state, wanted), theirs


def scaling(bench: Bench) -> Iterator[Figure]:
    made = bench.mixed(3, bench.settings.scaled)
    done = bench.map("scaled moves", runs.scale, made)
    used = np.array([[one.torque, one.rate] for one in done])
    touched = used.max(axis=1)
    faster = statistics.median(one.before / one.duration for one in done)
    yield Figure(
        "scaled moves: largest share of a torque or torque-rate limit",
        f"{100.0 * used.max():.2f} %",
        "≤ 100.1 %",
        bool(used.max() <= 1.001),
        f"{len(done)} moves, at 10⁴ instants each, rates by differences",
    )
    yield Figure(
        "the same, of the move that uses least",
        f"{100.0 * touched.min():.2f} %",
        "≥ 99.9 %",
        bool(touched.min() >= 0.999),
        f"torque touched by {np.sum(used[:, 0] >= 0.999)}, rate by {np.sum(used[:, 1] >= 0.999)}; "
        f"{faster:.1f} × faster than the quintic within the joints' speeds (median)",
    )


def walls(bench: Bench) -> Iterator[Figure]:
    settings = bench.settings
    made = [
        run._replace(reaction=reaction)
        for run in bench.runs(4, settings.hits)
        for reaction in REACTIONS
    ]
    hits: dict[str, list[Hit]] = {reaction: [] for reaction in REACTIONS}
    for one in bench.map("walls", runs.hit, made):
        hits[one.run.reaction].append(one)
    bench.tables.append(wall_table(hits))
    none = hits["none"]
    felt = [i for i, one in enumerate(none) if one.later > FELT]
    for reaction in REACTIONS[1:]:
        mine = hits[reaction]
        shares = [mine[i].later / none[i].later for i in felt]
        asked = reaction in ("reflex", "admittance")
        yield Figure(
            f"wall of 5 kN/m, {reaction}: force 0.3 s after contact, of that without",
            f"{100.0 * max(shares):.1f} %",
            "≤ 10 %" if asked else "(not asked)",
            not asked or max(shares) <= 0.1,
            f"{len(felt)} of {len(none)} hits; without, {min(none[i].later for i in felt):.0f} to "
            f"{max(none[i].later for i in felt):.0f} N",
        )
    given_in = [one for reaction in REACTIONS[1:] for one in hits[reaction]]
    rest = max(one.rest for one in given_in)
    yield Figure(
        "the same: at rest after, all reactions",
        f"{rest:.2f} s",
        "at rest",
        bool(np.isfinite(rest)),
        f"slower than {runs.STILL} rad/s for the rest of 4 s",
    )
    everything = [one for many in hits.values() for one in many]
    yield limit_figure("the same", max(one.rate for one in everything))
    torque = max(one.torque for one in everything)
    yield Figure(
        "the same: largest torque / limit",
        f"{torque:.6f}",
        "≤ 1",
        torque <= 1.0 + ROUNDING,
    )


def limit_figure(what: str, rate: float) -> Figure:
    name = f"{what}: largest torque rate / limit of {runs.RATE:g} N m/s, all along"
    return Figure(name, f"{rate:.6f}", "≤ 1", rate <= 1.0 + ROUNDING)


def wall_table(hits: dict[str, list[Hit]]) -> Table:
    speeds = [one.speed for one in hits["none"]]
    table = Table(
        title=f"wall of 5 kN/m, hit at {min(speeds):.2f} to {max(speeds):.2f} m/s: median (worst)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    columns = {
        "told after, ms": lambda one: 1e3 * one.delay,
        "force 0.3 s later, N": lambda one: one.later,
        "peak, N": lambda one: one.peak,
        "impulse, N s": lambda one: one.impulse,
        "at rest after, s": lambda one: one.rest,
    }
    table.add_column("reaction")
    for name in columns:
        table.add_column(name, justify="right")
    for reaction, mine in hits.items():
        cells = []
        for of in columns.values():
            values = [of(one) for one in mine]
            cells.append(f"{statistics.median(values):.3g} ({max(values):.3g})")
        table.add_row(reaction, *cells)
    return table


def resuming(bench: Bench) -> Iterator[Figure]:
    made = [
        run._replace(reaction=reaction)
        for run in bench.runs(5, bench.settings.hits)
        for reaction in REACTIONS[1:]
    ]
    done = bench.map("resumed", runs.resume, made)
    away = [one.away for one in done]
    yield limit_figure("resume", max(one.rate for one in done))
    for name, of, note in (
        (
            "resume: distance from the path when the clock runs again",
            lambda one: one.rejoined,
            f"{len(done)} pushes on the way, {min(away):.2f} to {max(away):.2f} rad away from it",
        ),
        ("resume: largest tracking error from there to the end", lambda one: one.after, ""),
    ):
        worst = max(of(one) for one in done)
        yield Figure(name, f"{worst:.1e} rad", "≤ 1e-3 rad", worst <= 1e-3, note)


def null_space(bench: Bench) -> Iterator[Figure]:
    given, by_reflex = (runs.push_elbow(name, False) for name in ("null_space", "reflex"))
    note = f"30 N on the elbow of the LWR-III, which gives way by {1e3 * given.elbow:.0f} mm"
    hand = max(given.hand, runs.push_elbow("null_space", True).hand)
    yield Figure(
        "null space: hand displaced", f"{1e3 * hand:.2f} mm", "≤ 5 mm", hand <= 5e-3, note
    )
    force, reflex = (runs.push_elbow(name, True).force for name in ("null_space", "reflex"))
    ratio = force / reflex
    note = f"pusher at 0.2 m/s, 1 kN/m: {force:.1f} and {reflex:.1f} N; "
    note += f"the reflex moves the hand by {1e3 * by_reflex.hand:.0f} mm"
    what = "null space: force on the pusher over that of reflex"
    yield Figure(what, f"{ratio:.2f}", "≤ 1.3", ratio <= 1.3, note)


# Each measures what it needs with the bench and yields lines of the table
FIGURES = [
    timing,
    whole_cycle,
    tracking,
    wrong_model,
    falling,
    scaling,
    walls,
    null_space,
    resuming,
]


# ---------------------------------------------------------------- the program


def settings_from(arguments: argparse.Namespace) -> Settings:
    quick, plant = arguments.quick, arguments.plant
    return Settings(
        seed=arguments.seed,
        plants=("rigid", "mujoco") if plant == "both" else (plant,),
        moves=1 if quick else 10,
        heavier=20,
        starts=100,
        scaled=4 if quick else 20,
        hits=1 if quick else 10,
        rounds=20 if quick else 100,
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=["rigid", "mujoco", "both"], default="both")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    settings = settings_from(arguments)
    console, start = Console(), time.perf_counter()
    for robot in ROBOTS:
        rd.warmup(runs.robot(robot))
    with ProcessPoolExecutor(arguments.processes) as pool:
        bench = Bench(settings, console, pool)
        figures = []
        for measure in FIGURES:
            for figure in measure(bench):
                console.print(f"[bold]{figure.figure}: {figure.measured}[/] {figure.note}")
                figures.append(figure)
    for table in bench.tables:
        console.print(table)
    title = f"{', '.join(ROBOTS)}; {' and '.join(settings.plants)} plant, seed {settings.seed}"
    console.print(figures_table(figures, f"{title}, {time.perf_counter() - start:.0f} s"))
    finish(figures, arguments, settings=asdict(settings))


if __name__ == "__main__":
    main()
