"""Kernels bound to a model as built-in functions, and their stand-in in plain Python."""

import gc
import sys

import numpy as np
import pytest
from dynamics_cases import as_tuple
from oracle import random_state, random_tree

import robodyn_ros as rd
from robodyn_ros.dynamics import cpython_binding as native

# One function for each number of inputs and outputs
BOUND = {
    "mass_matrix": 1,
    "gravity_torque": 1,
    "momentum_terms": 2,
    "equations_of_motion": 2,
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "ne_star": 4,
    "force_rate": 4,
}
every_bound = pytest.mark.parametrize(("function", "count"), BOUND.items(), ids=BOUND)


def test_it_is_available_where_these_tests_run():
    if sys.implementation.name != "cpython":
        pytest.skip("built-in functions are made for CPython")
    assert native.available()


@every_bound
def test_the_stand_in_gives_the_same(function, count, monkeypatch):
    f = getattr(rd, function)
    state = random_state(random_tree(1, 6), 1, count)
    expected = f(random_tree(1, 6), *state)
    monkeypatch.setattr(native, "available", lambda: False)
    model = random_tree(1, 6)  # a new one: nothing is bound to it yet
    found = f(model, *state)
    assert not any(
        type(call).__name__ == "builtin_function_or_method" for call in model.bound.values()
    )
    for a, b in zip(as_tuple(found), as_tuple(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    for form in (list, lambda x: x.astype(">f8")):  # the compiler does not look at byte order
        for a, b in zip(as_tuple(f(model, *map(form, state))), as_tuple(expected), strict=True):
            np.testing.assert_array_equal(a, b)
    batch = f(model, *(np.stack([x, x]) for x in state))
    for a, b in zip(as_tuple(batch), as_tuple(expected), strict=True):
        np.testing.assert_array_equal(a[1], b)
    with pytest.raises(rd.ArgumentError):
        f(model, *state[:-1], np.full(model.n, np.nan))


@every_bound
def test_no_reference_is_lost_or_kept(function, count):
    f, model = getattr(rd, function), random_tree(1, 6)
    state = random_state(model, 2, count)
    bad = (*state[:-1], np.full(model.n, np.nan))
    f(model, *state)
    call = model.bound[function]

    def references():
        return [sys.getrefcount(x) for x in (*state, np.ndarray, np.dtype(float), None)]

    gc.disable()  # what others leave behind must not be collected meanwhile
    try:
        before = references()
        for _ in range(1000):
            call(*state)
            assert call(*bad) is None
            assert call(*state, state[0]) is None
        after = references()
    finally:
        gc.enable()
    assert np.abs(np.subtract(after, before)).max() < 100, (before, after)


@every_bound
def test_results_own_their_memory(function, count):
    model = random_tree(1, 6)
    for array in as_tuple(getattr(rd, function)(model, *random_state(model, 3, count))):
        assert type(array) is np.ndarray
        assert array.flags.owndata
        assert array.flags.writeable
        assert array.flags.c_contiguous


def test_a_subclass_of_arrays_is_taken_for_its_numbers():
    model = random_tree(1, 6)
    (q,) = random_state(model, 4, 1)
    masked = np.ma.masked_array(q)
    np.testing.assert_array_equal(rd.mass_matrix(model, masked), rd.mass_matrix(model, q))
