"""Arguments that are no states are rejected, and the message names them.

All functions check their states in one place, so one of them gets every kind of wrong value, and
each other one a wrong shape and a number that is not finite, for each of its arguments.
"""

import re

import numpy as np
import pytest
from dynamics_cases import FUNCTIONS, as_tuple, robot, with_friction

import robodyn_ros as rd

MODEL = with_friction(robot("stanford"))  # it has a prismatic joint, where large q matter
HUGE_MODELS = [with_friction(robot(x)) for x in ("planar_2r", "chain P", "chain R", "mimic 5")]
ONE = "inverse_dynamics, friction"
one_function = pytest.mark.parametrize(("function", "i"), [(ONE, 0), (ONE, 1), (ONE, 2)])
every_function = pytest.mark.parametrize("function", FUNCTIONS)


def call_with(function, i, value, model=MODEL):
    """Call with random states, but `value` for argument i."""
    f, names = FUNCTIONS[function]
    states = list(np.random.default_rng(i).normal(size=(len(names), model.n)))
    states[i] = value
    return f(model, *states)


def arguments(function):
    return range(len(FUNCTIONS[function][1]))


def named(function, i):
    """The argument's name, as a word of its own."""
    return rf"\b{re.escape(FUNCTIONS[function][1][i])}\b"


def assert_rejected_if_not_finite(function, i, value, k):
    """One state and a batch with such a number for joint k."""
    x = np.ones(MODEL.n)
    x[k] = value
    with pytest.raises(rd.ArgumentError, match=f"{named(function, i)}.*joint_{k + 1}"):
        call_with(function, i, x)
    batch = np.ones((40, MODEL.n))
    batch[35, k] = value
    with pytest.raises(rd.ArgumentError, match=f"{named(function, i)}.*joint_{k + 1}.*sample 35"):
        call_with(function, i, batch)


@one_function
@pytest.mark.parametrize(
    "shape", [(5,), (7,), (1,), (), (12,), (3, 5), (2, 3, 6), (6, 1)], ids=str
)
def test_every_wrong_shape_is_rejected(function, i, shape):
    with pytest.raises(rd.ArgumentError, match=named(function, i)):
        call_with(function, i, np.zeros(shape))


@one_function
@pytest.mark.parametrize("value", [None, "state", "123456", [1.0, [2.0, 3.0]], object()])
def test_values_that_are_no_numbers_are_rejected(function, i, value):
    with pytest.raises(rd.ArgumentError, match=named(function, i)):
        call_with(function, i, value)


@one_function
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_rejected_and_the_joint_named(function, i, value):
    for k in (0, 2, 5):
        assert_rejected_if_not_finite(function, i, value, k)


@every_function
def test_every_function_rejects_a_wrong_shape(function):
    for i in arguments(function):
        with pytest.raises(rd.ArgumentError, match=named(function, i)):
            call_with(function, i, np.zeros(MODEL.n + 1))


@every_function
def test_every_function_rejects_a_number_that_is_not_finite(function):
    for i in arguments(function):
        assert_rejected_if_not_finite(function, i, (np.nan, np.inf)[i % 2], i % MODEL.n)


@every_function
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_huge_number_gives_a_finite_result_or_an_error(function):
    """Each kernel has to notice by itself when its own products overflow."""
    for model in (MODEL, *HUGE_MODELS):
        for i in arguments(function):
            for value in (1e200, 1e308):
                for huge in (np.full(model.n, value), *(value * np.eye(model.n)[:3])):
                    assert_finite_or_rejected(function, i, huge, model)


def assert_finite_or_rejected(function, i, huge, model):
    try:
        result = call_with(function, i, huge, model)
    except rd.ArgumentError as error:
        assert "finite" in str(error)
    else:
        assert all(np.isfinite(part).all() for part in as_tuple(result)), (i, huge, result)


@pytest.mark.parametrize("function", [f for f, (_, names) in FUNCTIONS.items() if len(names) > 1])
def test_batches_of_different_lengths_are_refused(function):
    f, names = FUNCTIONS[function]
    states = [np.zeros((3, MODEL.n)), *(np.zeros((4, MODEL.n)) for _ in names[1:])]
    with pytest.raises(rd.ArgumentError, match=r"samples.*\(3, 6\).*\(4, 6\)"):
        f(MODEL, *states)


def test_a_batch_of_wrenches_must_fit_the_batch_of_states():
    q = np.zeros((3, MODEL.n))
    with pytest.raises(rd.ArgumentError, match="link_6"):
        rd.inverse_dynamics(MODEL, q, q, q, external={"link_6": np.zeros((4, 6))})


@pytest.mark.parametrize("i", [6, -7, 1.5, None])
def test_a_column_that_is_not_there_is_refused(i):
    with pytest.raises(rd.ArgumentError, match=r"\bi\b"):
        rd.mass_matrix_column(MODEL, np.zeros(MODEL.n), i)


@pytest.mark.parametrize("threads", [0, -1])
def test_the_number_of_threads_is_checked(threads):
    with pytest.raises(rd.ArgumentError, match="threads"):
        rd.mass_matrix(MODEL, np.zeros((4, MODEL.n)), threads=threads)


@pytest.mark.parametrize("width", [np.nan, np.inf, -1.0, "narrow"])
def test_the_width_of_smooth_friction_is_checked(width):
    for function in (rd.friction_torque, rd.friction_columns):
        with pytest.raises(rd.ArgumentError, match="width"):
            function(MODEL, np.zeros(MODEL.n), width=width)


def test_gains_are_checked():
    x = np.zeros((5, MODEL.n))
    for kp, kd, name in ((np.nan, 1.0, "kp"), (1.0, np.ones(3), "kd")):
        with pytest.raises(rd.ArgumentError, match=name):
            rd.feedback_linearizing_torque(MODEL, *x, kp, kd)


def test_every_argument_error_is_a_robodyn_error_and_a_value_error():
    assert issubclass(rd.ArgumentError, rd.RobodynError)
    assert issubclass(rd.ArgumentError, ValueError)
