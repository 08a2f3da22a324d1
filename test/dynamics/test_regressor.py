"""The regressor: the torque, linear in the parameters of bodies, rotors and friction."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import (
    ARMS,
    CHAINS,
    MIMICS,
    SOME,
    TREES,
    mass_matrix_rate,
    pinocchio,
    robot,
    with_friction,
)
from oracle import close, random_body, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.regressor import (
    friction_columns,
    regressor,
    rotor_columns,
    slotine_li_regressor,
)

every_robot = pytest.mark.parametrize("name", [*ARMS, *CHAINS, *TREES, *MIMICS])
some_robots = pytest.mark.parametrize("name", SOME)


def bare(name):
    return robot(name).replace(rotor_inertia=0.0)


@every_robot
def test_times_the_parameters_it_is_the_torque(name):
    # [Khalil2019] (7.38)-(7.50), [LuMeng1993] (2)
    model = bare(name)
    state, pi = random_state(model, 1, 3), model.inertial_parameters()
    close(regressor(model, *state) @ pi, rd.inverse_dynamics(model, *state))
    without = regressor(model, *state, gravity=False)
    close(without @ pi, rd.inverse_dynamics(model, *state, gravity=False))


@every_robot
def test_each_column_is_pinocchios(name):
    model, oracle = robot(name), pinocchio(name)
    q, qd, qdd = random_state(model, 2, 3)
    full = (oracle.positions(q), oracle.full(qd), oracle.full(qdd))
    Y = pin.computeJointTorqueRegressor(oracle.model, oracle.data, *full)
    order = [0, 1, 2, 3, 4, 5, 7, 6, 8, 9]  # theirs has Iyy before Ixz
    bodies = [oracle.reduce(Y[:, 10 * (k - 1) + np.array(order)]) for k in oracle.ids]
    close(regressor(model, q, qd, qdd), np.hstack(bodies))


@some_robots
def test_it_does_not_depend_on_the_parameters(name):
    model = bare(name)
    random = np.random.default_rng(3)
    other = with_bodies(model, [random_body(random) for _ in model.link_names])
    state = random_state(model, 3, 3)
    Y = regressor(model, *state)
    np.testing.assert_array_equal(regressor(other, *state), Y)
    close(Y @ other.inertial_parameters(), rd.inverse_dynamics(other, *state))


@some_robots
def test_it_is_affine_in_the_acceleration(name):
    model = robot(name)
    q, qd, a, b = random_state(model, 4, 4)
    still = np.zeros(model.n)
    mixed = regressor(model, q, qd, 2.0 * a - 3.0 * b)
    parts = 2.0 * regressor(model, q, qd, a) - 3.0 * regressor(model, q, qd, b)
    close(mixed, parts + 2.0 * regressor(model, q, qd, still))


@every_robot
def test_slotine_li_is_the_mean_of_both_valid_variants_of_ne_star(name):
    model = bare(name)
    state, pi = random_state(model, 5, 4), model.inertial_parameters()
    found = slotine_li_regressor(model, *state) @ pi
    variants = [rd.ne_star(model, *state, variant=variant) for variant in ("0001", "1110")]
    close(found, 0.5 * (variants[0] + variants[1]))


@some_robots
def test_slotine_li_is_linear_in_the_parameters_with_kawasakis_product(name):
    model = bare(name)
    q, qd, qd_r, qdd_r = random_state(model, 6, 4)
    product = rd.coriolis_product_by_kawasaki(model, q, qd, qd_r)
    rest = rd.inverse_dynamics(model, q, np.zeros(model.n), qdd_r)
    found = slotine_li_regressor(model, q, qd, qd_r, qdd_r) @ model.inertial_parameters()
    close(found, product + rest)
    close(slotine_li_regressor(model, q, qd, qd, qdd_r), regressor(model, q, qd, qdd_r))


@some_robots
def test_slotine_li_keeps_the_energy_balance(name):
    # s^T (Mdot - 2 C) s = 0, on which the law's proof rests; NE* 0001 differs by a skew part only
    model = bare(name)
    q, qd, s = random_state(model, 7, 3)
    still = np.zeros(model.n)
    Y = slotine_li_regressor(model, q, qd, s, still) - slotine_li_regressor(
        model, q, qd, still, still
    )
    c = Y @ model.inertial_parameters()
    close(2.0 * s @ c, s @ mass_matrix_rate(model, q, qd) @ s, 1e-8)
    close(s @ c, s @ rd.ne_star(model, q, qd, s, still, gravity=False), 1e-10)


def with_bodies(model, bodies):
    names = ("mass", "com", "inertia")
    return model.replace(**{key: [getattr(body, key) for body in bodies] for key in names})


def test_ne_star_alone_is_not_linear_in_ten_parameters():
    # so that the regressor cannot be its: bodies that are joined do not add up
    model, random = bare("kuka_lwr4"), np.random.default_rng(17)
    a, b = ([random_body(random) for _ in range(model.n)] for _ in range(2))
    joined = [x + y for x, y in zip(a, b, strict=True)]
    models = [with_bodies(model, bodies) for bodies in (joined, a, b)]
    state = random_state(model, 17, 4)
    whole, *shares = (m.inertial_parameters() for m in models)
    close(whole, sum(shares), 1e-13)
    whole, *shares = (rd.ne_star(m, *state) for m in models)
    assert np.abs(whole - sum(shares)).max() > 1e-3 * np.abs(whole).max()
    whole, *shares = (slotine_li_regressor(m, *state) @ m.inertial_parameters() for m in models)
    close(whole, sum(shares))


@pytest.mark.parametrize("name", ["kuka_lwr4", "mimic 5"])
def test_rotor_columns_are_the_rotors_share(name):
    model = robot(name)
    state = random_state(model, 10, 3)
    tau = regressor(model, *state) @ model.inertial_parameters()
    tau += rotor_columns(model, state[2]) @ model.rotor_inertia
    close(tau, rd.inverse_dynamics(model, *state))


@pytest.mark.parametrize("width", [0.0, 0.1])
def test_friction_columns_are_the_friction(width):
    model = with_friction(robot("stanford"))
    model = model.replace(stiction=model.coulomb)
    qd = np.random.default_rng(11).normal(size=(20, model.n))
    qd[3, 2] = 0.0
    offset = np.arange(model.n)
    numbers = np.stack([model.viscous, model.coulomb, offset], axis=1).ravel()
    columns = friction_columns(model, qd, width=width)
    assert columns.shape == (20, model.n, 3 * model.n)
    close(columns @ numbers, rd.friction_torque(model, qd, width=width) + offset, 1e-14)
    close(columns[3], friction_columns(model, qd[3], width=width), 1e-15)
