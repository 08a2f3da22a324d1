"""Plans of trajectories: made beside the loop, taken over in motion without a step."""

import threading

import numpy as np
import pytest
from test_live_scaling import DT, START, Follower, broken_path

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import Mode
from robodyn_ros.control.reference import OutdatedPlanError

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
