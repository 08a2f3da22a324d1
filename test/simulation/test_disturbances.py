"""Random model errors: within their bounds, repeatable, and nothing else changes."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.simulation.disturbances import perturbed

MODEL = rd.robots.kuka_lwr4().replace(stribeck=2.0, stiction=15.0)
CHANGED = ("mass", "com", "inertia", "viscous", "coulomb", "stiction")


def numbers(model):
    return np.concatenate([np.ravel(getattr(model, name)) for name in CHANGED])


def test_same_seed_same_robot():
    assert np.array_equal(numbers(perturbed(MODEL, 5)), numbers(perturbed(MODEL, 5)))
    assert not np.array_equal(numbers(perturbed(MODEL, 5)), numbers(perturbed(MODEL, 6)))


def test_errors_use_their_bounds():
    bounds = {"mass": 0.05, "com": 0.004, "inertia": 0.02, "friction": 0.3}
    off = {name: [] for name in CHANGED}
    for seed in range(60):
        other = perturbed(MODEL, seed, **bounds)
        off["com"].append(np.abs(other.com - MODEL.com).max())
        for name in ("mass", "viscous", "coulomb", "stiction"):
            off[name].append(np.abs(getattr(other, name) / getattr(MODEL, name) - 1.0).max())
        scale = other.inertia[:, 0, 0] / MODEL.inertia[:, 0, 0]
        np.testing.assert_allclose(other.inertia, MODEL.inertia * scale[:, None, None])
        off["inertia"].append(np.abs(scale - 1.0).max())
    shares = dict.fromkeys(("viscous", "coulomb", "stiction"), bounds["friction"])
    for name, bound in {**bounds, **shares}.items():
        if name in off:
            assert 0.95 * bound < max(off[name]) <= bound * (1.0 + 1e-9), name


def test_sliding_and_static_friction_go_together():
    other = perturbed(MODEL, 3)
    np.testing.assert_allclose(other.stiction / other.coulomb, MODEL.stiction / MODEL.coulomb)


def test_other_parameters_do_not_change():
    before = numbers(MODEL).copy()
    other = perturbed(MODEL, 2)
    assert np.array_equal(numbers(MODEL), before)
    for name in ("rotor_inertia", "place", "rotation", "axis", "tau_max", "q_max", "stribeck"):
        assert np.array_equal(getattr(other, name), getattr(MODEL, name)), name
    assert other.joint_names == MODEL.joint_names


def test_no_error_is_the_same_robot():
    other = perturbed(MODEL, 1, mass=0.0, com=0.0, inertia=0.0, friction=0.0)
    np.testing.assert_allclose(numbers(other), numbers(MODEL), rtol=1e-14)


@pytest.mark.parametrize("name", ["mass", "com", "inertia", "friction"])
def test_each_error_alone(name):
    none = {"mass": 0.0, "com": 0.0, "inertia": 0.0, "friction": 0.0}
    other = perturbed(MODEL, 4, **{**none, name: 0.01})
    touched = {"friction": {"viscous", "coulomb", "stiction"}}.get(name, {name})
    for item in CHANGED:
        same = np.allclose(getattr(other, item), getattr(MODEL, item), rtol=1e-12, atol=0.0)
        assert same == (item not in touched), item


@pytest.mark.parametrize(
    "bounds", [{"mass": -0.1}, {"mass": 1.0}, {"com": np.inf}, {"friction": np.nan}]
)
def test_bounds_are_checked(bounds):
    with pytest.raises(rd.ArgumentError, match=next(iter(bounds))):
        perturbed(rd.robots.lwr_iii(), 1, **bounds)
