"""Faults to name: arms in motion to which, at some moment, something happens.

The arms are perturbed ones; the identifier's model is the nominal one or, with `corrected`, that
set right by the arm's own contact-free motion. Torque is the commanded one, with friction in it,
and the sensors are the LWR's.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from detection_runs import FRICTION_WIDTH, Arm, known_model, nominal

import robodyn_ros as rd
from robodyn_ros.detection.faults.identification import KINDS, FaultReport, identify_fault
from robodyn_ros.detection.model_errors import ModelErrors
from robodyn_ros.simulation.disturbances import perturbed
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT, SECONDS = 0.002, 3.0  # [s], of samples and of a window
FAULTS = KINDS[1:]
ARMS = 20  # of each robot
LEAST_PUSH = 2.0  # [N m] that some joint feels
# What the correction leaves, by and large: a tenth
LEFT = ModelErrors(mass=0.003, com=0.0003, inertia=0.003, friction=0.02)

Array = np.ndarray


class Scenario(NamedTuple):
    """What the identifier is given, and what was injected."""

    known: rd.RobotModel
    log: tuple[Array, Array, Array, Array]  # t, q, qd, tau
    joint: str | None
    value: float | None


class Named(NamedTuple):
    """What was injected and what was said about it."""

    kind: str
    joint: str | None
    value: float | None
    report: FaultReport


class Answer(NamedTuple):
    """The same in short."""

    kind: str
    value: float | None
    found: str  # kind that was said
    size: float | None  # value that was said


def motion(rng, n):
    """A smooth motion of all joints about a bent posture: t -> q, qd, qdd."""
    centre = np.array([0.0, 0.7, 0.0, 1.2, 0.0, 0.8, 0.0]) + rng.uniform(-0.3, 0.3, n)
    size = rng.uniform(0.15, 0.35, (2, n))
    w = 2 * np.pi * np.array([0.35, 0.8])[:, None] * rng.uniform(0.8, 1.2, (2, n))
    size[1] /= 2.5
    phase = rng.uniform(0, 2 * np.pi, (2, n))

    def at(t):
        s, c = np.sin(w * t + phase), np.cos(w * t + phase)
        q = centre + (size * s).sum(0)
        return q, (size * w * c).sum(0), -(size * w * w * s).sum(0)

    return at


def push(plant, rng):
    """A push that is felt."""
    felt, model = 0.0, plant.bare
    while felt < LEAST_PUSH:
        force = rng.normal(size=3)
        force *= rng.uniform(20, 80) / np.linalg.norm(force)
        link = model.link_names[int(rng.integers(1, model.n))]
        point = rng.uniform(-0.08, 0.08, 3)
        J = rd.jacobian(model, plant.state.q, link, point)
        felt = np.abs(J[:3].T @ force).max()
    shape = str(rng.choice(["step", "half_sine", "ramp"]))
    plant.push(link, force, point, rng.uniform(0.1, 0.4), shape)
    return None, None


def inject(plant, kind, rng, wanted=None):
    """Let it happen now, to a random joint, as strong as wanted or as a random number says."""
    model = plant.bare
    k = int(rng.integers(model.n))
    joint, sign = model.joint_names[k], rng.choice([-1.0, 1.0])
    if kind == "none":
        return None, None
    if kind == "payload":
        mass = wanted or float(rng.uniform(0.2, 2.0))
        com = rng.uniform([-0.05, -0.05, 0.0], [0.05, 0.05, 0.15])
        plant.attach(rd.Payload(model.link_names[-1], mass, com))
        return None, mass
    if kind == "collision":
        return push(plant, rng)
    value = wanted or {
        "effectiveness": rng.uniform(0.3, 0.75),
        "bias": sign * rng.uniform(0.06, 0.15) * model.tau_max[k],
        "friction": rng.uniform(2.0, 4.0),
        "effort_scale": rng.choice([rng.uniform(0.1, 0.7), rng.uniform(1.4, 3.0)]),
    }.get(kind)
    plant.fail(joint, kind, value)
    return joint, value


@lru_cache(maxsize=2 * ARMS)
def robots(seed, friction, corrected):
    """The robot, and what the identifier takes it for; `seed` counts arms of two kinds."""
    arm = Arm("kuka_lwr4" if seed % 2 else "lwr_iii", seed // 2 % ARMS, commanded=friction)
    model = nominal(arm.robot)
    return perturbed(model, arm.seed), known_model(arm) if corrected else model


def simulate(kind, seed, wanted=None, *, friction=True, seconds=SECONDS, corrected=False):
    """An arm that follows a motion by computed torque, until something happens to it."""
    rng = np.random.default_rng([seed, FAULTS.index(kind) if kind in FAULTS else 99])
    true, known = robots(seed, friction, corrected)
    at = motion(rng, true.n)
    q, qd, _ = at(0.0)
    plant = RigidPlant(true, q, qd, friction=friction, sensor=LWR_SENSORS, seed=seed)
    onset = round(rng.uniform(0.35, 0.55) * SECONDS / DT)
    truth, rows = (None, None), []
    for i in range(round(seconds / DT)):
        if i == onset:
            truth = inject(plant, kind, rng, wanted)
        qr, qdr, qddr = at(i * DT)
        acc = qddr + 100.0 * (qr - q) + 20.0 * (qdr - qd)
        tau = rd.inverse_dynamics(known, q, qd, acc)
        if friction:
            tau = tau + rd.friction_torque(known, qdr, width=FRICTION_WIDTH)
        plant.step(tau, DT)
        seen = plant.measurement
        q, qd = seen.q, seen.qd
        rows.append((seen.t, q, qd, seen.tau))
    log = tuple(np.array(column) for column in zip(*rows, strict=True))
    return Scenario(known, log, *truth)


def identify(kind, seed, *, corrected=False):
    case = simulate(kind, seed, corrected=corrected)
    errors = LEFT if corrected else None
    report = identify_fault(case.known, *case.log, friction=True, errors=errors)
    return Named(kind, case.joint, case.value, report)


def identify_case(case):
    """The same for a case (kind, seed), after a correction of the model: the answer."""
    named = identify(*case, corrected=True)
    return Answer(named.kind, named.value, named.report.kind, named.report.value)
