"""Thresholds calibrated from motion without contact."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.thresholds import Thresholds, calibrate


def quiet_log(seed, samples=2000):
    """A residual whose bound is known: 1 + 2 tanh(|qd|/0.02) + 3 |qd|."""
    random = np.random.default_rng(seed)
    qd = random.uniform(-1.0, 1.0, (samples, 2))
    qd[::4] = 0.0
    bound = 1.0 + 2.0 * np.tanh(np.abs(qd) / 0.02) + 3.0 * np.abs(qd)
    return bound * random.uniform(-1.0, 1.0, qd.shape), qd


def test_covers_every_sample_and_no_more_than_needed():
    r, qd = quiet_log(1)
    found = calibrate([r], [qd], margin=1.0)
    assert (np.abs(r) <= found.at(qd) + 1e-9).all()
    np.testing.assert_allclose(found.base, 1.0, atol=0.05)
    np.testing.assert_allclose(found.at([0.5, 0.5]), 4.5, atol=0.2)
    fixed = np.abs(r).max(axis=0)
    assert (found.at(np.zeros(2)) < 0.3 * fixed).all()


def test_admitted_alarms_lower_it():
    r, qd = quiet_log(2)
    r[500] = 50.0
    t = np.arange(len(r)) * 0.01
    strict = calibrate([r], [qd], margin=1.0)
    lenient = calibrate([r], [qd], times=[t], alarms_per_hour=200.0, margin=1.0)
    assert lenient.at(np.zeros(2)).sum() < strict.at(np.zeros(2)).sum()
    assert (np.abs(np.delete(r, range(449, 552), axis=0)) <= 8.0).all()


def test_acceleration_counts_when_given():
    random = np.random.default_rng(3)
    qd, qdd = random.normal(size=(2, 1000, 2))
    r = (0.5 + 2.0 * np.abs(qdd)) * random.uniform(-1.0, 1.0, qd.shape)
    found = calibrate([r], [qd], [qdd], margin=1.0)
    assert (found.per_acceleration > 1.5).all()
    assert (np.abs(r) <= found.at(qd, qdd) + 1e-9).all()


@pytest.mark.parametrize("bad", [{"margin": 0.5}, {"alarms_per_hour": 1.0}])
def test_what_makes_no_sense_is_refused(bad):
    r, qd = quiet_log(4, 50)
    with pytest.raises(rd.ArgumentError):
        calibrate([r], [qd], **bad)


def test_a_log_that_is_not_finite_is_refused():
    r, qd = quiet_log(5, 50)
    r[3, 1] = np.nan
    with pytest.raises(rd.ArgumentError, match="finite"):
        calibrate([r], [qd])
    with pytest.raises(rd.ArgumentError):
        Thresholds([1.0, -1.0])
