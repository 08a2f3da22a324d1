"""How surely and how soon the cause of a contact is named: touch, payload or fault.

    python benchmark/faults.py [--quick] [--seed N] [--robots …] [--json FILE] [--check]

Perturbed arms on the MuJoCo plant, with noise, in motion and at rest, torque commanded or
measured; every sample goes through the real `ContactMonitor`. `fault_runs.py` says what happens to
the arms, docs/faults.md how the figures are to be read.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import fault_runs as runs
import numpy as np
from fault_runs import Case, Told
from figures import Figure, figures_table, finish, options
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.sensing.sample import Sample, Status

# What shows in a commanded torque, and in one that is measured behind the friction
COMMANDED = (
    "collision", "payload", "free_swinging", "effectiveness", "bias", "locked", "friction",
    "freeze_all", "freeze_velocity",
)  # fmt: skip
MEASURED = (
    "collision", "payload", "bias", "freeze_all", "freeze_velocity", "effort_scale",
    "effort_sign",
)  # fmt: skip
# More cases of what is seldom excited: the load of such a joint must exceed its friction
SELDOM = {"locked": 6, "free_swinging": 6}
AT_REST = ("collision", "payload", "effectiveness", "bias")
SCALES = (0.05, 0.1, 0.3, 3.0, 10.0, 100.0, 1000.0, -1.0, -0.1, -20.0)
NO_FAULT = ("", "undecided", "collision")


def expected(kind: str) -> str:
    """The name of what happens."""
    return "sensor_freeze" if kind.startswith("freeze") else kind


def answer(told: Told) -> str:
    """The name a second after the onset; of a push that is over, its last one."""
    name = told.at(1.0)[1]
    if told.case.kind == "collision" and not name:
        name = next((x[1] for x in reversed(told.names) if 0.0 <= x[0] <= 1.0 and x[1]), "")
    return name


def share(name: str, good: Sequence[bool], bar: float, note: str = "") -> Figure:
    """A share that must reach the bar."""
    part = float(np.mean(good)) if len(good) else 0.0
    return Figure(
        name, f"{part:.1%}", f"≥ {bar:.0%}", part >= bar, f"{sum(good)} of {len(good)}; {note}"
    )


def kinds(found: list[Told]) -> Iterator[Figure]:
    moving = [one for one in found if one.case.moving and one.excited]
    rights = []
    for kind in dict.fromkeys(one.case.kind for one in moving):
        mine = [one for one in moving if one.case.kind == kind]
        right = [answer(one) == expected(kind) for one in mine]
        rights += right
        wrong = Counter(answer(one) or "nothing" for one in mine if answer(one) != expected(kind))
        note = ", ".join(f"{count} as {name}" for name, count in wrong.items())
        yield share(f"{kind}: named 1 s after the onset", right, 0.95, note)
    yield share("all kinds", rights, 0.97)
    alike = [one for one in found if one.case.kind == "collision" and not one.excited]
    alike = [one for one in alike if one.case.moving]
    strict = [*rights, *(answer(one) == "collision" for one in alike)]
    part = float(np.mean(strict)) if strict else 0.0
    counts = f"{sum(strict)} of {len(strict)}"
    yield Figure(
        "all kinds, with pushes like a bias", f"{part:.1%}", "(≥ 97 %)", part >= 0.97, counts
    )
    both = {"bias", "collision"}
    open_ = [
        answer(one) == "collision" or set(one.at(1.0)[4].split(" or ")) == both for one in alike
    ]
    exact = sum(answer(one) == "collision" for one in alike)
    yield share("pushes like a bias: named, or left open", open_, 0.95, f"{exact} named after 1 s")
    named = [one for one in moving if answer(one) == expected(one.case.kind)]
    on_joint = [one for one in named if one.case.kind not in ("collision", "payload")]
    yield share("joint right, given the kind", [x.at(1.0)[2] == x.joint for x in on_joint], 0.98)
    most = max(one.changes for one in found)
    yield Figure("changes of the name per case", str(most), "≤ 3", most <= 3)


def at_rest(found: list[Told]) -> Iterator[Figure]:
    """Without motion, what the residual shows may be undecided, never another fault."""
    still = [one for one in found if not one.case.moving and one.alarm < 0.7]
    for kind in dict.fromkeys(one.case.kind for one in still):
        mine = [one for one in still if one.case.kind == kind]
        right = [answer(one) in (expected(kind), *NO_FAULT) for one in mine]
        exact = sum(answer(one) == expected(kind) for one in mine)
        yield share(
            f"{kind} at rest: named, or left open", right, 0.95, f"{exact} named after 1 s"
        )


def pushes(found: list[Told]) -> Iterator[Figure]:
    mine = [one for one in found if one.case.kind == "collision"]
    named = [one for one in mine if any(name[1] not in NO_FAULT for name in one.names)]
    part = len(named) / max(len(mine), 1)
    wrong = Counter(
        next(name[1] for name in one.names if name[1] not in NO_FAULT) for one in named
    )
    note = ", ".join(f"{count} as {name}" for name, count in wrong.items())
    yield Figure(
        "pushes of 0.1–2 s ever named a fault",
        f"{part:.1%}",
        "≤ 1 %",
        part <= 0.01,
        f"{len(named)} of {len(mine)}; {note}",
    )


def masses(found: list[Told]) -> Iterator[Figure]:
    mine = [
        one for one in found
        if one.case.kind == "payload" and one.case.moving and one.excited and not one.case.follow
    ]  # fmt: skip
    for seconds, bar in ((1.0, 0.1), (3.0, 0.05)):
        named = [one for one in mine if one.at(seconds)[1] == "payload"]
        off = np.array([abs(one.at(seconds)[3] / one.value - 1.0) for one in named])
        note = f"median {np.median(off):.1%}, largest {off.max():.1%}" if off.size else ""
        name = f"payload 0.3–3 kg: mass within {bar:.0%} after {seconds:g} s"
        yield share(name, (off <= bar).tolist(), 0.9, note)


def following(found: list[Told]) -> Iterator[Figure]:
    every = [one for one in found if one.case.follow and one.alarm < 0.5]
    mine = [one for one in every if one.excited]
    slow = [one.clear - one.alarm for one in mine]
    soon = [one.clear - one.alarm <= 1.5 for one in every]
    yield share(
        "followed payload: CLEAR within 1.5 s of the alarm",
        [x <= 1.5 for x in slow],
        0.95,
        f"slowest {max(slow, default=math.nan):.2f} s; with faint ones {sum(soon)} of {len(soon)}",
    )
    after = [one for one in every if one.case.late_push and one.clear < 1.9]
    yield share("pushes at twice the threshold found then", [x.found_push for x in after], 0.99)


def scales(found: list[Told]) -> Iterator[Figure]:
    for joints in ("one", "all"):
        mine = [one for one in found if one.case.joints == joints and one.case.value is not None]
        mine = [one for one in mine if one.excited and one.case.kind.startswith("effort")]
        right = [one.at(1.0)[1] == one.case.kind for one in mine]
        wrong = Counter(
            f"{x.case.value:g} as {x.at(1.0)[1] or 'nothing'}"
            for x in mine
            if x.at(1.0)[1] != x.case.kind
        )
        note = ", ".join(f"{n} × {name}" for name, n in wrong.items())
        yield share(f"effort scale or sign on {joints}: told within 1 s", right, 1.0, note)


def cost() -> Figure:
    """Median time that the cases add to a sample while one is open."""
    case = Case("payload", "lwr_iii", 0, 0, True, value=2.0, seconds=1.5)
    log, _ = runs.simulate(case, np.array(runs.thresholds("lwr_iii", True)))
    model, settings = runs.known("lwr_iii", 0, True), runs.settings_of(case)
    spent: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(5):
        for faults in spent:
            monitor = ContactMonitor(model, settings, commanded=True, links=False, faults=faults)
            times = []
            for k, (t, q, qd, tau) in enumerate(zip(*log, strict=True)):
                status = Status.OK if k else Status.RESTART
                sample = Sample(t, runs.DT, q, qd, tau, status)
                begun = time.perf_counter()
                monitor.update(sample)
                times.append(time.perf_counter() - begun)
            spent[faults].append(times[round(runs.BEFORE / runs.DT) :])
    least = {on: np.min(np.array(rows), axis=0) * 1e6 for on, rows in spent.items()}
    added = float(np.median(least[True]) - np.median(least[False]))
    worst = float(np.percentile(least[True], 99) - np.percentile(least[False], 99))
    return Figure(
        "cost per sample, 7 joints",
        f"{added:.1f} µs",
        "≤ 15 µs",
        added <= 15.0,
        f"99 %: {worst:+.1f} µs",
    )


def confusion(found: list[Told]) -> Table:
    """What was told, by what happened, where the motion excites it."""
    moving = [one for one in found if one.case.moving and one.excited and not one.case.follow]
    table = Table(title="told after 1 s, of 100", title_justify="left", box=box.SIMPLE_HEAD)
    names = list(dict.fromkeys(answer(one) or "nothing" for one in moving))
    for head in ("happened", *names):
        table.add_column(head)
    for kind in dict.fromkeys(one.case.kind for one in moving):
        mine = [answer(one) or "nothing" for one in moving if one.case.kind == kind]
        count = Counter(mine)
        cells = (f"{100 * count[name] / len(mine):.0f}" if count[name] else "" for name in names)
        table.add_row(kind, *cells)
    return table


def plan(arguments: argparse.Namespace) -> list[Case]:
    """All cases, by turns on all robots and arms."""
    robots, quick = arguments.robots.split(","), arguments.quick
    each = arguments.cases or (3 if quick else 40)
    arms, made = 1 if quick else 3, []

    def add(count: int, kind: str, commanded: bool, **more) -> None:
        for i in range(count):
            robot = robots[i % len(robots)]
            if kind == "friction" and not runs.runs.nominal(robot).coulomb.any():
                continue
            seed = 100_000 * arguments.seed + i
            made.append(Case(kind, robot, i // len(robots) % arms, seed, commanded, **more))

    for commanded, names in ((True, COMMANDED), (False, MEASURED)):
        for kind in names:
            pushes = 5 if quick else 10
            more = pushes if kind == "collision" else SELDOM.get(kind, 1)
            add(more * each, kind, commanded)
        for kind in AT_REST:
            add(max(each // 2, 1), kind, commanded, moving=False)
        add(each, "payload", commanded, follow=True, late_push=True)
    for i, scale in enumerate(SCALES):
        kind = "effort_sign" if scale < 0.0 else "effort_scale"
        count = max(each // 4, 1)
        for joints in ("one", "all"):
            add(count + i % 2, kind, False, value=scale, joints=joints, seconds=1.5)
    return made


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--robots", default="lwr_iii,kuka_lwr4,panda", help="commas between")
    parser.add_argument("--cases", type=int, help="of each kind; 40, quick: 3")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    console, start = Console(), time.perf_counter()
    cases = plan(arguments)
    for robot in arguments.robots.split(","):
        rd.warmup(runs.runs.nominal(robot))
        for commanded in (True, False):
            runs.thresholds(robot, commanded)  # before there are processes, which share them
    for one in dict.fromkeys((x.robot, x.arm, x.commanded) for x in cases):
        runs.known(*one)
    figures = [cost()]
    with ProcessPoolExecutor(arguments.processes) as pool:
        results = pool.map(runs.follow_case, cases, chunksize=1)
        found = list(track(results, "cases", len(cases), console=console))
    plain = [x for x in found if not x.case.follow and x.case.value is None]
    for part, of in (
        (kinds, plain), (at_rest, plain), (pushes, plain), (masses, plain), (following, found),
        (scales, found),
    ):  # fmt: skip
        figures += part(of)
    seconds = time.perf_counter() - start
    title = f"{arguments.robots}; {len(cases)} cases, seed {arguments.seed}, {seconds:.0f} s"
    console.print(confusion(plain))
    console.print(figures_table(figures, title))
    finish(figures, arguments, cases=len(cases))


if __name__ == "__main__":
    main()
