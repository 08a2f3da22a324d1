"""PD with gravity compensation: [Khalil2019] 9.3.2."""

import numpy as np
import pytest
from control_cases import exact_plant, follow
from oracle import Pinocchio, close

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.pd_gravity import PdGravityController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion

FREE = TorqueLimits(np.inf)


def case(seed=0, name="kuka_lwr4"):
    model = getattr(rd.robots, name)()
    random = np.random.default_rng(seed)
    q, qd, q_d = random.uniform(-0.6, 0.6, (3, model.n))
    kp, kd = random.uniform(50.0, 150.0, model.n), random.uniform(10.0, 40.0, model.n)
    return model, JointState(q, qd), Motion.at_rest(q_d), kp, kd


@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford"])
def test_9_12_the_law(name):
    model, state, wanted, kp, kd = case(1, name)
    expected = kp * (wanted.q - state.q) - kd * state.qd + Pinocchio(model).gravity(state.q)
    close(PdGravityController(model, kp, kd, limits=FREE).torque(state, wanted), expected, 1e-12)


def test_with_gravity_at_the_desired_posture_and_a_moving_reference():
    model, state, wanted, kp, kd = case(2)
    wanted = wanted._replace(qd=np.full(7, 0.3))
    expected = (
        kp * (wanted.q - state.q) + kd * (0.3 - state.qd) + rd.gravity_torque(model, wanted.q)
    )
    controller = PdGravityController(model, kp, kd, gravity_at="desired", limits=FREE)
    close(controller.torque(state, wanted), expected, 1e-12)


def test_9_13_the_closed_loop():
    model, state, wanted, kp, kd = case(3)
    tau = PdGravityController(model, kp, kd, limits=FREE).torque(state, wanted)
    qdd = rd.forward_dynamics(model, state.q, state.qd, tau)
    C = rd.coriolis_matrix(model, state.q, state.qd)
    right = rd.mass_matrix(model, state.q) @ qdd + C @ state.qd
    close(kp * (wanted.q - state.q) - kd * state.qd, right, 1e-9)


def test_9_11_the_lyapunov_function():
    model, state, wanted, kp, kd = case(4)
    e = wanted.q - state.q
    A = Pinocchio(model).mass_matrix(state.q)
    expected = 0.5 * state.qd @ A @ state.qd + 0.5 * e @ np.diag(kp) @ e
    found = PdGravityController(model, kp, kd).lyapunov(state, wanted)
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_9_14_to_9_16_v_falls_by_the_power_of_the_dampers(seed):
    """Vdot = -qd^T Kd qd, by central differences of the closed loop."""
    model, state, wanted, kp, kd = case(seed)
    controller, h = PdGravityController(model, kp, kd, limits=FREE), 1e-4
    qdd = rd.forward_dynamics(model, state.q, state.qd, controller.torque(state, wanted))
    V = [
        controller.lyapunov(
            JointState(state.q + s * state.qd + 0.5 * s**2 * qdd, state.qd + s * qdd), wanted
        )
        for s in (-h, h)
    ]
    assert (V[1] - V[0]) / (2.0 * h) == pytest.approx(-state.qd @ (kd * state.qd), rel=1e-3)


def of_9_11(model, state, wanted, kp):
    e = wanted.q - state.q
    return rd.kinetic_energy(model, state.q, state.qd) + 0.5 * e @ (kp * e)


@pytest.mark.parametrize("kp", [20.0, 200.0])
def test_with_gravity_at_the_desired_posture_9_11_can_rise_but_v_does_not(kp):
    """Whatever the gain, by a closed loop with short steps."""
    model, state, wanted, _, _ = case(4)
    controller = PdGravityController(model, kp, 15.0, gravity_at="desired", limits=FREE)
    plant = exact_plant(model, state.q)
    V, old = [], []
    for _ in range(2000):
        V.append(controller.lyapunov(plant.state, wanted))
        old.append(of_9_11(model, plant.state, wanted, kp))
        plant.step(controller.torque(plant.state, wanted), 5e-4)
    assert np.diff(V).max() < 1e-6 * V[0]
    assert V[-1] < 0.2 * V[0]
    rises = np.diff(old).max() > 1e-4 * old[0]
    assert rises == (kp == 20.0)  # the soft springs give way to gravity first


def test_v_is_positive_above_the_bound_and_not_always_below_it():
    model = rd.robots.planar_2r()
    wanted = Motion.at_rest(np.full(2, np.pi / 2.0))  # where a fall is far
    random = np.random.default_rng(0)
    states = [JointState(q, np.zeros(2)) for q in random.uniform(-7.0, 7.0, (500, 2))]
    least = PdGravityController(model, 1.0, 1.0, gravity_at="desired").min_kp
    for factor, positive in ((1.001, True), (0.05, False)):
        controller = PdGravityController(model, factor * least, 1.0, gravity_at="desired")
        V = [controller.lyapunov(state, wanted) for state in states]
        assert (min(V) > 0.0) is positive
    assert not PdGravityController(model, 1.0, 1.0).min_kp.any()


@pytest.mark.parametrize("gravity_at", ["measured", "desired"])
def test_the_arm_comes_to_rest_at_the_reference(gravity_at):
    """With g(q_d) too, as the gains are above the norm of dg/dq."""
    model, state, wanted, _, _ = case(5)
    kp, h = 120.0, 1e-6
    slope = [
        (rd.gravity_torque(model, wanted.q + d) - rd.gravity_torque(model, wanted.q - d)) / (2 * h)
        for d in h * np.eye(7)
    ]
    assert np.linalg.norm(slope, 2) < kp
    controller = PdGravityController(model, kp, 35.0, gravity_at=gravity_at)
    plant = exact_plant(model, state.q)
    _, q, qd, _ = follow(plant, controller, lambda t: wanted, 3000, 2e-3)
    np.testing.assert_allclose(q[-1], wanted.q, atol=1e-4)
    np.testing.assert_allclose(qd[-1], 0.0, atol=1e-4)


def test_without_gains_the_arm_floats():
    model, state, wanted, _, _ = case(6)
    controller = PdGravityController(model, 0.0, 0.0)
    plant = exact_plant(model, state.q)
    _, q, _, _ = follow(plant, controller, lambda t: wanted, 500)
    np.testing.assert_allclose(q[-1], state.q, atol=1e-9)


def test_the_posture_must_be_known():
    with pytest.raises(rd.ArgumentError, match="measured, desired.*'there'"):
        PdGravityController(rd.robots.rx90(), 1.0, 1.0, gravity_at="there")
