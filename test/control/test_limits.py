"""Torque and torque-rate limits: exact, and in force in every law."""

import numpy as np
import pytest
from control_cases import wave

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.limits import Limiter, TorqueLimits
from robodyn_ros.dynamics.motion import Motion

DT = 1e-3


@pytest.fixture(scope="module")
def model():
    return rd.robots.lwr_iii()


def test_the_torque_is_the_nearest_within_both_limits(model):
    random = np.random.default_rng(0)
    tau_max, rate = random.uniform(1.0, 9.0, model.n), random.uniform(500.0, 5000.0, model.n)
    limiter = Limiter(model, TorqueLimits(tau_max, rate))
    last = random.uniform(-1.0, 1.0, model.n)
    limiter.reset(last)
    held, free = 0, 0
    for dt in random.uniform(1e-4, 3e-3, 500):
        wanted = last + random.normal(0.0, 2.0, model.n)
        low = np.maximum(-tau_max, last - rate * dt)
        high = np.minimum(tau_max, last + rate * dt)
        assert limiter.apply(wanted, dt)
        # a sum that is fused with its product differs in the last digit
        np.testing.assert_allclose(limiter.tau, np.clip(wanted, low, high), rtol=0, atol=1e-14)
        np.testing.assert_array_equal(limiter.excess, wanted - limiter.tau)
        assert (np.abs(limiter.tau) <= tau_max).all()
        held += np.count_nonzero(limiter.excess)
        free += np.count_nonzero(limiter.excess == 0.0)
        last = limiter.tau.copy()
    assert held > 500 and free > 500


def test_an_allowed_torque_is_unchanged(model):
    limiter = Limiter(model, TorqueLimits(np.inf))
    for seed in range(5):
        wanted = np.random.default_rng(seed).normal(0.0, 1e6, model.n)
        assert limiter.apply(wanted, DT)
        np.testing.assert_array_equal(limiter.tau, wanted)
        assert not limiter.excess.any()


def test_the_first_torque_is_free_unless_reset_gives_a_start(model):
    limiter, wanted = Limiter(model, TorqueLimits(100.0, 10.0)), np.full(model.n, 50.0)
    limiter.apply(wanted, DT)
    np.testing.assert_array_equal(limiter.tau, wanted)
    limiter.reset(np.full(model.n, 20.0))
    limiter.apply(wanted, DT)
    np.testing.assert_allclose(limiter.tau, 20.0 + 10.0 * DT)


def test_the_torque_limit_holds_for_a_start_beyond_it(model):
    limiter = Limiter(model, TorqueLimits(5.0, 1.0))
    limiter.reset(np.full(model.n, 40.0))
    limiter.apply(np.full(model.n, 40.0), DT)
    np.testing.assert_array_equal(limiter.tau, 5.0)


def test_a_torque_that_is_not_finite_changes_nothing(model):
    limiter = Limiter(model)
    limiter.apply(np.arange(7.0), DT)
    for bad in (np.nan, np.inf, -np.inf):
        wanted = np.ones(model.n)
        wanted[4] = bad
        assert not limiter.apply(wanted, DT)
        np.testing.assert_array_equal(limiter.tau, np.arange(7.0))


@pytest.mark.parametrize("count", [1, 6, 8, 700])
def test_torques_of_another_size_are_rejected(model, count):
    limiter = Limiter(model)
    limiter.apply(np.arange(7.0), DT)
    assert not limiter.apply(np.ones(count), DT)
    np.testing.assert_array_equal(limiter.tau, np.arange(7.0))


def test_a_controller_takes_its_limits_from_the_model(model):
    controller = PassivityController(model, 1e5, 10.0)
    far = Motion.at_rest(np.full(model.n, 2.0))
    tau = controller.torque(JointState(np.zeros(7), np.zeros(7)), far)
    np.testing.assert_array_equal(tau, model.tau_max)
    assert (controller.excess > 0.0).all()


def test_a_law_takes_over_from_another_without_a_step(model):
    """Swapped while running, the torque never changes by more than the rate allows."""
    limits = TorqueLimits(model.tau_max, 800.0)
    first = PassivityController(model, 20.0, 10.0, limits=limits)
    second = ComputedTorqueController(model, 2000.0, 90.0, limits=limits)
    reference, state = wave(model), JointState(np.full(7, 0.3), np.zeros(7))
    start = first.torque(state, reference(0.0)).copy()
    free = second.torque(state, reference(0.0)).copy()
    second.reset(first.tau)
    taken_over = second.torque(state, reference(0.0))
    assert np.abs(free - start).max() > 10.0 * 800.0 * DT
    assert np.abs(taken_over - start).max() <= 800.0 * DT * (1.0 + 1e-12)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, "strong", [[1.0]], [1.0, -1.0]])
@pytest.mark.parametrize("name", ["tau_max", "tau_rate_max"])
def test_limits_must_be_positive(name, bad):
    with pytest.raises(rd.ArgumentError, match=name):
        TorqueLimits(**{"tau_max": 1.0, name: bad})


def test_limits_must_fit_the_robot(model):
    with pytest.raises(rd.ArgumentError, match="tau_max has 3 numbers, .* 7 joints"):
        Limiter(model, TorqueLimits([1.0, 2.0, 3.0]))
