"""`rd.detect` over a log: the verdicts of ContactMonitor, sample by sample."""

import numpy as np
import pytest
from recording_cases import MODEL, motion

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.monitor_settings import MonitorSettings, ThresholdSettings
from robodyn_ros.recording.results import changes
from robodyn_ros.sensing.sample import Sample, Status
from robodyn_ros.sensing.sampler import sample_rows

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


def one_by_one(samples, settings):
    """The verdicts of the monitor that the node runs."""
    monitor, verdicts = ContactMonitor(MODEL, settings), []
    for k, status in enumerate(samples.status.tolist()):
        tau = None if np.isnan(samples.tau[k]).any() else samples.tau[k]
        row = samples.t[k], samples.dt[k], samples.q[k], samples.qd[k], tau, Status(status)
        cause, late = samples.causes.get(k, ""), bool(samples.late[k])
        verdicts.append(monitor.update(Sample(*row, cause=cause, late=late)))
    return verdicts


def troubled(trouble):
    """Samples of a motion with touches, and something odd on the way."""
    t, q, qd, tau, _ = motion()
    received = t.copy()
    if trouble == "gap":
        t = t + np.where(np.arange(t.size) > 1030, 0.7, 0.0)  # in the middle of a touch
        received = t.copy()
    elif trouble == "back in time":
        t = t - np.where(np.arange(t.size) > 1500, 2.5, 0.0)
        received = t.copy()
    elif trouble == "bad data":
        q[1040, 2] = np.nan
        qd[2600:2605, 1] = 1e9
    elif trouble == "no torque":
        tau[1040] = np.nan
    elif trouble == "a current":
        tau[1040:] *= 0.1
    elif trouble == "lost samples":
        kept = np.random.default_rng(1).random(t.size) > 0.3
        t, q, qd, tau, received = (x[kept] for x in (t, q, qd, tau, received))
    return sample_rows(MODEL, t, q, qd, tau, received=received, period=0.002)


TROUBLES = ["none", "gap", "back in time", "bad data", "no torque", "a current", "lost samples"]


@pytest.mark.parametrize("settings", [FIXED, MOVING], ids=["fixed", "moving"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_as_the_monitor_says_it(settings, trouble):
    samples = troubled(trouble)
    found = rd.detect(MODEL, samples, settings)
    verdicts = one_by_one(samples, settings)
    np.testing.assert_array_equal(found.r, [verdict.r for verdict in verdicts])
    np.testing.assert_array_equal(found.level, [verdict.level for verdict in verdicts])
    assert set(found.level) == {0, 1, 2, 3}  # all of it happened
    assert [found.joints(k) for k in range(found.t.size)] == [
        () if verdict.level < rd.Level.CONTACT else verdict.joints for verdict in verdicts
    ]
    rows = np.flatnonzero(samples.valid & (np.arange(found.t.size) % 7 == 0))
    for k in rows.tolist():
        offline, live = found.verdict(k), verdicts[k]
        assert offline[:2] == live[:2]
        assert (offline.link, offline.link_cause) == (live.link, live.link_cause)
        assert (offline.where, offline.confidence) == (live.where, live.confidence)
        assert offline.fault == live.fault and offline.cause == live.cause
        np.testing.assert_array_equal(offline.force, live.force)


@pytest.mark.parametrize("scale", [1.0, 0.1], ids=["while it settles", "a current"])
def test_rejected_messages_leave_the_cause_of_unknown_standing(scale):
    t, q, qd, tau, _ = motion(touches=())
    q = q.copy()
    for row in (0, 20, 1200):
        q[row : row + 2, 2] += 2.0
    tau = scale * tau
    samples = sample_rows(MODEL, t, q, qd, tau, received=t, period=0.002)
    found, verdicts = rd.detect(MODEL, samples, FIXED), one_by_one(samples, FIXED)
    rejected = np.flatnonzero(samples.status == Status.INVALID)
    assert {20, 21, 1200, 1201} <= {*rejected.tolist()}
    for k in [*range(60), *range(1195, 1260)]:
        offline, live = found.verdict(k), verdicts[k]
        assert (offline.cause, offline.fault) == (live.cause, live.fault), k
    assert (found.level[1200] == rd.Level.UNKNOWN) == (scale != 1.0)


def test_a_log_is_judged_as_messages_are():
    t, q, qd, tau, _ = motion(touches=(), noise=0.0)
    q = q + np.where(t > 3.0, 1.0, 0.0)[:, None] * np.eye(MODEL.n)[1]  # a teleport
    k = int(np.argmax(t > 3.0))
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau), FIXED)
    assert found.status[k - 1 : k + 4].tolist() == [0, 2, 2, 1, 0]
    assert found.level[k - 1] == rd.Level.CLEAR and found.level[k + 2] == rd.Level.UNKNOWN
    assert np.abs(found.r[k + 2]).max() == 0.0
    assert "jumped by +1" in found.samples.causes[k]
    assert found.cause(k + 3) == "joint states begin anew"
    assert found.samples.usable.sum() == t.size - 2


def test_a_contact_is_one_event_with_link_force_and_wrench():
    t, q, qd, tau, _ = motion()
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau), FIXED)
    assert found.events
    for event in found.events:
        inside = (found.t >= event.start) & (found.t <= event.end)
        assert (found.level[inside] >= rd.Level.CONTACT).all()
        assert event.level == found.level[inside].max() and event.joints
        assert event.fault.kind in ("collision", "undecided") and event.link in MODEL.link_names
        assert 0.0 < event.confidence <= 1.0 and event.where.startswith(event.link)
        assert not event.force < 0.1  # NaN: unknown
    outside = found.level < rd.Level.CONTACT
    assert set(found.link[outside]) == {""}
    assert not found.wrench[found.level == rd.Level.CLEAR].any()
    assert np.isnan(found.wrench[found.level == rd.Level.UNKNOWN]).all()
    assert found.wrench.shape == (t.size, 6)
    assert set(found.link[~outside]) == {"", *(event.link for event in found.events)}


def test_a_log_of_another_robot_is_rejected():
    t, q, qd, tau, _ = motion()
    with pytest.raises(rd.ArgumentError, match="has 2"):
        rd.detect(rd.robots.planar_2r(), rd.Log(t, q, qd, tau))


def test_changes_are_where_level_or_joints_change():
    t, q, qd, tau, _ = motion()
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau), FIXED)
    pairs = [(level, found.joints(k)) for k, level in enumerate(found.level.tolist())]
    wanted = [k for k in range(t.size) if k == 0 or pairs[k] != pairs[k - 1]]
    assert changes(found).tolist() == wanted
