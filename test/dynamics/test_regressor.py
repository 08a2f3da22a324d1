"""Regressors: the torque, the momentum and the filtered torque, linear in the parameters."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import (
    ARMS,
    CHAINS,
    MIMICS,
    SOME,
    TREES,
    Motion,
    derivative,
    mass_matrix_rate,
    pinocchio,
    robot,
    with_friction,
)
from oracle import close, random_body, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.regressor import (
    filtered_regressor,
    filtered_rotor_columns,
    friction_columns,
    low_pass,
    momentum_regressor,
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


@every_robot
def test_momentum_regressor_gives_the_residuals_terms(name):
    model = bare(name)
    q, qd = random_state(model, 8)
    pi = model.inertial_parameters()
    expected = rd.momentum_terms(model, q, qd)
    for Y, term in zip(momentum_regressor(model, q, qd), expected, strict=True):
        close(Y @ pi, term)


@some_robots
def test_the_momentum_regressors_rate_is_the_regressor_column_by_column(name):
    # [DeLuca2009] (23) for every parameter: d/dt Y_p + Y_g - Y_c = Y
    model = robot(name)
    motion = Motion(model, 9)

    def Y_p(t):
        return momentum_regressor(model, *motion.at(t)[:2])[0]

    q, qd, qdd, _ = motion.at(0.0)
    _, Y_c, Y_g = momentum_regressor(model, q, qd)
    close(derivative(Y_p) + Y_g - Y_c, regressor(model, q, qd, qdd), 1e-8)


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


def log_of(model, step, uneven=False):
    """One second of a smooth motion: times, and q, qd, qdd at them."""
    t = np.arange(0.0, 1.0, step)
    if uneven:
        t += 0.3 * step * np.sin(7.0 * np.arange(t.size))
    motion = Motion(model, 12)
    q, qd, qdd, _ = (np.array(x) for x in zip(*map(motion.at, t), strict=True))
    return t, q, qd, qdd


def filter_error(model, step, uneven=False):
    t, q, qd, qdd = log_of(model, step, uneven)
    wanted = low_pass(t, rd.inverse_dynamics(model, q, qd, qdd), 5.0)
    found = filtered_regressor(model, t, q, qd, 5.0) @ model.inertial_parameters()
    found += filtered_rotor_columns(model, t, qd, 5.0) @ model.rotor_inertia
    return np.abs(found - wanted).max() / np.abs(wanted).max()


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford", "mimic 3"])
def test_filtered_regressor_gives_the_filtered_torque(name, uneven):
    # the torque's filter and the momentum's differ only in how they join samples: second order
    coarse, fine = (filter_error(robot(name), step, uneven) for step in (2e-3, 1e-3))
    assert fine < 1e-5
    assert 3.0 < coarse / fine < 5.0


def test_low_pass_answers_a_ramp_exactly():
    t = np.array([0.0, 0.1, 0.15, 0.4, 1.0])
    rate = 2.0 * np.pi * 1.5
    ramp = 2.0 + 3.0 * t
    start = 7.0
    exact = ramp - 3.0 / rate + (start - 2.0 + 3.0 / rate) * np.exp(-rate * t)
    np.testing.assert_allclose(low_pass(t, ramp, 1.5, start=start), exact, rtol=1e-14)
    both = low_pass(t, np.stack([ramp, -ramp], axis=1), 1.5, start=[start, -start])
    np.testing.assert_allclose(both, np.stack([exact, -exact], axis=1), rtol=1e-14)


def test_low_pass_keeps_its_digits_when_samples_lie_close():
    t = np.arange(100) * 1e-9
    y = low_pass(t, np.sin(1e7 * t), 1e-3)
    np.testing.assert_allclose(y[-1], 2e-3 * np.pi * 1e-7 * (1.0 - np.cos(1e7 * t[-1])), rtol=1e-4)


MATRICES = {
    "regressor": (regressor, ("q", "qd", "qdd")),
    "slotine_li_regressor": (slotine_li_regressor, ("q", "qd", "qd_r", "qdd_r")),
    "momentum_regressor": (momentum_regressor, ("q", "qd")),
    "rotor_columns": (rotor_columns, ("qdd",)),
    "friction_columns": (friction_columns, ("qd",)),
}
every_matrix = pytest.mark.parametrize("function", MATRICES)


def parts(result):
    return result if isinstance(result, tuple) else (result,)


@every_matrix
@pytest.mark.parametrize("name", ["stanford", "mimic 5"])
def test_batches_give_what_one_state_gives(function, name):
    f, names = MATRICES[function]
    model = robot(name)
    states = np.random.default_rng(13).normal(size=(len(names), 9, model.n))
    many = parts(f(model, *states))
    for k in range(9):
        for whole, one in zip(many, parts(f(model, *states[:, k])), strict=True):
            np.testing.assert_array_equal(whole[k], one)
    for whole in parts(f(model, *np.zeros((len(names), 0, model.n)))):
        assert whole.shape == (0, *many[0].shape[1:])


@pytest.mark.parametrize("function", ["regressor", "slotine_li_regressor", "momentum_regressor"])
def test_threads_change_nothing(function):
    f, names = MATRICES[function]
    model = robot("stanford")
    states = np.random.default_rng(14).normal(size=(len(names), 50, model.n))
    for one, many in zip(
        parts(f(model, *states)), parts(f(model, *states, threads=2)), strict=True
    ):
        np.testing.assert_array_equal(one, many)


@every_matrix
def test_bad_states_are_refused_by_name(function):
    f, names = MATRICES[function]
    model = robot("stanford")
    for i, name in enumerate(names):
        states = list(np.ones((len(names), model.n)))
        states[i] = np.ones(model.n + 1)
        with pytest.raises(rd.ArgumentError, match=rf"\b{name}\b"):
            f(model, *states)
        for bad in (np.nan, np.inf):
            states[i] = np.ones(model.n)
            states[i][2] = bad
            with pytest.raises(rd.ArgumentError, match=rf"\b{name}\b.*joint_3"):
                f(model, *states)


@pytest.mark.parametrize("which", range(3))
def test_numbers_too_large_are_refused(which):
    model = robot("kuka_lwr4")
    states = list(np.ones((3, model.n)))
    states[which] = np.full(model.n, 1e308)
    try:
        Y = regressor(model, *states)
    except rd.ArgumentError as error:
        assert "finite" in str(error)
    else:
        assert np.isfinite(Y).all()


def test_logs_are_checked():
    model = robot("planar_2r")
    t, q = np.arange(4.0), np.zeros((4, 2))
    for bad in (t[:3], t[::-1], [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, np.nan, 3.0], 1.0):
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            filtered_regressor(model, bad, q, q, 5.0)
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            filtered_rotor_columns(model, bad, q, 5.0)
        with pytest.raises(rd.ArgumentError, match=r"\bt\b"):
            low_pass(bad, q, 5.0)
    with pytest.raises(rd.ArgumentError, match="samples"):
        filtered_regressor(model, t, q[0], q[0], 5.0)
    with pytest.raises(rd.ArgumentError, match="samples"):
        filtered_regressor(model, [], q[:0], q[:0], 5.0)
    for cutoff in (0.0, -1.0, np.nan, np.inf, "slow"):
        with pytest.raises(rd.ArgumentError, match="cutoff"):
            filtered_regressor(model, t, q, q, cutoff)
    for width in (-1.0, np.nan, np.inf, "narrow"):
        with pytest.raises(rd.ArgumentError, match="width"):
            friction_columns(model, q, width=width)
