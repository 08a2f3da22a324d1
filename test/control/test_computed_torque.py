"""Computed torque in the joint space, [Khalil2019] 9.4.2: laws and error equations."""

import numpy as np
import pinocchio as pin
import pytest
from control_cases import exact_plant, follow, wave
from oracle import Pinocchio, close

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.computed_torque import ComputedTorqueController
from robodyn_ros.control.laws.friction_compensation import FrictionFeedForward
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion

FREE = TorqueLimits(np.inf)
ROBOTS = ["lwr_iii", "stanford", "rx90"]


def case(name, seed=0):
    model = getattr(rd.robots, name)()
    random = np.random.default_rng(seed)
    q, qd, *wanted = random.normal(0.0, 0.5, (5, model.n))
    gains = random.uniform(5.0, 50.0, (2, model.n))
    return model, JointState(q, qd), Motion(*wanted, np.zeros(model.n)), gains


def answer(w, xi, e0, ed0, t):
    """Return the solution of [9.25] with the gains of [9.26], from its eigenvalues."""
    A = np.array([[0.0, 1.0], [-(w**2), -2.0 * xi * w]])
    values, vectors = np.linalg.eig(A)
    shares = np.linalg.solve(vectors, [e0, ed0])
    return np.real((vectors[0] * shares) @ np.exp(np.outer(values, t)))


@pytest.mark.parametrize("name", ROBOTS)
def test_9_1_9_2_the_law_is_the_whole_model_with_friction(name):
    """A qdd + H with H = C qd + Q + diag(qd) F_v + diag(sign(qd)) F_c, by Pinocchio."""
    model, state, wanted, (kp, kd) = case(name, 6)
    oracle, width = Pinocchio(model), 1e-3
    H = oracle.coriolis(state.q, state.qd) @ state.qd + oracle.gravity(state.q)
    assert (np.abs(state.qd) > 20.0 * width).all()  # so that the smooth sign is the sign
    H += state.qd * model.viscous + np.sign(state.qd) * model.coulomb
    w = wanted.qdd + kd * (wanted.qd - state.qd) + kp * (wanted.q - state.q)
    friction = FrictionFeedForward(model, velocity="measured", width=width)
    controller = ComputedTorqueController(model, kp, kd, limits=FREE, compensation=friction)
    close(controller.torque(state, wanted), oracle.mass_matrix(state.q) @ w + H, 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_9_3_the_torque_is_linear_in_the_parameters(name):
    """Phi chi, chi = inertial parameters, rotors, F_v, F_c: the torque of an arm on its way."""
    model, state, wanted, (kp, kd) = case(name, 7)
    q, qd, qdd = state.q, state.qd, wanted.qdd
    arm = Pinocchio(model)
    moving = (arm.positions(q), arm.full(qd), arm.full(qdd))
    inertial = arm.reduce(pin.computeJointTorqueRegressor(arm.model, arm.data, *moving))
    Phi = [inertial, np.diag(qdd), np.diag(qd), np.diag(np.sign(qd))]
    links = [body.toDynamicParameters() for body in list(arm.model.inertias)[1:]]
    chi = [*links, model.rotor_inertia, model.viscous, model.coulomb]
    friction = FrictionFeedForward(model, width=1e-6)
    controller = ComputedTorqueController(model, kp, kd, limits=FREE, compensation=friction)
    tau = controller.torque(state, Motion(q, qd, qdd, np.zeros(model.n)))
    close(tau, np.hstack(Phi) @ np.concatenate(chi), 1e-12)


def test_9_4_limits_of_the_amplifiers_are_limits_of_the_torque():
    """Gamma_j = N_j K_aj K_Tj u_j: with tau_max from u_max, no input u exceeds its own limit."""
    model, state, wanted, (kp, kd) = case("rx90", 8)
    random = np.random.default_rng(8)
    N, K_a, K_T, u_max = random.uniform(0.5, 3.0, (4, model.n)) * [[50.0], [1.0], [0.1], [1.0]]
    gain = N * K_a * K_T
    limited = ComputedTorqueController(model, kp, kd, limits=TorqueLimits(gain * u_max))
    u = limited.torque(state, wanted) / gain
    u_wanted = ComputedTorqueController(model, kp, kd, limits=FREE).torque(state, wanted) / gain
    assert (np.abs(u_wanted) > u_max).any() and (np.abs(u_wanted) < u_max).any()
    close(u, np.clip(u_wanted, -u_max, u_max), 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_9_22_with_9_24_tracking(name):
    model, state, wanted, (kp, kd) = case(name)
    w = wanted.qdd + kd * (wanted.qd - state.qd) + kp * (wanted.q - state.q)
    expected = Pinocchio(model).inverse_dynamics(state.q, state.qd, w)
    controller = ComputedTorqueController(model, kp, kd, limits=FREE)
    close(controller.torque(state, wanted), expected, 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_9_22_with_9_29_position(name):
    model, state, wanted, (kp, kd) = case(name)
    w = kp * (wanted.q - state.q) - kd * state.qd
    expected = Pinocchio(model).inverse_dynamics(state.q, state.qd, w)
    controller = ComputedTorqueController(model, kp, kd, mode="position", limits=FREE)
    close(controller.torque(state, wanted), expected, 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_9_31_predictive(name):
    model, state, wanted, (kp, kd) = case(name)
    w = wanted.qdd + kd * (wanted.qd - state.qd) + kp * (wanted.q - state.q)
    A = rd.mass_matrix(model, wanted.q)
    H = rd.inverse_dynamics(model, wanted.q, wanted.qd, np.zeros(model.n))
    controller = ComputedTorqueController(model, kp, kd, mode="predictive", limits=FREE)
    close(controller.torque(state, wanted), A @ w + H, 1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_9_23_the_arm_becomes_double_integrators(name):
    model, state, wanted, (kp, kd) = case(name)
    controller = ComputedTorqueController(model, kp, kd, limits=FREE)
    tau = controller.torque(state, wanted)
    w = wanted.qdd + kd * (wanted.qd - state.qd) + kp * (wanted.q - state.q)
    close(rd.forward_dynamics(model, state.q, state.qd, tau), w, 1e-9)


def test_9_26_gains():
    model = rd.robots.rx90()
    w, xi = np.arange(1.0, 7.0), np.linspace(0.5, 1.5, 6)
    controller = ComputedTorqueController.with_frequency(model, w, xi)
    np.testing.assert_allclose(controller.kp, w**2)
    np.testing.assert_allclose(controller.kd, 2.0 * xi * w)


@pytest.mark.parametrize("xi", [0.6, 1.4])
def test_9_25_the_error_follows_its_own_linear_equation(xi):
    model = rd.robots.kuka_lwr4()
    motion, dt = wave(model, 2), 2e-4
    e0, ed0 = np.random.default_rng(1).uniform(-0.2, 0.2, (2, model.n))
    w = np.linspace(4.0, 8.0, model.n)
    controller = ComputedTorqueController.with_frequency(model, w, xi, limits=FREE)
    plant = exact_plant(model, motion(0.0).q - e0, motion(0.0).qd - ed0)
    t, q, _, _ = follow(plant, controller, motion, 4000, dt)
    e = np.array([motion(s).q for s in t]) - q
    for k in range(model.n):
        expected = answer(w[k], xi, e0[k], ed0[k], t)
        np.testing.assert_allclose(e[:, k], expected, atol=1e-3 * np.abs(e0).max())


def test_9_30_position_control_is_a_linear_system():
    model, dt = rd.robots.kuka_lwr4(), 2e-4
    start, goal = np.random.default_rng(4).uniform(-0.5, 0.5, (2, model.n))
    controller = ComputedTorqueController.with_frequency(
        model, 6.0, 0.8, mode="position", limits=FREE
    )
    # A position law ignores velocity and acceleration of the reference
    wanted = Motion(goal, np.ones(7), np.ones(7), np.ones(7))
    t, q, _, _ = follow(exact_plant(model, start), controller, lambda t: wanted, 4000, dt)
    for k in range(model.n):
        expected = goal[k] - answer(6.0, 0.8, goal[k] - start[k], 0.0, t)
        np.testing.assert_allclose(q[:, k], expected, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_9_27_the_closed_loop_with_a_wrong_model(seed):
    """A^ (qdd_d + Kd ed + Kp e) + H^ = A qdd + H, both models by Pinocchio."""
    true, state, wanted, (kp, kd) = case("kuka_lwr4", seed)
    believed = rd.perturbed(true, seed, mass=0.2)
    controller = ComputedTorqueController(believed, kp, kd, limits=FREE)
    qdd = rd.forward_dynamics(true, state.q, state.qd, controller.torque(state, wanted))
    w = wanted.qdd + kd * (wanted.qd - state.qd) + kp * (wanted.q - state.q)
    left = Pinocchio(believed).inverse_dynamics(state.q, state.qd, w)
    close(left, Pinocchio(true).inverse_dynamics(state.q, state.qd, qdd), 1e-9)
    assert np.abs(qdd - w).max() > 0.01  # with an exact model it would be [9.23]


@pytest.mark.parametrize("seed", range(3))
def test_9_28_model_errors_drive_the_error_equation(seed):
    true, state, wanted, (kp, kd) = case("rx90", seed)
    believed = rd.perturbed(true, seed, mass=0.2)
    controller = ComputedTorqueController(believed, kp, kd, limits=FREE)
    qdd = rd.forward_dynamics(true, state.q, state.qd, controller.torque(state, wanted))
    e, ed = wanted.q - state.q, wanted.qd - state.qd
    left = (wanted.qdd - qdd) + kd * ed + kp * e
    still = np.zeros(true.n)
    A, A_hat = (rd.mass_matrix(m, state.q) for m in (true, believed))
    H, H_hat = (rd.inverse_dynamics(m, state.q, state.qd, still) for m in (true, believed))
    right = np.linalg.solve(A_hat, (A - A_hat) @ qdd + H - H_hat)
    assert np.abs(right).max() > 0.01
    close(left, right, 1e-9)


@pytest.mark.parametrize("mode", ["tracking", "predictive"])
def test_a_motion_is_followed_from_its_beginning(mode):
    model = rd.robots.lwr_iii()
    motion = wave(model, 5)
    controller = ComputedTorqueController.with_frequency(model, 30.0, mode=mode)
    plant = exact_plant(model, motion(0.0).q, motion(0.0).qd)
    t, q, _, _ = follow(plant, controller, motion, 1500)
    assert np.abs(np.array([motion(s).q for s in t]) - q).max() < 1e-3


def test_the_mode_must_be_known():
    with pytest.raises(rd.ArgumentError, match="tracking, position, predictive.*'fast'"):
        ComputedTorqueController(rd.robots.rx90(), 1.0, 1.0, mode="fast")
