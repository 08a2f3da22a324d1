"""What is not a state is refused, and the message names the argument."""

import re

import numpy as np
import pytest
from dynamics_cases import FUNCTIONS, as_tuple, robot, with_friction

import robodyn_ros as rd

MODEL = with_friction(robot("stanford"))  # it has a prismatic joint, where large q matter
ARGUMENTS = [
    (function, i) for function, (_, names) in FUNCTIONS.items() for i in range(len(names))
]
every_argument = pytest.mark.parametrize(
    ("function", "i"), ARGUMENTS, ids=[f"{f}: {FUNCTIONS[f][1][i]}" for f, i in ARGUMENTS]
)


def call_with(function, i, value, model=MODEL):
    """Call with random states, but `value` for argument i."""
    f, names = FUNCTIONS[function]
    states = list(np.random.default_rng(i).normal(size=(len(names), model.n)))
    states[i] = value
    return f(model, *states)


def named(function, i):
    """The argument's name, as a word of its own."""
    return rf"\b{re.escape(FUNCTIONS[function][1][i])}\b"


@every_argument
@pytest.mark.parametrize(
    "shape", [(5,), (7,), (1,), (), (12,), (3, 5), (2, 3, 6), (6, 1)], ids=str
)
def test_a_wrong_shape_is_refused(function, i, shape):
    with pytest.raises(rd.ArgumentError, match=named(function, i)):
        call_with(function, i, np.zeros(shape))


@every_argument
@pytest.mark.parametrize("value", [None, "state", "123456", [1.0, [2.0, 3.0]], object()])
def test_what_is_no_number_is_refused(function, i, value):
    with pytest.raises(rd.ArgumentError, match=named(function, i)):
        call_with(function, i, value)


@every_argument
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_and_the_joint_named(function, i, value):
    for k in (0, 2, 5):
        x = np.ones(MODEL.n)
        x[k] = value
        with pytest.raises(rd.ArgumentError, match=f"{named(function, i)}.*joint_{k + 1}"):
            call_with(function, i, x)
        batch = np.ones((40, MODEL.n))
        batch[35, k] = value
        with pytest.raises(
            rd.ArgumentError, match=f"{named(function, i)}.*joint_{k + 1}.*sample 35"
        ):
            call_with(function, i, batch)


@every_argument
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("value", [1e200, 1e308])
@pytest.mark.parametrize("name", ["stanford", "planar_2r", "chain P", "chain R", "mimic 5"])
def test_a_huge_number_gives_a_finite_result_or_an_error(function, i, value, name):
    model = with_friction(robot(name))
    x = np.zeros(model.n)
    for huge in (np.full(model.n, value), *(x + value * e for e in np.eye(model.n)[:3])):
        try:
            result = call_with(function, i, huge, model)
        except rd.ArgumentError as error:
            assert "finite" in str(error)
        else:
            assert all(np.isfinite(part).all() for part in as_tuple(result)), result


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
