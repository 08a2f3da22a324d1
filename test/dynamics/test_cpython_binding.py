"""Kernels bound to a model: built-in functions, their stand-in in plain Python, and their safety.

A bound kernel must check every argument, leak no memory, and keep alive what it reads.
"""

import gc
import resource
import sys
from functools import partial

import numba
import numpy as np
import pytest
from dynamics_cases import as_tuple
from oracle import random_state, random_tree

import robodyn_ros as rd
from robodyn_ros.dynamics import cpython_binding as native
from robodyn_ros.dynamics.coriolis import _equations_of_motion
from robodyn_ros.dynamics.dispatch import workspace
from robodyn_ros.dynamics.energy import _potential_energy
from robodyn_ros.dynamics.force_jerk import _force_jerk
from robodyn_ros.dynamics.force_rate import _force_rate
from robodyn_ros.dynamics.forward_dynamics import _articulated_bodies
from robodyn_ros.dynamics.mass_matrix import _mass_matrix
from robodyn_ros.dynamics.momentum import _momentum_terms
from robodyn_ros.dynamics.ne_star import _ne_star_0001
from robodyn_ros.dynamics.newton_euler import _gravity, _newton_euler

N = 6
KERNELS = [
    (_gravity, 1, [(N,)]),
    (_mass_matrix, 1, [(N, N)]),
    (_newton_euler, 3, [(N,)]),
    (_articulated_bodies, 3, [(N,)]),
    (_ne_star_0001, 4, [(N,)]),
    (_force_rate, 4, [(N,)] * 2),
    (_force_jerk, 5, [(N,)] * 3),
    (_momentum_terms, 2, [(N,)] * 3),
    (_equations_of_motion, 2, [(N, N), (N, N), (N,)]),
    (_potential_energy, 1, [()]),
]
NAMES = [kernel.py_func.__name__ for kernel, _, _ in KERNELS]

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
    "force_jerk": 5,
}
OLD = numba.__version__.startswith("0.56")  # it contracts an inlined kernel in other places
same = partial(np.testing.assert_allclose, rtol=1e-13 if OLD else 0.0, atol=1e-14 if OLD else 0.0)
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
        same(a, b)
    for form in (list, lambda x: x.astype(">f8")):  # the compiler does not look at byte order
        for a, b in zip(as_tuple(f(model, *map(form, state))), as_tuple(expected), strict=True):
            same(a, b)
    batch = f(model, *(np.stack([x, x]) for x in state))
    for a, b in zip(as_tuple(batch), as_tuple(expected), strict=True):
        same(a[1], b)
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


@pytest.fixture(scope="module")
def tree():
    return random_tree(5, bodies=N)


def both(model, kernel, inputs, outputs, monkeypatch):
    """The built-in function, and the one in plain Python that takes its place elsewhere."""
    assert native.available(), "no built-in functions on this interpreter"
    built_in = native.bind(workspace(model), model.n, kernel, inputs, outputs)
    monkeypatch.setattr(native, "available", lambda: False)
    return built_in, native.bind(workspace(model), model.n, kernel, inputs, outputs)


@pytest.mark.parametrize(("kernel", "inputs", "outputs"), KERNELS, ids=NAMES)
def test_gives_what_the_dispatcher_gives(tree, kernel, inputs, outputs, monkeypatch):
    built_in, in_python = both(tree, kernel, inputs, outputs, monkeypatch)
    states = random_state(tree, 1, inputs)
    got, expected = built_in(*states), in_python(*states)
    if len(outputs) == 1:
        got, expected = (got,), (expected,)
    assert len(got) == len(expected) == len(outputs)
    for one, other, shape in zip(got, expected, outputs, strict=True):
        assert one.shape == shape
        assert one.dtype == np.float64 and one.flags.owndata and one.flags.writeable
        np.testing.assert_array_equal(one, other)


def unfit(model):
    good = np.zeros(model.n)
    return {
        "a list": good.tolist(),
        "whole numbers": good.astype(np.int64),
        "single precision": good.astype(np.float32),
        "another byte order": good.astype(">f8"),
        "too short": good[1:],
        "too long": np.zeros(model.n + 1),
        "empty": np.zeros(0),
        "no dimension": np.float64(0.0),
        "two dimensions": good[None, :],
        "strided": np.zeros(2 * model.n)[::2],
        "not aligned": np.frombuffer(bytes(8 * model.n + 1), np.uint8)[1:].view(np.float64),
        "a subclass": good.view(np.matrix),
        "a structure": np.zeros(model.n, dtype=[("x", "f8")]),
        "None": None,
        "text": "q",
        "a type": np.ndarray,
        "NaN": np.full(model.n, np.nan),
        "infinite": np.full(model.n, np.inf),
        "too large": np.full(model.n, 1e200),
    }


UNFIT = [(what, place) for what in unfit(random_tree(5, bodies=N)) for place in (0, 1)]
UNFIT.remove(("too large", 0))  # a large angle is an angle


@pytest.mark.parametrize(("what", "place"), UNFIT)
def test_refuses_what_it_cannot_vouch_for(tree, what, place):
    terms = native.bind(workspace(tree), tree.n, _momentum_terms, 2, [(N,)] * 3)
    arguments = list(random_state(tree, 2))
    arguments[place] = unfit(tree)[what]
    assert terms(*arguments) is None


def test_refuses_a_wrong_number_of_arguments(tree):
    terms = native.bind(workspace(tree), tree.n, _momentum_terms, 2, [(N,)] * 3)
    q, qd = random_state(tree, 3)
    assert terms() is None
    assert terms(q) is None
    assert terms(q, qd, q) is None


def test_read_only_states_are_fine(tree):
    weight = native.bind(workspace(tree), tree.n, _gravity, 1, [(N,)])
    (q,) = random_state(tree, 4, 1)
    expected = weight(q)
    q.setflags(write=False)
    np.testing.assert_array_equal(weight(q), expected)


def test_leaks_nothing(tree):
    terms = native.bind(workspace(tree), tree.n, _momentum_terms, 2, [(N,)] * 3)
    q, qd = random_state(tree, 5)
    kept = (q, qd, np.ndarray, np.dtype(np.float64))

    def use(count):
        for _ in range(count):
            terms(q, qd)
            terms(q, None)
            terms(q, np.full(tree.n, np.nan))
        gc.collect()

    use(1000)
    references = [sys.getrefcount(x) for x in kept]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    use(100_000)
    assert [sys.getrefcount(x) for x in kept] == references
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < 2000  # kB


def test_outlives_the_model():
    def terms_of_a_passing_model():
        model = random_tree(6, bodies=N)
        return native.bind(workspace(model), model.n, _momentum_terms, 2, [(N,)] * 3), model.n

    terms, n = terms_of_a_passing_model()
    gc.collect()
    rubbish = [np.full(2000, np.nan) for _ in range(200)]  # take the freed memory
    assert terms(np.zeros(n), np.zeros(n)) is not None
    assert len(rubbish) == 200
