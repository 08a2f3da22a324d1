"""How soon, how surely and how exactly the residual tells what touches an arm.

    python benchmark/detection.py [--quick] [--seed N] [--plant rigid] [--json FILE] [--check]

The simulated arm is a perturbed one (masses, centres of mass, inertias); the observer and the
controller know the nominal model only. Arms move along random sums of sines, tracked at 1 kHz, and
are read through the LWR's sensors. Thresholds are calibrated on other perturbed arms than those
they are tried on. rho is the external torque over the threshold, of the joint where that is most.
docs/detection.md says how each figure is measured and what bounds it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import track
from rich.table import Table

import robodyn_ros as rd
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.isolation import isolate
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.thresholds import Thresholds, calibrate
from robodyn_ros.detection.wrench import carrying_joints, external_wrench
from robodyn_ros.simulation.perturb import perturbed
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT = 1e-3  # [s]
GAIN = 100.0  # [1/s], of the observer
MARGIN = 1.3  # thresholds over the largest residual of the motions to calibrate from
OPPOSED = 2.2  # and over its slow part, which may oppose a push: with rho = 1.5 a half is left
BANDWIDTH = 30.0  # [rad/s], of the controller
RAMP = 0.005  # [s], in which a push grows
PUSH, PAUSE = 0.15, 0.25  # [s], how long a push lasts and how long the arm is let alone after it
MASS_ERROR, COM_ERROR, FRICTION_ERROR = 0.03, 0.003, 0.2  # shares, [m]
STRONGEST = 300.0  # [N], pushes that would need more are drawn anew
SURFACE = 0.05  # [m], how far from a link's axis it is touched
SHORT = 0.12  # [m], how long a link is at least
MEAN = 40  # samples, over which the residual is averaged to tell link and force
SETTLED = 60  # samples after a push's onset from where on
RHO = {"weak": (1.5, 2.0), "middle": (2.0, 3.0), "strong": (5.0, 10.0)}
ARMS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")

Array = np.ndarray


# ---------------------------------------------------------------- arms, motions, simulated logs


@cache
def nominal(name: str) -> rd.RobotModel:
    """The model that controller and observer know."""
    if hasattr(rd.robots, name):
        return getattr(rd.robots, name)()
    if name == "panda":
        # The URDF has no rotors; these carry no weight in the figures, but in the simulation
        fingers = ["panda_finger_joint1", "panda_finger_joint2"]
        path = ARMS / "panda_description/urdf/panda.urdf"
        return rd.load_urdf(path, lock=fingers, rotor_inertia=0.3)
    return rd.load_urdf(ARMS / name)


@cache
def observed(name: str) -> rd.RobotModel:
    """The nominal links without rotors: all that moves behind the joint torque sensors."""
    return nominal(name).replace(rotor_inertia=0.0)


class Motion(NamedTuple):
    """A planned motion, one row a sample."""

    t: Array
    q: Array
    qd: Array
    qdd: Array


class Log(NamedTuple):
    """What happened, one row a sample; tau[k] was applied from t[k-1] to t[k]."""

    t: Array
    q: Array
    qd: Array
    tau: Array


class Touch(NamedTuple):
    """A push as it was given."""

    sample: int
    row: int  # of the link's body
    point: Array  # [m], in the link's frame
    force: Array  # [N], base's axes


def random_motion(model: rd.RobotModel, random: np.random.Generator, seconds: float) -> Motion:
    """Three sines a joint, within 90 % of its range and half of its speed."""
    t = np.arange(0.0, seconds, DT)
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    w = 2.0 * np.pi * random.uniform(0.05, 0.4, (3, model.n))
    phase = random.uniform(0.0, 2.0 * np.pi, (3, model.n))
    share = random.uniform(0.2, 1.0, (3, model.n))
    share /= share.sum(axis=0)
    speed = np.where(np.isfinite(model.qd_max), model.qd_max, np.pi)
    reach = random.uniform(0.2, 0.45, model.n) * (high - low)
    reach = np.minimum(reach, 0.5 * speed / (share * w).sum(axis=0))
    room = 0.45 * (high - low) - reach
    middle = 0.5 * (low + high) + random.uniform(-1.0, 1.0, model.n) * room
    angle = t[:, None, None] * w + phase
    a = share * reach
    return Motion(
        t,
        middle + (a * np.sin(angle)).sum(axis=1),
        (a * w * np.cos(angle)).sum(axis=1),
        (-a * w**2 * np.sin(angle)).sum(axis=1),
    )


def make_plant(kind: str, model: rd.RobotModel, motion: Motion) -> Plant:
    """Friction is off: it acts before the joint torque sensors, which read what is left."""
    if kind == "mujoco":
        from robodyn_ros.simulation.mujoco_plant import MujocoPlant

        return MujocoPlant(model, motion.q[0], motion.qd[0], friction=False, integrator="rk4")
    return RigidPlant(model, motion.q[0], motion.qd[0], friction=False)


def simulate(
    known: rd.RobotModel,
    plant: Plant,
    motion: Motion,
    touch: Callable[[Plant, int], None] | None = None,
    untold: Array | None = None,
) -> Log:
    """Track the motion with the known model's inverse dynamics and a PD law.

    touch: is called before each sample and may push. untold: (T, n), torque that acts on the
    joints without being told.
    """
    inertia = np.diag(rd.mass_matrix(known, motion.q[0]))
    stiffness, damping = BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia
    plan = rd.inverse_dynamics(known, motion.q, motion.qd, motion.qdd)
    plan += stiffness * motion.q + damping * motion.qd
    q, qd, tau = motion.q.copy(), motion.qd.copy(), np.zeros_like(motion.q)
    state = plant.state
    for k in range(1, len(q)):
        if touch is not None:
            touch(plant, k - 1)
        command = plan[k - 1] - stiffness * state.q - damping * state.qd
        if untold is not None:
            command += untold[k]
        state = plant.step(command, DT)
        q[k], qd[k], tau[k] = state.q, state.qd, state.tau
    return Log(motion.t, q, qd, tau if untold is None else tau - untold)


def sensed(model: rd.RobotModel, log: Log, random: np.random.Generator) -> Log:
    """The log through the LWR's sensors; tau becomes what the joint torque sensors read: the
    motors' torque less what turns the rotors.
    """
    step = LWR_SENSORS.position_resolution
    rate = np.diff(log.qd, axis=0, prepend=log.qd[:1]) / DT
    noise = torque_noise(model)
    return log._replace(
        q=np.round(log.q / step) * step,
        qd=log.qd + random.normal(0.0, LWR_SENSORS.velocity_noise, log.qd.shape),
        tau=log.tau - model.rotor_inertia * rate + random.normal(0.0, 1.0, log.tau.shape) * noise,
    )


def torque_noise(model: rd.RobotModel) -> Array:
    """(n,) [N m], standard deviation."""
    return LWR_SENSORS.torque_noise * np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)


class Run(NamedTuple):
    """What a process is to simulate."""

    robot: str
    plant: str
    seed: int
    seconds: float
    thresholds: Thresholds | None = None
    noise: Thresholds | None = None  # the same for the residual's mean over MEAN samples


def observe(run: Run, touch: Callable[[Plant, int], None] | None = None) -> tuple[Log, Array]:
    """A perturbed arm in motion: what its sensors report, and the residual."""
    known = nominal(run.robot)
    random = np.random.default_rng((run.seed, 0))
    motion = random_motion(known, random, run.seconds)
    real = perturbed(known, run.seed, mass=MASS_ERROR, com=COM_ERROR, friction=FRICTION_ERROR)
    plant = make_plant(run.plant, real, motion)
    log = sensed(known, simulate(known, plant, motion, touch), random)
    return log, residual(observed(run.robot), log.t, log.q, log.qd, log.tau, GAIN)


# ---------------------------------------------------------------- what the processes do


def free_motion(run: Run) -> tuple[Array, Array]:
    """The residual without contact, and its mean over MEAN samples."""
    _, r = observe(run)
    total = np.cumsum(r, axis=0)
    return r.astype(np.float32), ((total[MEAN:] - total[:-MEAN]) / MEAN).astype(np.float32)


class Quiet(NamedTuple):
    """A run without contact: false alarms, and how near the residual came to the thresholds."""

    robot: str
    seconds: float
    alarms: int
    nearest: Array  # (n,), largest |r| / threshold


def false_alarms(run: Run) -> Quiet:
    _, r = observe(run)
    share = np.abs(r) / run.thresholds.base
    above = (share > 1.0).any(axis=1)
    alarms = int(np.count_nonzero(above[1:] & ~above[:-1]))
    return Quiet(run.robot, run.seconds, alarms, share.max(axis=0))


class Told(NamedTuple):
    """A push and what was told about it."""

    robot: str
    kind: str  # which range of rho it was drawn from
    rho: float  # at its onset, fully grown
    own: float  # the same of the outermost joint that carries the link
    delay: float  # [samples], infinite if it was missed
    row: int
    answer: int  # row of the link that was named, -1 for "cannot tell"
    joints: int  # that move the link
    doubt: float  # [N], force error if each joint's residual is off by its noise, worst direction
    force: float  # [N]
    error: float  # [N]
    error_felt: float  # [N], against that part of the force which the joints feel


def pushes(run: Run) -> list[Told]:
    """Push an arm in motion again and again: any link, any place on it, any direction."""
    known, limit = nominal(run.robot), run.thresholds.base
    random = np.random.default_rng((run.seed, 1))
    starts = push_times(run.seconds)
    due = {int(s / DT) for s in starts + random.uniform(0.0, 0.5 * PAUSE, starts.size)}
    touches: list[tuple[Touch, str]] = []

    def touch(plant: Plant, k: int) -> None:
        if k in due:
            kind = list(RHO)[len(touches) % len(RHO)]
            made = draw(known, random, plant.state.q, limit, random.uniform(*RHO[kind]), k)
            touches.append((made, kind))
            link = known.link_names[made.row]
            plant.push(link, made.force, made.point, PUSH, "ramp", ramp=RAMP)

    log, r = observe(run, touch)
    check_with_detector(run, r)
    return [told(run, kind, made, log, r) for made, kind in touches]


def push_times(seconds: float) -> Array:
    return np.arange(0.2, seconds - PUSH - PAUSE, PUSH + PAUSE)


def spans(model: rd.RobotModel) -> list[tuple[Array, Array]]:
    """Middle and span [m] of each link, in its frame: to the next joint, or along its own axis."""
    found = []
    for row in range(len(model.link_names)):
        children = np.flatnonzero(model.parent == row)
        span = model.place[children[0]] if children.size else np.zeros(3)
        short = np.linalg.norm(span) < SHORT
        found.append((model.com[row], SHORT * model.axis[row]) if short else (span / 2.0, span))
    return found


def draw(
    known: rd.RobotModel,
    random: np.random.Generator,
    q: Array,
    limit: Array,
    rho: float,
    sample: int,
) -> Touch:
    """A push of this rho somewhere on the arm."""
    while True:
        row = int(random.integers(len(known.link_names)))
        middle, along = spans(known)[row]
        across = np.cross(along, random.normal(size=3))
        point = middle + random.uniform(-0.5, 0.5) * along
        point += SURFACE * across / np.linalg.norm(across)
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        J = rd.jacobian(known, q, known.link_names[row], point)[:3]
        felt = np.max(np.abs(J.T @ direction) / limit)
        if felt * STRONGEST > rho:
            return Touch(sample, row, point, rho / felt * direction)


def told(run: Run, kind: str, touch: Touch, log: Log, r: Array) -> Told:
    """What the residual says about a push."""
    known, k, limit = nominal(run.robot), touch.sample, run.thresholds.base
    link = known.link_names[touch.row]
    J = rd.jacobian(known, log.q[k], link, touch.point)[:3]
    shares = np.abs(J.T @ touch.force) / limit
    above = np.abs(r[k + 1 : k + 1 + int(PUSH / DT)]) > limit
    # A moment later the residual has settled
    late = k + SETTLED + MEAN // 2
    mean = r[k + SETTLED : k + SETTLED + MEAN].mean(axis=0)
    noise = run.noise.base
    answer = isolate(known, mean, noise).link
    J = rd.jacobian(known, log.q[late], link, touch.point)[:3]

    def force_from(torque: Array) -> Array:
        return external_wrench(
            known,
            log.q[late],
            torque,
            link,
            touch.point,
            force_only=True,
            weights=1.0 / noise,
        )[:3]

    force = force_from(mean)
    moves = carrying_joints(known, link)
    weakest = np.linalg.svd(J[:, moves] / noise[moves], compute_uv=False)[-1]
    return Told(
        robot=run.robot,
        kind=kind,
        rho=float(shares.max()),
        own=float(shares[known.coordinate[touch.row]]),
        delay=float(np.argmax(above.any(axis=1)) + 1) if above.any() else math.inf,
        row=touch.row,
        answer=-1 if answer is None else known.link_names.index(answer),
        joints=int(moves.sum()),
        doubt=1.0 / weakest if moves.sum() >= 3 and weakest > 0.0 else math.inf,
        force=float(np.linalg.norm(touch.force)),
        error=float(np.linalg.norm(force - touch.force)),
        error_felt=float(np.linalg.norm(force - force_from(J.T @ touch.force))),
    )


def check_with_detector(run: Run, r: Array, samples: int = 1000) -> None:
    """Comparing whole logs must give what CollisionDetector says sample by sample."""
    detector = CollisionDetector(
        contact=run.thresholds,
        collision=run.thresholds,
        model=nominal(run.robot),
        hysteresis=1.0,
    )
    above = (np.abs(r[:samples]) > run.thresholds.base).any(axis=1)
    for k in range(samples):
        if (detector.update(r[k], DT).level > Level.CLEAR) != above[k]:
            raise RuntimeError(f"{run.robot}: detector and whole-log comparison differ at {k}")


def noiseless_step(run: Run) -> float:
    """Delay less -ln(1 - 1/rho)/K, in samples; exact model, no noise, constant torque."""
    known = nominal(run.robot)
    random = np.random.default_rng(run.seed)
    gain, rho = random.choice([25.0, 50.0, 100.0]), random.uniform(1.2, 10.0)
    motion = random_motion(known, random, run.seconds)
    onset, joint = len(motion.t) // 4, int(random.integers(known.n))
    size = 0.1 * known.tau_max[joint] * random.choice([-1.0, 1.0])
    untold = np.zeros_like(motion.q)
    untold[onset + 1 :, joint] = size
    log = simulate(known, make_plant(run.plant, known, motion), motion, untold=untold)
    r = residual(known, log.t, log.q, log.qd, log.tau, gain)
    above = np.flatnonzero(np.abs(r[:, joint]) > abs(size) / rho)
    found = (above[0] - onset) * DT if above.size else math.inf
    return (found + math.log1p(-1.0 / rho) / gain) / DT


# ---------------------------------------------------------------- the figures


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    figure: str
    measured: str
    bar: str
    passed: bool
    note: str = ""


@dataclass(frozen=True)
class Settings:
    """What is run, and how much of it."""

    robots: tuple[str, ...]
    seed: int
    plant: str
    hours: float  # without contact
    pushes: int
    steps: int  # noiseless ones
    arms: int  # perturbed, of each robot, to calibrate from
    seconds: float = 20.0  # of a run


def fixed_thresholds(residuals: list[Array]) -> Thresholds:
    return calibrate(residuals, [np.zeros_like(r) for r in residuals], margin=1.0)


class Bench:
    """Runs what the figures need, each thing once."""

    def __init__(self, settings: Settings, console: Console, pool: ProcessPoolExecutor) -> None:
        self.settings, self.console, self.pool = settings, console, pool

    def map(self, what: str, function: Callable, runs: list[Run]) -> list:
        results = self.pool.map(function, runs, chunksize=1)
        return list(track(results, what, len(runs), console=self.console))

    def runs(
        self,
        stage: int,
        count: int,
        seconds: float,
        *,
        plant: str | None = None,
        calibrated: bool = True,
    ) -> list[Run]:
        """Runs of all robots by turns, with seeds of their own."""
        robots = self.settings.robots
        words = np.random.SeedSequence([self.settings.seed, stage]).generate_state(count)
        runs = []
        for i in range(count):
            robot = robots[i % len(robots)]
            levels = self.levels[robot] if calibrated else (None, None)
            runs.append(Run(robot, plant or self.settings.plant, int(words[i]), seconds, *levels))
        return runs

    @cached_property
    def levels(self) -> dict[str, tuple[Thresholds, Thresholds]]:
        """Thresholds for the residual and for its mean, from arms that are not used again.

        They do not follow the motion: behind the torque sensors there is no friction to follow.
        """
        settings = self.settings
        count = settings.arms * len(settings.robots)
        runs = self.runs(1, count, settings.seconds, plant="rigid", calibrated=False)
        logs = self.map("calibrating", free_motion, runs)
        found = {}
        for robot in settings.robots:
            mine = [log for run, log in zip(runs, logs, strict=True) if run.robot == robot]
            quick, slow = (fixed_thresholds(list(part)) for part in zip(*mine, strict=True))
            both = np.maximum(MARGIN * quick.base, OPPOSED * slow.base)
            found[robot] = Thresholds(both), slow.scaled(MARGIN)
        return found

    @cached_property
    def quiet(self) -> list[Quiet]:
        """Motion without contact; always on the rigid plant, which is the fast one."""
        seconds = 60.0
        count = max(len(self.settings.robots), math.ceil(self.settings.hours * 3600.0 / seconds))
        return self.map("no contact", false_alarms, self.runs(2, count, seconds, plant="rigid"))

    @cached_property
    def told(self) -> list[Told]:
        seconds = self.settings.seconds
        count = math.ceil(self.settings.pushes / push_times(seconds).size)
        lists = self.map("pushes", pushes, self.runs(3, count, seconds))
        return [one for many in lists for one in many][: self.settings.pushes]

    def told_of(self, kind: str) -> list[Told]:
        return [one for one in self.told if one.kind == kind]


def step_delay(bench: Bench) -> Iterator[Figure]:
    runs = bench.runs(0, bench.settings.steps, 0.6, calibrated=False)
    off = np.array(bench.map("noiseless steps", noiseless_step, runs))
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
    name, note = "delay, rho 2 to 3, 5 ms ramp, K = 100", f"{middle.size} pushes"
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
    for first, last, bar in ((0, 4, 2.0), (4, 7, 0.4)):
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
    clear = [abs(one.answer - one.row) for one in answered if one.own >= 5.0]
    note = (
        f"{len(answered)} of {len(strong)} answered; where the link's own joint has rho ≥ 5 "
        f"({len(clear)}): {np.mean(np.array(clear) == 0):.1%}"
    )
    yield Figure("link, rho ≥ 5: exact", f"{exact:.1%}", "≥ 90 %", bool(exact >= 0.9), note)
    yield Figure("link, rho ≥ 5: within one", f"{near:.1%}", "≥ 99 %", bool(near >= 0.99))


def forces(bench: Bench) -> Iterator[Figure]:
    strong = bench.told_of("strong")
    whole = [one for one in strong if one.joints >= 3]
    good = np.array([one.error <= enough(one) for one in whole])
    firm = np.array([one.doubt <= enough(one) for one in whole])
    yield force_figure(
        "whole",
        whole,
        good,
        f"where the posture lets no noise through ({firm.sum()}): {good[firm].mean():.1%}",
    )
    felt = np.array([one.error_felt <= enough(one) for one in strong])
    yield force_figure("the part that is felt", strong, felt, "all links")


def force_figure(part: str, ones: list[Told], good: Array, note: str) -> Figure:
    joints = np.array([one.joints for one in ones])
    shares = (f"{j}: {good[joints == j].mean():.0%}" for j in np.unique(joints))
    return Figure(
        f"force at a known link and point, {part}",
        f"{good.mean():.1%} within 10 % or 1 N",
        "≥ 95 %",
        bool(good.mean() >= 0.95),
        f"{good.size} pushes of rho ≥ 5, by joints that move the link {', '.join(shares)}; {note}",
    )


def enough(one: Told) -> float:
    """[N], how far off a force may be."""
    return max(1.0, 0.1 * one.force)


# Each measures what it needs with the bench and yields lines of the table
FIGURES = [step_delay, delays, missed, alarms, threshold_sizes, links, forces]


# ---------------------------------------------------------------- what bounds the thresholds


def gravity_error(name: str, postures: Array) -> Array:
    """(n,) [N m]: what errors of mass and centre of mass change in gravity torque, at worst."""
    model = nominal(name)
    g = rd.gravity_torque(model, postures)
    worst = np.zeros_like(g)
    for row in range(len(model.link_names)):
        mass = model.mass.copy()
        mass[row] *= 1.0 + MASS_ERROR
        worst += np.abs(rd.gravity_torque(model.replace(mass=mass), postures) - g)
        for axis in range(3):
            com = model.com.copy()
            com[row, axis] += COM_ERROR
            worst += np.abs(rd.gravity_torque(model.replace(com=com), postures) - g)
    return worst.max(axis=0)


def residual_noise(name: str, postures: Array) -> Array:
    """(n,) [N m]: standard deviation of the residual that the sensors cause, worst posture.

    Velocity noise s makes momentum noise M s, of which the observer lets K through; torque noise
    it averages.
    """
    model = observed(name)
    blend = -math.expm1(-GAIN * DT)
    M = rd.mass_matrix(model, postures)
    from_velocity = blend / DT * math.sqrt(2.0 / (2.0 - blend)) * LWR_SENSORS.velocity_noise
    from_torque = math.sqrt(blend / (2.0 - blend)) * torque_noise(model)
    return np.hypot(from_velocity * np.linalg.norm(M, axis=2), from_torque).max(axis=0)


def bounds(bench: Bench) -> dict[str, dict[str, list[float]]]:
    found = {}
    for robot in bench.settings.robots:
        random = np.random.default_rng(bench.settings.seed)
        motions = [random_motion(nominal(robot), random, 20.0).q[::200] for _ in range(30)]
        postures = np.vstack(motions)
        rows = {
            "threshold": bench.levels[robot][0].base,
            "noise, one sigma": residual_noise(robot, postures),
            "gravity error at worst": gravity_error(robot, postures),
        }
        found[robot] = {name: row.round(3).tolist() for name, row in rows.items()}
    return found


def bounds_table(found: dict[str, dict[str, list[float]]]) -> Table:
    table = Table(title="joints 1, 2, … [N m]", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("robot")
    table.add_column("")
    for robot, rows in found.items():
        for name, row in rows.items():
            table.add_row(robot, name, *(f"{x:.2f}" for x in row))
    return table


# ---------------------------------------------------------------- the program


def report(figures: list[Figure], settings: Settings, seconds: float) -> Table:
    title = f"{', '.join(settings.robots)}; {settings.plant} plant, seed {settings.seed}"
    table = Table(title=f"{title}, {seconds:.0f} s", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("figure", "measured", "bar", "", "of what"):
        table.add_column(name, justify="right" if name in ("measured", "bar") else "left")
    for figure in figures:
        verdict = "[green]passed[/]" if figure.passed else "[red]missed[/]"
        table.add_row(figure.figure, figure.measured, figure.bar, verdict, figure.note)
    return table


def plants() -> list[str]:
    """The plants that can be had, the best first."""
    found = find_spec("robodyn_ros.simulation.mujoco_plant") and find_spec("mujoco")
    return ["mujoco", "rigid"] if found else ["rigid"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about a minute")
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
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="fail if a figure misses its bar")
    arguments = parser.parse_args()
    quick = arguments.quick
    settings = Settings(
        robots=tuple(arguments.robots.split(",")),
        seed=arguments.seed,
        plant=arguments.plant,
        hours=arguments.hours or (0.05 if quick else 10.0),
        pushes=arguments.pushes or (300 if quick else 10_000),
        steps=60 if quick else 1000,
        arms=20 if quick else 60,
    )
    console, start = Console(), time.perf_counter()
    for robot in settings.robots:
        rd.warmup(nominal(robot))
    with ProcessPoolExecutor(arguments.processes) as pool:
        bench = Bench(settings, console, pool)
        figures = [figure for measure in FIGURES for figure in measure(bench)]
    seconds = time.perf_counter() - start
    console.print(report(figures, settings, seconds))
    limits = bounds(bench)
    console.print(bounds_table(limits))
    if arguments.json:
        lines = [asdict(figure) for figure in figures]
        result = {"settings": asdict(settings), "figures": lines, "bounds": limits}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")
    if arguments.check and not all(figure.passed for figure in figures):
        sys.exit("some figures missed their bars")


if __name__ == "__main__":
    main()
