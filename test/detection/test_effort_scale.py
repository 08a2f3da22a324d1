"""A wrong scale or sign of the effort is told with its remedy; pushes and payloads are none."""

import numpy as np
import pytest
import recorded_arms
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.detection.effort_scale import scale_text
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.sensing.sample import Status

MODEL = rd.robots.kuka_lwr4()
DT = 0.002
KINDS = ("effort_scale", "effort_sign")
CENTRE = np.array([0.2, 0.7, -0.3, 1.2, 0.3, 0.8, 0.1])


def motion(seconds=3.0, size=0.35):
    """Return a log of free motion with exact torque: t, q, qd, tau."""
    t = DT * np.arange(int(seconds / DT))
    w = 2.0 * np.pi * np.array([0.35, 0.4, 0.3, 0.45, 0.5, 0.35, 0.4])
    angle = t[:, None] * w + np.arange(7)
    q, qd = CENTRE + size * np.sin(angle), size * w * np.cos(angle)
    return t, q, qd, rd.inverse_dynamics(MODEL, q, qd, -size * w**2 * np.sin(angle))


def real(qd, tau, seed=0):
    """The same torque through a real drive: friction, offsets, noise."""
    rng = np.random.default_rng(seed)
    share = np.array([0.05, 0.05, 0.05, 0.05, 0.02, 0.02, 0.02]) * MODEL.tau_max
    friction = 0.5 * share * np.tanh(qd / 0.02) + 0.2 * share * qd
    return tau + friction + rng.uniform(-0.1, 0.1, 7) * share + rng.normal(0, 0.1, tau.shape)


def told(log, model=MODEL, **settings):
    """Faults of the effort in order of time: (time since the start, fault)."""
    found = rd.detect(model, log, rd.MonitorSettings(**settings))
    faults = [(found.t[k] - found.t[0], found.verdict(k).fault) for k in range(0, len(found.t), 5)]
    return [(t, fault) for t, fault in faults if fault and fault.kind in KINDS], found


@pytest.mark.parametrize("scale", [0.05, 0.1, 0.4, 2.5, 10.0, 100.0, 1000.0, -1.0, -0.1, -20.0])
@pytest.mark.parametrize("drive", ["exact", "real"])
def test_a_wrong_scale_is_told_within_a_second_of_motion(scale, drive):
    t, q, qd, tau = motion()
    tau = real(qd, tau) if drive == "real" else tau
    faults, found = told(rd.Log(t, q, qd, scale * tau), gain=(50.0,))
    assert faults and faults[0][0] < 1.0
    assert {fault.kind for _, fault in faults} == {KINDS[scale < 0.0]}
    assert faults[-1][1].value == pytest.approx(scale, rel=0.15)
    since = found.t > faults[0][0]
    assert (found.level[since] == rd.Level.UNKNOWN).all()  # and it stays told


@pytest.mark.parametrize("scale", [1.0, 0.8, 1.25])
@pytest.mark.parametrize("drive", ["exact", "real"])
def test_a_usual_scale_is_not(scale, drive):
    t, q, qd, tau = motion()
    tau = real(qd, tau) if drive == "real" else tau
    faults, found = told(rd.Log(t, q, qd, scale * tau))
    assert (found.level[found.t > found.t[0] + 1.0] != rd.Level.UNKNOWN).all()
    # On exact data the cause of the contact may be named after a second, and rightly then
    assert not (scale == 1.0 or drive == "real") or not faults
    assert all(fault.value == pytest.approx(scale, rel=0.02) for _, fault in faults)


@pytest.mark.parametrize("scale", [0.1, 100.0, -1.0])
def test_nothing_is_called_a_contact_before_it_is_told(scale):
    """A start with an effort that the weight contradicts is UNKNOWN until it is clear why."""
    t, q, qd, tau = motion()
    found = told(rd.Log(t, q, qd, scale * tau))[1]
    assert (found.level == rd.Level.UNKNOWN).all()


@pytest.mark.parametrize("mass", [0.5, 1.5, 3.0])
def test_a_payload_is_not_told(mass):
    t, q, qd, _ = motion()
    loaded = MODEL.replace(payload=rd.Payload(MODEL.link_names[-1], mass, com=(0.0, 0.0, 0.1)))
    qdd = np.gradient(qd, t, axis=0)
    tau = rd.inverse_dynamics(loaded, q, qd, qdd)
    assert not told(rd.Log(t, q, qd, tau))[0]
    assert not told(rd.Log(t, q, qd, real(qd, tau)))[0]


@pytest.mark.parametrize("link", ["link_3", "link_5", "link_7"])
@pytest.mark.parametrize("size", [0.0, 0.35])
def test_a_push_is_not_told(link, size):
    """Lasting, swelling and reversing, in motion and at rest; up to twice the arm's weight."""
    link = next(name for name in MODEL.link_names if name.endswith(link[-1]))
    t, q, qd, tau = motion(3.0, size)
    up = np.array([0.0, 0.0, 1.0])
    for force in (60.0 * up, -60.0 * up, np.array([50.0, -30.0, 40.0])):
        for course in (t > 1.0, np.sin(4.0 * t) * (t > 0.5)):
            push = np.array([rd.jacobian(MODEL, x, link)[:3].T @ force for x in q])
            log = rd.Log(t, q, qd, tau - push * np.asarray(course, float)[:, None])
            faults, found = told(log)
            assert not faults
            assert (found.level >= rd.Level.CONTACT).any()


def test_a_scale_that_is_mended_is_no_longer_told():
    t, q, qd, tau = motion()
    scale = np.where((t > 1.0) & (t < 2.0), 0.1, 1.0)[:, None]
    faults, found = told(rd.Log(t, q, qd, scale * tau))
    assert 1.0 < faults[0][0] < 1.5 and 2.0 < faults[-1][0] < 2.5
    assert (found.level[found.t > 2.6] == rd.Level.CLEAR).all()


def test_it_is_told_across_a_gap_until_the_monitor_is_reset():
    monitor = ContactMonitor(MODEL)
    t, q, qd, tau = motion()
    samples = [valid_sample(t[k], q[k], qd[k], -tau[k]) for k in range(t.size)]
    for sample in samples[:800]:
        verdict = monitor.update(sample)
    assert verdict.fault.kind == "effort_sign"
    monitor.update(samples[840])  # after 80 ms
    assert monitor.update(samples[841]).fault.kind == "effort_sign"
    monitor.reset()
    assert monitor.update(samples[842]).fault is None


def test_live_is_offline():
    t, q, qd, tau = motion(1.5)
    tau = -1.5 * real(qd, tau)
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau))
    monitor = ContactMonitor(MODEL)
    for k in range(t.size):
        status = Status.OK if k else Status.RESTART
        verdict = monitor.update(valid_sample(t[k], q[k], qd[k], tau[k], status))
        assert (verdict.level, verdict.fault) == (found.level[k], found.verdict(k).fault)
    assert verdict.fault.kind == "effort_sign" and verdict.cause == found.cause(t.size - 1)


def test_new_settings_are_judged_anew():
    monitor = ContactMonitor(MODEL)
    t, q, qd, tau = motion()
    for k in range(700):
        verdict = monitor.update(valid_sample(t[k], q[k], qd[k], 0.1 * tau[k]))
    assert verdict.fault
    monitor.apply(monitor.prepare(rd.MonitorSettings()))
    for k in range(700, 1400):
        verdict = monitor.update(valid_sample(t[k], q[k], qd[k], tau[k]))
    assert verdict.level is rd.Level.CLEAR


def test_the_text_names_the_parameter():
    assert "effort.gain: [-1]" in scale_text(-1.1)
    assert "effort.gain: [-0.667]" in scale_text(-1.5)
    assert "effort.gain" in scale_text(0.08) and "[12.5]" in scale_text(0.08)
    assert "effort.gravity: removed" in scale_text(0.001)


def test_torque_without_gravity_names_its_parameter():
    t, q, qd, tau = motion(1.5, 0.0)
    found = rd.detect(MODEL, rd.Log(t, q, qd, tau - rd.gravity_torque(MODEL, q)))
    assert "effort.gravity: removed" in found.cause(t.size - 1)
    right = rd.EffortSettings(gravity="removed")
    log = rd.Log(t, q, qd, tau - rd.gravity_torque(MODEL, q))
    assert rd.detect(MODEL, log, effort=right).level[-1] == rd.Level.CLEAR


RECORDINGS = {
    "Med 7": (recorded_arms.med7, "kuka_med7/med7dock.urdf", "kuka_med7", -1.15),
    "UR3": (recorded_arms.ur3, "ur3/ur3.urdf", "ur3", -1.6),
}


@pytest.mark.parametrize("arm", RECORDINGS)
def test_recordings_with_a_reversed_sign(arm):
    read, urdf, folder, scale = RECORDINGS[arm]
    if recorded_arms.missing(folder):
        pytest.skip(recorded_arms.missing(folder))
    if arm == "UR3":
        pytest.importorskip("rosbags")  # its recording is a ROS 1 bag
    model, log = recorded_arms.model(urdf), read().log
    faults, found = told(log, model)
    assert {fault.kind for _, fault in faults} == {"effort_sign"}
    assert np.median([fault.value for _, fault in faults]) == pytest.approx(scale, rel=0.15)
    mended = rd.detect(model, log, effort=rd.EffortSettings(gain=(1.0 / scale,)))
    faults = [mended.verdict(k).fault for k in range(0, log.t.size, 5)]
    assert not [fault for fault in faults if fault and fault.kind in KINDS]
