"""What a payload adds to the residual: noise of the velocities, and what is not known of it."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.monitor import ContactMonitor
from robodyn_ros.detection.payload_noise import (
    DOUBT,
    MAX_DOUBT,
    PEAK,
    payload_doubt,
    payload_noise,
)
from robodyn_ros.sensing.sample import Sample, Status

EMPTY = rd.robots.lwr_iii().replace(rotor_inertia=0.0)  # as a torque sensor sees it
HELD = rd.Payload("link_7", 2.0, (0.02, 0.0, 0.1))
LOADED = EMPTY.replace(payload=HELD)
GAIN, DT, NOISE = np.full(7, 50.0), 0.001, 1e-3
G = 9.81


def noise_of(model, q):
    """Standard deviation of the residual (n,) that noise of the velocities makes at rest."""
    qd = NOISE * np.random.default_rng(1).standard_normal((4000, 7))
    tau = np.broadcast_to(rd.gravity_torque(model, q), qd.shape)
    t = DT * np.arange(len(qd))
    r = rd.detect(model, rd.Log(t, np.broadcast_to(q, qd.shape), qd, tau)).r
    return r[200:].std(axis=0)


def test_thresholds_cover_the_noise_of_a_loaded_arm():
    added = payload_noise(EMPTY, LOADED, GAIN, DT, np.full(7, NOISE)) / PEAK
    least = np.zeros(7)
    for q in np.random.default_rng(0).uniform(-1.5, 1.5, (8, 7)):
        more = noise_of(LOADED, q) ** 2 - noise_of(EMPTY, q) ** 2
        assert np.all(more < 1.3 * added**2)
        least = np.maximum(least, more)
    assert np.all(least > 0.15 * added**2)  # and not by far too much
    assert added[5] > 3.0 * noise_of(EMPTY, np.full(7, 0.5))[5]  # a wrist feels it most


def test_doubt_of_the_centre_is_a_lever_of_the_weight():
    off = 1e-3  # [m]
    covariance = np.diag([0.0, *np.full(3, (HELD.mass * off) ** 2)])
    doubt = payload_doubt(EMPTY, HELD, covariance)
    assert np.all(doubt <= DOUBT * HELD.mass * G * off * 1.01)
    assert doubt[6] > 0.8 * DOUBT * HELD.mass * G * off and doubt[0] == pytest.approx(0.0)
    assert np.allclose(payload_doubt(EMPTY, HELD, np.zeros((4, 4))), 0.0)
    unknown = payload_doubt(EMPTY, HELD, np.diag([1.0, 1.0, 1.0, 1.0]))
    assert unknown.max() == pytest.approx(HELD.mass * G * MAX_DOUBT, rel=1e-3)


def test_the_monitor_raises_its_thresholds_with_the_payload_and_lowers_them_again():
    monitor = ContactMonitor(EMPTY, links=False)
    usual = monitor.thresholds.base.copy()
    random, q = np.random.default_rng(0), np.full(7, 0.5)
    tau = rd.gravity_torque(EMPTY, q)
    for k in range(3000):
        qd = 20.0 * NOISE * random.standard_normal(7)
        monitor.update(Sample(DT * k, DT, q, qd, tau, Status.OK if k else Status.RESTART))
    monitor.set_payload(HELD)
    expected = np.hypot(usual, payload_noise(EMPTY, LOADED, GAIN, DT, np.full(7, 20.0 * NOISE)))
    assert np.allclose(monitor.thresholds.base, expected, rtol=0.1)
    assert expected[5] > 1.02 * usual[5]
    monitor.set_payload(None)
    assert np.array_equal(monitor.thresholds.base, usual)
