"""Velocities, accelerations and jerks of the links, and the wrenches at their joints."""

import numpy as np
import pinocchio as pin
import pytest
from dynamics_cases import SOME, Motion, derivative, pinocchio, robot
from oracle import close, random_state

import robodyn_ros as rd
from robodyn_ros.dynamics.kinematics import jacobian_rate

every_robot = pytest.mark.parametrize("name", SOME)


@every_robot
def test_velocity_and_acceleration_are_those_of_the_jacobians(name):
    model = robot(name)
    q, qd, qdd = random_state(model, 1, 3)
    found = rd.link_motion(model, q, qd, qdd)
    for i, link in enumerate(model.link_names):
        J = rd.jacobian(model, q, link)
        close(found.velocity[i], J @ qd)
        close(found.acceleration[i], J @ qdd + rd.jacobian_rate_product(model, q, qd, link))
    assert found.jerk is None


@every_robot
def test_jerk_is_the_rate_of_the_acceleration(name):
    model = robot(name)
    motion = Motion(model, 2)

    def acceleration(s):
        return rd.link_motion(model, *motion.at(0.9 + s)[:3]).acceleration

    close(rd.link_motion(model, *motion.at(0.9)).jerk, derivative(acceleration), 1e-8)


@every_robot
def test_rate_of_the_jacobian(name):
    model = robot(name)
    q, qd = random_state(model, 3)
    link, point = model.link_names[-1], (0.1, -0.2, 0.3)
    found = jacobian_rate(model, q, qd, link, point)
    close(found, derivative(lambda s: rd.jacobian(model, q + s * qd, link, point)), 1e-8)
    close(found @ qd, rd.jacobian_rate_product(model, q, qd, link, point))


@every_robot
@pytest.mark.parametrize("gravity", [True, False])
def test_wrenches_along_the_axes_are_the_torque(name, gravity):
    model = robot(name)
    q, qd, qdd = random_state(model, 4, 3)
    wrenches = rd.joint_wrenches(model, q, qd, qdd, gravity=gravity)
    poses = rd.forward_kinematics(model, q)
    tau = model.rotor_inertia * qdd
    for i, W in enumerate(wrenches):
        z = poses[i, :3, :3] @ model.axis[i]
        along = z @ (W[:3] if model.prismatic[i] else W[3:])
        tau[model.coordinate[i]] += model.ratio[i] * along
    close(tau, rd.inverse_dynamics(model, q, qd, qdd, gravity=gravity))


@every_robot
def test_wrenches_are_those_of_pinocchio(name):
    """All six components: the forces that its inverse dynamics leaves in its data."""
    model, twin = robot(name), pinocchio(name)
    q, qd, qdd = random_state(model, 5, 3)
    twin.inverse_dynamics(q, qd, qdd)
    pin.forwardKinematics(twin.model, twin.data, twin.positions(q))
    expected = []
    for k in twin.ids:
        R, f = twin.data.oMi[k].rotation, twin.data.f[k]
        expected.append(np.concatenate([R @ f.linear, R @ f.angular]))
    close(rd.joint_wrenches(model, q, qd, qdd), np.array(expected))


def test_the_base_carries_the_weight():
    model = rd.robots.kuka_lwr4()
    still = np.zeros(model.n)
    W = rd.joint_wrenches(model, still, still, still)
    close(W[0, :3], [0.0, 0.0, 9.81 * model.mass.sum()])
