"""ContactMonitor: a stream of samples, gaps, bad data, and settings that change on the way."""

from dataclasses import replace

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings

MODEL = rd.robots.lwr_iii()
Q = np.array([0.1, 0.6, -0.2, 1.1, 0.3, 0.7, 0.2])
STILL = np.zeros(7)
DT = 1e-3
SETTINGS = MonitorSettings(settling=0.01, release=0.01)


class Stream:
    """An arm at rest that is held against a push which nobody tells."""

    def __init__(self, settings=SETTINGS):
        self.monitor = ContactMonitor(MODEL, settings)
        self.t = 100.0
        self.g = rd.gravity_torque(MODEL, Q)

    def stay(self, samples, push=STILL):
        for _ in range(samples):
            self.t += DT
            report = self.monitor.update(self.t, Q, STILL, self.g - push)
        return report


def torque_of(link, force):
    return rd.jacobian(MODEL, Q, link)[:3].T @ np.array(force)


def test_unknown_then_clear_then_collision_then_clear():
    stream = Stream()
    assert stream.stay(1).state.level is Level.UNKNOWN
    assert stream.stay(30).state.level is Level.CLEAR
    report = stream.stay(150, torque_of("link_6", [40.0, -20.0, 30.0]))
    assert report.state.level is Level.COLLISION
    assert report.state.link == report.link
    assert stream.stay(200).state.level is Level.CLEAR


def test_the_wrench_is_in_the_links_own_axes():
    stream = Stream(replace(SETTINGS, wrench_link="link_7"))
    force = np.array([12.0, -7.0, 9.0])
    report = stream.stay(1500, torque_of("link_7", force))
    R = rd.forward_kinematics(MODEL, Q, "link_7")[:3, :3]
    assert report.link == "link_7"
    np.testing.assert_allclose(report.wrench[:3], R.T @ force, rtol=0.01)
    np.testing.assert_allclose(report.wrench[3:], 0.0, atol=0.05)


def test_a_gap_starts_anew_and_says_so():
    stream = Stream()
    stream.stay(100)
    stream.t += 10.0
    report = stream.stay(1)
    assert report.state.level is Level.UNKNOWN
    assert "no sample for 10" in report.state.reason
    assert stream.stay(30).state.level is Level.CLEAR
    stream.t -= 5.0
    assert "time went back" in stream.stay(1).state.reason


def test_bad_samples_never_give_clear():
    stream = Stream()
    stream.stay(100)
    bad = stream.g.copy()
    bad[2] = np.nan
    report = stream.monitor.update(stream.t + DT, Q, STILL, bad)
    assert report.state.level is Level.UNKNOWN
    assert "tau of joint 'joint_3' is nan" in report.state.reason
    assert np.isfinite(report.r).all()
    assert stream.stay(1).state.level is Level.UNKNOWN
    assert stream.stay(30).state.level is Level.CLEAR


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
    assert after.state.level is before.state.level
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
