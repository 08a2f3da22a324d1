"""Elastic joints: tracking and rest with the law that knows the springs, and with a rigid one.

    python benchmark/elastic.py [--moves 5] [--json FILE] [--check] [--demo]

The LWR-III moves by quintics at half its joints' speed, its joints of 1e4 N m/rad with
10 N m s/rad, and of 3e3 with 1. The model is exact and the sensors are; with and without friction
of the drives, which is fed forward. Rest: the time after the arrival until no joint is faster than
2 mrad/s any more. `--demo` runs the demo's nodes on ten elastic arms as well (a minute).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from figures import Figure, figures_table, finish, options
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd

MODEL = rd.robots.lwr_iii()
SPRINGS = ((1e4, 10.0), (3e3, 1.0))  # stiffness [N m/rad], damping [N m s/rad]
DT = 1e-3  # [s]
FREQUENCY = 30.0  # [rad/s]
SPEED = 0.5  # share of the joints' speed
PEAK = 1.875  # of a quintic's speed over its mean
REST = 2e-3  # [rad/s]
BEFORE, AFTER = 0.05, 1.0  # [s] at rest before and after the motion
TRACKING, REST_TIME = 1e-4, 0.2  # [rad], [s]: what must be reached


class Reference(NamedTuple):
    """Motion with its snap."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    qddd: np.ndarray
    qdddd: np.ndarray


class State(NamedTuple):
    """What the sensors of such an arm tell."""

    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    motor_q: np.ndarray
    motor_qd: np.ndarray


class Run(NamedTuple):
    """A motion: all samples, and when it arrives."""

    t: np.ndarray
    error: np.ndarray  # (T, n) [rad]
    qd_error: np.ndarray  # (T, n) [rad/s]
    tau: np.ndarray  # (T, n) [N m]
    arrival: float  # [s]

    @property
    def worst(self) -> float:
        """Largest tracking error [rad]."""
        return float(np.abs(self.error).max())

    @property
    def shaking(self) -> float:
        """Largest speed after the arrival [rad/s]."""
        return float(np.abs(self.qd_error[self.t > self.arrival]).max())

    @property
    def rest(self) -> float:
        """Time after the arrival until the arm rests [s]."""
        fast = self.t[(np.abs(self.qd_error) > REST).any(axis=1) & (self.t > self.arrival)]
        return float(fast[-1] - self.arrival) if fast.size else 0.0


def quintic(start: np.ndarray, end: np.ndarray, duration: float, t: float) -> Reference:
    """Rest to rest, and rest before and after."""
    s, way, still = t / duration, end - start, np.zeros_like(start)
    if s <= 0.0:
        return Reference(start, still, still, still, still)
    if s >= 1.0:
        return Reference(end, still, still, still, still)
    return Reference(
        start + way * s**3 * (10.0 + s * (6.0 * s - 15.0)),
        way / duration * 30.0 * s**2 * (1.0 - s) ** 2,
        way / duration**2 * 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s),
        way / duration**3 * (60.0 + 360.0 * s * (s - 1.0)),
        way / duration**4 * 360.0 * (2.0 * s - 1.0),
    )


def move(law: Any, plant: rd.ElasticJointPlant, end: np.ndarray) -> Run:
    """Follow a quintic with a law that gets links, motors and joint torques."""
    start = plant.state.q.copy()
    duration = float((PEAK * np.abs(end - start) / (SPEED * MODEL.qd_max)).max())
    rows, t = [], -BEFORE
    while t < duration + AFTER:
        x, reference = plant.state, quintic(start, end, duration, t)
        state = State(x.q, x.qd, plant.joint_torque, plant.motor_q, plant.motor_qd)
        tau = law.torque(state, reference, DT).copy()
        rows.append((x.q - reference.q, x.qd - reference.qd, tau))
        plant.step(tau, DT)
        t += DT
    error, qd_error, tau = (np.array(part) for part in zip(*rows, strict=True))
    return Run(DT * np.arange(len(rows)) - BEFORE, error, qd_error, tau, duration)


def elastic_law(stiffness: float, damping: float, measured: str = "both", **extra: Any) -> Any:
    springs = {"stiffness": stiffness, "damping": damping, "measured": measured}
    return rd.ElasticJointController.with_frequency(MODEL, FREQUENCY, **springs, **extra)


def rigid_law(stiffness: float, damping: float, **extra: Any) -> Any:
    return rd.PassivityController.with_frequency(MODEL, FREQUENCY, **extra)


def runs(
    make: Callable[..., Any], stiffness: float, damping: float, friction: bool, moves: int
) -> list[Run]:
    """Random moves of one law."""
    random, found = np.random.default_rng(0), []
    for _ in range(moves):
        start, end = random.uniform(-1.2, 1.2, (2, MODEL.n))
        extra = {"compensation": rd.FrictionFeedForward(MODEL)} if friction else {}
        plant = rd.ElasticJointPlant(
            MODEL, start, stiffness=stiffness, damping=damping, friction=friction, stops=False
        )
        found.append(move(make(stiffness, damping, **extra), plant, end))
    return found


def figures(moves: int, console: Console) -> list[Figure]:
    """All figures but those of the demo."""
    found = []
    cases = [(*spring, friction) for spring in SPRINGS for friction in (False, True)]
    for stiffness, damping, friction in track(cases, "moving", console=console):
        name = f"K = {stiffness:g}, D = {damping:g}{', friction' if friction else ''}"
        spring = stiffness, damping, friction, moves
        for measured in ("both", "torque"):
            mine = runs(lambda *a, m=measured, **o: elastic_law(*a, m, **o), *spring)
            worst, rest = max(r.worst for r in mine), max(r.rest for r in mine)
            shaking = max(r.shaking for r in mine)
            found += [
                Figure(
                    f"tracking error, {name}",
                    f"{1e3 * worst:.3f} mrad",
                    f"at most {1e3 * TRACKING:g} mrad",
                    worst <= TRACKING,
                    f"elastic law, measured: {measured}",
                ),
                Figure(
                    f"rest after arrival, {name}",
                    f"{rest:.3f} s",
                    f"at most {REST_TIME:g} s",
                    rest <= REST_TIME,
                    f"at most {1e3 * shaking:.2f} mrad/s then",
                ),
            ]
        rigid = runs(rigid_law, *spring)
        worst, shaking = max(r.worst for r in rigid), max(r.shaking for r in rigid)
        found.append(
            Figure(
                f"rigid passivity law, {name}",
                f"{shaking:.2f} rad/s",
                "(shakes after arrival)",
                True,
                f"tracking error {1e3 * worst:.0f} mrad",
            )
        )
    return found


def demo_figure() -> Figure:
    """The demo's nodes on ten elastic arms."""
    from demo_seeds import PlantOptions, outcome, run, use_loopback

    use_loopback()
    events = []
    for seed in range(10):
        events += outcome(run("", PlantOptions("elastic", seed=seed))).events
    pushes = [event for event in events if event.pushed]
    found = sum(event.judgement == "found" for event in pushes)
    false = len(events) - len(pushes)
    return Figure(
        "demo --plant elastic, D = 10",
        f"{found} of {len(pushes)} pushes, {false} false alarms",
        "all, none",
        found == len(pushes) == 40 and false == 0,
        "ten arms with model error, friction and noise",
    )


def main() -> None:
    """Measure, and compare with what must be reached."""
    parser = options(__doc__)
    parser.add_argument("--moves", type=int, default=5, help="random moves of each case")
    parser.add_argument("--demo", action="store_true", help="run the demo on ten arms as well")
    arguments = parser.parse_args()
    console = Console()
    found = figures(arguments.moves, console)
    if arguments.demo:
        found.append(demo_figure())
    console.print(figures_table(found, "LWR-III with elastic joints"))
    finish(found, arguments)


if __name__ == "__main__":
    main()
