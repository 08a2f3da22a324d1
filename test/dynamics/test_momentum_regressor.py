"""Regressors without acceleration: of p, C^T qd and g, and of the filtered torque of a log."""

import numpy as np
import pytest
from dynamics_cases import ARMS, CHAINS, MIMICS, SOME, TREES, Motion, derivative, robot
from oracle import close, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.momentum_regressor import (
    filtered_regressor,
    filtered_rotor_columns,
    low_pass,
    momentum_regressor,
)
from robodyn_ros.dynamics.regressor import regressor

every_robot = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES, *MIMICS])
some_robots = pytest.mark.parametrize("name", SOME)


@every_robot
def test_momentum_regressor_gives_the_residuals_terms(name):
    model = robot(name).replace(rotor_inertia=0.0)
    q, qd = random_state(model, 8)
    pi = model.inertial_parameters()
    expected = rd.momentum_terms(model, q, qd)
    for Y, term in zip(momentum_regressor(model, q, qd), expected, strict=True):
        close(Y @ pi, term)


@some_robots
def test_the_momentum_regressors_rate_is_the_regressor_column_by_column(name):
    # [DeLuca2009] (23) for every parameter: d/dt Y_p + Y_g - Y_c = Y
    model = robot(name)
    motion = Motion(model, 9)

    def Y_p(t):
        return momentum_regressor(model, *motion.at(t)[:2])[0]

    q, qd, qdd, _ = motion.at(0.0)
    _, Y_c, Y_g = momentum_regressor(model, q, qd)
    close(derivative(Y_p) + Y_g - Y_c, regressor(model, q, qd, qdd), 1e-8)


def log_of(model, step, uneven=False):
    """One second of a smooth motion: times, and q, qd, qdd at them."""
    t = np.arange(0.0, 1.0, step)
    if uneven:
        t += 0.3 * step * np.sin(7.0 * np.arange(t.size))
    motion = Motion(model, 12)
    q, qd, qdd, _ = (np.array(x) for x in zip(*map(motion.at, t), strict=True))
    return t, q, qd, qdd


def filter_error(model, step, uneven=False):
    t, q, qd, qdd = log_of(model, step, uneven)
    wanted = low_pass(t, rd.inverse_dynamics(model, q, qd, qdd), 5.0)
    found = filtered_regressor(model, t, q, qd, 5.0) @ model.inertial_parameters()
    found += filtered_rotor_columns(model, t, qd, 5.0) @ model.rotor_inertia
    return np.abs(found - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford", "mimic 3"])
def test_filtered_regressor_gives_the_filtered_torque(name, uneven):
    # the torque's filter and the momentum's differ only in how they join samples: second order
    coarse, fine = (filter_error(robot(name), step, uneven) for step in (2e-3, 1e-3))
    assert fine < 1e-5
    assert 3.0 < coarse / fine < 5.0


def test_low_pass_answers_a_ramp_exactly():
    t = np.array([0.0, 0.1, 0.15, 0.4, 1.0])
    rate = 2.0 * np.pi * 1.5
    ramp = 2.0 + 3.0 * t
    start = 7.0
    exact = ramp - 3.0 / rate + (start - 2.0 + 3.0 / rate) * np.exp(-rate * t)
    np.testing.assert_allclose(low_pass(t, ramp, 1.5, start=start), exact, rtol=1e-14)
    both = low_pass(t, np.stack([ramp, -ramp], axis=1), 1.5, start=[start, -start])
    np.testing.assert_allclose(both, np.stack([exact, -exact], axis=1), rtol=1e-14)


def test_low_pass_keeps_its_digits_when_samples_lie_close():
    t = np.arange(100) * 1e-9
    y = low_pass(t, np.sin(1e7 * t), 1e-3)
    np.testing.assert_allclose(y[-1], 2e-3 * np.pi * 1e-7 * (1.0 - np.cos(1e7 * t[-1])), rtol=1e-4)


def test_logs_are_checked():
    model = robot("planar_2r")
    t, q = np.arange(4.0), np.zeros((4, 2))
    for bad in (t[:3], t[::-1], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, np.nan, 3.0], 1.0):
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            filtered_regressor(model, bad, q, q, 5.0)
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            filtered_rotor_columns(model, bad, q, 5.0)
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            low_pass(bad, q, 5.0)
    with pytest.raises(rd.ArgumentError, match="samples"):
        filtered_regressor(model, t, q[0], q[0], 5.0)
    with pytest.raises(rd.ArgumentError, match="samples"):
        filtered_regressor(model, [], q[:0], q[:0], 5.0)
    for cutoff in (0.0, -1.0, np.nan, np.inf, "slow"):
        with pytest.raises(rd.ArgumentError, match="cutoff"):
            filtered_regressor(model, t, q, q, cutoff)
