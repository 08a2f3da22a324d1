"""Friction with presliding, against its differential equation and its limits."""

import numpy as np
from scipy.integrate import solve_ivp

from robodyn_ros.dynamics.friction import RELAXATION_TIME, REST_SPEED
from robodyn_ros.identification.friction import (
    TERMS,
    FrictionShape,
    JointFriction,
    smooth_sign,
)

DT = 1e-3
T = DT * np.arange(4000)
QD = np.column_stack([0.5 * np.sin(3.0 * T), 0.05 * np.cos(5.0 * T)])


def test_without_presliding_it_is_a_tanh():
    s = smooth_sign(DT, QD, np.array([0.01, 0.02]), np.zeros(2))
    np.testing.assert_allclose(s, np.tanh(QD / [0.01, 0.02]))


def test_it_follows_dahl_s_law():
    """ds/dt = |qd| / presliding (tanh(qd / width) - s), integrated by another method."""
    width, presliding = 0.02, 0.002

    def rate(t, s):
        v = 0.5 * np.sin(3.0 * t)
        return abs(v) / presliding * (np.tanh(v / width) - s)

    truth = solve_ivp(rate, (0.0, T[-1]), [0.0], t_eval=T, rtol=1e-8, max_step=1e-3).y[0]
    s = smooth_sign(DT, QD[:, :1], np.array([width]), np.array([presliding]))[:, 0]
    moving = np.abs(QD[:, 0]) > 5.0 * REST_SPEED
    np.testing.assert_allclose(s[moving], truth[moving], atol=0.01)


def test_at_rest_it_decays():
    qd = np.where(T < 1.0, 0.3, 0.0)[:, None]
    s = smooth_sign(DT, qd, np.array([0.01]), np.array([1e-4]))[:, 0]
    assert s[990] > 0.999
    np.testing.assert_allclose(s[2100] / s[1100], np.exp(-1.0 / RELAXATION_TIME), rtol=1e-6)


def test_the_terms_add_up():
    """viscous qd + s (coulomb + stribeck exp(-|qd| fading) + load |g|) + offset."""
    shape = FrictionShape(
        np.array([0.01, 0.02]), np.zeros(2), np.array([3.0, 5.0]), np.array([1.0, 0.0])
    )
    random = np.random.default_rng(0)
    values = dict(zip(TERMS, random.uniform(1.0, 2.0, (5, 2)), strict=True))
    g = random.normal(size=QD.shape)
    tau = JointFriction(**values, shape=shape).torque(DT, QD, g)
    s = np.tanh(QD / [0.01, 0.02])
    expected = values["viscous"] * QD + values["offset"] + s * values["coulomb"]
    expected += s * values["stribeck"] * np.exp(-np.abs(QD) * [3.0, 5.0])
    expected[:, 0] += s[:, 0] * values["load"][0] * np.abs(g[:, 0])
    np.testing.assert_allclose(tau, expected)
