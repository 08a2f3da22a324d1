"""Customized models: the same public functions and results, by other kernels."""

import pickle

import numpy as np
import pytest
from codegen_cases import error, everything, reference, states
from oracle import random_tree

import robodyn_ros as rd
from robodyn_ros.codegen import customized
from robodyn_ros.codegen.customized import BATCHES, load_customized
from robodyn_ros.codegen.kernel_runtime import set_sines
from robodyn_ros.codegen.quantities import QUANTITIES
from robodyn_ros.dynamics.compile import OPTIONS


@pytest.fixture(scope="module")
def arm():
    return load_customized(rd.robots.lwr_iii())


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_single_states(arm, quantity):
    model, state = rd.robots.lwr_iii(), states(arm, 2)
    assert error(reference(arm, quantity, state), reference(model, quantity, state)) < 1e-12
    assert quantity in arm.bound
    assert arm.bound[quantity] is not model.bound[quantity]


@pytest.fixture(
    scope="module",
    params=["planar_2r", pytest.param("lwr_iii", marks=pytest.mark.long)],  # 20 s of compilation
)
def batched(request):
    """Return a model and its customized twin."""
    model = getattr(rd.robots, request.param)()
    return model, load_customized(model)


@pytest.mark.parametrize("quantity", sorted(set(BATCHES.values())))
@pytest.mark.parametrize("count", [3, 53])
def test_batches(batched, quantity, count):
    """Fewer states than there are lanes, and a number that is no multiple of them."""
    model, arm = batched
    state = states(arm, 3, count)
    assert error(reference(arm, quantity, state), reference(model, quantity, state)) < 1e-12
    kernels = [key[0] for key in arm.bound if isinstance(key, tuple)]
    assert any(BATCHES.get((kernel, ())) == quantity for kernel in kernels) or (
        quantity == "ne_star" and any(kernel.py_func.__name__ == "_ne_star" for kernel in kernels)
    )


@pytest.mark.parametrize("count", [None, 40])
def test_without_gravity_and_other_variants(arm, count):
    model = rd.robots.lwr_iii()
    q, qd, qd_a, qdd = (states(arm, 4, count)[name] for name in ("q", "qd", "qd_a", "qdd"))
    for call in (
        lambda robot: rd.inverse_dynamics(robot, q, qd, qdd, gravity=False),
        lambda robot: rd.ne_star(robot, q, qd, qd_a, qdd, variant="1110"),
        lambda robot: rd.velocity_torque(robot, q, qd),
        lambda robot: rd.friction_torque(robot, qd, width=0.2),
        lambda robot: rd.inverse_dynamics(robot, q, qd, qdd, friction=True),
    ):
        np.testing.assert_allclose(call(arm), call(model), rtol=1e-11, atol=1e-11)


def test_threads_share_a_batch(arm):
    q, qd = (states(arm, 5, 200)[name] for name in ("q", "qd"))
    one, two = (everything(rd.momentum_terms(arm, q, qd, threads=t)) for t in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("count", [None, 20])
@pytest.mark.parametrize("name", ["q", "qd"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_rejected_by_name(arm, count, name, bad):
    state = states(arm, 6, count)
    state[name].reshape(-1)[1] = bad
    with pytest.raises(rd.ArgumentError, match=f"{name} of joint 'joint_2'"):
        rd.momentum_terms(arm, state["q"], state["qd"])


def test_a_tree_with_prismatic_and_mimic_joints():
    model = random_tree(5, bodies=6, mimic=0.4)
    twin = load_customized(model)
    for quantity, count in (("momentum_terms", 30), ("forward_dynamics", None)):
        state = states(model, 1, count)
        found, expected = (reference(robot, quantity, state) for robot in (twin, model))
        assert error(found, expected) < 1e-12


def test_kernels_are_kept_on_disk(tmp_path, monkeypatch):
    """Text and machine code: another model of the same robot uses both."""
    monkeypatch.setattr(customized, "_directory", lambda: tmp_path)
    q, qd = np.random.default_rng(0).normal(size=(2, 2))
    seen = []
    for _ in range(2):
        twin = load_customized(rd.robots.planar_2r())
        found = everything(rd.momentum_terms(twin, q, qd))
        assert error(found, everything(rd.momentum_terms(rd.robots.planar_2r(), q, qd))) < 1e-12
        kept = [*tmp_path.glob("*.py"), *tmp_path.glob("__pycache__/*.nbc")]
        seen.append({path.name: path.stat().st_mtime_ns for path in kept})
    assert [name.split("_momentum")[0] for name in sorted(seen[0])][0] == "planar_2r"
    assert len(seen[0]) >= 2
    assert seen[0] == seen[1]


def test_changed_and_pickled_copies_are_ordinary_models(arm):
    q = np.full(7, 0.3)
    heavy = arm.replace(payload=rd.Payload("link_7", 5.0))
    assert abs(rd.gravity_torque(heavy, q) - rd.gravity_torque(arm, q)).max() > 1.0
    copy = pickle.loads(pickle.dumps(arm))
    np.testing.assert_allclose(rd.gravity_torque(copy, q), rd.gravity_torque(arm, q), atol=1e-12)
    assert type(copy.bound) is dict


def test_sines_are_within_two_units_in_the_last_place():
    """And beyond 1e5 those of the library."""
    from numba import njit

    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("no longer floats to compare with")

    @njit(**OPTIONS)
    def fill(a, count):
        return set_sines(a, count)

    random = np.random.default_rng(0)
    for largest in (1.0, 30.0, 1e3, 1e5):
        x = random.uniform(-largest, largest, 40_000)
        near = np.round(random.uniform(-largest, largest, 10_000) / (np.pi / 2)) * (np.pi / 2)
        x = np.concatenate([x, near[np.abs(near) <= largest]])
        a = np.concatenate([x, np.zeros(2 * x.size)])
        assert fill(a, x.size) == 0.0
        for found, function in ((a[x.size : 2 * x.size], np.sin), (a[2 * x.size :], np.cos)):
            exact = function(x.astype(np.longdouble))
            units = np.abs(found - exact) / np.spacing(np.abs(exact.astype(float)))
            assert units.max() < 1.0
    far = np.array([3e5, -7e8, 1e22])
    a = np.concatenate([far, np.zeros(6)])
    assert fill(a, 3) == 0.0
    np.testing.assert_array_equal(a[3:6], np.sin(far))
    assert np.isnan(fill(np.array([np.inf, 0.0, 0.0]), 1))


def test_friction_that_code_is_not_generated_for():
    model = rd.robots.planar_2r().replace(coulomb=1.0, friction_offset=0.3, friction_width=0.02)
    twin, qd = rd.load_customized(model), [0.01, -0.2]
    np.testing.assert_array_equal(rd.friction_torque(twin, qd), rd.friction_torque(model, qd))
    with pytest.raises(rd.ArgumentError, match="leave out friction_offset"):
        rd.generate(model, "friction_torque")
