"""Sines and cosines of the kernels, against long double and against the library."""

import numpy as np
import pytest
from numba import njit

import robodyn_ros as rd
from robodyn_ros.dynamics.joints import LARGE_ANGLE, sine_cosine


@njit
def table(x, s, c):
    for i in range(x.size):
        s[i], c[i] = sine_cosine(x[i])


@pytest.mark.parametrize(
    ("reach", "units"), [(1.0, 1.6), (10.0, 1.6), (1e3, 1.6), (LARGE_ANGLE, 2.5)]
)
def test_within_few_units_in_the_last_place(reach, units):
    x = np.random.default_rng(1).uniform(-reach, reach, 200_000)
    s, c = np.empty_like(x), np.empty_like(x)
    table(x, s, c)
    for found, exact in (
        (s, np.sin(x.astype(np.longdouble))),
        (c, np.cos(x.astype(np.longdouble))),
    ):
        unit = np.spacing(np.abs(exact.astype(np.float64)))
        # Near a zero the unit shrinks without limit; there the absolute error counts.
        error = np.abs(found - exact) / np.maximum(unit, np.finfo(float).eps / 4.0)
        assert error.max() < units


def test_quarter_turns():
    x = np.arange(-8, 9) * np.pi / 2.0
    s, c = np.empty_like(x), np.empty_like(x)
    table(x, s, c)
    np.testing.assert_allclose(s, np.sin(x), atol=1e-15)
    np.testing.assert_allclose(c, np.cos(x), atol=1e-15)


@pytest.mark.parametrize("turns", [0, 3, -1000, 16_000, 1_000_000])
def test_many_turns_are_one_posture(turns):
    model = rd.robots.kuka_lwr4()
    q = np.linspace(-1.0, 1.0, model.n)
    far = q + 2.0 * np.pi * turns
    np.testing.assert_allclose(
        rd.gravity_torque(model, far), rd.gravity_torque(model, q), atol=1e-13 * max(1, abs(turns))
    )
