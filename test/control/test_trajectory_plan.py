"""Plans of trajectories: made beside the loop, taken over in motion without a step."""

import threading

import numpy as np
import pytest
from test_live_scaling import DT, LIMITS, LWR, START, Follower, broken_path

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.reference import JoinError, OutdatedPlanError
from robodyn_ros.trajectory.trajectory_msg import TrajectoryPoint, from_points

LEAD = 0.05


def moving():
    """An arm on its way, slowed down by its limits."""
    follower = Follower(broken_path("end", 3.0))
    follower.run([Mode.TRACKING], 0.6)
    assert np.abs(follower.arm.reference.qd).max() > 0.3
    return follower


def back(start, duration=0.3):
    return rd.joint_move(start.q, START, duration=duration)


def run_until_due(follower, plan):
    while not follower.arm.is_due(plan):
        follower.run([Mode.TRACKING], 0.5 * DT)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_plan_ahead_changes_nothing_until_it_is_followed():
    follower, alone = moving(), moving()
    planner = follower.arm.planner(LEAD)
    thread = threading.Thread(target=lambda: plans.append(planner.plan(back(planner.start))))
    plans = []
    thread.start()
    thread.join()
    (plan,) = plans
    assert plan.exceeded and plan.t == pytest.approx(follower.arm.time + LEAD)
    for one in (follower, alone):
        run_until_due(one, plan)
    assert same(follower.arm.reference, alone.arm.reference)
    assert np.array_equal(follower.tau, alone.tau)


@pytest.mark.parametrize("jitter", [0.0, 1e-4])
def test_nothing_jumps_when_a_plan_is_taken_over_in_motion(monkeypatch, jitter):
    follower, random = moving(), np.random.default_rng(4)
    planner = follower.arm.planner(LEAD)
    plan = planner.plan(back(planner.start))
    step = follower.plant.step
    monkeypatch.setattr(
        follower.plant, "step", lambda tau, dt: step(tau, dt + jitter * random.uniform(-1.0, 1.0))
    )
    run_until_due(follower, plan)
    before = follower.arm.reference
    follower.arm.follow(plan)
    assert same(follower.arm.reference, before)  # taken over here
    monkeypatch.undo()
    follower.run([Mode.TRACKING], 0.5 * DT)
    after = follower.arm.reference
    np.testing.assert_allclose(after.q, before.q + DT * before.qd, atol=2e-4)
    np.testing.assert_allclose(after.qd, before.qd + DT * before.qdd, atol=2e-3)
    follower.run([Mode.TRACKING, Mode.HOLDING], 3.0)
    assert follower.arm.mode is Mode.HOLDING and not follower.arm.reference.qd.any()
    np.testing.assert_allclose(follower.arm.reference.q, START, atol=1e-9)
    assert follower.torque < 1.0 and follower.rate < 1.0


def test_in_place_and_planned_are_the_same():
    first, second = moving(), moving()
    move = back(first.arm.reference)
    assert first.arm.follow(move) == second.arm.follow(second.arm.plan(move))
    for follower in (first, second):
        follower.run([Mode.TRACKING], 0.2)
    assert same(first.arm.reference, second.arm.reference)


def test_a_plan_is_void_after_a_stop():
    follower = moving()
    plan = follower.arm.plan(back(follower.arm.reference))
    follower.arm.hold()
    with pytest.raises(rd.RobodynError, match="stopped while .* hold requested"):
        follower.arm.follow(plan)
    follower = moving()
    plan = follower.arm.plan(back(follower.arm.reference))
    follower.arm.safe_hold("the test says so")
    with pytest.raises(rd.RobodynError, match="safe hold, the test says so"):
        follower.arm.follow(plan)
    assert follower.arm.mode is Mode.SAFE_HOLD


def test_a_plan_that_does_not_fit_any_more_must_be_made_again():
    follower = moving()
    planner = follower.arm.planner(LEAD)
    plan = planner.plan(back(planner.start))
    path = follower.arm._arm.reference.path
    with pytest.raises(OutdatedPlanError):  # too early
        follower.arm.follow(plan)
    follower.run([Mode.TRACKING], 0.1)
    with pytest.raises(OutdatedPlanError, match="ago"):
        follower.arm.follow(plan)
    plan = follower.arm.plan(back(follower.arm.reference, 2.0))
    follower.arm.apply(follower.arm.prepare(follower.arm.settings))
    with pytest.raises(OutdatedPlanError, match="settings"):
        follower.arm.follow(plan)
    assert follower.arm.mode is Mode.TRACKING and follower.arm._arm.reference.path is path


def test_from_rest_a_plan_has_no_time_of_its_own():
    follower = Follower(rd.joint_move(START, START + 0.02, duration=0.5))
    follower.run([Mode.TRACKING], 1.0)
    assert follower.arm.mode is Mode.HOLDING
    planner = follower.arm.planner(LEAD)
    plan = planner.plan(rd.joint_move(START + 0.02, START, duration=0.5))
    assert plan.t is None
    follower.run([Mode.HOLDING], 0.2)
    follower.arm.follow(plan)
    assert follower.arm.mode is Mode.TRACKING
    stamped = planner.plan(rd.joint_move(START + 0.02, START, duration=0.5), planner.t + 0.1)
    assert stamped.t == planner.t


def towards(start, q, duration):
    """Quintic from a motion to rest at q, as a message with one point asks for."""
    still = tuple(np.zeros(7))
    points = [TrajectoryPoint(tuple(q), still, still, duration)]
    return from_points(LWR.joint_names, points, joint_names=LWR.joint_names, start=start[:3])


def test_a_turn_in_motion_keeps_the_limits_or_is_refused():
    """Between impossible trajectories; a refused one leaves the arm on its way."""
    random, refused, shares = np.random.default_rng(2), 0, []
    for _ in range(12):
        arm, t = ArmController(LWR), 0.0
        arm.update(0.0, START, np.zeros(7))
        first, second = START + random.uniform(-0.8, 0.8, (2, 7))
        arm.follow(towards(arm.reference, first, 0.3))
        tau = None
        for k in range(500):
            t += DT
            reference = arm.reference
            arm.update(t, reference.q, reference.qd)
            before, tau = tau, rd.inverse_dynamics(LWR, *arm.reference[:3])
            if k > 0:
                shares.append((np.abs(tau - before) / DT / LIMITS.tau_rate_max).max())
            if k == 120:
                try:
                    arm.follow(towards(arm.reference, second, 0.3))
                except JoinError:
                    refused += 1
        assert arm.mode in (Mode.TRACKING, Mode.HOLDING), arm.reason
    assert max(shares) < 1.0 and refused <= 2
