"""The interpolation functions of [Khalil2019] 8.3, formula by formula; peaks by dense sampling."""

import math
from functools import cache

import numpy as np
import pytest

from robodyn_ros.errors import ArgumentError
from robodyn_ros.trajectory.joint_move import (
    POLYNOMIALS,
    PROFILES,
    JointMove,
    fastest_profile,
    smooth_trapezoid,
    trapezoid,
)
from robodyn_ros.trajectory.trajectory import MotionLimits

T = 1.7  # [s]
D = np.array([1.3, -0.4, 0.0])
Q0 = np.array([0.2, -1.0, 0.5])
SHARES = (0.05, 0.2, 1 / 3, 0.49, 0.5)
SHAPES = [*POLYNOMIALS.values(), *(f(s) for f in (trapezoid, smooth_trapezoid) for s in SHARES)]


def move(r, duration=T):
    return JointMove(Q0, Q0 + D, r, duration)


def along(r, formula, begin=0.0, end=T):
    """Compare q(t) with q0 + formula(t) D, the form (8.1)."""
    t = np.linspace(begin, end, 57)
    np.testing.assert_allclose(
        move(r).at(t).q, Q0 + np.outer(formula(t), D), rtol=1e-12, atol=1e-12
    )


@cache
def sampled_peaks(r):
    """Return the peaks (4, n) of position and derivatives, by dense sampling without the ends."""
    t = np.linspace(0.0, T, 400_003)[1:-1]
    return np.array([np.abs(x).max(axis=0) for x in move(r).at(t)])


def largest(r, order):
    return sampled_peaks(r)[order]


@pytest.mark.parametrize("r", SHAPES, ids=lambda r: r.name)
def test_8_1_8_2_from_0_to_1_with_velocity_in_proportion_to_the_distance(r):
    m = move(r)
    np.testing.assert_allclose(m.at(0.0).q, Q0, atol=1e-15)
    np.testing.assert_allclose(m.at(T).q, Q0 + D, atol=1e-13)
    t = np.linspace(0.01, T - 0.01, 40)
    q, qd, _, _ = m.at(t)
    rate = qd[:, 0] / D[0]
    np.testing.assert_allclose(qd, np.outer(rate, D), atol=1e-12)
    h = 1e-6
    np.testing.assert_allclose((m.at(t + h).q - m.at(t - h).q) / (2 * h), qd, atol=1e-5)
    np.testing.assert_allclose(q, Q0 + np.outer((q[:, 0] - Q0[0]) / D[0], D), atol=1e-13)


@pytest.mark.parametrize("r", SHAPES, ids=lambda r: r.name)
def test_8_3_is_the_same_seen_from_the_end(r):
    t = np.linspace(0.0, T, 31)
    ratio = (move(r).at(t).q[:, 0] - Q0[0]) / D[0]
    np.testing.assert_allclose(move(r).at(t).q, Q0 + D - np.outer(1.0 - ratio, D), atol=1e-13)


@pytest.mark.parametrize("r", SHAPES, ids=lambda r: r.name)
def test_position_and_the_expected_derivatives_are_continuous(r):
    """r' unless linear; r'' of quintic, septic, smooth trapezoid; r''' of the septic: also at
    the ends, outside of which all of them are 0.
    """
    promised = {"linear": 0, "quintic": 2, "septic": 3, "smooth_trapezoid": 2}.get(r.name, 1)
    m, h = move(r), 1e-9
    for place in m.breaks:
        before, after = m.at(place - h), m.at(place + h)
        for order in range(promised + 1):
            np.testing.assert_allclose(before[order], after[order], atol=3e-5)
        if promised < 3 and place == 0.0:
            assert abs(before[promised + 1][0] - after[promised + 1][0]) > 0.1


def test_8_4_linear():
    along(POLYNOMIALS["linear"], lambda t: t / T)
    assert largest(POLYNOMIALS["linear"], 1)[0] == pytest.approx(abs(D[0]) / T)


def test_8_5_8_6_8_7_cubic():
    along(POLYNOMIALS["cubic"], lambda t: 3 * (t / T) ** 2 - 2 * (t / T) ** 3)
    c = move(POLYNOMIALS["cubic"]).coefficients[0].T  # a_0 … a_3 of (8.5)
    np.testing.assert_allclose(c, [Q0, 0 * D, 3 * D / T**2, -2 * D / T**3], atol=1e-15)


def test_8_8_8_9_peaks_of_the_cubic():
    r = POLYNOMIALS["cubic"]
    np.testing.assert_allclose(largest(r, 1), 3 * abs(D) / (2 * T), rtol=1e-9)
    np.testing.assert_allclose(largest(r, 2), 6 * abs(D) / T**2, rtol=1e-4)
    assert abs(move(r).at(T / 2).qd[0]) == pytest.approx(1.5 * D[0] / T)
    assert abs(move(r).at(0.0).qdd[0]) == pytest.approx(6 * D[0] / T**2)


def test_8_10_8_11_quintic():
    r = POLYNOMIALS["quintic"]
    along(r, lambda t: 10 * (t / T) ** 3 - 15 * (t / T) ** 4 + 6 * (t / T) ** 5)
    for t, q in ((0.0, Q0), (T, Q0 + D)):
        np.testing.assert_allclose(move(r).at(t)[:3], [q, 0 * D, 0 * D], atol=1e-12)


def test_8_12_8_13_peaks_of_the_quintic():
    r = POLYNOMIALS["quintic"]
    np.testing.assert_allclose(largest(r, 1), 15 * abs(D) / (8 * T), rtol=1e-9)
    np.testing.assert_allclose(largest(r, 2), 10 * abs(D) / (math.sqrt(3) * T**2), rtol=1e-9)
    np.testing.assert_allclose(largest(r, 3), 60 * abs(D) / T**3, rtol=1e-4)


def test_septic_has_no_jerk_at_its_ends_and_known_peaks():
    r = POLYNOMIALS["septic"]
    along(
        r,
        lambda t: 35 * (t / T) ** 4 - 84 * (t / T) ** 5 + 70 * (t / T) ** 6 - 20 * (t / T) ** 7,
    )
    for t in (0.0, T):
        np.testing.assert_allclose(np.array(move(r).at(t)[1:]), 0.0, atol=1e-10)
    np.testing.assert_allclose(largest(r, 1), 35 / 16 * abs(D) / T, rtol=1e-9)
    np.testing.assert_allclose(largest(r, 2), 84 * math.sqrt(5) / 25 * abs(D) / T**2, rtol=1e-9)
    np.testing.assert_allclose(largest(r, 3), 52.5 * abs(D) / T**3, rtol=1e-9)


def test_8_15_bang_bang():
    r = POLYNOMIALS["bang_bang"]
    along(r, lambda t: 2 * (t / T) ** 2, 0.0, T / 2)
    along(r, lambda t: -1 + 4 * (t / T) - 2 * (t / T) ** 2, T / 2, T)


def test_8_16_8_17_peaks_of_bang_bang():
    r = POLYNOMIALS["bang_bang"]
    np.testing.assert_allclose(largest(r, 1), 2 * abs(D) / T, rtol=1e-5)
    np.testing.assert_allclose(largest(r, 2), 4 * abs(D) / T**2, rtol=1e-12)


@pytest.mark.parametrize("share", SHARES)
def test_closed_form_after_8_34_trapezoid_in_terms_of_tau_and_t_f(share):
    tau, r = share * T, trapezoid(share)
    along(r, lambda t: t**2 / (2 * tau * (T - tau)), 0.0, tau)
    along(r, lambda t: (2 * t - tau) / (2 * (T - tau)), tau, T - tau)
    along(r, lambda t: 1 - (T - t) ** 2 / (2 * tau * (T - tau)), T - tau, T)


@pytest.mark.parametrize("share", SHARES)
def test_closed_form_at_the_end_of_8_3_4_smooth_trapezoid(share):
    tau, r = share * T, smooth_trapezoid(share)
    along(r, lambda t: (2 * t**3 / tau**2 - t**4 / tau**3) / (2 * (T - tau)), 0.0, tau)
    along(r, lambda t: (2 * t - tau) / (2 * (T - tau)), tau, T - tau)
    along(
        r,
        lambda t: 1 - (T - t) ** 3 / (2 * (T - tau)) * (2 * tau - T + t) / tau**3,
        T - tau,
        T,
    )


@pytest.mark.parametrize("share", SHARES)
def test_8_36_to_8_40_speeding_up_smoothly(share):
    tau, m = share * T, move(smooth_trapezoid(share))
    v = D / (T - tau)  # lambda_j k_vj sign(D_j)
    t = np.linspace(0.0, tau, 23)[:-1, None]
    q, qd, qdd, _ = m.at(t[:, 0])
    np.testing.assert_allclose(q, Q0 - v / tau**3 * (t / 2 - tau) * t**3, atol=1e-13)
    np.testing.assert_allclose(qd, -v / tau**3 * (2 * t - 3 * tau) * t**2, atol=1e-12)
    np.testing.assert_allclose(qdd, -6 * v / tau**3 * (t - tau) * t, atol=1e-9)
    np.testing.assert_allclose(m.at(tau / 2).qdd, 1.5 * v / tau, atol=1e-9)  # (8.40)
    np.testing.assert_allclose(largest(smooth_trapezoid(share), 2), 1.5 * abs(v) / tau, rtol=1e-6)
    np.testing.assert_allclose(m.at(tau).qd, v, atol=1e-12)  # (8.36)
    np.testing.assert_allclose(m.at(tau).qdd, 0.0, atol=1e-9)
    np.testing.assert_allclose(m.at(0.0)[1:3], 0.0, atol=1e-15)


@pytest.mark.parametrize("share", SHARES)
def test_8_42_8_43_8_44_8_45_steady_velocity_and_slowing_down_smoothly(share):
    tau, m = share * T, move(smooth_trapezoid(share))
    v, h = D / (T - tau), T - 2 * tau
    t = np.linspace(tau, tau + h, 7)[:, None]
    np.testing.assert_allclose(m.at(t[:, 0]).q, m.at(tau).q + (t - tau) * v, atol=1e-13)  # (8.42)
    t = np.linspace(tau + h, T, 23)[1:, None]
    q, qd, qdd, _ = m.at(t[:, 0])
    late = t - tau - h  # since slowing down began
    np.testing.assert_allclose(
        qd, ((2 * t - 5 * tau - 2 * h) * late**2 / tau**3 + 1) * v, atol=1e-12
    )
    np.testing.assert_allclose(qdd, 6 / tau**3 * (t - 2 * tau - h) * late * v, atol=1e-9)
    bracket = (t - 3 * tau - h) * late**3 / tau**3 + (2 * t - 3 * tau - 2 * h)
    np.testing.assert_allclose(q, (Q0 + D) + 0.5 * bracket * v, atol=1e-12)
    a = 1.5 * abs(v) / tau
    np.testing.assert_allclose(  # (8.44), for joints that move
        abs(m.at(tau).q - Q0)[:2], (0.75 * v**2 / a.clip(1e-9))[:2], rtol=1e-9
    )
    np.testing.assert_allclose(tau + abs(D[:2] / v[:2]), T, rtol=1e-12)  # (8.45)


@pytest.mark.parametrize("r", SHAPES, ids=lambda r: r.name)
def test_the_stored_peaks_are_the_sampled_ones(r):
    for order, peak in ((1, r.velocity), (2, r.acceleration), (3, r.jerk)):
        if math.isfinite(peak):
            np.testing.assert_allclose(largest(r, order), abs(D) * peak / T**order, rtol=2e-4)


@pytest.mark.parametrize("name", ["linear", "cubic", "quintic", "bang_bang"])
def test_table_8_1_minimum_times(name):
    travel, kv, ka = np.array([[1.3, 0.2, 0.0], [1.0, 2.0, 1.0], [3.0, 0.5, 1.0]])
    root3 = math.sqrt(3.0)
    table = {
        "linear": travel / kv,
        "cubic": np.maximum(3 * travel / (2 * kv), np.sqrt(6 * travel / ka)),
        "quintic": np.maximum(15 * travel / (8 * kv), np.sqrt(10 * travel / (root3 * ka))),
        "bang_bang": np.maximum(2 * travel / kv, 2 * np.sqrt(travel / ka)),
    }
    limits = MotionLimits.of(3, kv, None if name == "linear" else ka)
    np.testing.assert_allclose(POLYNOMIALS[name].minimum_times(-travel, limits), table[name])


def test_a_third_of_the_time_has_the_least_mean_square_of_acceleration():
    """The default of a trapezoid without acceleration limit, against a scan over all shares."""
    for name, shape in (("trapezoid", trapezoid), ("smooth_trapezoid", smooth_trapezoid)):
        limits = MotionLimits.of(3, 1.0)
        share = fastest_profile(name, D, limits).breaks[1]
        t = np.linspace(0.0, T, 20_001)
        shares = np.linspace(0.25, 0.42, 35)
        squares = [np.mean(move(shape(s)).at(t).qdd[:, 0] ** 2) for s in shares]
        assert abs(shares[np.argmin(squares)] - share) < 0.006


def test_unknown_names_and_limits_on_jumps_are_rejected():
    limits = MotionLimits.of(3, 1.0, 1.0, 1.0)
    with pytest.raises(ArgumentError, match="one of linear"):
        fastest_profile("septik", D, limits)
    for name in ("linear", "cubic", "bang_bang", "trapezoid"):
        with pytest.raises(ArgumentError, match="jumps"):
            fastest_profile(name, D, limits).minimum_times(D, limits)
    for name in ("quintic", "septic", "smooth_trapezoid"):
        assert fastest_profile(name, D, limits).minimum_times(D, limits).max() > 0.0
    assert {r.name for r in SHAPES} == set(PROFILES)
