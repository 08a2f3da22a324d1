"""Ten parameters, pseudo-inertia and bodies: the same in three forms [Wensing2018]."""

import numpy as np
import pytest
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.model.rigid_body import bodies_of, parameters_of, pseudo_inertia

MODELS = {"kuka_lwr4": rd.robots.kuka_lwr4(), "tree": random_tree(3)}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.parametrize("seed", range(5))
def test_the_pseudo_inertia_is_the_second_moment_of_mass(seed):
    """Of point masses, summed one by one."""
    random = np.random.default_rng(seed)
    masses, places = random.uniform(0.1, 1.0, 6), random.normal(0.2, 0.3, (6, 3))
    x, y, z = places.T
    inertia = [y**2 + z**2, -x * y, -x * z, x**2 + z**2, -y * z, x**2 + y**2]
    parameters = np.array([masses.sum(), *(masses @ places), *(np.array(inertia) @ masses)])
    raised = np.column_stack([places, np.ones(6)])
    second = (raised * masses[:, None]).T @ raised
    np.testing.assert_allclose(pseudo_inertia(parameters), second, atol=1e-12)
    np.testing.assert_allclose(parameters_of(second), parameters, atol=1e-12)
    assert np.linalg.eigvalsh(pseudo_inertia(parameters))[0] > 0.0


def test_a_body_that_breaks_the_triangle_inequality_is_not_positive():
    flat = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.5])
    assert np.linalg.eigvalsh(pseudo_inertia(flat))[0] < 0.0


@every_model
def test_a_robots_parameters_come_back_from_their_other_forms(model):
    parameters = model.inertial_parameters()
    bodies = bodies_of(parameters)
    for name in ("mass", "com", "inertia"):
        np.testing.assert_allclose(bodies[name], getattr(model, name), rtol=1e-11, atol=1e-13)
    for ten in parameters.reshape(-1, 10):
        np.testing.assert_allclose(parameters_of(pseudo_inertia(ten)), ten, rtol=1e-13, atol=1e-15)


@every_model
def test_a_body_has_the_parameters_of_its_place_in_the_robot(model):
    ten = model.inertial_parameters().reshape(-1, 10)
    for i in range(len(model.link_names)):
        np.testing.assert_array_equal(model.body(i).inertial_parameters(), ten[i])
