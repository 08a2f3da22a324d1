"""The other residuals do what they can, and no more."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.detection.observer import residual
from robodyn_ros.detection.other_observers import residual_by
from robodyn_ros.simulation.rigid import RigidPlant

DT, GAIN = 1e-3, 50.0


@pytest.fixture(scope="module")
def log():
    """An arm in motion, pushed from 0.2 s on."""
    model = rd.robots.lwr_iii()
    q, qd = np.random.default_rng(1).uniform(-0.5, 0.5, (2, model.n))
    plant = RigidPlant(model, q, qd, friction=False, stops=False, saturate=False)
    plant.push("link_6", (20.0, 10.0, -15.0), duration=1.0, start=0.2)
    rows = [plant.state]
    for _ in range(400):
        rows.append(plant.step(rd.gravity_torque(model, plant.state.q), DT))
    return model, {key: np.array([getattr(row, key) for row in rows]) for key in rows[0]._fields}


def run(kind, log, **changes):
    model, data = log
    data = data | changes
    return residual_by(kind, model, data["t"], data["q"], data["qd"], data["tau"], GAIN)


def test_inverse_dynamics_agrees_with_the_momentum(log):
    model, data = log
    by_momentum = residual(model, data["t"], data["q"], data["qd"], data["tau"], GAIN)
    assert (
        np.abs(run("inverse_dynamics", log) - by_momentum).max() < 0.02 * np.abs(by_momentum).max()
    )


def test_energy_is_the_power_of_what_acts_from_outside(log):
    _, data = log
    power = np.sum(data["qd"] * data["tau_ext"], axis=1)
    expected = np.zeros(len(power))
    for k in range(1, len(power)):
        step = 0.5 * (data["qd"][k] + data["qd"][k - 1]) @ data["tau_ext"][k]
        expected[k] = expected[k - 1] - np.expm1(-GAIN * DT) * (step - expected[k - 1])
    found = run("energy", log)[:, 0]
    assert np.abs(found - expected).max() < 0.01 * np.abs(expected).max()


def test_velocity_sees_the_onset_without_any_torque(log):
    """Before the push the drives follow their reference; then they do not."""
    _, data = log
    reference = data["qd"].copy()
    reference[200:] = data["qd"][200]
    found = run("velocity", log, tau=reference)
    assert np.abs(found[:200]).max() < 1e-9
    assert np.abs(found[230]).max() > 1.0


def test_an_unknown_kind_is_refused(log):
    with pytest.raises(rd.ArgumentError, match="kind"):
        run("guess", log)
