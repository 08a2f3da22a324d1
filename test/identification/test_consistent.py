"""Distance of a body from its nominal one [Wensing2018]."""

import numpy as np
import pytest

from robodyn_ros.identification.consistent import IDENTITY, parameters_from_z, pseudo_root
from robodyn_ros.model.rigid_body import parameters_of, pseudo_inertia


def cloud(seed):
    """Return the ten parameters of a cloud of point masses, and its second moments."""
    random = np.random.default_rng(seed)
    masses, places = random.uniform(0.1, 1.0, 6), random.normal(0.2, 0.3, (6, 3))
    J = sum(
        m * ((r @ r) * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, places, strict=True)
    )
    upper = J[np.triu_indices(3)]
    moments = np.column_stack([places, np.ones(6)])
    second = (moments * masses[:, None]).T @ moments
    return np.array([masses.sum(), *(masses @ places), *upper]), second


def test_an_inconsistent_nominal_body_is_made_consistent():
    flat = np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.5])
    assert np.linalg.eigvalsh(pseudo_inertia(flat))[0] < 0.0
    S = pseudo_root(flat)
    assert np.linalg.eigvalsh(S @ S.T)[0] > 0.0


def test_the_identity_is_the_nominal_body():
    parameters, second = cloud(7)
    S = pseudo_root(parameters)
    np.testing.assert_allclose(S @ S.T, second, atol=1e-12)
    np.testing.assert_allclose(parameters_from_z(S) @ IDENTITY, parameters, atol=1e-12)


def test_the_distance_does_not_depend_on_the_frame():
    """|Z - 1| of two bodies, seen from a frame and from one that is turned, moved and scaled."""
    (a, P_a), (b, P_b) = cloud(1), cloud(2)
    random = np.random.default_rng(0)
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    G = np.eye(4)
    G[:3, :3], G[:3, 3] = 1000.0 * turn, random.normal(size=3)
    sizes = []
    for one, other in ((a, b), (parameters_of(G @ P_a @ G.T), parameters_of(G @ P_b @ G.T))):
        z = np.linalg.solve(parameters_from_z(pseudo_root(one)), other)
        sizes.append(np.linalg.norm(z - IDENTITY))
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-6)
