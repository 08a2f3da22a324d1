"""The terms p, C^T qd and g in one sweep."""

import numpy as np
import pytest
from dynamics_cases import SOME, gradient, mass_matrix_rate, pinocchio, robot
from oracle import close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
@pytest.mark.parametrize("variant", ["0001", "1110"])
def test_terms_are_those_of_the_matrices(name, variant):
    model = robot(name)
    q, qd = random_state(model, 1)
    p, ctqd, g = rd.momentum_terms(model, q, qd)
    close(p, rd.mass_matrix(model, q) @ qd)
    close(ctqd, rd.coriolis_matrix(model, q, qd, variant=variant).T @ qd)
    close(g, rd.gravity_torque(model, q))


@every_robot
def test_terms_are_those_of_n_plus_2_sweeps(name):
    model = robot(name)
    q, qd = random_state(model, 2)
    expected = rd.momentum_terms_by_sweeps(model, q, qd)
    for found, wanted in zip(rd.momentum_terms(model, q, qd), expected, strict=True):
        close(found, wanted)


@every_robot
def test_terms_are_pinocchios(name):
    model, oracle = robot(name), pinocchio(name)
    q, qd = random_state(model, 3)
    p, ctqd, g = rd.momentum_terms(model, q, qd)
    close(p, oracle.mass_matrix(q) @ qd)
    close(ctqd, oracle.coriolis(q, qd).T @ qd)
    close(g, oracle.gravity(q))


@every_robot
def test_ct_qd_is_the_change_of_kinetic_energy_with_posture(name):
    model = robot(name)
    q, qd = random_state(model, 4)
    slope = gradient(lambda x: 0.5 * qd @ rd.mass_matrix(model, x) @ qd, q)
    close(rd.momentum_terms(model, q, qd)[1], slope, 1e-8)


@every_robot
def test_the_rate_of_the_momentum_is_what_the_observer_relies_on(name):
    # pdot = tau + C^T qd - g, [DeLuca2009] (23), along any motion
    model = robot(name)
    q, qd, qdd = random_state(model, 5, 3)
    _, ctqd, g = rd.momentum_terms(model, q, qd)
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    pdot = mass_matrix_rate(model, q, qd) @ qd + rd.mass_matrix(model, q) @ qdd
    close(tau + ctqd - g, pdot, 1e-8)


def test_rotors_add_to_p_alone():
    model = robot("kuka_lwr4")
    bare = model.replace(rotor_inertia=0.0)
    q, qd = random_state(model, 6)
    p, ctqd, g = rd.momentum_terms(model, q, qd)
    p_bare, ctqd_bare, g_bare = rd.momentum_terms(bare, q, qd)
    close(p - p_bare, model.rotor_inertia * qd, 1e-12)
    close(ctqd, ctqd_bare, 1e-15)
    close(g, g_bare, 1e-15)


@every_robot
@pytest.mark.parametrize("samples", [1, 2, 15, 16, 31, 32, 33, 47, 48, 100])
def test_many_states_at_once_give_what_one_gives(name, samples):
    model = robot(name)
    q, qd = np.random.default_rng(samples).normal(size=(2, samples, model.n))
    q[samples // 2] += 2e6 * np.pi  # far from where sines are easy
    many = rd.momentum_terms(model, q, qd)
    single = [rd.momentum_terms(model, *state) for state in zip(q, qd, strict=True)]
    for found, expected in zip(many, zip(*single, strict=True), strict=True):
        close(found, expected, 1e-13)


@pytest.mark.parametrize("sample", [0, 15, 16, 31, 36])
@pytest.mark.parametrize("which", ["q", "qd"])
def test_one_bad_state_among_many_is_found(which, sample):
    model = robot("stanford")
    state = {key: np.ones((37, model.n)) for key in ("q", "qd")}
    for value in (np.nan, np.inf):
        state[which][sample, 3] = value
        with pytest.raises(
            rd.ArgumentError, match=f"{which} of joint 'joint_4' in sample {sample}"
        ):
            rd.momentum_terms(model, **state)
    state[which][sample, 2] = state[which][sample, 3] = 1e308
    with pytest.raises(rd.ArgumentError, match="not finite"):
        rd.momentum_terms(model, **state)
