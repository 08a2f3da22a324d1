"""How far a body is from a nominal one [Wensing2018]."""

import numpy as np
import pytest

from robodyn_ros.identification.pseudo_inertia import NOTHING_CHANGED, from_nominal, root
from robodyn_ros.model.inertial import parameters_of, pseudo_inertia


def cloud(seed):
    """Ten parameters of point masses, summed one by one, and their second moments."""
    random = np.random.default_rng(seed)
    masses, places = random.uniform(0.1, 1.0, 6), random.normal(0.2, 0.3, (6, 3))
    J = sum(
        m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, places, strict=True)
    )
    upper = J[np.triu_indices(3)]
    moments = np.column_stack([places, np.ones(6)])
    second = (moments * masses[:, None]).T @ moments
    return np.array([masses.sum(), *(masses @ places), *upper]), second


def test_a_nominal_body_that_cannot_be_is_made_possible():
    flat = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.5])
    assert np.linalg.eigvalsh(pseudo_inertia(flat))[0] < 0.0
    S = root(flat)
    assert np.linalg.eigvalsh(S @ S.T)[0] > 0.0


def test_nothing_changed_is_the_nominal_body():
    parameters, second = cloud(7)
    S = root(parameters)
    np.testing.assert_allclose(S @ S.T, second, atol=1e-12)
    np.testing.assert_allclose(from_nominal(S) @ NOTHING_CHANGED, parameters, atol=1e-12)


def test_the_size_of_a_change_does_not_depend_on_the_frame():
    """|Z - 1| of two bodies, seen from a frame and from one that is turned, moved and scaled."""
    (a, P_a), (b, P_b) = cloud(1), cloud(2)
    random = np.random.default_rng(0)
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    G = np.eye(4)
    G[:3, :3], G[:3, 3] = 1000.0 * turn, random.normal(size=3)
    sizes = []
    for one, other in ((a, b), (parameters_of(G @ P_a @ G.T), parameters_of(G @ P_b @ G.T))):
        z = np.linalg.solve(from_nominal(root(one)), other)
        sizes.append(np.linalg.norm(z - NOTHING_CHANGED))
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)
