"""What the figures of `control.py` are made from: arms, moves, closed loops, walls, pushes.

All functions that take a `Run` may be called in other processes.
"""

from __future__ import annotations

import time
from functools import cache
from typing import NamedTuple

import numpy as np

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.controller import Controller
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.detection.detector import CollisionDetector, Level
from robodyn_ros.detection.observer import MomentumObserver
from robodyn_ros.simulation.mujoco_plant import MujocoPlant
from robodyn_ros.simulation.obstacles import Plane, Probe
from robodyn_ros.simulation.plant import Plant
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS
from robodyn_ros.trajectory.joint_move import JointMove, joint_move
from robodyn_ros.trajectory.scaling import fastest

DT = 1e-3  # [s]
FREQUENCY = 30.0  # [rad/s], of the laws
HOME = np.radians([0.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
REACTIONS = ("none", "stop", "float", "reflex", "admittance")
ELBOW_FORCE = 30.0  # [N], with which a pusher that stays in touch pushes the elbow
RATE = 1000.0  # [N m/s]
OBSERVER_GAIN, CONTACT, COLLISION = 50.0, 2.0, 4.0  # [1/s], [N m]
STIFFNESS, DAMPING, RADIUS = 5000.0, 1000.0, 0.05  # [N/m], [N s/m^2], [m]: wall and hand
LATER = 0.3  # [s] after the first contact
STILL = 0.02  # [rad/s]

Array = np.ndarray


class Run(NamedTuple):
    """What a process is to do."""

    robot: str
    plant: str
    seed: int
    law: str = "passivity"
    dt: float = DT
    reaction: str = "none"


@cache
def robot(name: str) -> rd.RobotModel:
    return getattr(rd.robots, name)()


def make_plant(run: Run, model: rd.RobotModel, q: Array, qd: Array | None = None, **more) -> Plant:
    """Without friction, which acts before the joint torque sensors."""
    if run.plant == "mujoco":
        more = {key: value for key, value in more.items() if key not in ("obstacles", "probes")}
        return MujocoPlant(model, q, qd, friction=False, timestep=run.dt, integrator="rk4", **more)
    return RigidPlant(model, q, qd, friction=False, **more)


def make_law(run: Run, model: rd.RobotModel) -> Controller:
    """Gains that are the same at HOME, joint by joint: w^2 M_jj and 2 w M_jj."""
    free = TorqueLimits(np.inf)
    if run.law == "passivity":
        return PassivityController.with_frequency(model, FREQUENCY, HOME, limits=free)
    return ComputedTorqueController.with_frequency(model, FREQUENCY, limits=free)


def posture(model: rd.RobotModel, random: np.random.Generator) -> Array:
    """Somewhere within 80 % of the joints' ranges."""
    middle, half = 0.5 * (model.q_min + model.q_max), 0.5 * (model.q_max - model.q_min)
    return middle + 0.8 * half * random.uniform(-1.0, 1.0, model.n)


def random_move(run: Run) -> JointMove:
    """A quintic from anywhere to anywhere, as fast as the joints can."""
    model, random = robot(run.robot), np.random.default_rng(run.seed)
    return joint_move(posture(model, random), posture(model, random), model=model)


# ---------------------------------------------------------------- tracking


class Tracked(NamedTuple):
    """A move and how well it was followed."""

    run: Run
    error: Array  # (n,) [rad], largest
    rms: Array  # (n,) [rad]
    torque: Array  # (n,) [N m], largest
    torque_rms: Array  # (n,) [N m]
    speed: float  # [rad/s], largest
    seconds: float


def track(run: Run, real: rd.RobotModel | None = None) -> Tracked:
    """Follow a move from its beginning to its end with a law that knows the nominal model."""
    model, move = robot(run.robot), random_move(run)
    plant = make_plant(run, real or model, move.at(0.0).q, stops=False, saturate=False)
    law = make_law(run, model)
    errors, torques = [], []
    for k in range(round(move.duration / run.dt)):
        tau = law.torque(plant.state, move.at(k * run.dt), run.dt)
        torques.append(tau.copy())
        state = plant.step(tau, run.dt)
        errors.append(state.q - move.at((k + 1) * run.dt).q)
    e, tau = np.array(errors), np.array(torques)
    return Tracked(
        run,
        np.abs(e).max(axis=0),
        np.sqrt((e**2).mean(axis=0)),
        np.abs(tau).max(axis=0),
        np.sqrt((tau**2).mean(axis=0)),
        float(move.peaks(1).max()),
        move.duration,
    )


def track_heavier(run: Run) -> Tracked:
    """The same with an arm whose links all weigh 20 % more than the law believes."""
    model = robot(run.robot)
    return track(run, model.replace(mass=1.2 * model.mass, inertia=1.2 * model.inertia))


class Fall(NamedTuple):
    """The Lyapunov function of a run."""

    start: float  # [J]
    end: float
    rise: float  # [J], the largest between two samples


def lyapunov(run: Run) -> Fall:
    """From a random state onto a moving reference; no limit is met."""
    model, move = robot(run.robot), random_move(run)
    random = np.random.default_rng((run.seed, 1))
    start = move.at(0.3 * move.duration)
    off, off_speed = random.uniform(-0.3, 0.3, model.n), random.uniform(-0.5, 0.5, model.n)
    plant = make_plant(
        run, model, start.q + off, start.qd + off_speed, stops=False, saturate=False
    )
    law = make_law(run, model)
    V = []
    for k in range(round(0.6 / run.dt)):
        wanted = move.at(0.3 * move.duration + k * run.dt)
        V.append(law.lyapunov(plant.state, wanted))
        plant.step(law.torque(plant.state, wanted, run.dt), run.dt)
    return Fall(V[0], V[-1], float(np.diff(V).max()))


# ---------------------------------------------------------------- scaled trajectories


class Scaled(NamedTuple):
    """How much of its limits a scaled move uses."""

    robot: str
    torque: float
    rate: float
    duration: float
    before: float  # [s], of the move as it was
    computing: float  # [s]


def scale(run: Run) -> Scaled:
    """The fastest time law; checked at ten thousand instants, the rate by differences."""
    model, move = robot(run.robot), random_move(run)
    limits = {"tau_max": model.tau_max, "tau_rate_max": RATE}
    begun = time.perf_counter()
    scaled = fastest(model, move, qd_max=1e3, **limits)
    took = time.perf_counter() - begun
    t = np.linspace(0.0, scaled.duration, 10_001)
    h = 0.25 * (t[1] - t[0])
    middle = 0.5 * (t[1:] + t[:-1])
    tau, before, after = (
        rd.inverse_dynamics(model, *scaled.at(x)[:3]) for x in (t, middle - h, middle + h)
    )
    return Scaled(
        run.robot,
        float((np.abs(tau) / model.tau_max).max()),
        float(np.abs((after - before) / (2.0 * h)).max() / RATE),
        scaled.duration,
        move.duration,
        took,
    )


# ---------------------------------------------------------------- walls and pushes


class Wall:
    """A wall of 5 kN/m across a move, for the ball at the hand.

    The rigid plant knows such walls. MuJoCo's contacts have no stiffness to set: there, the same
    spring and damper push the hand, anew at every step.
    """

    def __init__(self, model: rd.RobotModel, move: JointMove, t: float) -> None:
        self.model, self.hand = model, model.link_names[-1]
        at = move.at(t)
        place = rd.forward_kinematics(model, at.q, self.hand)[:3, 3]
        velocity = rd.jacobian(model, at.q, self.hand)[:3] @ at.qd
        self.speed = float(np.linalg.norm(velocity))
        self.normal = -velocity / self.speed
        self.point = place - RADIUS * self.normal
        self.plane = Plane(self.point, self.normal, STIFFNESS, DAMPING)

    def force(self, q: Array, qd: Array) -> Array:
        """(3,) [N], on the hand; the plant's own law."""
        place = rd.forward_kinematics(self.model, q, self.hand)[:3, 3]
        depth = RADIUS - self.normal @ (place - self.point)
        if depth <= 0.0:
            return np.zeros(3)
        rate = -self.normal @ (rd.jacobian(self.model, q, self.hand)[:3] @ qd)
        return max(depth * (STIFFNESS + DAMPING * rate), 0.0) * self.normal

    def touch(self, plant: Plant) -> None:
        """Before a step: push the hand if the plant does not do so itself."""
        if isinstance(plant, MujocoPlant):
            force = self.force(plant.state.q, plant.state.qd)
            if force.any():
                plant.push(self.hand, force, duration=DT)


def hit_move(run: Run) -> tuple[JointMove, Wall]:
    """A move whose hand is fast where the wall is, and far enough from where joints end."""
    model, random = robot(run.robot), np.random.default_rng(run.seed)
    while True:
        start, end = HOME + random.uniform(-0.8, 0.8, (2, model.n))
        if ((start < 0.8 * model.q_min) | (start > 0.8 * model.q_max)).any():
            continue
        if ((end < 0.8 * model.q_min) | (end > 0.8 * model.q_max)).any():
            continue
        move = joint_move(start, end, qd_max=0.7 * model.qd_max)
        wall = Wall(model, move, 0.5 * move.duration)
        ahead = [move.at(x * move.duration).q for x in np.linspace(0.0, 0.45, 10)]
        free = not any(wall.force(q, 0.0 * q).any() for q in ahead)
        if wall.speed > 0.5 and free:
            return move, wall


class Loop:
    """An arm with its controller, observer and detector, read through the LWR's sensors."""

    def __init__(self, run: Run, move: JointMove, wall: Wall | None, **settings) -> None:
        self.model = robot(run.robot)
        things = {"obstacles": [wall.plane], "probes": [Probe(wall.hand)]} if wall else {}
        self.plant = make_plant(
            run, self.model, move.at(0.0).q, sensor=LWR_SENSORS, seed=run.seed, **things
        )
        self.wall, self.move = wall, move
        settings = {"reaction": run.reaction, "error_max": 10.0, **settings}
        self.arm = ArmController(self.model, ArmSettings(tau_rate_max=(RATE,), **settings))
        self.observer = MomentumObserver(self.model, OBSERVER_GAIN)
        self.detector = CollisionDetector(CONTACT, COLLISION, self.model, release=0.05)
        seen = self.plant.measurement
        self.tau = self.arm.update(seen.t, seen.q, seen.qd)
        self.observer.update(seen.q, seen.qd, self.tau, DT)
        self.arm.follow(move)
        self.rate = self.share = 0.0  # largest so far, over the limits
        self.told: float | None = None  # [s], when contact was told first

    def step(self) -> None:
        if self.wall is not None:
            self.wall.touch(self.plant)
        self.plant.step(self.tau, DT)
        seen = self.plant.measurement
        r = self.observer.update(seen.q, seen.qd, self.tau, DT)
        touched = self.detector.update(r, DT).level >= Level.CONTACT
        if touched and self.told is None:
            self.told = self.plant.state.t
        self.arm.contact(touched, r)
        tau = self.arm.update(seen.t, seen.q, seen.qd)
        self.rate = max(self.rate, float(np.abs(tau - self.tau).max() / DT / RATE))
        self.share = max(self.share, float((np.abs(tau) / self.model.tau_max).max()))
        self.tau = tau


class Hit(NamedTuple):
    """A run into a wall."""

    run: Run
    speed: float  # [m/s], of the hand
    delay: float  # [s], from the first contact until it was told
    later: float  # [N], LATER [s] after the first contact
    peak: float  # [N]
    impulse: float  # [N s]
    rest: float  # [s], from the first contact until the arm had come to rest, inf if it did not
    rate: float  # largest torque rate over the limit
    torque: float  # largest torque over the limit


class Trace(NamedTuple):
    """The same over time, from the first contact on."""

    t: Array  # [s]
    force: Array  # [N]
    depth: Array  # [m], of the hand, along the wall's normal; below 0: free
    hit: Hit


def drive_into_wall(run: Run, seconds: float = 4.0) -> Trace:
    """One move, one wall, one reaction."""
    move, wall = hit_move(run)
    loop = Loop(run, move, wall)
    force, depth, speed, t, first = [], [], [], [], None
    while first is None or loop.plant.state.t < first + seconds:
        loop.step()
        state = loop.plant.state
        push = float(np.linalg.norm(wall.force(state.q, state.qd)))
        if push > 0.0 and first is None:
            first = state.t
        t.append(state.t)
        force.append(push)
        place = rd.forward_kinematics(robot(run.robot), state.q, wall.hand)[:3, 3]
        depth.append(RADIUS - float(wall.normal @ (place - wall.point)))
        speed.append(float(np.abs(state.qd).max()))
        if state.t > 2.0 * move.duration and first is None:
            raise RuntimeError(f"{run}: the wall was not met")
    t, force = np.array(t) - first, np.array(force)
    moving = np.flatnonzero(np.array(speed) > STILL)
    rest = t[moving[-1]] if moving[-1] + 1 < t.size else np.inf
    hit = Hit(
        run,
        wall.speed,
        np.inf if loop.told is None else loop.told - first,
        float(force[np.searchsorted(t, LATER - 0.5 * DT)]),
        float(force.max()),
        float(force.sum() * DT),
        float(rest),
        loop.rate,
        loop.share,
    )
    return Trace(t, force, np.array(depth), hit)


def hit(run: Run) -> Hit:
    return drive_into_wall(run).hit


class Resumed(NamedTuple):
    """A move that was interrupted by a push and taken up again."""

    run: Run
    away: float  # [rad], how far it had been pushed from where it was interrupted
    rejoined: float  # [rad], from its path when the clock ran again
    after: float  # [rad], largest error from then on
    arrived: float  # [rad], from its end
    rate: float  # largest torque rate over the limit
    seconds: float  # from the order to go on until the clock ran again


def resume(run: Run) -> Resumed:
    """Push the hand on its way, wait for rest, clear, and look where it goes."""
    model, (move, _) = robot(run.robot), hit_move(run)
    random = np.random.default_rng((run.seed, 2))
    loop = Loop(run, move, None)
    while loop.plant.state.t < 0.4 * move.duration:
        loop.step()
    direction = random.normal(size=3)
    force = 60.0 * direction / np.linalg.norm(direction)
    loop.plant.push(model.link_names[-1], force, duration=0.15)
    interrupted = loop.arm.reference.q
    while loop.arm.mode is Mode.TRACKING:
        interrupted = loop.arm.reference.q
        loop.step()
    for _ in range(3000):
        loop.step()
    away = float(np.abs(loop.plant.state.q - interrupted).max())
    loop.arm.clear()
    begun = loop.plant.state.t
    wait(loop, Mode.TRACKING, 20.0)
    seconds = loop.plant.state.t - begun
    rejoined, after = path_distance(move, loop.plant.state.q), 0.0
    while loop.arm.mode is Mode.TRACKING:
        loop.step()
        after = max(after, float(np.abs(loop.plant.state.q - loop.arm.reference.q).max()))
    for _ in range(300):
        loop.step()
    arrived = float(np.abs(loop.plant.state.q - move.q1).max())
    return Resumed(run, away, rejoined, after, arrived, loop.rate, seconds)


def wait(loop: Loop, mode: Mode, seconds: float) -> None:
    for _ in range(round(seconds / DT)):
        if loop.arm.mode is mode:
            return
        loop.step()
    raise RuntimeError(f"still {loop.arm.mode.name} after {seconds} s, not {mode.name}")


def path_distance(move: JointMove, q: Array) -> float:
    """[rad], the largest joint's, from the nearest place of the move's path."""
    way = move.at(np.linspace(0.0, move.duration, 100_001)).q
    near = way[np.argmin(np.abs(way - q).max(axis=1))]
    return float(np.abs(near - q).max())


class ElbowPush(NamedTuple):
    """What a push of the elbow did."""

    hand: float  # [m], largest distance of the hand from where it was
    elbow: float  # [m], by which the elbow gave way
    force: float  # [N], largest on a pusher that advances


def push_elbow(reaction: str, advancing: bool) -> ElbowPush:
    """Push the elbow of the LWR-III across the line from shoulder to wrist for half a second.

    With ELBOW_FORCE; or, advancing, by a spring of 1 kN/m behind which 0.2 m/s are kept.
    """
    model, dt = robot("lwr_iii"), 1e-3
    q0 = np.radians([0.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
    _, shoulder, _, elbow, _, wrist, hand = model.link_names

    def place(q: np.ndarray, link: str) -> np.ndarray:
        return rd.forward_kinematics(model, q, link)[:3, 3]

    line = place(q0, wrist) - place(q0, shoulder)
    direction = np.cross(line, place(q0, elbow) - place(q0, shoulder))
    direction /= np.linalg.norm(direction)
    plant = rd.RigidPlant(model, q0, friction=False)
    arm = rd.ArmController(model, rd.ArmSettings(reaction=reaction))
    observer = rd.MomentumObserver(model, 50.0)
    tau = arm.update(0.0, q0, np.zeros(7))
    observer.update(q0, np.zeros(7), tau, dt)
    hands, elbows, forces = [0.0], [0.0], [0.0]
    for k in range(1500):
        t = k * dt - 0.1
        if 0.0 <= t < 0.5:
            force = max(1e3 * (0.2 * t - elbows[-1]), 0.0) if advancing else ELBOW_FORCE
            plant.push(elbow, force * direction, duration=dt)
            forces.append(force)
        state = plant.step(tau, dt)
        r = observer.update(state.q, state.qd, tau, dt)
        arm.contact(bool(np.abs(r).max() > 1.0), r)
        tau = arm.update(state.t, state.q, state.qd)
        hands.append(float(np.linalg.norm(place(state.q, hand) - place(q0, hand))))
        elbows.append(float((place(state.q, elbow) - place(q0, elbow)) @ direction))
    return ElbowPush(max(hands), max(elbows), max(forces))
