"""ContactMonitor: a stream of samples, gaps, bad data, and settings that change on the way."""

from dataclasses import replace

import numpy as np
import pytest
from sample_cases import invalid_sample, valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.sensing.sample import Status

MODEL = rd.robots.lwr_iii()
Q = np.array([0.1, 0.6, -0.2, 1.1, 0.3, 0.7, 0.2])
STILL = np.zeros(7)
DT = 1e-3
SETTINGS = MonitorSettings(settling=0.01, release=0.01)


class Stream:
    """An arm at rest that is held against a push."""

    def __init__(self, settings=SETTINGS):
        self.monitor = ContactMonitor(MODEL, settings)
        self.t = 100.0
        self.g = rd.gravity_torque(MODEL, Q)

    def stay(self, samples, push=STILL):
        for _ in range(samples):
            self.t += DT
            verdict = self.monitor.update(valid_sample(self.t, Q, STILL, self.g - push))
        return verdict


def torque_of(link, force):
    return rd.jacobian(MODEL, Q, link)[:3].T @ np.array(force)


def test_unknown_then_clear_then_collision_then_clear():
    stream = Stream()
    assert stream.stay(1).level is Level.UNKNOWN
    assert stream.stay(30).level is Level.CLEAR
    verdict = stream.stay(150, torque_of("link_6", [40.0, -20.0, 30.0]))
    assert verdict.level is Level.COLLISION
    assert verdict.link in MODEL.link_names and verdict.where.startswith(verdict.link)
    assert verdict.joints and not verdict.force < 0.1
    assert stream.stay(200).level is Level.CLEAR


def test_a_monitor_that_does_not_name_yet_still_tells_a_collision():
    stream = Stream()
    stream.monitor.naming = False
    push = torque_of("link_6", [40.0, -20.0, 30.0])
    stream.stay(50)
    verdict = stream.stay(150, push)
    assert (verdict.level, verdict.link, verdict.fault) == (Level.COLLISION, "", None)
    stream.stay(300)
    stream.monitor.naming = True
    verdict = stream.stay(150, push)
    assert verdict.link and verdict.fault.kind == "undecided"


def test_the_wrench_is_in_the_links_own_axes():
    stream = Stream(replace(SETTINGS, wrench_link="link_7"))
    force = np.array([12.0, -7.0, 9.0])
    verdict = stream.stay(1500, torque_of("link_7", force))
    R = rd.forward_kinematics(MODEL, Q, "link_7")[:3, :3]
    assert verdict.wrench_link == "link_7"
    np.testing.assert_allclose(verdict.wrench[:3], R.T @ force, rtol=0.01)
    np.testing.assert_allclose(verdict.wrench[3:], 0.0, atol=0.05)


def test_a_gap_starts_anew_and_says_so():
    stream = Stream()
    stream.stay(100)
    stream.t += 10.0
    sample = valid_sample(stream.t + DT, Q, STILL, stream.g, dt=10.0 + DT)
    verdict = stream.monitor.update(sample)
    assert verdict.level is Level.UNKNOWN
    assert "no sample for 10" in verdict.cause
    stream.t += DT
    assert stream.stay(1).cause == verdict.cause  # while it settles
    assert stream.stay(30).level is Level.CLEAR
    stream.t -= 5.0
    sample = valid_sample(stream.t, Q, STILL, stream.g, Status.RESTART)
    assert "begin anew" in stream.monitor.update(sample).cause


def test_a_late_sample_settles_again_but_keeps_the_residual():
    stream = Stream(replace(SETTINGS, gain=(5.0,), settling=0.1))
    push = torque_of("link_6", [40.0, -20.0, 30.0])
    before = stream.stay(300, push)
    stream.t += 0.05
    late = valid_sample(stream.t, Q, STILL, stream.g - push, dt=0.05, late=True)
    verdict = stream.monitor.update(late)
    assert verdict.level is Level.UNKNOWN and "silent" in verdict.cause
    assert np.abs(verdict.r).max() > 0.9 * np.abs(before.r).max()


def test_rejected_samples_never_give_clear():
    """The previous verdict stands for two of them; the third in a row gives UNKNOWN."""
    stream = Stream()
    clear = stream.stay(100)
    bad = invalid_sample(stream.t + DT, "position of joint 'joint_3' is nan")
    assert stream.monitor.update(bad) is clear
    assert stream.monitor.update(bad) is clear
    verdict = stream.monitor.update(bad)
    assert verdict.level is Level.UNKNOWN and verdict.cause == bad.cause
    assert np.isfinite(verdict.r).all()
    assert stream.stay(1).level is Level.UNKNOWN
    assert stream.stay(30).level is Level.CLEAR


def test_a_sample_without_torque_gives_unknown_at_once():
    stream = Stream()
    stream.stay(100)
    sample = valid_sample(stream.t + DT, Q, STILL, STILL)
    lost = sample._replace(tau=None, cause="no command for 0.03 s", fault="command_loss")
    verdict = stream.monitor.update(lost)
    assert verdict.level is Level.UNKNOWN and verdict.cause == "no command for 0.03 s"
    assert verdict.fault == rd.Fault("command_loss")
    assert stream.stay(30).level is Level.CLEAR


def test_a_momentum_that_is_not_finite_gives_unknown():
    stream = Stream()
    stream.stay(100)
    verdict = stream.monitor.update(valid_sample(stream.t + DT, Q, STILL, STILL + np.nan))
    assert verdict.level is Level.UNKNOWN and "not finite" in verdict.cause
    assert np.isfinite(verdict.r).all()


def test_neither_residual_nor_state_jumps_when_settings_change():
    stream = Stream()
    push = torque_of("link_6", [3.0, 0.0, 0.0])
    before = stream.stay(60, push)
    new = replace(SETTINGS, gain=(80.0,), collision=ThresholdSettings(base=(50.0,)))
    stream.monitor.apply(stream.monitor.prepare(new))
    after = stream.stay(1, push)
    # One step towards the push at the new rate, from where the residual was
    blend = -np.expm1(-80.0 * DT)
    np.testing.assert_allclose(after.r, before.r + blend * (push - before.r), atol=1e-9)
    assert after.level is before.level
    assert stream.monitor.settings is new


def test_settings_that_do_not_fit_the_robot_are_refused():
    monitor = ContactMonitor(MODEL, SETTINGS)
    for bad, reason in (
        ({"gain": (1.0, 2.0)}, "gain must be one number or 7"),
        ({"contact": ThresholdSettings(base=(1.0, 2.0))}, "base must be one number or 7"),
        ({"contact": ThresholdSettings(base=(9.0,))}, "below its contact"),
        ({"masked": ("elbow",)}, "elbow"),
        ({"wrench_link": "hand"}, "hand"),
    ):
        with pytest.raises(rd.RobodynError, match=reason):
            monitor.prepare(replace(SETTINGS, **bad))
    assert monitor.settings == SETTINGS


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"gain": (-1.0,)}, "gain must be from 0.001 to 10000 1/s, got -1"),
        ({"gain": (float("nan"),)}, "gain must be a finite number"),
        ({"gain": 5.0}, "gain must be a tuple"),
        ({"hysteresis": 2.0}, "hysteresis must be from 0.05 to 1"),
        ({"friction": 1}, "friction must be true or false"),
        ({"wrench_link": 3}, "wrench_link must be text"),
    ],
)
def test_a_bad_set_is_not_made(bad, reason):
    with pytest.raises(rd.ArgumentError, match=reason):
        MonitorSettings(**bad)


ARM, REST = rd.robots.planar_2r(), np.zeros(2)


def test_a_masked_joint_may_be_locked():
    monitor = ContactMonitor(ARM, MonitorSettings(masked=("joint_2",)), commanded=True)
    q, level = np.array([0.3, 0.4]), None
    g = rd.gravity_torque(ARM, q)
    for k in range(300):
        q[0] += 1e-12
        tau = g + [0.0, 0.1 * max(k - 150, 0)]
        level = monitor.update(valid_sample(2e-3 * k, q, REST, tau)).level
    assert level is Level.CLEAR


@pytest.mark.parametrize("commanded", [True, False])
def test_a_monitor_takes_measured_torque_for_a_push(commanded):
    """A stiff arm may be pushed and not move; a commanded torque that has no effect is no push."""
    monitor = ContactMonitor(ARM, commanded=commanded)
    q, levels = np.array([0.3, 0.4]), []
    g = rd.gravity_torque(ARM, q)
    for k in range(300):
        tau = g + (0.0 if k < 150 else 0.1 * (k - 150))
        levels.append(monitor.update(valid_sample(2e-3 * k, q, REST, tau)).level)
    assert levels[149] is Level.CLEAR
    if commanded:
        assert max(levels) is Level.CLEAR and levels[-1] is Level.UNKNOWN
        assert monitor.verdict.fault.kind == "sensor_freeze" and monitor.verdict.joints
        moved = monitor.update(valid_sample(2e-3 * 300, q + 0.01, REST, g))
        assert moved.level is Level.UNKNOWN and not moved.r.any()
        for k in range(301, 400):
            level = monitor.update(valid_sample(2e-3 * k, q + 1e-6 * k, REST, g)).level
        assert level is Level.CLEAR
    else:
        assert levels[-1] is Level.COLLISION


def test_an_arm_that_friction_holds_is_clear_again_once_its_torque_is_right():
    """A command off by 8 N m for 50 ms moves nothing: the reading stays the same all the time."""
    monitor = ContactMonitor(MODEL, SETTINGS, commanded=True)
    g, off = rd.gravity_torque(MODEL, Q), np.array([0.0, 8.0, 0.0, 0.0, 0.0, 0.0, 0.0])

    def stay(seconds, tau):
        for _ in range(round(seconds / DT)):
            stay.t += DT
            verdict = monitor.update(valid_sample(stay.t, Q, STILL, tau))
        return verdict

    stay.t = 0.0
    assert stay(0.2, g).level is Level.CLEAR
    verdict = stay(0.05, g + off)
    assert verdict.level is Level.UNKNOWN and "joint_2" in verdict.cause
    assert stay(0.2, g).level is Level.UNKNOWN  # a torque that passes by is not yet right
    assert stay(0.6, g).level is Level.CLEAR
    assert stay(1.0, g + off).level is Level.UNKNOWN
