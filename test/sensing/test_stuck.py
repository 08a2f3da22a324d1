"""Readings that stay the same although motion is expected."""

import numpy as np
import pytest

from robodyn_ros.sensing.stuck import StuckCheck

REST, LIMIT = np.zeros(2), np.array([np.inf, 1.0])
DT = 0.002


def stuck_at(check, count, q=REST, motion=(0.0, 2.0), dt=DT):
    """The joint found at each of several equal readings."""
    return [check.update(np.array(q), np.array(motion), LIMIT, dt) for _ in range(count)]


@pytest.fixture
def check():
    return StuckCheck(2, min_time=0.02, min_samples=3)


def test_it_takes_a_while_and_names_the_joint(check):
    found = stuck_at(check, 20)
    assert found.index(1) * DT == pytest.approx(0.02)
    assert check.seconds(1) == pytest.approx(19 * DT)


def test_rare_samples_count(check):
    assert stuck_at(check, 6, dt=0.1) == [-1, -1, -1, 1, 1, 1]


def test_no_expected_motion_is_rest(check):
    assert set(stuck_at(check, 1000, motion=(5.0, 0.0))) == {-1}  # and joint 1 has no limit


def test_expected_motion_back_and_forth_cancels(check):
    for k in range(1000):
        assert check.update(REST, np.array([0.0, 0.9 * (-1.0) ** k]), LIMIT, DT) == -1


def test_a_joint_that_moves_by_a_hair_is_not_stuck(check):
    for k in range(100):
        assert check.update(np.full(2, 1e-12 * k), np.full(2, 5.0), LIMIT, DT) == -1


def test_it_stays_so_until_the_joint_reads_something_else(check):
    stuck_at(check, 20)
    assert set(stuck_at(check, 20, motion=REST)) == {1}
    assert check.still_stuck(REST)
    assert check.changed(np.array([0.0, 1e-9])).tolist() == [False, True]
    assert not check.still_stuck(np.array([0.0, 1e-9]))
    assert check.joint == -1


def test_a_joint_found_stuck_elsewhere_is_latched_until_cleared(check):
    check.mark(0, REST)
    assert check.still_stuck(REST)
    check.clear()
    assert not check.still_stuck(REST)
    check.mark(0, REST)
    check.reset()
    assert not check.still_stuck(REST)


def test_noise_does_not_add_up_while_the_arm_rests(check):
    """Ten minutes at 500 Hz whose random walk passes the limit."""
    steps = 0.004 * np.random.default_rng(1).standard_normal(600 * 500)
    assert np.abs(np.cumsum(steps)).max() > 1.5 * LIMIT[1]
    motion = np.zeros(2)
    for step in steps:
        motion[1] = step
        assert check.update(REST, motion, LIMIT, DT) == -1
