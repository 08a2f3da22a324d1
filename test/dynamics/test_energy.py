"""Kinetic and potential energy."""

import pinocchio as pin
import pytest
from dynamics_cases import SOME, Motion, derivative, gradient, pinocchio, robot
from oracle import close, random_state

import robodyn_ros as rd

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
def test_kinetic_energy_is_that_of_the_mass_matrix_rotors_included(name):
    model, oracle = robot(name), pinocchio(name)
    q, qd = random_state(model, 1)
    energy = rd.kinetic_energy(model, q, qd)
    assert energy == pytest.approx(0.5 * qd @ rd.mass_matrix(model, q) @ qd, rel=1e-12)
    links = pin.computeKineticEnergy(
        oracle.model, oracle.data, oracle.positions(q), oracle.full(qd)
    )
    assert energy == pytest.approx(links + 0.5 * qd @ oracle.rotors @ qd, rel=1e-12)


@every_robot
def test_potential_energy_is_pinocchios_and_its_gradient_the_gravity_torque(name):
    model, oracle = robot(name), pinocchio(name)
    (q,) = random_state(model, 2, 1)
    expected = pin.computePotentialEnergy(oracle.model, oracle.data, oracle.positions(q))
    assert rd.potential_energy(model, q) == pytest.approx(expected, rel=1e-11, abs=1e-10)
    slope = gradient(lambda x: rd.potential_energy(model, x), q)
    close(slope, rd.gravity_torque(model, q), 1e-8)


@every_robot
def test_the_energys_rate_is_the_motors_power(name):
    model = robot(name)
    motion = Motion(model, 3)
    q, qd, qdd, _ = motion.at(0.0)

    def energy(t):
        x, xd, _, _ = motion.at(t)
        return rd.kinetic_energy(model, x, xd) + rd.potential_energy(model, x)

    power = qd @ rd.inverse_dynamics(model, q, qd, qdd)
    close([derivative(energy)], [power], 1e-7)
