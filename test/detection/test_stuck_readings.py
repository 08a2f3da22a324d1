"""Readings that stay the same while the commanded torque moves: no push, and nothing is known."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings
from robodyn_ros.detection.stuck_readings import MESSAGES, SAME, StuckReadings

MODEL = rd.robots.planar_2r()
STILL, LIMIT = np.zeros(2), np.full(2, 2.0)
DT = 0.002


def doubts(stuck, count, q=STILL, r=(0.0, 5.0), dt=DT, rate=1000.0):
    """What is said of so many samples, while the torque rises at this rate [N m/s]."""
    return [
        stuck.doubt(np.array(q), np.full(2, rate * dt * k), np.array(r), LIMIT, dt)
        for k in range(count)
    ]


def test_it_takes_a_while_and_names_the_joint():
    found = doubts(StuckReadings(MODEL), 20)
    first = next(k for k, doubt in enumerate(found) if doubt)
    assert first * DT == pytest.approx(SAME)
    assert "'joint_2' has read the same for 0.02 s" in found[first]


def test_lists_and_what_is_read_only_will_do():
    stuck, frozen = StuckReadings(MODEL), np.zeros(2)
    frozen.flags.writeable = False
    said = [stuck.doubt(frozen, [2.0 * k] * 2, (0, 5), LIMIT, DT) for k in range(20)]
    assert not said[5] and "'joint_2'" in said[-1]


def test_rare_samples_count():
    found = doubts(StuckReadings(MODEL), 5, dt=0.1)
    assert [bool(doubt) for doubt in found] == [False] * MESSAGES + [True] * (5 - MESSAGES)


def test_an_arm_at_rest_is_no_doubt():
    assert not any(doubts(StuckReadings(MODEL), 1000, r=(0.9, -0.9)))


def test_an_arm_that_is_pushed_and_held_is_no_doubt():
    """A controller holds against the push: nothing moves any more, and the torque stays, too."""
    assert not any(doubts(StuckReadings(MODEL), 1000, rate=0.0))


def test_a_joint_that_moves_by_a_hair_is_no_doubt():
    stuck = StuckReadings(MODEL)
    for k in range(100):
        assert doubts(stuck, 1, q=(1e-12 * k, 1e-12 * k)) == [""]


def test_it_stays_so_until_the_joint_reads_something_else():
    stuck = StuckReadings(MODEL)
    doubts(stuck, 20)
    assert all(doubts(stuck, 20, r=(0.0, 0.0)))
    assert not stuck.over(STILL)
    assert stuck.over(np.array([0.0, 1e-9]))
    stuck.reset()
    assert not any(doubts(stuck, 20, r=(0.0, 0.0)))


def test_a_masked_joint_may_be_locked():
    monitor = ContactMonitor(MODEL, MonitorSettings(masked=("joint_2",)), commanded=True)
    q, level = np.array([0.3, 0.4]), None
    g = rd.gravity_torque(MODEL, q)
    for k in range(300):
        q[0] += 1e-12
        tau = g + [0.0, 0.1 * max(k - 150, 0)]
        level = monitor.update(DT * k, q, STILL, tau).state.level
    assert level is Level.CLEAR


@pytest.mark.parametrize("commanded", [True, False])
def test_a_monitor_takes_measured_torque_for_a_push(commanded):
    """A stiff arm may be pushed and not move; a commanded torque that has no effect is no push."""
    monitor = ContactMonitor(MODEL, commanded=commanded)
    q, levels = np.array([0.3, 0.4]), []
    g = rd.gravity_torque(MODEL, q)
    for k in range(300):
        tau = g + (0.0 if k < 150 else 0.1 * (k - 150))
        levels.append(monitor.update(DT * k, q, STILL, tau).state.level)
    assert levels[149] is Level.CLEAR
    if commanded:
        assert max(levels) is Level.CLEAR and levels[-1] is Level.UNKNOWN
        moved = monitor.update(DT * 300, q + 0.01, STILL, g)
        assert moved.state.level is Level.UNKNOWN and not monitor.r.any()
        for k in range(301, 400):
            level = monitor.update(DT * k, q + 1e-6 * k, STILL, g).state.level
        assert level is Level.CLEAR
    else:
        assert levels[-1] is Level.COLLISION
