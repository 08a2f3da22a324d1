"""A payload is likely to be a body of plausible size."""

import numpy as np
import pytest

from robodyn_ros.detection.faults import payload_body
from robodyn_ros.detection.faults.payload_body import CENTRE, SIZE, SPREAD, likely_body
from robodyn_ros.model.rigid_body import RigidBody

LEAST = 0.05  # [kg]
BODY = RigidBody(2.0, np.array([0.02, -0.03, 0.1]), np.diag([0.004, 0.004, 0.003]))
TRUE = BODY.inertial_parameters()
SEEN = np.random.default_rng(0).standard_normal((3, 10))  # three directions of ten


def products(columns, change, noise=1e-3):
    y = columns @ change
    rows = np.column_stack([columns, y]) / noise
    return rows.T @ rows


def test_what_was_measured_is_kept():
    columns = np.random.default_rng(1).standard_normal((200, 10))
    likely, covariance = likely_body(products(columns, TRUE, 1e-6), np.zeros(10), LEAST)
    assert np.allclose(likely, TRUE, atol=1e-6)
    assert np.sqrt(covariance.diagonal()).max() < 1e-6


def test_what_was_not_measured_is_that_of_a_body():
    """The weight alone was felt: neither a centre far away nor an inertia without a body."""
    weight = np.eye(10)[:1]
    likely, covariance = likely_body(products(weight, TRUE), np.zeros(10), LEAST)
    assert likely[0] == pytest.approx(2.0, rel=1e-3)
    assert np.allclose(likely[1:4], 0.0, atol=1e-6)
    assert np.allclose(likely[[4, 7, 9]], 2.0 * 2.0 / 3.0 * SIZE**2, rtol=1e-2)
    assert np.sqrt(covariance.diagonal())[1:4] == pytest.approx(2.0 * CENTRE, rel=1e-2)
    assert np.sqrt(covariance.diagonal())[[5, 6, 8]] == pytest.approx(2.0 * SPREAD**2, rel=1e-2)


def test_the_inertia_follows_from_mass_and_centre():
    """Steiner's part of it need not be measured."""
    moments = np.eye(10)[:4]
    likely, _ = likely_body(products(moments, TRUE), np.zeros(10), LEAST)
    assert np.allclose(likely[:4], TRUE[:4], atol=1e-3)
    assert np.allclose(likely[4:], TRUE[4:], atol=2.0 * SIZE**2)


def test_more_rounds_change_nothing(monkeypatch):
    columns = products(np.vstack([np.eye(10)[:1], SEEN[:2]]), TRUE)
    likely, _ = likely_body(columns, np.zeros(10), LEAST)
    monkeypatch.setattr(payload_body, "ROUNDS", 3 * payload_body.ROUNDS)
    again, _ = likely_body(columns, np.zeros(10), LEAST)
    assert np.allclose(likely, again, rtol=0.02, atol=1e-3)


def test_a_change_is_that_of_the_whole_body():
    """An estimate that is corrected, or let go: the sum is a body, not what is added to it."""
    known = RigidBody(1.5, np.array([0.0, 0.0, 0.05]), 0.002 * np.eye(3)).inertial_parameters()
    columns = np.vstack([np.eye(10)[:4], SEEN])
    likely, _ = likely_body(products(columns, TRUE - known), known, LEAST)
    assert np.allclose(likely[:4], TRUE[:4], atol=1e-3)
    alone, _ = likely_body(products(columns, TRUE), np.zeros(10), LEAST)
    assert np.allclose(likely, alone, atol=1e-4)
