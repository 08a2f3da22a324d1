"""Passivity-based tracking, [DeLuca2009] (8) and (25), and why it is stable."""

import numpy as np
import pytest
from control_cases import exact_plant, follow, quintic, wave
from oracle import Pinocchio, close, random_tree

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.passivity import PassivityController
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion

FREE = TorqueLimits(np.inf)
ROBOTS = {
    "lwr_iii": rd.robots.lwr_iii,
    "kuka_lwr4": rd.robots.kuka_lwr4,
    "stanford": rd.robots.stanford,
    "tree": lambda: random_tree(5, 9, mimic=0.3),
}


def random_case(model, seed):
    random = np.random.default_rng(seed)
    q, qd, q_d, qd_d, qdd_d = random.normal(0.0, 0.5, (5, model.n))
    gains = random.uniform(1.0, 30.0, (3, model.n))
    return JointState(q, qd), Motion(q_d, qd_d, qdd_d, np.zeros(model.n)), gains


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("robot", ROBOTS)
def test_the_law_is_equation_8_of_de_luca_and_ferrajoli(robot, seed):
    """tau = M qdd_r + C*(q, qd) qd_r + g + Kp e + Kd ed, term by term."""
    model = ROBOTS[robot]()
    state, reference, (kp, kd, rate) = random_case(model, seed)
    e, ed = reference.q - state.q, reference.qd - state.qd
    expected = (
        rd.mass_matrix(model, state.q) @ (reference.qdd + rate * ed)
        + rd.coriolis_matrix(model, state.q, state.qd) @ (reference.qd + rate * e)
        + rd.gravity_torque(model, state.q)
        + kp * e
        + kd * ed
    )
    controller = PassivityController(model, kd, rate, kp, limits=FREE)
    close(controller.torque(state, reference), expected, 1e-12)


@pytest.mark.parametrize("robot", ROBOTS)
def test_the_default_feedback_is_kd_s(robot):
    model = ROBOTS[robot]()
    state, reference, (_, kd, rate) = random_case(model, 7)
    qd_r = reference.qd + rate * (reference.q - state.q)
    qdd_r = reference.qdd + rate * (reference.qd - state.qd)
    expected = rd.ne_star(model, state.q, state.qd, qd_r, qdd_r) + kd * (qd_r - state.qd)
    controller = PassivityController(model, kd, rate, limits=FREE)
    close(controller.torque(state, reference), expected, 1e-12)


def test_without_errors_it_is_the_inverse_dynamics():
    model = rd.robots.kuka_lwr4()
    reference = wave(model)(0.4)
    tau = PassivityController(model, 10.0, 10.0, limits=FREE).torque(
        JointState(reference.q, reference.qd), reference
    )
    close(tau, Pinocchio(model).inverse_dynamics(*reference[:3]), 1e-12)


def test_the_lyapunov_function_is_as_derived():
    model = rd.robots.lwr_iii()
    state, reference, (kp, kd, rate) = random_case(model, 3)
    e, ed = reference.q - state.q, reference.qd - state.qd
    s = ed + rate * e
    M = Pinocchio(model).mass_matrix(state.q)
    expected = 0.5 * s @ M @ s + 0.5 * e @ np.diag(kp + rate * kd) @ e
    controller = PassivityController(model, kd, rate, kp)
    assert controller.lyapunov(state, reference) == pytest.approx(expected, rel=1e-12)
    assert controller.lyapunov(JointState(reference.q, reference.qd), reference) == 0.0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4", "stanford"])
def test_v_falls_at_the_rate_that_follows_from_skew_symmetry(robot, seed):
    """Vdot = -ed^T Kd ed - e^T Lambda Kp e, by central differences of the closed loop."""
    model = ROBOTS[robot]()
    state, _, (kp, kd, rate) = random_case(model, seed)
    motion, h = wave(model, seed), 1e-4
    controller = PassivityController(model, kd, rate, kp, limits=FREE)
    now = motion(h)
    qdd = rd.forward_dynamics(model, state.q, state.qd, controller.torque(state, now))
    V = []
    for step in (-h, h):
        q = state.q + step * state.qd + 0.5 * step**2 * qdd
        V.append(controller.lyapunov(JointState(q, state.qd + step * qdd), motion(h + step)))
    e, ed = now.q - state.q, now.qd - state.qd
    expected = -ed @ (kd * ed) - e @ (rate * kp * e)
    assert (V[1] - V[0]) / (2.0 * h) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_v_never_rises_from_random_starts(seed):
    model = rd.robots.kuka_lwr4()
    state, _, _ = random_case(model, seed)
    motion = wave(model, seed)
    controller = PassivityController.with_frequency(model, 8.0, limits=FREE)
    dt = 2e-4
    t, q, qd, _ = follow(exact_plant(model, state.q, state.qd), controller, motion, 2500, dt)
    V = np.array(
        [controller.lyapunov(JointState(*x), motion(s)) for s, *x in zip(t, q, qd, strict=True)]
    )
    # The torque is held for dt: near 0, V may rise by that
    assert (np.diff(V) <= 1e-9 * V[0]).all()
    assert V[-1] < 0.05 * V[0]


@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4"])
def test_a_fast_motion_is_followed_within_a_milliradian(robot):
    model = ROBOTS[robot]()
    start = np.array([0.5, -0.8, 0.3, 1.2, -0.4, 0.6, 0.2])
    motion = quintic(start, -start, 1.2)
    controller = PassivityController.with_frequency(model, 25.0)
    t, q, _, tau = follow(exact_plant(model, start), controller, motion, 1300)
    error = np.array([motion(s).q for s in t]) - q
    assert np.abs(error).max() < 1e-3
    assert (np.abs(tau) < model.tau_max).all()


def test_gains_from_a_frequency_damp_critically_where_joints_do_not_couple():
    """M_jj (edd + 2 w ed + w^2 e) = 0 at the given posture."""
    model, q = rd.robots.kuka_lwr4(), np.full(7, 0.3)
    controller = PassivityController.with_frequency(model, 12.0, q)
    inertia = np.diag(rd.mass_matrix(model, q))
    np.testing.assert_allclose(controller.kp, inertia * 12.0**2)
    np.testing.assert_allclose(controller.kd + controller.rate * inertia, 2 * 12.0 * inertia)
