"""The brake of a simulated arm that gets no commands."""

import numpy as np
import pytest

import robodyn_ros as rd

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robodyn_ros.nodes.brake import BRAKE_RATE, Brake  # noqa: E402

LWR = rd.robots.lwr_iii()
START = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
SPEED = np.array([0.8, -0.5, 0.6, 0.7, -0.9, 0.5, 1.0])
DT = 0.002


def braked(tau, seconds=1.0):
    """States and torques of an arm in motion whose commands have ended; tau: the last one."""
    plant, brake = rd.RigidPlant(LWR, START, SPEED, friction=False), Brake(LWR)
    states, given = [plant.state], [tau]
    for _ in range(round(seconds / DT)):
        given.append(brake.hold(plant.state, given[-1], DT).copy())
        states.append(plant.step(given[-1], DT))
    return states, np.array(given)


def test_an_arm_in_motion_is_stopped_and_not_pulled_back():
    states, given = braked(rd.gravity_torque(LWR, START))
    along = np.array([s.qd * np.sign(SPEED) for s in states])
    assert along.min() > -0.05
    assert np.abs(states[-1].qd).max() < 1e-3
    assert np.abs(np.diff(given, axis=0)).max() <= BRAKE_RATE * DT + 1e-9


def test_it_begins_with_the_last_torque_and_ends_with_the_weight_carried():
    last = rd.gravity_torque(LWR, START) + np.array([30.0, -30.0, 20.0, -20.0, 5.0, 5.0, 5.0])
    states, given = braked(last, seconds=2.0)
    assert np.abs(given[1] - last).max() <= BRAKE_RATE * DT + 1e-9
    np.testing.assert_allclose(given[-1], rd.gravity_torque(LWR, states[-1].q), atol=0.05)
    assert np.abs(states[-1].q - START).max() < 0.6
