"""Direct dynamics by articulated bodies and through the mass matrix."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import ARMS, CHAINS, MIMICS, SOME, TREES, pinocchio, robot
from oracle import close, random_state, random_tree

import robodyn_ros as rd

METHODS = ("articulated", "mass_matrix")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", [*ARMS, *SOME[2:]])
def test_direct_undoes_inverse_dynamics(name, method):
    model = robot(name)
    for seed in range(3):
        q, qd, qdd = random_state(model, seed, 3)
        tau = rd.inverse_dynamics(model, q, qd, qdd)
        close(rd.forward_dynamics(model, q, qd, tau, method=method), qdd, 1e-9)


@pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES])
def test_articulated_bodies_agree_with_pinocchios(name):
    model, oracle = robot(name), pinocchio(name)
    if not hasattr(oracle.model, "armature"):
        pytest.skip("Pinocchio is older than 3")
    q, qd, tau = random_state(model, 4, 3)
    oracle.model.armature[:] = oracle.P.T @ oracle.G @ model.rotor_inertia
    try:
        qdd = pin.aba(
            oracle.model, oracle.data, oracle.positions(q), oracle.full(qd), oracle.full(tau)
        )
    finally:
        oracle.model.armature[:] = 0.0
    close(rd.forward_dynamics(model, q, qd, tau), oracle.reduce(qdd), 1e-9)


@pytest.mark.parametrize("name", MIMICS)
def test_mimic_joints_share_the_torque_of_their_leader(name):
    model, oracle = robot(name), pinocchio(name)
    q, qd, tau = random_state(model, 5, 3)
    bias = oracle.inverse_dynamics(q, qd, np.zeros(model.n))
    expected = np.linalg.solve(oracle.mass_matrix(q), tau - bias)
    for method in METHODS:
        close(rd.forward_dynamics(model, q, qd, tau, method=method), expected, 1e-9)


def test_long_chains_stay_accurate():
    model = random_tree(28, 28, branching=0.0, prismatic=0.0).replace(rotor_inertia=0.0)
    worst = dict.fromkeys(METHODS, 0.0)
    for seed in range(5):
        q, qd, qdd = random_state(model, seed, 3)
        tau = rd.inverse_dynamics(model, q, qd, qdd)
        for method in METHODS:
            error = rd.forward_dynamics(model, q, qd, tau, method=method) - qdd
            worst[method] = max(worst[method], np.abs(error).max() / np.abs(qdd).max())
    assert worst["articulated"] < 1e-11, worst


@pytest.mark.parametrize("method", ["aba", "", None])
def test_an_unknown_method_is_refused(method):
    model = robot("planar_2r")
    with pytest.raises(rd.ArgumentError, match="method"):
        rd.forward_dynamics(model, *random_state(model, 0, 3), method=method)
