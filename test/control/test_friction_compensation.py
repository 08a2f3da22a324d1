"""Friction compensation: predicted at the velocity of the reference, or observed."""

import numpy as np
import pytest
from control_cases import follow, wave
from oracle import close

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.laws.friction_compensation import FrictionFeedForward, FrictionObserver
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.laws.task_space import PoseMotion, TaskSpaceController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.simulation.elastic import ElasticJointPlant
from robodyn_ros.simulation.rigid import RigidPlant

FREE = TorqueLimits(np.inf)
ARM = rd.robots.kuka_lwr4()
WIDTH = 0.02  # of the plants' friction
STAY = Motion.at_rest([0.2, 0.5, 0.1, -0.9, 0.2, 0.7, 0.0])


def tracking_error(compensation, state_of=lambda plant: plant.state, model=ARM):
    motion = wave(ARM, 3, size=0.3, speed=2.0)
    plant = RigidPlant(model, motion(0.0).q, motion(0.0).qd, stops=False)
    controller = PassivityController.with_frequency(ARM, 15.0, compensation=compensation)
    t, q, _, _ = follow(plant, controller, motion, 2000, state_of=state_of)
    return np.array([motion(s).q for s in t[500:]]) - q[500:]


def with_torque_sensors(plant, tau_ext=0.0):
    """Return the state with the torque behind the gears, tau_J = tau - friction - B qdd."""
    state, model = plant.state, plant.model
    driving = state.tau - rd.friction_torque(model, state.qd, width=WIDTH)
    qdd = rd.forward_dynamics(model, state.q, state.qd, driving + tau_ext)
    return JointState(state.q, state.qd, driving - model.rotor_inertia * qdd)


@pytest.mark.parametrize("velocity", ["reference", "measured"])
def test_9_1_feed_forward_adds_the_models_friction(velocity):
    """diag(qd) F_v + diag(sign(qd)) F_c, with a smooth sign."""
    motion = wave(ARM)(0.2)
    q, qd = np.random.default_rng(0).uniform(-0.1, 0.1, (2, 7))
    friction = FrictionFeedForward(ARM, velocity=velocity, width=0.05)
    plain = ComputedTorqueController(ARM, 9.0, 6.0, limits=FREE)
    whole = ComputedTorqueController(ARM, 9.0, 6.0, limits=FREE, compensation=friction)
    at = motion.qd if velocity == "reference" else qd
    expected = ARM.viscous * at + ARM.coulomb * np.tanh(at / 0.05)
    added = whole.torque(JointState(q, qd), motion) - plain.torque(JointState(q, qd), motion)
    close(added, expected, 1e-12)


def test_feed_forward_makes_tracking_five_times_better():
    without = np.abs(tracking_error(None)).max(axis=0)
    helped = np.abs(tracking_error(FrictionFeedForward(ARM, width=WIDTH))).max(axis=0)
    assert (helped < without / 5.0).all(), without / helped


def test_the_observer_makes_tracking_five_times_better_without_a_friction_model():
    unknowing = ARM.replace(viscous=0.0, coulomb=0.0)
    without = np.abs(tracking_error(None)).max(axis=0)
    observer = FrictionObserver(unknowing, 200.0)
    helped = np.abs(tracking_error(observer, with_torque_sensors)).max(axis=0)
    assert (helped < without / 5.0).all(), without / helped


def test_the_observer_follows_the_friction_at_its_rate():
    """taudot_f = L (tau_f - tau_f,hat): the filtered truth, whatever the law and the motion."""
    gain, dt, motion = 40.0, 1e-3, wave(ARM, 1)
    observer = FrictionObserver(ARM, gain)
    controller = PassivityController.with_frequency(ARM, 10.0, compensation=observer)
    plant = RigidPlant(ARM, motion(0.0).q, motion(0.0).qd, stops=False)
    expected, last = np.zeros(7), None
    for _ in range(1500):
        truth = rd.friction_torque(ARM, plant.state.qd, width=WIDTH)
        if last is not None:
            expected += (1.0 - np.exp(-gain * dt)) * (0.5 * (truth + last) - expected)
        last = truth
        plant.step(controller.torque(with_torque_sensors(plant), motion(plant.state.t)), dt)
        np.testing.assert_allclose(observer.estimate, expected, atol=0.1)
    assert np.abs(observer.estimate).max() > 5.0


def test_a_push_does_not_look_like_friction():
    """It acts behind the sensor: the observer must leave it to the residual."""
    free = ARM.replace(viscous=0.0, coulomb=0.0)
    observer = FrictionObserver(free, 100.0)
    controller = PassivityController.with_frequency(free, 10.0, compensation=observer)
    plant = RigidPlant(free, STAY.q, stops=False)
    plant.push(free.link_names[-1], (0.0, 30.0, -20.0), duration=0.5)
    wrench = {free.link_names[-1]: (0.0, 30.0, -20.0, 0.0, 0.0, 0.0)}

    def seen(plant):
        return with_torque_sensors(plant, rd.external_torque(free, plant.state.q, wrench))

    _, q, _, _ = follow(plant, controller, lambda t: STAY, 400, state_of=seen)
    assert np.abs(rd.external_torque(free, STAY.q, wrench)).max() > 10.0
    assert np.abs(q[-1] - STAY.q).max() > 0.02
    assert np.abs(observer.estimate).max() < 0.2


def test_the_observer_works_on_elastic_joints_with_motor_velocities():
    motion = wave(ARM, 3, size=0.3, speed=2.0)

    def seen(plant):
        return JointState(plant.state.q, plant.state.qd, plant.joint_torque, plant.motor_qd)

    def error(compensation):
        start = motion(0.0)
        plant = ElasticJointPlant(ARM, start.q, start.qd, stiffness=2e4, damping=20.0, stops=False)
        controller = PassivityController.with_frequency(ARM, 10.0, compensation=compensation)
        t, q, _, _ = follow(plant, controller, motion, 500, state_of=seen)
        return np.abs(np.array([motion(s).q for s in t[250:]]) - q[250:]).max(axis=0)

    without, helped = error(None), error(FrictionObserver(ARM, 60.0))
    assert (helped < without / 5.0).all(), without / helped


def test_reset_forgets_the_friction():
    observer = FrictionObserver(ARM, 50.0)
    controller = PassivityController(ARM, 10.0, 10.0, compensation=observer)
    state = JointState(np.zeros(7), np.zeros(7), np.full(7, 3.0))
    for _ in range(5):
        controller.torque(state, STAY)
    assert np.abs(observer.estimate).max() > 0.1
    controller.reset()
    assert not observer.estimate.any()
    controller.torque(state, STAY)
    assert not observer.estimate.any()  # the first sample only starts it


def test_missing_measurements_are_named():
    observed = PassivityController(ARM, 10.0, 10.0, compensation=FrictionObserver(ARM, 50.0))
    with pytest.raises(rd.ArgumentError, match="tau must be real numbers, got None"):
        observed.torque(JointState(np.zeros(7), np.zeros(7)), STAY)
    torques = np.zeros(7)
    torques[5] = np.nan
    with pytest.raises(rd.ArgumentError, match=f"tau of joint '{ARM.joint_names[5]}' is nan"):
        observed.torque(JointState(np.zeros(7), np.zeros(7), torques), STAY)
    light = ARM.replace(rotor_inertia=[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    with pytest.raises(rd.ArgumentError, match=f"rotor_inertia of joint '{ARM.joint_names[2]}'"):
        FrictionObserver(light, 50.0)
    hand = ARM.link_names[-1]
    along = TaskSpaceController(ARM, hand, 9.0, 6.0, compensation=FrictionFeedForward(ARM))
    wanted = PoseMotion.at_rest(rd.forward_kinematics(ARM, np.ones(7), hand))
    with pytest.raises(rd.ArgumentError, match="a reference must have 'qd'"):
        along.torque(JointState(np.ones(7), np.zeros(7)), wanted)
    with pytest.raises(rd.ArgumentError, match="velocity must be one of"):
        FrictionFeedForward(ARM, velocity="wished")
    with pytest.raises(rd.ArgumentError, match="width must be positive"):
        FrictionFeedForward(ARM, width=0.0)
