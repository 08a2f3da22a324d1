"""The bound of dg/dq against its value in many postures."""

import numpy as np
import pytest
from dynamics_cases import ARMS, SOME, gradient, robot

import robodyn_ros as rd
from robodyn_ros.dynamics.gravity_stiffness import gravity_stiffness


@pytest.mark.parametrize("name", sorted({*ARMS, *SOME}))
def test_it_is_above_the_slope_of_gravity_in_all_postures(name):
    model = robot(name)
    random = np.random.default_rng(0)
    low, high = np.maximum(model.q_min, -3.0), np.minimum(model.q_max, 3.0)
    model = model.replace(q_min=low, q_max=high)
    bound = gravity_stiffness(model)
    for _ in range(20):
        q = random.uniform(low, high)
        slope = gradient(lambda x: rd.gravity_torque(model, x), q)
        assert np.all(np.abs(slope).sum(axis=1) <= bound * (1.0 + 1e-9) + 1e-9)
        assert np.linalg.norm(slope, 2) <= bound.max() * (1.0 + 1e-9)
        assert np.linalg.eigvalsh(np.diag(bound) - 0.5 * (slope + slope.T)).min() > -1e-6


def test_a_pendulum_has_the_exact_value():
    model = rd.robots.planar_2r()
    # The second rod alone: 5 kg, centre at half a metre; the first one carries both
    slope = 9.81 * np.array([10.0 * 0.5 + 5.0 * 1.5, 5.0 * 0.5])
    np.testing.assert_allclose(gravity_stiffness(model), slope + 9.81 * 2.5 * np.array([1, 1]))


def test_unlimited_sliding_has_no_bound():
    model = robot("chain RP").replace(q_min=-np.inf, q_max=np.inf)
    assert np.isinf(gravity_stiffness(model)[0])
