"""A model set right by contact-free motion: what it then leaves of the residual of other motion.

Torques come from the true model's inverse dynamics, not from a plant.
"""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.model_correction import correct_model
from robodyn_ros.detection.model_errors import MIN_SHARE, ModelErrors
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.residual_window import MIN_NOISE
from robodyn_ros.dynamics.friction import SlidingFriction
from robodyn_ros.simulation.disturbances import perturbed

ARM = rd.robots.kuka_lwr4()
DT, WIDTH = 2e-3, 0.02


def free_motion(true, seed, seconds=20.0, *, friction=False, noisy=True):
    """t, q, qd, tau of sines; tau is that of the middle of each step, so exact to second order."""
    rng = np.random.default_rng(seed)
    n, t = true.n, np.arange(0.0, seconds, DT)
    w, phase = rng.uniform(0.5, 2.5, (2, n)), rng.uniform(0.0, 2.0 * np.pi, (2, n))
    size = rng.uniform(0.3, 0.8, (2, n))

    def at(t):
        angle = t[:, None, None] * w + phase
        s, c = size * np.sin(angle), size * np.cos(angle)
        return s.sum(1), (w * c).sum(1), (-w * w * s).sum(1)

    q, qd, _ = at(t)
    middle = at(t - 0.5 * DT)
    tau = rd.inverse_dynamics(true, *middle)
    if friction:
        tau += rd.friction_torque(true, middle[1], width=WIDTH)
    if noisy:
        qd = qd + rng.normal(0.0, 1e-3, qd.shape)
        tau = tau + rng.normal(0.0, 3e-4, tau.shape) * true.tau_max
    return t, q, qd, tau


def largest(model, log, friction=False):
    r = residual(model, *log, 50.0, friction, friction_width=WIDTH)
    return np.abs(r[10:]).max(axis=0)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["kuka_lwr4", "lwr_iii", "stanford"])
def test_residual_of_other_motion_all_but_vanishes(name, seed):
    model = getattr(rd.robots, name)()
    true = perturbed(model, seed)
    corrected = correct_model(model, [free_motion(true, seed)])
    other = free_motion(true, seed + 100, noisy=False)
    before, after = largest(model, other), largest(corrected, other)
    assert np.all(after < np.maximum(0.1 * before, MIN_NOISE * model.tau_max)), (before, after)


def test_an_exact_model_nearly_stays():
    corrected = correct_model(ARM, [free_motion(ARM, 1)])
    np.testing.assert_allclose(corrected.mass, ARM.mass, rtol=0.003)
    np.testing.assert_allclose(corrected.com, ARM.com, atol=3e-4)
    assert np.all(largest(corrected, free_motion(ARM, 2, noisy=False)) < 0.02)


def test_friction_is_found_as_well():
    """Without its errors, 20 % of friction is some N m; with them a few per cent are left."""
    true = perturbed(ARM, 7)
    corrected = correct_model(ARM, [free_motion(true, 7, friction=True)], friction=True)
    np.testing.assert_allclose(corrected.coulomb, true.coulomb, rtol=0.02)
    np.testing.assert_allclose(corrected.stiction, true.stiction, rtol=0.02)
    np.testing.assert_allclose(corrected.viscous, true.viscous, rtol=0.02)
    other = free_motion(true, 8, friction=True, noisy=False)
    assert np.all(largest(corrected, other, True) < 0.1 * largest(ARM, other, True))


def test_the_whole_law_of_friction_is_corrected():
    """Dry friction with a load, an offset and presliding: the last two are taken as known."""
    law = {"friction_load": 0.3, "friction_offset": 0.5, "friction_width": 0.01}
    little = {name: 0.2 * getattr(ARM, name) for name in ("coulomb", "stiction")}
    model = ARM.replace(**law, **little, presliding=5e-3, friction_speed=2.0)
    dry, viscous = 1.0 + 0.15 * np.random.default_rng(1).uniform(-1.0, 1.0, (2, ARM.n))
    scaled = {name: dry * getattr(model, name) for name in ("coulomb", "stiction")}
    true = model.replace(
        **scaled, friction_load=dry * model.friction_load, viscous=viscous * model.viscous
    )
    t, q, qd, rigid = free_motion(true, 5)
    friction = SlidingFriction(true)
    losses = [friction.of_load(*sample, DT).copy() for sample in zip(qd, rigid, strict=True)]
    corrected = correct_model(model, [(t, q, qd, rigid + losses)], friction=True)
    np.testing.assert_allclose(corrected.coulomb, true.coulomb, rtol=0.03)
    np.testing.assert_allclose(corrected.friction_load, true.friction_load, rtol=0.03)
    np.testing.assert_allclose(corrected.viscous, true.viscous, rtol=0.03)
    for name in ("friction_offset", "presliding", "friction_width", "friction_speed"):
        np.testing.assert_array_equal(getattr(corrected, name), getattr(model, name))


def test_several_short_logs_tell_more_than_one():
    true = perturbed(ARM, 4)
    logs = [free_motion(true, seed, 3.0) for seed in (4, 5, 6, 7)]
    other = free_motion(true, 104, noisy=False)
    one, four = (largest(correct_model(ARM, x), other) for x in (logs[:1], logs))
    assert np.all(four < largest(ARM, other)) and four.sum() < 0.7 * one.sum()


def test_what_cannot_be_wrong_stays():
    only_mass = ModelErrors(com=0.0, inertia=0.0)
    corrected = correct_model(ARM, [free_motion(perturbed(ARM, 3), 3)], errors=only_mass)
    np.testing.assert_array_equal(corrected.com, ARM.com)
    np.testing.assert_array_equal(corrected.inertia, ARM.inertia)
    assert np.abs(corrected.mass / ARM.mass - 1.0).max() > 0.01
    assert np.array_equal(corrected.coulomb, ARM.coulomb)


def test_bodies_stay_possible_whatever_the_log():
    t, q, qd, tau = free_motion(ARM, 1, 5.0)
    corrected = correct_model(ARM, [(t, q, qd, -5.0 * tau)], errors=ModelErrors(mass=10.0))
    assert np.all(corrected.mass >= 0.99 * MIN_SHARE * ARM.mass)
    assert np.all(np.linalg.eigvalsh(corrected.inertia) > 0.0)


def test_bad_logs_are_refused():
    t, q, qd, tau = free_motion(ARM, 1, 1.0)
    bad = tau.copy()
    bad[100, 3] = np.nan
    for logs, words in (
        ([], "at least one log"),
        ([(t[:5], q[:5], qd[:5], tau[:5])], "20 samples"),
        ([(t, q, qd[:-1], tau)], "a log is t"),
        ([(t, q, qd, bad)], "not finite"),
        ([(t[::-1], q, qd, tau)], "rise"),
    ):
        with pytest.raises(rd.ArgumentError, match=words):
            correct_model(ARM, logs)
    with pytest.raises(rd.ArgumentError, match="noise must be positive"):
        correct_model(ARM, [(t, q, qd, tau)], noise=-1.0)
    with pytest.raises(rd.ArgumentError, match="mass of ModelErrors"):
        ModelErrors(mass=-0.1)
