"""LiveScaling: limits kept sample by sample, on the path, and not much slower than possible."""

import timeit

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.live_scaling import LiveScaling, PathTable, ScalingLimits
from robodyn_ros.dynamics.motion import Motion
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
    law.begin(PathTable(LWR, trajectory), Motion.at_rest(trajectory.at(0.0).q))
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
    law.begin(PathTable(LWR, rd.joint_move(START, END, duration=4.0)), none)
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
    law.begin(PathTable(LWR, move), Motion.at_rest(START))
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


@pytest.mark.parametrize("ending", [0.0, 0.5])
def test_corners_and_an_end_with_velocity_are_passed_slowly(ending):
    """Points without velocities: lines with corners, which are rounded by less than 1 mrad."""
    random = np.random.default_rng(3)
    knots = [START, *(START + random.uniform(-0.3, 0.3, (3, 7)))]
    points = [TrajectoryPoint(tuple(q), time_from_start=float(k)) for k, q in enumerate(knots)]
    if ending:
        still = [tuple(np.zeros(7)), *[tuple(np.full(7, ending))] * 3]
        points = [
            TrajectoryPoint(p.positions, v, time_from_start=p.time_from_start)
            for p, v in zip(points, still, strict=True)
        ]
    trajectory = from_points(LWR.joint_names, points)
    law, motions = run(trajectory)
    assert distance(motions, trajectory) < 1e-3
    assert np.isfinite(motions).all()
    for _ in range(5):
        last = law.advance(DT)
    assert not last.qd.any()
    np.testing.assert_allclose(last.q, knots[-1], atol=1e-9)


def test_a_step_takes_less_than_20_microseconds():
    """A ratio of two times in one run: 20 us are about 25 sweeps of Newton-Euler here."""
    move = rd.joint_move(START, END, duration=0.4)
    law = LiveScaling(LWR, LIMITS, 1.25)
    law.begin(PathTable(LWR, move), Motion.at_rest(START))
    steps = [timeit.timeit(lambda: law.advance(DT), number=1) for _ in range(300)]
    sweep = min(timeit.repeat(lambda: rd.inverse_dynamics(LWR, START, END, END), number=100)) / 100
    assert np.median(steps) < 25.0 * sweep
