"""Pushes on simulated arms in motion, and what the residual tells of them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from detection_runs import DT, GAIN, MEAN, Array, Log, Run, nominal, observe

import robodyn_ros as rd
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.isolation import isolate
from robodyn_ros.detection.wrench import carrying_joints, external_wrench, force_doubt
from robodyn_ros.simulation.plant import Plant

RAMP = 0.005  # [s], in which a push grows
PUSH, PAUSE = 0.15, 0.25  # [s], how long a push lasts and how long the arm is let alone after it
STRONGEST = 300.0  # [N], pushes that would need more are drawn anew
SURFACE = 0.05  # [m], how far from a link's axis it is touched
SHORT = 0.12  # [m], how long a link is at least
SETTLED = 60  # samples after its onset, from where on a push is looked at to tell link and force
LAG = round(1.0 / (GAIN * DT))  # samples by which the residual is late
RHO = {"weak": (1.5, 2.0), "middle": (2.0, 3.0), "strong": (5.0, 10.0)}


class Touch(NamedTuple):
    """A push as it was given."""

    sample: int
    row: int  # of the link's body
    point: Array  # [m], in the link's frame
    force: Array  # [N], base's axes


class Told(NamedTuple):
    """A push and what was told about it."""

    robot: str
    kind: str  # which range of rho it was drawn from
    rho: float  # at its onset, fully grown
    delay: float  # [samples], infinite if it was missed
    row: int
    answer: int  # row of the link that was named, -1 for "cannot tell"
    joints: int  # that move the link
    force: float  # [N]
    found: float  # [N], size of the force that was told
    doubt: float  # [N], of it
    error: float  # [N]


def pushes(run: Run) -> list[Told]:
    """Push an arm in motion again and again: any link, any place on it, any direction."""
    model, limit = nominal(run.arm.robot), run.thresholds.base
    random = np.random.default_rng((run.seed, 1))
    starts = push_times(run.seconds)
    due = {int(s / DT) for s in starts + random.uniform(0.0, 0.5 * PAUSE, starts.size)}
    touches: list[tuple[Touch, str]] = []

    def touch(plant: Plant, k: int) -> None:
        if k in due:
            kind = list(RHO)[len(touches) % len(RHO)]
            made = draw(model, random, plant.state.q, limit, random.uniform(*RHO[kind]), k)
            touches.append((made, kind))
            link = model.link_names[made.row]
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
    model: rd.RobotModel,
    random: np.random.Generator,
    q: Array,
    limit: Array,
    rho: float,
    sample: int,
) -> Touch:
    """A push of this rho somewhere on the arm."""
    while True:
        row = int(random.integers(len(model.link_names)))
        middle, along = spans(model)[row]
        across = np.cross(along, random.normal(size=3))
        point = middle + random.uniform(-0.5, 0.5) * along
        point += SURFACE * across / np.linalg.norm(across)
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        J = rd.jacobian(model, q, model.link_names[row], point)[:3]
        felt = np.max(np.abs(J.T @ direction) / limit)
        if felt * STRONGEST > rho:
            return Touch(sample, row, point, rho / felt * direction)


def told(run: Run, kind: str, touch: Touch, log: Log, r: Array) -> Told:
    """What the residual says about a push."""
    known, k, limit, noise = run.known, touch.sample, run.thresholds.base, run.noise.base
    link = known.link_names[touch.row]
    J = rd.jacobian(known, log.q[k], link, touch.point)[:3]
    shares = np.abs(J.T @ touch.force) / limit
    above = np.abs(r[k + 1 : k + 1 + int(PUSH / DT)]) > limit
    # A moment later the residual has settled; what it shows then is as old as the filter is late
    mean = r[k + SETTLED : k + SETTLED + MEAN].mean(axis=0)
    q = log.q[k + SETTLED + MEAN // 2 - LAG]
    answer = isolate(known, mean, noise).link
    options = {"force_only": True, "weights": 1.0 / noise}
    force = external_wrench(known, q, mean, link, touch.point, **options)[:3]
    return Told(
        robot=run.arm.robot,
        kind=kind,
        rho=float(shares.max()),
        delay=float(np.argmax(above.any(axis=1)) + 1) if above.any() else math.inf,
        row=touch.row,
        answer=-1 if answer is None else known.link_names.index(answer),
        joints=int(carrying_joints(known, link).sum()),
        force=float(np.linalg.norm(touch.force)),
        found=float(np.linalg.norm(force)),
        doubt=force_doubt(known, q, link, touch.point, noise=noise),
        error=float(np.linalg.norm(force - touch.force)),
    )


def check_with_detector(run: Run, r: Array, samples: int = 1000) -> None:
    """Comparing whole logs must give what CollisionDetector says sample by sample."""
    detector = CollisionDetector(run.thresholds, run.thresholds, run.known, hysteresis=1.0)
    above = (np.abs(r[:samples]) > run.thresholds.base).any(axis=1)
    for k in range(samples):
        if (detector.update(r[k], DT).level > Level.CLEAR) != above[k]:
            raise RuntimeError(f"{run.arm.robot}: detector and whole log differ at sample {k}")
