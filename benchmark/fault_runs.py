"""What the figures of `faults.py` are made from: arms to which something happens, and what the
real `ContactMonitor` says about it, sample by sample.

The arms are perturbed ones on the MuJoCo plant; the monitor's model is the nominal one set right
by the arm's own contact-free motion, its thresholds come from other arms, and its readings from
the LWR's sensors at 1 kHz. By command, friction acts and the torque is the commanded one; by
sensor, the joint torque is measured behind the friction, and faults of motors do not show in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import detection_runs as runs
import numpy as np
from detection_runs import Arm

import robodyn_ros as rd
from robodyn_ros.detection.faults.blocks import MODEL_ERROR
from robodyn_ros.detection.faults.settings import FaultSettings
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.recording.offline import samples_of
from robodyn_ros.sensing.effort_settings import EffortSettings
from robodyn_ros.sensing.sample import Sample, Status
from robodyn_ros.simulation.disturbances import Push, make_push, perturbed
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT = runs.DT
BEFORE, AFTER = 1.2, 3.2  # [s], simulated before and after the onset
MARGIN = 1.35  # of the thresholds, over the largest residual of other arms
CALIBRATION_ARMS = 3
BEGUN = 0.1  # [s] after the onset: a ramp has risen
BENT = {
    "panda": (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5),
}
USUAL = (0.0, 0.7, 0.0, 1.2, 0.0, 0.8, 0.0)

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """What is to happen to which arm."""

    kind: str
    robot: str
    arm: int
    seed: int
    commanded: bool
    moving: bool = True
    value: float | None = None
    joints: str = "one"  # of an effort scale or sign: one, all
    follow: bool = False
    late_push: bool = False  # a push at twice the thresholds in force 1.9 s after the onset
    seconds: float = AFTER


@dataclass(frozen=True)
class Told:
    """What was said about a case."""

    case: Case
    joint: str
    value: float | None
    onset: float
    excited: bool
    alarm: float  # [s] after the onset; inf: none
    names: list[
        tuple[float, str, str, float, str]
    ]  # [s] after the onset, kind, joint, value, second
    clear: float  # [s] after the onset since when the level is CLEAR; inf: it is not
    found_push: bool
    cost: float = 0.0  # [s] per sample, of the monitor

    def at(self, seconds: float) -> tuple[float, str, str, float, str]:
        """The name at this time after the onset."""
        known = [name for name in self.names if name[0] <= seconds + 1e-9]
        return known[-1] if known else (0.0, "", "", math.nan, "")

    @property
    def changes(self) -> int:
        """Changes of the named kind or joint per case."""
        most = count = 0
        for before, after in zip(self.names[:-1], self.names[1:], strict=True):
            if not after[1] or not before[1]:
                count = 0
            elif before[1:3] != after[1:3] and before[1] != "undecided":
                count += 1
            most = max(most, count)
        return most


def motion(model: rd.RobotModel, robot: str, random: np.random.Generator, seconds: float):
    """A smooth motion of all joints about a bent posture."""
    t = np.arange(0.0, seconds, DT)
    centre = np.array(BENT.get(robot, USUAL)) + random.uniform(-0.3, 0.3, model.n)
    size = random.uniform(0.15, 0.35, (2, model.n)) / np.array([[1.0], [2.5]])
    w = 2.0 * np.pi * np.array([[0.35], [0.8]]) * random.uniform(0.8, 1.2, (2, model.n))
    angle = t[:, None, None] * w + random.uniform(0.0, 2.0 * np.pi, (2, model.n))
    sine, cosine = np.sin(angle), np.cos(angle)
    return runs.Motion(
        t,
        centre + (size * sine).sum(axis=1),
        (size * w * cosine).sum(axis=1),
        (-size * w**2 * sine).sum(axis=1),
    )


def resting(moved: runs.Motion) -> runs.Motion:
    """The first posture of a motion, held."""
    still = np.zeros_like(moved.q)
    return moved._replace(q=still + moved.q[0], qd=still, qdd=still)


@cache
def known(robot: str, arm: int, commanded: bool) -> rd.RobotModel:
    return runs.known_model(Arm(robot, arm, commanded))


@cache
def thresholds(robot: str, commanded: bool) -> tuple[float, ...]:
    """Of the monitor, from arms that are not used again."""
    worst = np.zeros(runs.nominal(robot).n)
    for arm in range(CALIBRATION_ARMS):
        case = Case("none", robot, 1000 + arm, arm, commanded)
        log, _ = simulate(case)
        settings = rd.MonitorSettings(gain=tuple(gain_of(robot, commanded)), friction=commanded)
        found = rd.detect(known(robot, 1000 + arm, commanded), rd.Log(*log), settings)
        worst = np.maximum(worst, np.abs(found.r[200:]).max(axis=0))
    return tuple((MARGIN * worst).tolist())


def gain_of(robot: str, commanded: bool) -> Array:
    return np.full(runs.nominal(robot).n, runs.GAIN) if commanded else runs.gains(robot)


class Happening:
    """What happens at the onset, to plant and readings."""

    def __init__(self, case: Case, plant, random: np.random.Generator) -> None:
        self.case, self.plant = case, plant
        model = plant.bare
        self.model, self.random = model, random
        self.k = int(random.integers(model.n))
        self.joint, self.value = model.joint_names[self.k], case.value
        self.frozen: tuple[float, float] | None = None
        self.scale = np.ones(model.n)
        self.offset = np.zeros(model.n)
        self.pushed: Push | None = None  # at the onset
        self.held: rd.Payload | None = None

    def begin(self, q: Array, qd: Array, limit: Array) -> None:
        """Let it happen now; q, qd: the readings."""
        case, plant, random, k = self.case, self.plant, self.random, self.k
        sign = random.choice([-1.0, 1.0])
        if case.kind == "none":
            return
        if case.kind == "collision":
            self.pushed = self.push(limit, random.uniform(1.5, 8.0), random.uniform(0.1, 2.0))
        elif case.kind == "payload":
            self.value = case.value or float(random.uniform(0.3, 3.0))
            com = random.uniform([-0.05, -0.05, 0.0], [0.05, 0.05, 0.15])
            self.held = rd.Payload(self.model.link_names[-1], self.value, com)
            plant.attach(self.held)
            self.joint = self.model.link_names[-1]
        elif case.kind in ("freeze_position", "freeze_all", "freeze_velocity"):
            self.frozen = float(q[k]), float(qd[k])
        elif case.kind in ("effort_scale", "effort_sign"):
            usual = random.choice([random.uniform(0.1, 0.7), random.uniform(1.4, 3.0)])
            self.value = case.value or (-1.0 if case.kind == "effort_sign" else float(usual))
            which = slice(None) if case.joints == "all" else k
            self.scale[which] = self.value
            if case.joints == "all":
                self.joint = ""
        elif case.kind == "bias" and not case.commanded:
            self.value = sign * random.uniform(0.06, 0.15) * self.model.tau_max[k]
            self.offset[k] = self.value  # of the sensor
        else:
            self.value = {
                "effectiveness": random.uniform(0.2, 0.75),
                "bias": sign * random.uniform(0.06, 0.15) * self.model.tau_max[k],
                "friction": random.uniform(2.0, 4.0),
            }.get(case.kind)
            plant.fail(self.joint, case.kind, self.value)

    def push(self, limit: Array, rho: float, seconds: float) -> Push:
        """Push a random link; rho: the largest torque over the threshold."""
        random, model, plant = self.random, self.model, self.plant
        felt = 0.0
        while felt < 0.005:
            force = random.normal(size=3)
            force /= np.linalg.norm(force)
            link = model.link_names[int(random.integers(1, model.n))]
            point = random.uniform(-0.08, 0.08, 3)
            J = rd.jacobian(model, plant.state.q, link, point)
            felt = float((np.abs(J[:3].T @ force) / limit).max())
        shape = str(random.choice(["step", "half_sine", "ramp"]))
        push = make_push(model, link, rho / felt * force, point, 0.0, seconds, shape)
        plant.push(link, push.force, point, seconds, shape)
        return push

    def read(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """The readings, with what is frozen."""
        if self.frozen is not None:
            kind, k = self.case.kind, self.k
            q, qd = q.copy(), qd.copy()
            if kind != "freeze_velocity":
                q[k] = self.frozen[0]
            if kind != "freeze_position":
                qd[k] = self.frozen[1]
        return q, qd


def simulate(case: Case, limit: Array | None = None, late: Array | None = None):
    """Return the log t, q, qd, tau of a case, and what happened; at BEFORE it happens. late:
    thresholds of a push 2 s after that, at twice of them.
    """
    nominal = runs.nominal(case.robot)
    random = np.random.default_rng((case.seed, sum(map(ord, case.kind)), case.commanded))
    seconds = BEFORE + case.seconds
    way = motion(nominal, case.robot, random, seconds)
    way = way if case.moving else resting(way)
    plant = runs.make_plant("mujoco", perturbed(nominal, case.arm), way, friction=case.commanded)
    law = runs.controller(nominal, way, friction=case.commanded)
    what = Happening(case, plant, random)
    T, n = way.q.shape
    log = [np.zeros((T, n)) for _ in range(3)]
    noise = random.standard_normal((2, T, n))
    noise[0] *= LWR_SENSORS.velocity_noise
    noise[1] *= runs.torque_noise(nominal)
    step, onset = LWR_SENSORS.position_resolution, round(BEFORE / DT)
    q, qd, before = way.q[0].copy(), way.qd[0].copy(), way.qd[0].copy()
    log[0][0], log[1][0] = q, qd
    top = nominal.tau_max
    for k in range(1, T):
        if k == onset:
            what.begin(q, qd, np.ones(n) if limit is None else limit)
        if late is not None and k == onset + round(2.0 / DT):
            what.push(late, 2.0, 0.3)
        command = law.plan[k - 1] - law.stiffness * q - law.damping * qd
        state = plant.step(command, DT)
        q, qd = np.round(state.q / step) * step, state.qd + noise[0, k]
        q, qd = what.read(q, qd)
        if case.commanded:
            tau = np.clip(command, -top, top)
        else:  # what the sensors behind the gears read
            tau = state.tau - nominal.rotor_inertia * (state.qd - before) / DT + noise[1, k]
        before = state.qd
        log[0][k], log[1][k], log[2][k] = q, qd, what.scale * tau + what.offset
    return (way.t, *log), what


def excited(case: Case, log, what: Happening, limit: Array, r: Array) -> bool:
    """Whether the second after the onset shows what happened, and of which kind it is.

    The residual exceeds 1.5 thresholds for 0.3 s; of a payload that is followed, its weight does,
    as the residual ends there. What is proportional to torque or friction changes by two
    thresholds in that second, or it is as constant as a bias; a joint that is locked, or whose
    reading is frozen, moves; the load of a locked or free-swinging joint is more than its friction
    holds; a bias acts beyond the second joint, since a push on the first two links may load one
    joint alone. A push shows itself unless it is `like_a_bias`.
    """
    onset, second = round(BEFORE / DT), round(1.0 / DT)
    span = slice(onset, onset + second)
    if case.kind == "none":
        return True
    if what.pushed is not None:
        return not like_a_bias(what.model, what.pushed, log[1][span], limit)
    if np.any((log[1][span] < what.model.q_min + 0.03) | (log[1][span] > what.model.q_max - 0.03)):
        return False  # the arm runs into a stop, which is told as such
    k, kind = what.k, case.kind
    if kind.startswith("freeze") or kind == "locked":
        speed = np.abs(log[2][onset - 50 : onset, k]).mean()
        if speed < 0.15 or not felt(r[span], limit, None):
            return False
        return kind != "locked" or holds_more(log, what, limit, r, span)
    if what.held is not None:
        load, q = r[span], log[1][span]
        if case.follow:
            loaded = what.model.replace(payload=what.held)
            load = rd.gravity_torque(loaded, q) - rd.gravity_torque(what.model, q)
        return felt(load, limit, None)
    if case.joints == "all":
        return True
    if not felt(r[span], limit, k):
        return False
    course = r[span][60:, k]
    if kind == "bias":
        return k > 1
    if kind == "free_swinging":
        return holds_more(log, what, limit, r, span)
    return float(np.ptp(course)) > 2.0 * limit[k]


def like_a_bias(model: rd.RobotModel, push: Push, q: Array, limit: Array) -> bool:
    """Whether a push loads one joint alone, with a constant torque, until the answer is due.

    J' F is all that a push does to the arm, and d e_k is all that a bias of joint k does: where
    J' F is d e_k within the noise, no residual tells them apart. Noise is the largest residual of
    arms that nothing touches, and 3 % of the torque. How a torque begins says nothing, a bias may
    do so at any time, and a push that ends within the last period before the answer ends too
    late for it. From the truth alone: what was answered is not looked at.
    """
    begin, end = round(BEGUN / DT), round((1.0 - FaultSettings().period) / DT)
    steps = range(begin, end, 20)
    J = rd.jacobian(model, q[begin:end:20], push.link, push.point)
    strength = np.array([push.strength(k * DT) for k in steps])
    torque = np.einsum("tik,i,t->tk", J[:, :3], push.force, strength)
    top, noise = np.abs(torque).max(axis=0), limit / MARGIN
    loaded = np.flatnonzero(top > noise)
    if loaded.size != 1:
        return False
    k = int(loaded[0])
    return bool(np.ptp(torque[:, k]) <= 2.0 * (noise[k] + MODEL_ERROR * top[k]))


def holds_more(log, what: Happening, limit: Array, r: Array, span: slice) -> bool:
    """Whether the load of the joint exceeds for 0.3 s what friction holds without a motor."""
    model, k = what.model, what.k
    friction = 1.8 * max(model.coulomb[k], model.stiction[k]) + 0.6 * limit[k]
    return bool(np.mean(np.abs(log[3][span, k] + r[span, k])[60:] > friction) > 0.3)


def felt(r: Array, limit: Array, k: int | None) -> bool:
    """Whether the residual of joint k, or of any, is above 1.5 thresholds for 0.3 s."""
    share = np.abs(r) / limit
    share = share.max(axis=1) if k is None else share[:, k]
    return bool(np.mean(share > 1.5) > 0.3)


def settings_of(case: Case) -> rd.MonitorSettings:
    limit = thresholds(case.robot, case.commanded)
    return rd.MonitorSettings(
        gain=tuple(gain_of(case.robot, case.commanded).tolist()),
        contact=rd.ThresholdSettings(limit),
        collision=rd.ThresholdSettings(tuple(2.0 * x for x in limit)),
        friction=case.commanded,
        faults=FaultSettings(payload_follow=case.follow),
    )


def samples_in(case: Case, log) -> Iterator[Sample]:
    """The samples of a log, as `sensing` judges them."""
    samples = samples_of(known(case.robot, case.arm, case.commanded), rd.Log(*log))
    for k in range(len(log[0])):
        yield Sample(
            float(samples.t[k]),
            float(samples.dt[k]),
            samples.q[k],
            samples.qd[k],
            samples.tau[k] if samples.status[k] <= Status.RESTART else None,
            Status(int(samples.status[k])),
            samples.causes.get(k, ""),
            samples.faults.get(k, ("", ""))[1],
            fault=samples.faults.get(k, ("", ""))[0],
        )


def monitor_of(case: Case) -> ContactMonitor:
    model, settings = known(case.robot, case.arm, case.commanded), settings_of(case)
    effort = EffortSettings(side="motor" if case.commanded else "link")
    return ContactMonitor(model, settings, commanded=case.commanded, effort=effort, links=False)


def limits_after(case: Case, log) -> Array:
    """The contact thresholds in force 1.9 s after the onset."""
    monitor = monitor_of(case)
    for sample in samples_in(case, log):
        if sample.t > BEFORE + 1.9:
            break
        monitor.update(sample)
    return monitor.thresholds.base


def follow_case(case: Case) -> Told:
    """Simulate a case and follow what the monitor says."""
    limit = np.array(thresholds(case.robot, case.commanded))
    log, what = simulate(case, limit)
    if case.late_push:
        log, what = simulate(case, limit, limits_after(case, log))
    monitor = monitor_of(case)
    names: list[tuple[float, str, str, float, str]] = []
    alarm, clear, pushed = math.inf, math.inf, False
    rows = np.zeros_like(log[1])
    for k, sample in enumerate(samples_in(case, log)):
        verdict = monitor.update(sample)
        rows[k] = verdict.r
        age = log[0][k] - BEFORE
        fault = verdict.fault
        said = (
            fault.kind if fault else "",
            fault.joint if fault else "",
            math.nan if fault is None or fault.value is None else fault.value,
            fault.runner_up if fault else "",
        )
        if (names[-1][1:] if names else ("", "", math.nan, "")) != said:
            names.append((float(age), *said))
        touched = verdict.level >= rd.Level.CONTACT
        if touched and math.isinf(alarm):
            alarm = float(age)
        if age < 2.0 and touched:
            clear = math.inf
        elif math.isinf(clear) and verdict.level is rd.Level.CLEAR and not math.isinf(alarm):
            clear = float(age)
        pushed = pushed or (case.late_push and touched and age >= 2.0)
    joint = "" if case.kind == "collision" else what.joint
    shown = excited(case, log, what, limit, rows)
    return Told(case, joint, what.value, BEFORE, shown, alarm, names, clear, pushed)
