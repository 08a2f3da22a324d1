"""NE* and its sixteen variants [DeLuca2009]."""

import numpy as np
import pytest
from dynamics_cases import CHAINS, MIMICS, SOME, mass_matrix_rate, robot
from oracle import close, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.ne_star import SKEW_SYMMETRIC, VARIANTS

OTHERS = sorted(set(VARIANTS) - set(SKEW_SYMMETRIC))


def skew_error(model, variant, seed):
    """Return the symmetric part of Mdot - 2 C*, relative to Mdot."""
    q, qd = random_state(model, seed)
    Mdot = mass_matrix_rate(model, q, qd)
    N = Mdot - 2.0 * rd.coriolis_matrix_by_columns(model, q, qd, variant=variant)
    return np.abs(N + N.T).max() / np.abs(Mdot).max()


def test_there_are_sixteen_variants_and_two_are_good():
    assert len(set(VARIANTS)) == 16
    assert SKEW_SYMMETRIC == ("0001", "1110")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", SOME)
def test_with_equal_velocities_every_variant_is_ne(name, variant):
    model = robot(name)
    q, qd, qdd = random_state(model, 1, 3)
    for gravity in (True, False):
        tau = rd.ne_star(model, q, qd, qd, qdd, variant=variant, gravity=gravity)
        close(tau, rd.inverse_dynamics(model, q, qd, qdd, gravity=gravity))


@pytest.mark.parametrize("name", [*CHAINS, *MIMICS, "lwr_iii", "stanford", "tree 5"])
@pytest.mark.parametrize("variant", ["0001", "1110"])
def test_de_luca_and_ferrajoli_two_variants_are_skew_symmetric(variant, name):
    for seed in range(3):
        assert skew_error(robot(name), variant, seed) < 1e-8


@pytest.mark.parametrize("variant", OTHERS)
def test_de_luca_and_ferrajoli_the_other_fourteen_are_not(variant):
    assert max(skew_error(robot(name), variant, 0) for name in CHAINS) > 1e-3


def test_de_luca_and_ferrajoli_hold_for_every_length_up_to_seven():
    patterns = [pattern.split()[1][:N] for pattern in CHAINS for N in range(1, 8)]
    for pattern in patterns:
        model = robot(f"chain {pattern}")
        q, qd = random_state(model, len(pattern))
        M_dot = mass_matrix_rate(model, q, qd)
        for variant in SKEW_SYMMETRIC:
            C = rd.coriolis_matrix_by_columns(model, q, qd, variant=variant)
            close(C + C.T, M_dot, 1e-8)


@pytest.mark.parametrize("name", SOME)
def test_the_two_good_variants_are_each_others_mirror_image(name):
    model = robot(name)
    q, qd, qd_a, qdd = random_state(model, 2, 4)
    one = rd.ne_star(model, q, qd, qd_a, qdd, variant="0001")
    other = rd.ne_star(model, q, qd_a, qd, qdd, variant="1110")
    close(one, other)
    # Not the same thing: they exchange the velocities' roles.
    assert np.abs(one - rd.ne_star(model, q, qd, qd_a, qdd, variant="1110")).max() > 1e-3


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_product_is_linear_in_the_auxiliary_velocity(variant):
    model = robot("chain PRRPRPR")
    q, qd, x, y, qdd = random_state(model, 3, 5)
    C = rd.coriolis_matrix_by_columns(model, q, qd, variant=variant)
    rest = rd.ne_star(model, q, qd, np.zeros(model.n), qdd, variant=variant)
    close(rest, rd.mass_matrix(model, q) @ qdd + rd.gravity_torque(model, q))
    product = rd.ne_star(model, q, qd, 2.0 * x - y, qdd, variant=variant) - rest
    close(product, C @ (2.0 * x - y))


@pytest.mark.parametrize("name", SOME)
def test_kawasakis_three_calls_give_the_christoffel_product(name):
    model = robot(name)
    q, qd, qd_r = random_state(model, 4, 3)
    C = rd.coriolis_matrix(model, q, qd, christoffel=True)
    close(rd.coriolis_product_by_kawasaki(model, q, qd, qd_r), C @ qd_r)


@pytest.mark.parametrize("name", CHAINS)
def test_the_matrix_of_ne_star_is_not_the_christoffel_one(name):
    model = robot(name)
    q, qd = random_state(model, 5)
    C = rd.coriolis_matrix(model, q, qd, christoffel=True)
    assert np.abs(C - rd.coriolis_matrix_by_columns(model, q, qd)).max() > 1e-3


@pytest.mark.parametrize("variant", ["0002", "001", "", 1, None])
def test_an_unknown_variant_is_refused(variant):
    model = robot("planar_2r")
    with pytest.raises(rd.ArgumentError, match="variant"):
        rd.ne_star(model, *random_state(model, 0, 4), variant=variant)
