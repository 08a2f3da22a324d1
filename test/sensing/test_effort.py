"""From what a driver reports to torque: gain, sign, offset, side, gravity, friction."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.monitor_settings import ThresholdSettings
from robodyn_ros.sensing.effort import JointTorque
from robodyn_ros.sensing.sampler import sample_rows
from robodyn_ros.simulation.rigid import RigidPlant
from robodyn_ros.simulation.sensors import LWR_SENSORS

DT = 1e-3
MODEL = rd.robots.lwr_iii()
STRICT = rd.MonitorSettings(
    contact=ThresholdSettings(base=(0.5,)), collision=ThresholdSettings(base=(1.0,))
)
GAINS = np.array([14.87, -13.26, 11.13, -1.0, 2.0, 0.5, 1.0])
OFFSETS = np.array([1.0, -2.0, 0.5, 0.0, 0.1, -0.3, 0.7])


def swing(model=MODEL, seconds=0.8, push=0.0, noise=False, still=False, friction=False):
    """Return a log of a fast motion under PD control, pushed from half of it on."""
    sensor = LWR_SENSORS if noise else None
    q0 = np.array([0.3, 0.5, -0.2, 1.0, 0.4, -0.6, 0.2])
    plant = RigidPlant(model, q0, friction=friction, sensor=sensor, seed=3)
    steps, seen = round(seconds / DT), []
    for k in range(steps):
        t = k * DT
        wanted = q0 if still else q0 + 0.3 * (1.0 - np.cos(4.0 * t)) * np.array([1, -1] * 3 + [1])
        if push and k == steps // 2:
            plant.push("link_5", [push, 0.0, 0.0], duration=10.0)
        m = plant.measurement
        tau = rd.gravity_torque(model, m.q) + 400.0 * (wanted - m.q) - 40.0 * m.qd
        plant.step(tau, DT)
        seen.append((plant.state.t, plant.measurement, plant.state))
    t = np.array([x for x, _, _ in seen])
    q, qd, tau = (np.array([getattr(m, name) for _, m, _ in seen]) for name in ("q", "qd", "tau"))
    return rd.Log(t, q, qd, tau), [state for *_, state in seen]


def link_side(log):
    """Return the log as joint torque sensors see it: without the torque of the rotors."""
    qdd = np.diff(log.qd, axis=0, prepend=log.qd[:1]) / DT  # mean over the step before
    return rd.Log(log.t, log.q, log.qd, log.tau - MODEL.rotor_inertia * qdd)


def test_gain_and_offset_give_the_torque():
    log, _ = swing()
    effort = rd.EffortSettings(gain=tuple(GAINS), offset=tuple(OFFSETS))
    reported = rd.Log(log.t, log.q, log.qd, (log.tau + OFFSETS) / GAINS)
    exact, found = rd.detect(MODEL, log), rd.detect(MODEL, reported, effort=effort)
    np.testing.assert_allclose(found.r, exact.r, atol=1e-9)
    np.testing.assert_allclose(found.samples.tau, log.tau, atol=1e-9)
    raw = rd.detect(MODEL, reported)
    assert np.abs(raw.r).max() > 10.0


def test_a_live_sample_gets_the_torque_of_the_recording():
    log, _ = swing(seconds=0.1)
    effort = rd.EffortSettings(gain=(-2.0,), offset=tuple(OFFSETS))
    samples = sample_rows(MODEL, log.t, log.q, log.qd, log.tau, period=DT)
    torque = JointTorque(MODEL, effort)
    all_at_once = torque.of_samples(samples)
    for k in range(samples.t.size):
        one = rd.Sample(
            samples.t[k], DT, samples.q[k], samples.qd[k], samples.tau[k], rd.Status.OK
        )
        np.testing.assert_array_equal(torque.of_sample(one).tau, all_at_once.tau[k])
    blind = one._replace(tau=None)
    assert torque.of_sample(blind) is blind
    plain = JointTorque(MODEL)
    assert plain.of_sample(one) is one and plain.of_samples(samples) is samples


def test_sensors_behind_the_gears_see_no_rotors():
    log, _ = swing()
    seen = link_side(log)
    right = rd.detect(MODEL, seen, STRICT, effort=rd.EffortSettings(side="link"))
    wrong = rd.detect(MODEL, seen, STRICT)
    assert np.abs(right.r).max() < 0.05 and not right.events
    assert np.abs(wrong.r).max() > 5.0 and wrong.events


def test_gravity_that_the_driver_removed():
    log, _ = swing()
    seen = rd.Log(log.t, log.q, log.qd, log.tau - rd.gravity_torque(MODEL, log.q))
    right = rd.detect(MODEL, seen, STRICT, effort=rd.EffortSettings(gravity="removed"))
    assert not right.events
    library = rd.MonitorSettings(gravity_free=True, contact=STRICT.contact)
    np.testing.assert_array_equal(rd.detect(MODEL, seen, library).r, right.r)
    assert rd.detect(MODEL, seen, STRICT).events


@pytest.mark.parametrize("still", [True, False], ids=["at rest", "in motion"])
def test_friction_and_noise_are_no_contact(still):
    """Row 40: the arm's friction and its sensors' noise, and the model's friction taken off."""
    settings = rd.MonitorSettings(
        contact=ThresholdSettings(base=(2.5, 2.5, 1.0, 1.0, 0.6, 1.0, 0.5)),
        collision=ThresholdSettings(base=(5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0)),
    )
    effort = rd.EffortSettings(friction="model")
    log, _ = swing(seconds=3.0, noise=True, still=still, friction=True)
    found = rd.detect(MODEL, log, settings, effort=effort)
    settled = found.t > found.t[0] + 0.3
    assert (found.level[settled] == rd.Level.CLEAR).all()
    pushed, _ = swing(seconds=3.0, noise=True, still=still, friction=True, push=60.0)
    events = rd.detect(MODEL, pushed, settings, effort=effort).events
    assert events and events[0].level is rd.Level.COLLISION
    assert abs(events[0].start - 1.5) < 0.1


def test_settings_are_checked():
    for wrong in ({"gain": (0.0,)}, {"side": "gear"}, {"gravity": "none"}, {"offset": (np.nan,)}):
        with pytest.raises(rd.ArgumentError, match=next(iter(wrong))):
            rd.EffortSettings(**wrong)
    with pytest.raises(rd.ArgumentError, match=r"effort.gain"):
        rd.detect(MODEL, swing(seconds=0.1)[0], effort=rd.EffortSettings(gain=(1.0, 2.0)))


def test_a_change_of_the_effort_restarts_the_observer_where_it_must():
    monitor = rd.ContactMonitor(MODEL, STRICT)
    log, _ = swing(seconds=0.4)
    samples = sample_rows(MODEL, log.t, log.q, log.qd, log.tau, period=DT)
    levels = []
    for k in range(samples.t.size):
        if k == 200:
            monitor.apply(monitor.prepare(STRICT, rd.EffortSettings(friction="model")))
            monitor.apply(monitor.prepare(STRICT, rd.EffortSettings()))
        status = rd.Status(int(samples.status[k]))
        row = (samples.t[k], DT, samples.q[k], samples.qd[k], samples.tau[k], status)
        levels.append(monitor.update(rd.Sample(*row)).level)
    assert max(levels[150:]) is rd.Level.CLEAR
