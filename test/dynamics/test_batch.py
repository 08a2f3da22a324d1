"""Batches equal single states, from arrays and lists of any kind, and in threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from dynamics_cases import FUNCTIONS, as_tuple, robot, with_friction

import robodyn_ros as rd

T = 37  # enough for kernels that take sixteen states abreast, and no multiple of that
MODELS = {name: with_friction(robot(name)) for name in ("stanford", "mimic 5")}
every_function = pytest.mark.parametrize("function", FUNCTIONS)
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
THREADED = {
    "inverse_dynamics": 3, "gravity_torque": 1, "velocity_torque": 2, "ne_star": 4,
    "coriolis_matrix": 2, "equations_of_motion": 2, "momentum_terms": 2, "mass_matrix": 1,
    "forward_dynamics": 3, "force_rate": 4, "regressor": 3, "slotine_li_regressor": 4,
    "momentum_regressor": 2, "force_jerk": 5, "ne_star_jerk": 8, "link_motion": 4,
    "joint_wrenches": 3,
}  # fmt: skip


def batch_of(model, count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, T, model.n))


def assert_same(found, expected, tolerance=1e-14):
    for a, b in zip(as_tuple(found), as_tuple(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance * max(1.0, np.abs(b).max()))


def stacked(results):
    """One result per sample, as one result for all."""
    return tuple(np.stack(parts) for parts in zip(*map(as_tuple, results), strict=True))


@every_model
@every_function
def test_batch_equals_one_at_a_time(function, model):
    f, names = FUNCTIONS[function]
    states = batch_of(model, len(names))
    single = stacked(f(model, *states[:, t]) for t in range(T))
    # Solving with M many at once adds up in another order.
    assert_same(f(model, *states), single, 1e-12 if "forward_dynamics" in function else 1e-14)


@every_function
def test_one_state_goes_with_a_batch(function):
    f, names = FUNCTIONS[function]
    model = MODELS["stanford"]
    states = list(batch_of(model, len(names), 1))
    for i in range(len(names)):
        if len(names) == 1:
            continue
        mixed, repeated = list(states), list(states)
        mixed[i], repeated[i] = states[i][0], np.repeat(states[i][:1], T, axis=0)
        assert_same(f(model, *mixed), f(model, *repeated), 1e-13)


def strided(x):
    wide = np.zeros((x.size, 3))
    wide[:, 1] = x
    return wide[:, 1]


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x):
    room = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = room[1:].view(np.float64)
    view[:] = x
    return view


FORMS = {
    "list": list,
    "tuple": tuple,
    "strided": strided,
    "read-only": read_only,
    "unaligned": unaligned,
    "other byte order": lambda x: x.astype(">f8"),
    "reversed twice": lambda x: x[::-1].copy()[::-1],
    "Fortran order": np.asfortranarray,
    "float32": lambda x: x.astype(np.float32),
    "int": lambda x: x.astype(int),
    "int list": lambda x: [int(v) for v in x],
}


@every_function
def test_states_may_come_as_anything(function):
    f, names = FUNCTIONS[function]
    model = MODELS["stanford"]
    whole = np.random.default_rng(2).integers(-3, 4, (len(names), model.n)).astype(float)
    expected = f(model, *whole)
    for form in FORMS.values():
        assert_same(f(model, *map(form, whole)), expected)


LOG_TIMES = np.linspace(0.0, 0.1, T)
LOG_FUNCTIONS = {
    "residual": (lambda model, *log: rd.residual(model, LOG_TIMES, *log, 50.0), 3),
    "residual, friction": (
        lambda model, *log: rd.residual(model, LOG_TIMES, *log, 50.0, friction=True),
        3,
    ),
    **{
        f"residual, {kind}": (
            lambda model, *log, kind=kind: rd.residual(model, LOG_TIMES, *log, 50.0, kind=kind),
            3,
        )
        for kind in ("energy", "inverse_dynamics", "velocity")
    },
    "low_pass": (lambda model, x: rd.low_pass(LOG_TIMES, x, 10.0), 1),
    "filtered_regressor": (
        lambda model, *log: rd.filtered_regressor(model, LOG_TIMES, *log, 10.0),
        2,
    ),
    "filtered_rotor_columns": (
        lambda model, qd: rd.filtered_rotor_columns(model, LOG_TIMES, qd, 10.0),
        1,
    ),
}
BATCH_FUNCTIONS = {name: (f, len(names)) for name, (f, names) in FUNCTIONS.items()} | LOG_FUNCTIONS
BATCH_FORMS = {
    "read-only": read_only,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "float32": lambda x: x.astype(np.float32),
}


@pytest.mark.parametrize("function", BATCH_FUNCTIONS)
def test_batches_may_come_as_anything(function):
    f, count = BATCH_FUNCTIONS[function]
    model = MODELS["stanford"]
    whole = np.random.default_rng(2).integers(-3, 4, (count, T, model.n)).astype(float)
    expected = f(model, *whole)
    for form in BATCH_FORMS.values():
        assert_same(f(model, *map(form, whole)), expected)


def test_the_residual_of_a_log_object():
    model = MODELS["stanford"]
    random = np.random.default_rng(3)
    t, states = np.linspace(0.0, 0.2, 60), random.normal(size=(3, 60, model.n))
    log = rd.Log(t, *states)
    assert not log.tau.flags.writeable
    found = rd.residual(model, log.t, log.q, log.qd, log.tau, 50.0)
    np.testing.assert_array_equal(found, rd.residual(model, t, *states, 50.0))


def compiled_anew(function):
    """Each has a kernel of its own for threads, which takes seconds to compile: two for all."""
    marks = () if function in ("momentum_terms", "forward_dynamics") else pytest.mark.long
    return pytest.param(function, marks=marks)


@pytest.mark.parametrize("function", [*map(compiled_anew, THREADED)])
def test_threads_change_nothing(function):
    model, f = MODELS["stanford"], getattr(rd, function)
    states = np.concatenate(
        [batch_of(model, THREADED[function], seed) for seed in range(3)], axis=1
    )
    one = f(model, *states)
    for threads in (2, 3, 500):
        many = f(model, *states, threads=threads)
        for a, b in zip(as_tuple(one), as_tuple(many), strict=True):
            np.testing.assert_array_equal(a, b)


@every_function
def test_an_empty_batch_gives_an_empty_answer(function):
    f, names = FUNCTIONS[function]
    model = MODELS["stanford"]
    one = f(model, *np.zeros((len(names), model.n)))
    none = f(model, *np.zeros((len(names), 0, model.n)))
    for a, b in zip(as_tuple(one), as_tuple(none), strict=True):
        assert b.shape == (0, *np.shape(a))


@every_function
def test_the_arguments_are_left_as_they_were_and_the_result_is_the_callers(function):
    f, names = FUNCTIONS[function]
    model = MODELS["stanford"]
    states = batch_of(model, len(names), 4)[:, 0].copy()
    before = states.copy()
    first = [np.copy(x) for x in as_tuple(f(model, *states))]
    kept = as_tuple(f(model, *states))
    f(model, *(2.0 * states))  # a later call must not write into an earlier answer
    np.testing.assert_array_equal(states, before)
    for a, b in zip(first, kept, strict=True):
        np.testing.assert_array_equal(a, b)


@every_function
def test_callers_in_several_threads_do_not_disturb_each_other(function):
    f, names = FUNCTIONS[function]
    model = MODELS["stanford"]
    states = batch_of(model, len(names), 5)
    expected = [f(model, *states[:, t]) for t in range(T)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: f(model, *states[:, k % T]), range(5 * T)))
    for k, result in enumerate(found):
        for a, b in zip(as_tuple(result), as_tuple(expected[k % T]), strict=True):
            np.testing.assert_array_equal(a, b)
