"""M, C and g in one sweep, against one column at a time, Pinocchio, and the definition."""

import numpy as np
import pytest
from dynamics_cases import SOME, gradient, mass_matrix_rate, pinocchio, robot
from oracle import close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
@pytest.mark.parametrize("variant", ["0001", "1110"])
def test_one_sweep_equals_one_column_at_a_time(name, variant):
    model = robot(name)
    q, qd = random_state(model, 1)
    C = rd.coriolis_matrix(model, q, qd, variant=variant)
    close(C, rd.coriolis_matrix_by_columns(model, q, qd, variant=variant))


def test_the_other_variants_come_by_columns():
    model = robot("chain PRRPRPR")
    q, qd = random_state(model, 2)
    C = rd.coriolis_matrix(model, q, qd, variant="0110")
    close(C, rd.coriolis_matrix_by_columns(model, q, qd, variant="0110"))
    assert np.abs(C - rd.coriolis_matrix(model, q, qd)).max() > 1e-3


@every_robot
def test_christoffel_is_the_mean_of_the_two_variants(name):
    model = robot(name)
    q, qd = random_state(model, 3)
    one, other = (rd.coriolis_matrix(model, q, qd, variant=v) for v in ("0001", "1110"))
    close(rd.coriolis_matrix(model, q, qd, christoffel=True), 0.5 * (one + other))


@pytest.mark.parametrize("name", ["stanford", "kuka_lwr4", "chain PRRPRPR", "tree 5", "mimic 5"])
def test_christoffel_is_what_khalil_7_7_defines(name):
    model = robot(name)
    q, qd = random_state(model, 4)
    dM = gradient(lambda x: rd.mass_matrix(model, x), q)  # dM[i, j, k] = dA_ij / dq_k
    c = 0.5 * (dM + dM.transpose(0, 2, 1) - dM.transpose(2, 1, 0))
    close(rd.coriolis_matrix(model, q, qd, christoffel=True), c @ qd, 1e-8)


@every_robot
@pytest.mark.parametrize(
    "options",
    [{}, {"variant": "1110"}, {"christoffel": True}],
    ids=["0001", "1110", "christoffel"],
)
def test_every_factorization_gives_c_and_the_rate_of_m(name, options):
    model = robot(name)
    q, qd = random_state(model, 5)
    C, expected = rd.coriolis_matrix(model, q, qd, **options), pinocchio(name).coriolis(q, qd)
    close(C @ qd, rd.velocity_torque(model, q, qd))
    close(C @ qd, expected @ qd)
    close(C + C.T, expected + expected.T)
    close(C + C.T, mass_matrix_rate(model, q, qd), 1e-8)


@every_robot
@pytest.mark.parametrize("options", [{}, {"christoffel": True}, {"variant": "1110"}])
def test_equations_of_motion_are_pinocchios(name, options):
    model, oracle = robot(name), pinocchio(name)
    q, qd, qdd = random_state(model, 6, 3)
    M, C, g = rd.equations_of_motion(model, q, qd, **options)
    close(M, oracle.mass_matrix(q))
    close(g, oracle.gravity(q))
    close(M @ qdd + C @ qd + g, oracle.inverse_dynamics(q, qd, qdd))


def test_an_unknown_variant_is_refused():
    model = robot("planar_2r")
    q, qd = random_state(model, 0)
    with pytest.raises(rd.ArgumentError, match="variant"):
        rd.coriolis_matrix(model, q, qd, variant="2")
    with pytest.raises(rd.ArgumentError, match="variant"):
        rd.equations_of_motion(model, q, qd, variant="0110")
