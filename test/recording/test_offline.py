"""Residual and flags over a whole log: what ContactMonitor says sample by sample."""

import numpy as np
import pytest
from recording_cases import MODEL, motion

from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.recording.offline import watch

FIXED = MonitorSettings(
    contact=ThresholdSettings(base=(0.5,)), collision=ThresholdSettings(base=(4.0,))
)
MOVING = MonitorSettings(
    gain=(30.0,),
    contact=ThresholdSettings((0.3,), (0.2,), (0.3,), (0.05,)),
    collision=ThresholdSettings((3.0,), (0.2,), (0.3,), (0.05,)),
    debounce=0.004,
    release=0.03,
    masked=("joint_6",),
)


def by_samples(t, q, qd, tau, settings, lost=()):
    """Residual, level and joints of each sample, by the monitor that the node runs."""
    monitor = ContactMonitor(MODEL, settings)
    said = []
    for k in range(t.size):
        if k in lost:
            monitor.lost("bad data")
        report = monitor.update(t[k], q[k], qd[k], tau[k])
        said.append((report.r.copy(), int(report.state.level), report.state.joints))
    r, level, joints = zip(*said, strict=True)
    return np.array(r), np.array(level), joints


@pytest.mark.parametrize("settings", [FIXED, MOVING], ids=["fixed", "moving"])
@pytest.mark.parametrize("trouble", ["none", "gap", "back in time", "bad data", "lost samples"])
def test_as_the_monitor_says_it(settings, trouble):
    t, q, qd, tau, _ = motion()
    bad, lost = np.zeros(t.size, np.int64), ()
    if trouble == "gap":
        t = t + np.where(np.arange(t.size) > 1030, 0.7, 0.0)  # in the middle of a touch
    elif trouble == "back in time":
        t = t - np.where(np.arange(t.size) > 1500, 2.5, 0.0)
    elif trouble == "bad data":
        lost = (1040, 2600)
        bad[list(lost)] = 1
    elif trouble == "lost samples":
        kept = np.random.default_rng(1).random(t.size) > 0.3
        t, q, qd, tau, bad = (x[kept] for x in (t, q, qd, tau, bad))
    found = watch(MODEL, t, q, qd, tau, settings, bad)
    r, level, joints = by_samples(t, q, qd, tau, settings, lost)
    np.testing.assert_allclose(found.r, r, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(found.level, level)
    assert set(level) == {0, 1, 2, 3}  # all of it happened
    assert [found.names(k) for k in range(t.size)] == list(joints)


def test_a_joint_that_leaps_starts_it_anew():
    t, q, qd, tau, _ = motion(touches=(), noise=0.0)
    q = q + np.where(t > 3.0, 1.0, 0.0)[:, None] * np.eye(MODEL.n)[1]
    k = int(np.argmax(t > 3.0))
    found = watch(MODEL, t, q, qd, tau, FIXED)
    assert found.level[k - 1] == 1 and found.level[k] == 0
    assert np.abs(found.r[k]).max() == 0.0


def test_changes_are_where_the_word_changes():
    t, q, qd, tau, _ = motion()
    found = watch(MODEL, t, q, qd, tau, FIXED)
    pairs = list(zip(found.level.tolist(), found.joints.tolist(), strict=True))
    wanted = [k for k in range(t.size) if k == 0 or pairs[k] != pairs[k - 1]]
    assert found.changes.tolist() == wanted
