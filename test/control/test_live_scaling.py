"""LiveScaling: limits kept sample by sample, on the path, and not much slower than possible."""

import timeit

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.live_scaling import LiveScaling
from robodyn_ros.control.path_shape import ScalingLimits
from robodyn_ros.control.path_table import PathTable
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.trajectory.trajectory_msg import TrajectoryPoint, from_points

LWR = rd.robots.lwr_iii()
NONE = np.full(7, np.inf)
RATE = np.full(7, 1000.0)
LIMITS = ScalingLimits(LWR.tau_max, RATE, LWR.qd_max, NONE)
START = np.radians([-60.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
END = np.radians([55.0, 60.0, 20.0, 50.0, 30.0, 20.0, 40.0])
DT = 2e-3


def run(trajectory, limits=LIMITS, dt=DT, catch_up=1.25):
    """Return the clock after the path, and the motions (T, 4, n) on the way."""
    law = LiveScaling(LWR, limits, catch_up)
    table = PathTable(LWR, trajectory, limits=limits)
    law.begin(law.start(table, Motion.at_rest(trajectory.at(0.0).q)))
    motions = []
    while not law.arrived:
        motions.append(np.array(law.advance(dt)))
        assert len(motions) < 20.0 / dt
    return law, np.array(motions)


def use(motions, q0, limits=LIMITS, dt=DT):
    """Return the largest shares of torque, torque rate, velocity and acceleration limits."""
    tau = rd.inverse_dynamics(LWR, *np.moveaxis(motions[:, :3], 1, 0))
    tau = np.concatenate([[rd.gravity_torque(LWR, q0)], tau])
    values = (tau, np.diff(tau, axis=0) / dt, motions[:, 1], motions[:, 2])
    return [float((np.abs(x) / limit).max()) for x, limit in zip(values, limits, strict=True)]


def distance(motions, trajectory):
    """Return the largest distance of the motions to the trajectory's path."""
    s = np.linspace(0.0, trajectory.duration, 2001)
    path, found = trajectory.at(s).q, []
    for q in motions[::7, 0]:
        k = int(np.abs(path - q).max(axis=1).argmin())
        near = trajectory.at(np.linspace(s[max(k - 1, 0)], s[min(k + 1, 2000)], 1001)).q
        found.append(np.abs(near - q).max(axis=1).min())
    return max(found)


def test_a_feasible_trajectory_is_followed_exactly():
    move = rd.joint_move(START, END, duration=2.1)
    law, motions = run(move)
    t = DT * np.arange(1, len(motions) + 1)
    for found, wanted in zip(np.moveaxis(motions, 1, 0)[:3], move.at(t)[:3], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert law.delay == 0.0 and PathTable(LWR, move).exceeded(LIMITS) == ()


@pytest.mark.parametrize("factor", [1.5, 2.5, 4.0])
@pytest.mark.parametrize("seed", range(3))
def test_too_fast_a_move_keeps_the_limits_on_its_path(seed, factor):
    random = np.random.default_rng(seed)
    start, end = (0.8 * random.uniform(LWR.q_min, LWR.q_max) for _ in range(2))
    slow = rd.stretched(LWR, rd.joint_move(start, end, duration=1.0), tau_rate_max=1000.0)
    move = rd.joint_move(start, end, duration=slow.duration / factor)
    law, motions = run(move)
    torque, rate, velocity, _ = use(motions, start)
    assert torque < 1.0 and rate < 1.0 and velocity < 1.0
    assert distance(motions, move) < 1e-4
    assert DT * len(motions) < 1.15 * slow.duration
    np.testing.assert_allclose(motions[-1, 0], end, atol=1e-9)


def test_acceleration_is_limited():
    limits = LIMITS._replace(qdd_max=np.full(7, 3.0))
    move = rd.joint_move(START, END, duration=1.0)
    _, motions = run(move, limits)
    assert max(use(motions, START, limits)) < 1.0


@pytest.mark.parametrize("catch_up", [1.0, 1.25])
def test_a_delay_is_made_up_for_as_far_as_allowed(catch_up):
    """Slower limits for a while; a clock that may run faster than 1 makes up for them."""
    law, none = LiveScaling(LWR, LIMITS, catch_up), Motion.at_rest(START)
    law.begin(law.start(PathTable(LWR, rd.joint_move(START, END, duration=4.0)), none))
    delays, rates = [], []
    for k in range(2200):
        if k in (500, 1000):
            qd_max = LWR.qd_max * (0.4 if k == 500 else 1.0)
            law.configure(LIMITS._replace(qd_max=qd_max), catch_up)
        s = law.s
        law.advance(DT)
        delays.append(law.delay)
        rates.append((law.s - s) / DT)
        if law.arrived:
            break
    assert delays[499] == 0.0 and delays[1000] > 0.05
    assert max(rates) < catch_up + 1e-6
    assert delays[-1] < 0.2 * delays[1000] if catch_up > 1.0 else delays[-1] >= delays[1000]


def test_limits_that_change_on_the_way_hold_from_then_on():
    move = rd.joint_move(START, END, duration=2.1)
    law = LiveScaling(LWR, LIMITS, 1.25)
    law.begin(law.start(PathTable(LWR, move), Motion.at_rest(START)))
    for _ in range(200):
        law.advance(DT)
    law.configure(LIMITS._replace(qd_max=0.5 * LWR.qd_max), 1.25)
    for _ in range(200):
        motion = law.advance(DT)
    assert (np.abs(motion.qd) <= 0.501 * LWR.qd_max).all()
    assert law.delay > 0.0


def test_exceeded_names_joint_limit_and_time():
    move = rd.joint_move(START, END, duration=0.5)
    worst = PathTable(LWR, move).exceeded(LIMITS)
    assert {binding.limit for binding in worst} == {"velocity", "torque", "torque_rate"}
    shares = [binding.share for binding in worst]
    assert shares == sorted(shares, reverse=True) and shares[-1] > 1.0
    velocity = next(b for b in worst if b.limit == "velocity")
    assert velocity.joint == "joint_1" and velocity.t == pytest.approx(0.25, abs=0.01)
    assert velocity.value == pytest.approx(1.875 * np.radians(115.0) / 0.5, rel=1e-3)


def test_a_path_on_which_the_arm_is_too_heavy_is_refused():
    weak = LIMITS._replace(tau_max=0.1 * LWR.tau_max)
    table = PathTable(LWR, rd.joint_move(START, END, duration=5.0))
    with pytest.raises(rd.ArgumentError, match="too heavy.*joint_2"):
        table.check_weight(weak)


KINDS = ("lines", "cubic", "stops", "end", "dense")


def broken_path(kind, faster, seed=3):
    """A path through four points whose velocity or acceleration jumps."""
    random = np.random.default_rng(seed)
    q = START + np.concatenate([np.zeros((1, 7)), random.uniform(-0.4, 0.4, (3, 7))])
    t, rest = np.arange(4.0) / faster, np.zeros_like(q)
    qd = np.gradient(q, t, axis=0)
    qd[0] = 0.0
    if kind != "end":
        qd[-1] = 0.0
    known = {"lines": (q,), "cubic": (q, qd), "stops": (q, rest), "end": (q, qd, rest)}
    if kind == "dense":  # points without velocities, 20 ms apart
        smooth = broken_path("stops", faster, seed)
        t = np.arange(0.0, smooth.duration, 0.02)
        known[kind] = (smooth.at(t).q,)
    points = [
        TrajectoryPoint(*(tuple(x[k]) for x in known[kind]), time_from_start=float(at))
        for k, at in enumerate(t)
    ]
    return from_points(LWR.joint_names, points)


class Follower:
    """An arm with an exact model on a path; what its law wants, and where it is."""

    def __init__(self, path):
        self.path, self.plant = path, RigidPlant(LWR, path.at(0.0).q, friction=False)
        self.arm = ArmController(LWR, rd.ArmSettings(reaction="stop"))
        self.tau = self.arm.update(0.0, self.plant.state.q, self.plant.state.qd)
        self.exceeded = self.arm.follow(path)
        self.motions, self.torque, self.rate = [], 0.0, 0.0
        self._before = self.tau

    def run(self, modes, longest=20.0):
        """Go on as long as the arm is in these modes."""
        end = self.plant.state.t + longest
        while self.arm.mode in modes and self.plant.state.t < end:
            state = self.plant.step(self.tau, DT)
            self.tau = self.arm.update(state.t, state.q, state.qd)
            if self.arm.mode in (Mode.TRACKING, Mode.RESUMING, Mode.HOLDING):
                wanted = self.arm._arm.parts.law._wanted.copy()
                self.torque = max(self.torque, (np.abs(wanted) / LIMITS.tau_max).max())
                if self._before is not None:
                    change = np.abs(wanted - self._before) / DT
                    self.rate = max(self.rate, (change / RATE).max())
                self._before = wanted
            else:
                self._before = None
            if self.arm.mode is Mode.TRACKING:
                self.motions.append([state.q])


@pytest.mark.parametrize("faster", [0.7, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_breaks_of_a_path_keep_the_limits_on_it(kind, faster):
    path = broken_path(kind, faster)
    follower = Follower(path)
    follower.run([Mode.TRACKING])
    assert follower.arm.mode is Mode.HOLDING
    assert follower.torque < 1.0 and follower.rate < 1.0
    assert distance(np.array(follower.motions), path) < 1e-3
    assert follower.exceeded  # a jump is announced
    np.testing.assert_allclose(follower.plant.state.q, path.at(path.duration).q, atol=1e-3)
    assert not follower.arm.reference.qd.any()


def test_a_stop_inside_a_smooth_path_is_no_break():
    """Quintics from rest to rest, slow enough: followed as they were sent."""
    q = np.array([START, 0.5 * (START + END), START])
    zeros = tuple(np.zeros(7))
    points = [TrajectoryPoint(tuple(x), zeros, zeros, 2.0 * k) for k, x in enumerate(q)]
    path = from_points(LWR.joint_names, points)
    law, motions = run(path)
    t = DT * np.arange(1, len(motions) + 1)
    np.testing.assert_allclose(motions[:, 0], path.at(t).q, atol=1e-9)
    fast = from_points(
        LWR.joint_names,
        [TrajectoryPoint(tuple(x), zeros, zeros, 0.4 * k) for k, x in enumerate(q)],
    )
    _, motions = run(fast)
    torque, rate, velocity, _ = use(motions, START)
    assert torque < 1.0 and rate < 1.0 and velocity < 1.0 and distance(motions, fast) < 1e-4


@pytest.mark.parametrize("kind", ["lines", "end"])
def test_pausing_and_resuming_keeps_the_limits_on_the_path(kind):
    path = broken_path(kind, 3.0)
    follower = Follower(path)
    follower.run([Mode.TRACKING], 0.5)
    follower.arm.contact(True)
    follower.run([Mode.TRACKING, Mode.REACTING], 0.5)
    assert follower.arm.mode is Mode.REACTING
    follower.arm.contact(False)
    follower.arm.clear()
    follower.run([Mode.REACTING, Mode.RESUMING, Mode.TRACKING])
    assert follower.arm.mode is Mode.HOLDING
    assert follower.torque < 1.0 and follower.rate < 1.0
    assert distance(np.array(follower.motions), path) < 1e-3
    np.testing.assert_allclose(follower.plant.state.q, path.at(path.duration).q, atol=1e-3)


@pytest.mark.parametrize("other", [False, True])
def test_a_stop_or_another_path_in_motion_keeps_the_limits(other):
    follower = Follower(broken_path("end", 3.0))
    follower.run([Mode.TRACKING], 0.6)
    reference = follower.arm.reference
    assert np.abs(reference.qd).max() > 0.3
    if other:
        follower.arm.follow(rd.joint_move(reference.q, START, duration=0.3))
    else:
        follower.arm.hold()
    follower.run([Mode.TRACKING, Mode.HOLDING], 3.0)
    assert follower.arm.mode is Mode.HOLDING and not follower.arm.reference.qd.any()
    assert follower.torque < 1.0 and follower.rate < 1.0


def test_a_step_takes_less_than_20_microseconds():
    """A ratio of two times in one run: 20 us are about 25 sweeps of Newton-Euler here."""
    move = rd.joint_move(START, END, duration=0.4)
    law = LiveScaling(LWR, LIMITS, 1.25)
    law.begin(law.start(PathTable(LWR, move, limits=LIMITS), Motion.at_rest(START)))
    steps = [timeit.timeit(lambda: law.advance(DT), number=1) for _ in range(300)]
    sweep = min(timeit.repeat(lambda: rd.inverse_dynamics(LWR, START, END, END), number=100)) / 100
    assert np.median(steps) < 25.0 * sweep
