"""Lost samples: a torque that changed meanwhile is no push; a push is still found."""

import numpy as np
import pytest
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.sensing.gap_compensation import ERROR, GapCompensation

MODEL = rd.robots.lwr_iii()
START = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
DT = 0.002
GAIN = np.array([50.0, 20.0])
SETTINGS = MonitorSettings(  # as in the demo
    gain=(50.0,),
    contact=ThresholdSettings((2.5, 2.5, 1.0, 1.0, 0.6, 1.0, 0.5)),
    collision=ThresholdSettings((5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0)),
)


def restless(seconds, push=None):
    """Samples of an arm whose torque changes as fast as it may, again and again."""
    random = np.random.default_rng(3)
    plant = rd.RigidPlant(MODEL, START, friction=False)
    limits = rd.TorqueLimits(MODEL.tau_max, 1000.0)
    law = rd.PassivityController.with_frequency(MODEL, 20.0, limits=limits)
    still, target = np.zeros(7), START
    if push is not None:
        plant.push("link_4", push, duration=0.2, start=0.5 * seconds)
    for k in range(round(seconds / DT)):
        if k % 150 == 0:
            target = START + random.uniform(-0.01, 0.01, 7)
        tau = law.torque(plant.state, rd.Motion(target, still, still, still), DT)
        yield plant.step(tau, DT)


def told(samples, lost):
    """Alarms, and the largest residual; lost(): how many samples are lost now."""
    monitor, alarms, before, largest, missing = ContactMonitor(MODEL, SETTINGS), 0, False, 0.0, 0
    for sample in samples:
        missing = missing - 1 if missing else lost()
        if missing:
            continue
        verdict = monitor.update(valid_sample(1.0 + sample.t, sample.q, sample.qd, sample.tau))
        alarms += verdict.touched and not before
        before, largest = verdict.touched, max(largest, np.abs(verdict.r).max())
    return alarms, largest


@pytest.mark.parametrize("share", [0.0, 0.03, 0.1])
def test_torque_that_changes_while_samples_are_lost_is_no_push(share):
    random = np.random.default_rng(1)

    def lost():
        return random.integers(1, 8) if random.random() < share else 0

    assert told(restless(4.0), lost)[0] == 0
    assert told(restless(4.0, push=(0.0, 60.0, 0.0)), lost)[0] >= 1


def test_a_regular_stream_is_left_as_it_is():
    lost, tau = GapCompensation(GAIN), np.array([3.0, -2.0])
    for k in range(50):
        given = tau * np.sin(k)
        assert (lost.fill(given, 0.001 * (1.0 + 0.2 * np.cos(k))) == given).all()
        assert (lost.certain(given) == given).all()


def test_between_two_samples_the_torque_was_between_theirs():
    lost = GapCompensation(GAIN)
    for _ in range(3):
        lost.fill(np.zeros(2), 0.001)
    new = np.array([4.0, -8.0])
    # Of four periods three are unknown, in which it was 2 and -4 in the mean
    np.testing.assert_allclose(lost.fill(new, 0.004), [2.5, -5.0], rtol=0.02)
    wrong = (1.0 - np.exp(-GAIN * 0.004)) * [1.5, 3.0]
    doubt = 100.0 - lost.certain(np.full(2, 100.0))
    np.testing.assert_allclose(doubt, wrong, rtol=0.02)
    lost.fill(new, 0.001)
    fades = (100.0 - lost.certain(np.full(2, 100.0))) / doubt
    np.testing.assert_allclose(fades, np.exp(-GAIN * 0.001))
    for _ in range(1000):
        lost.fill(new, 0.001)
    assert (lost.certain(new) == new).all()  # all of it is known by now
    lost.reset()
    np.testing.assert_array_equal(lost.fill(-new, 0.01), -new)  # nothing was before


@pytest.mark.parametrize("path", [0.0, 0.3, 1.0])
def test_doubt_is_the_largest_error_that_a_torque_in_between_can_make(path):
    """Nothing touches an arm at rest; while samples are lost, its torque may follow any path."""
    lost, r = GapCompensation(GAIN), np.zeros(2)
    old, new = np.array([1.0, 5.0]), np.array([7.0, -1.0])
    lost.fill(old, 0.001)
    lost.fill(old, 0.001)
    true = (19.0 * (old + path * (new - old)) + new) / 20.0  # the mean over 20 periods
    error = true - lost.fill(new, 0.02)
    r += (1.0 - np.exp(-GAIN * 0.02)) * error
    np.testing.assert_allclose(lost.certain(r), 0.0, atol=0.02)


def test_a_rate_that_falls_is_believed_after_a_while():
    lost = GapCompensation(GAIN)
    for _ in range(10):
        lost.fill(np.zeros(2), 0.001)
    for k in range(70):
        given = np.full(2, float(k % 2))
        filled = lost.fill(given, 0.02)
    np.testing.assert_array_equal(filled, given)


def test_a_residual_comes_nearer_to_zero_but_not_beyond():
    r, lost = np.array([3.0, -3.0, 0.5, -0.5]), GapCompensation(np.full(4, 50.0))
    lost.own[int(ERROR)] = 1.0
    np.testing.assert_array_equal(lost.certain(r), [2.0, -2.0, 0.0, 0.0])
