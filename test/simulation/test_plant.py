"""Plant: what a plant of one's own gets from its base, compared with RigidPlant."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.simulation.sensors import LWR_SENSORS

MODEL = rd.robots.lwr_iii()
BENT = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
HELD = rd.Payload("link_7", 2.0, (0.0, 0.0, 0.1), 0.01)
DT = 1e-3


class EulerPlant(rd.Plant):
    """Semi-implicit Euler, as a user would write it: `advance` is all there is."""

    def advance(self, command, dt):
        q, qd = self.state.q, self.state.qd
        tau = self.motor_torque(command)
        tau_ext = self.push_torque(self.state.t + 0.5 * dt, q)
        qd = qd + dt * rd.forward_dynamics(self.model, q, qd, tau + tau_ext)
        return q + dt * qd, qd, tau, tau_ext


class HoldingPlant(EulerPlant):
    """Counts what its hooks are told."""

    def restart(self):
        self.restarted_at, self.held = self.state.q.copy(), []
        self.rebuild()

    def rebuild(self):
        self.held.append(dict(self.locked_joints(self.state.q)))

    def reported_effort(self):
        return 3.0 * super().reported_effort()


def pair(**options):
    rigid = rd.RigidPlant(MODEL, BENT, method="semi_implicit", stops=False, friction=False)
    return EulerPlant(MODEL, BENT, friction=False, **options), rigid


def disturb(plant):
    plant.push("link_5", (10.0, -5.0, 20.0), (0.0, 0.02, 0.1), 0.05, torque=(0.5, 0.0, 0.2))
    plant.push("link_3", (0.0, 15.0, 0.0), start=0.03, shape="half_sine")
    plant.schedule(HELD, 0.02, 0.05)
    plant.fail("joint_2", "effectiveness", 0.5)
    plant.fail("joint_4", "bias", 3.0)
    plant.fail("", "effort_scale", 2.0)


def test_a_plant_of_ones_own_moves_as_rigid_plant_under_pushes_faults_and_payloads():
    plants = pair()
    for plant in plants:
        disturb(plant)
    for _ in range(150):
        tau = rd.gravity_torque(MODEL, plants[1].state.q)
        own, rigid = (plant.step(tau, DT) for plant in plants)
        np.testing.assert_allclose(own.q, rigid.q, atol=1e-9)
        np.testing.assert_allclose(own.qd, rigid.qd, atol=1e-7)
        np.testing.assert_allclose(own.tau, rigid.tau, atol=1e-12)
        np.testing.assert_allclose(own.tau_ext, rigid.tau_ext, atol=1e-6)
        seen, expected = (plant.measurement.tau for plant in plants)
        np.testing.assert_allclose(seen, expected, atol=1e-12)
    assert np.abs(own.q - BENT).max() > 0.01


def test_it_has_limits_and_sensors():
    beyond = 2.0 * MODEL.tau_max
    limited, free = pair()[0], pair(saturate=False)[0]
    np.testing.assert_array_equal(limited.step(beyond, DT).tau, MODEL.tau_max)
    np.testing.assert_array_equal(free.step(beyond, DT).tau, beyond)
    noisy = [pair(sensor=LWR_SENSORS, seed=seed)[0] for seed in (3, 3, 4)]
    seen = [plant.step(np.zeros(7), DT) and plant.measurement.tau for plant in noisy]
    np.testing.assert_array_equal(seen[0], seen[1])
    assert (seen[0] != seen[2]).any()


def test_its_hooks_are_called_at_a_reset_and_when_faults_change():
    plant = HoldingPlant(MODEL, BENT)
    assert plant.held == [{}]
    plant.fail("joint_4", "locked")
    plant.step(rd.gravity_torque(MODEL, BENT), DT)
    plant.fail("joint_1", "locked")
    assert plant.held[1] == {"joint_4": BENT[3]}
    assert plant.held[2] == {"joint_4": BENT[3], "joint_1": plant.state.q[0]}
    np.testing.assert_array_equal(plant.measurement.tau, 3.0 * rd.gravity_torque(MODEL, BENT))
    plant.reset(0.5 * BENT)
    np.testing.assert_array_equal(plant.restarted_at, 0.5 * BENT)
    assert plant.held == [{}]


def test_a_base_without_motion_is_refused():
    with pytest.raises(TypeError, match="advance"):
        rd.Plant(MODEL)
