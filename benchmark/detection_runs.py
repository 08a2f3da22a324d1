"""What the figures of `detection.py` are made from: arms, motions, simulated logs, pushes.

Every simulated arm is a perturbed one. What it is taken for is the nominal model, set right by
`correct_model` from the arm's own contact-free motion. Arms move along random sums of sines and
are read through the LWR's sensors, at 1 kHz. All functions that take a `Run` may be called in
other processes.
"""

from __future__ import annotations

import math
import sysconfig
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

import robodyn_ros as rd
from robodyn_ros.detection.model_correction import correct_model
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.thresholds import Thresholds
from robodyn_ros.simulation.disturbances import perturbed
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.rigid_step import rigid_step
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT = 1e-3  # [s]
GAIN = 100.0  # [1/s], of the observer
# Of joints whose momentum noise would need thresholds above 2 N m at GAIN
LOWER_GAINS = {"panda": {0: 79.0, 1: 79.0}}
COMMANDED_GAIN = 40.0  # [1/s], where the rotors' momentum noise counts, too, for the same reason
BANDWIDTH = 30.0  # [rad/s], of the controller
FRICTION_WIDTH = 0.02  # [rad/s], below which the plants' dry friction fades
FREE_SECONDS = 45.0  # of contact-free motion, to correct a model from
MEAN = 40  # samples, over which the residual is averaged to tell link and force
ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")

Array = np.ndarray
Touching = Callable[[Plant, int], None]


@cache
def nominal(robot: str) -> rd.RobotModel:
    """The model in the books."""
    if hasattr(rd.robots, robot):
        return getattr(rd.robots, robot)()
    if robot == "panda":
        # The URDF has no rotors; these carry no weight in the figures, but in the simulation
        fingers = ["panda_finger_joint1", "panda_finger_joint2"]
        path = ROBOTS / "panda_description/urdf/panda.urdf"
        return rd.load_urdf(path, lock=fingers, rotor_inertia=0.3)
    return rd.load_urdf(ROBOTS / robot)


@cache
def links_only(robot: str) -> rd.RobotModel:
    """The nominal model without rotors: all that moves behind the joint torque sensors."""
    return nominal(robot).replace(rotor_inertia=0.0)


@cache
def gains(robot: str) -> Array:
    """(n,) [1/s], of the observer; lower in joints with much momentum noise."""
    found = np.full(nominal(robot).n, GAIN)
    for joint, gain in LOWER_GAINS.get(robot, {}).items():
        found[joint] = gain
    return found


def residual_noise(robot: str, postures: Array, gain: Array) -> Array:
    """(T, n) [N m]: standard deviation of the residual that the sensors cause, by posture.

    Velocity noise s makes momentum noise M s, of which the observer lets K through; torque noise
    it averages.
    """
    model = links_only(robot)
    blend = -np.expm1(-gain * DT)
    M = rd.mass_matrix(model, postures)
    passed = blend / DT * np.sqrt(2.0 / (2.0 - blend)) * LWR_SENSORS.velocity_noise
    from_torque = np.sqrt(blend / (2.0 - blend)) * torque_noise(model)
    return np.hypot(passed * np.linalg.norm(M, axis=2), from_torque)


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


class Arm(NamedTuple):
    """A perturbed arm.

    commanded: its torque is known from the commands alone, with friction in it; else joint torque
    sensors read it, behind the friction.
    """

    robot: str
    seed: int
    commanded: bool = False


class Run(NamedTuple):
    """What a process is to simulate."""

    arm: Arm
    plant: str
    seed: int
    seconds: float
    known: rd.RobotModel | None = None  # what the observer takes the arm for
    thresholds: Thresholds | None = None
    noise: Thresholds | None = None  # the same for the residual's mean over MEAN samples


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
    sine, cosine, a = np.sin(angle), np.cos(angle), share * reach
    return Motion(
        t,
        middle + (a * sine).sum(axis=1),
        (a * w * cosine).sum(axis=1),
        (-a * w**2 * sine).sum(axis=1),
    )


def make_plant(kind: str, model: rd.RobotModel, motion: Motion, *, friction: bool) -> Plant:
    if kind == "mujoco":
        from robodyn_ros.simulation.mujoco_plant import MujocoPlant

        return MujocoPlant(model, motion.q[0], motion.qd[0], friction=friction, integrator="rk4")
    return RigidPlant(model, motion.q[0], motion.qd[0], friction=friction)


class Controller(NamedTuple):
    """tau = plan - stiffness q - damping qd: the nominal inverse dynamics and a PD law."""

    plan: Array  # (T, n)
    stiffness: Array
    damping: Array


def controller(model: rd.RobotModel, motion: Motion, *, friction: bool) -> Controller:
    inertia = np.diag(rd.mass_matrix(model, motion.q[0]))
    stiffness, damping = BANDWIDTH**2 * inertia, 2.0 * BANDWIDTH * inertia
    plan = rd.inverse_dynamics(model, motion.q, motion.qd, motion.qdd)
    if friction:
        plan += rd.friction_torque(model, motion.qd, width=FRICTION_WIDTH)
    return Controller(plan + stiffness * motion.q + damping * motion.qd, stiffness, damping)


def simulate(
    law: Controller,
    plant: Plant,
    motion: Motion,
    touch: Touching | None = None,
    untold: Array | None = None,
) -> Log:
    """Track the motion.

    touch: is called before each sample and may push. untold: (T, n), torque that acts on the
    joints without being told.
    """
    if touch is None and untold is None and isinstance(plant, RigidPlant):
        return simulate_fast(law, plant, motion)
    q, qd, tau = motion.q.copy(), motion.qd.copy(), np.zeros_like(motion.q)
    state = plant.state
    for k in range(1, len(q)):
        if touch is not None:
            touch(plant, k - 1)
        command = law.plan[k - 1] - law.stiffness * state.q - law.damping * state.qd
        if untold is not None:
            command += untold[k]
        state = plant.step(command, DT)
        q[k], qd[k], tau[k] = state.q, state.qd, state.tau
    return Log(motion.t, q, qd, tau if untold is None else tau - untold)


def simulate_fast(law: Controller, plant: RigidPlant, motion: Motion) -> Log:
    """The same without contact on the rigid plant, as one compiled loop around its own step."""
    q, qd, tau = motion.q.copy(), motion.qd.copy(), np.zeros_like(motion.q)
    parts = (plant._block, plant._drives, plant._probe_rows, plant._numbers, plant._scratch)
    how = (plant.model.coupled, plant.method)
    if _closed_loop(*parts, *how, *law, q, qd, tau):
        raise RuntimeError(f"the simulated '{plant.model.name}' ceased to be finite")
    return Log(motion.t, q, qd, tau)


@njit  # not cached on disk, where it would outlive changes of the step
def _closed_loop(
    block, drives, probes, numbers, scratch, coupled, method, plan, stiffness, damping, q, qd,
    tau,
):  # fmt: skip
    T, n = q.shape
    none, command = np.zeros(0), np.zeros(n)
    for k in range(1, T):
        for j in range(n):
            command[j] = plan[k - 1, j] - stiffness[j] * numbers[j] - damping[j] * numbers[n + j]
        bad = rigid_step(
            block, drives, none, probes, none, coupled, method, 1, DT, command, numbers, scratch,
            False,
        )  # fmt: skip
        if bad != 0:
            return 1
        for j in range(n):
            q[k, j], qd[k, j], tau[k, j] = numbers[j], numbers[n + j], numbers[4 * n + j]
    return 0


def sensed(arm: Arm, log: Log, random: np.random.Generator) -> Log:
    """The log through the LWR's sensors. Joint torque sensors read the motors' torque less what
    turns the rotors.
    """
    model, step = nominal(arm.robot), LWR_SENSORS.position_resolution
    tau = log.tau + random.standard_normal(log.tau.shape) * torque_noise(model)
    if not arm.commanded:
        tau -= model.rotor_inertia * np.diff(log.qd, axis=0, prepend=log.qd[:1]) / DT
    return log._replace(
        q=np.round(log.q / step) * step,
        qd=log.qd + LWR_SENSORS.velocity_noise * random.standard_normal(log.qd.shape),
        tau=tau,
    )


def torque_noise(model: rd.RobotModel) -> Array:
    """(n,) [N m], standard deviation."""
    return LWR_SENSORS.torque_noise * np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)


def record(run: Run, touch: Touching | None = None) -> Log:
    """A perturbed arm in motion: what its sensors report."""
    arm, model = run.arm, nominal(run.arm.robot)
    random = np.random.default_rng((run.seed, 0))
    motion = random_motion(model, random, run.seconds)
    plant = make_plant(run.plant, perturbed(model, arm.seed), motion, friction=arm.commanded)
    law = controller(model, motion, friction=arm.commanded)
    return sensed(arm, simulate(law, plant, motion, touch), random)


def observe(run: Run, touch: Touching | None = None) -> tuple[Log, Array]:
    """The same, and the residual of the model that the arm is taken for."""
    log = record(run, touch)
    arm = run.arm
    gain = COMMANDED_GAIN if arm.commanded else gains(arm.robot)
    return log, residual(run.known, *log, gain, arm.commanded, friction_width=FRICTION_WIDTH)


def known_model(arm: Arm) -> rd.RobotModel:
    """What the observer takes the arm for: nominal, but set right by its contact-free motion."""
    log = record(Run(arm, "rigid", arm.seed, FREE_SECONDS))
    model = nominal(arm.robot) if arm.commanded else links_only(arm.robot)
    return correct_model(model, [log], friction=arm.commanded)


def free_motion(run: Run) -> tuple[Array, Array]:
    """(n,) each: the largest residual without contact, and the largest mean over MEAN samples."""
    _, r = observe(run)
    total = np.cumsum(r, axis=0)
    mean = (total[MEAN:] - total[:-MEAN]) / MEAN
    return np.abs(r).max(axis=0), np.abs(mean).max(axis=0)


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
    return Quiet(run.arm.robot, run.seconds, alarms, share.max(axis=0))


def noiseless_step(run: Run) -> float:
    """Delay less -ln(1 - 1/rho)/K, in samples; exact model, no noise, constant torque."""
    model = nominal(run.arm.robot)
    random = np.random.default_rng(run.seed)
    gain, rho = random.choice([25.0, 50.0, 100.0]), random.uniform(1.2, 10.0)
    motion = random_motion(model, random, run.seconds)
    onset, joint = len(motion.t) // 4, int(random.integers(model.n))
    size = 0.1 * model.tau_max[joint] * random.choice([-1.0, 1.0])
    untold = np.zeros_like(motion.q)
    untold[onset + 1 :, joint] = size
    plant = make_plant(run.plant, model, motion, friction=False)
    log = simulate(controller(model, motion, friction=False), plant, motion, untold=untold)
    r = residual(model, *log, gain)
    above = np.flatnonzero(np.abs(r[:, joint]) > abs(size) / rho)
    found = (above[0] - onset) * DT if above.size else math.inf
    return (found + math.log1p(-1.0 / rho) / gain) / DT
