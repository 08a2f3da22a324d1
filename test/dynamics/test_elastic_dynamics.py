"""Inverse dynamics of elastic joints, against ElasticJointPlant and the equations themselves."""

import numpy as np
import pytest
from dynamics_cases import Motion, derivative, robot
from oracle import close

import robodyn_ros as rd
from robodyn_ros.dynamics.elastic import links_of

LWR = rd.robots.lwr_iii()
SPRINGS = [(1e4, 0.0), (1e4, 10.0), (3e3, 1.0)]
each_spring = pytest.mark.parametrize(("stiffness", "damping"), SPRINGS)


def fast_motion(seed):
    """Return a motion whose snap matters: up to 10 rad/s."""
    motion = Motion(LWR, seed)
    motion.rate, motion.amplitude = 8.0 * motion.rate, 0.5 * motion.amplitude
    return motion


def motors(model, motion, t, **options):
    return rd.elastic_inverse_dynamics(model, *motion.with_snap(t), **options)


@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford", "tree 2"])
@each_spring
def test_the_equations_hold(name, stiffness, damping):
    """[Khalil2019] (7.35), with friction on both sides of the springs."""
    model = robot(name).replace(rotor_inertia=0.7, viscous=3.0, coulomb=0.0, stiction=0.0)
    motion, drag = Motion(model, 1), 2.0
    springs = {"stiffness": stiffness, "damping": damping}
    found = motors(model, motion, 0.8, **springs, friction=True, link_viscous=drag)
    q, qd, qdd = motion.at(0.8)[:3]
    links = rd.inverse_dynamics(model.replace(rotor_inertia=0.0), q, qd, qdd) + drag * qd
    close(found.tau_joint, links)
    close(stiffness * (found.q - q) + damping * (found.qd - qd), links, 1e-9)  # (7.35a)
    given = 0.7 * found.qdd + 3.0 * found.qd + links
    close(found.tau, given)  # (7.35b)


@pytest.mark.parametrize(("stiffness", "damping", "bound"), [(1e4, 0.0, 1e-7), (1e4, 10.0, 1e-4)])
def test_velocity_and_acceleration_of_the_motors_are_derivatives(stiffness, damping, bound):
    """Exact without damping; with it, up to the end of the series."""
    motion, springs = fast_motion(2), {"stiffness": stiffness, "damping": damping}

    def at(s):
        return motors(LWR, motion, 0.5 + s, **springs)

    found = at(0.0)
    close(found.qd, derivative(lambda s: at(s).q), bound)
    close(found.qdd, derivative(lambda s: at(s).qd), 10.0 * bound)
    bent = np.abs(found.qdd - motion.at(0.5)[2]).max()
    assert bent > 0.02 * np.abs(found.qdd).max()  # the springs matter


@each_spring
def test_the_plant_follows_the_torque(stiffness, damping):
    """Fed forward alone, without any feedback, for a short time and with small steps."""
    motion, dt = fast_motion(3), 1e-4
    springs = {"stiffness": stiffness, "damping": damping}
    q, qd = motion.at(0.0)[:2]
    plant = rd.ElasticJointPlant(
        LWR, q, qd, friction=False, stops=False, saturate=False, **springs
    )
    start = motors(LWR, motion, 0.0, **springs)
    plant._begin(np.concatenate([q, start.q]), np.concatenate([qd, start.qd]))
    for k in range(300):
        middle = motors(LWR, motion, (k + 0.5) * dt, **springs)
        plant.step(middle.tau, dt)
    close(plant.state.q, motion.at(0.03)[0], 1e-6)
    close(plant.motor_q, motors(LWR, motion, 0.03, **springs).q, 1e-6)
    rigid = rd.inverse_dynamics(LWR, *motion.at(0.0)[:3])
    assert np.abs(start.tau - rigid).max() > 1.0  # [N m]


def test_a_batch_and_the_models_own_springs():
    model = LWR.replace(joint_stiffness=5e3, joint_damping=4.0)
    motion = Motion(model, 4)
    states = [np.stack(x) for x in zip(*(motion.with_snap(t) for t in (0.1, 0.2)), strict=True)]
    batch = rd.elastic_inverse_dynamics(model, *states)
    for k, t in enumerate((0.1, 0.2)):
        one = motors(LWR, motion, t, stiffness=5e3, damping=4.0)
        for x, y in zip(batch, one, strict=True):
            close(x[k], y, 1e-12)


def test_dry_friction_of_the_links():
    motion = Motion(LWR, 5)
    with_it = motors(LWR, motion, 0.3, stiffness=1e4, link_coulomb=2.0)
    without = motors(LWR, motion, 0.3, stiffness=1e4)
    close(with_it.tau_joint - without.tau_joint, 2.0 * np.sign(motion.at(0.3)[1]))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "joint 'joint_1' of 'lwr_iii' is rigid"),
        ({"stiffness": -1.0}, "stiffness of joint 'joint_1'"),
        ({"stiffness": 1e4, "damping": -1.0}, "damping"),
        ({"stiffness": 1e4, "link_viscous": -1.0}, "link_viscous must not be negative"),
        ({"stiffness": 1e4, "link_coulomb": [1.0, 2.0]}, "link_coulomb must be one number or 7"),
    ],
)
def test_wrong_arguments_are_rejected(options, says):
    with pytest.raises(rd.ArgumentError, match=says):
        motors(LWR, Motion(LWR), 0.0, **options)


def test_the_links_alone_have_no_rotors_and_no_friction_of_drives():
    links = links_of(LWR.replace(friction_load=0.1, friction_offset=1.0))
    assert not links.rotor_inertia.any()
    assert not rd.friction_torque(links, np.ones(7)).any()
