"""PID in the joint space: [Khalil2019] 9.3.1, and an integral that does not wind up."""

import numpy as np
import pytest
from control_cases import follow, quintic, wave

import robodyn_ros as rd
from robodyn_ros.control.controller import JointState
from robodyn_ros.control.laws.friction_compensation import FrictionFeedForward
from robodyn_ros.control.laws.pid import PidController, largest_inertia
from robodyn_ros.control.limits import TorqueLimits
from robodyn_ros.dynamics.motion import Motion
from robodyn_ros.simulation.rigid import RigidPlant

FREE = TorqueLimits(np.inf)
W, VISCOUS = 12.0, 0.7


def pendulum():
    """Return a bar on a vertical axis: the joint of [9.6], with nothing coupled to it."""
    bar = rd.DHRow(a=0.5, mass=2.0, com=(-0.2, 0.0, 0.0), inertia=0.05, viscous=VISCOUS)
    return rd.from_dh([bar], name="bar")


def inertia_of(model):
    return float(rd.mass_matrix(model, np.zeros(1))[0, 0])


def test_9_5_the_law():
    model = rd.robots.rx90()
    random = np.random.default_rng(0)
    kp, kd, ki = random.uniform(1.0, 9.0, (3, model.n))
    controller = PidController(model, kp, kd, ki, limits=FREE)
    motion, integral = wave(model), np.zeros(model.n)
    for k in range(20):
        q, qd = random.normal(size=(2, model.n))
        wanted, dt = motion(0.1 * k), random.uniform(1e-3, 1e-2)
        integral += (wanted.q - q) * dt
        expected = kp * (wanted.q - q) + kd * (wanted.qd - qd) + ki * integral
        tau = controller.torque(JointState(q, qd), wanted, dt)
        np.testing.assert_allclose(tau, expected, rtol=1e-12)
    np.testing.assert_allclose(controller.integral, ki * integral, rtol=1e-12)


def test_9_8_to_9_10_all_three_poles_are_one():
    """The roots of a s^3 + (Kd + F_v) s^2 + Kp s + Ki [9.8] are those of a (s + w)^3 [9.9]."""
    model = rd.robots.kuka_lwr4()
    w = np.linspace(8.0, 15.0, model.n)
    c = PidController.with_triple_pole(model, w)
    a = largest_inertia(model)
    for k in range(model.n):
        found = np.array([a[k], c.kd[k] + model.viscous[k], c.kp[k], c.ki[k]])
        np.testing.assert_allclose(found, a[k] * np.poly([-w[k]] * 3), rtol=1e-12)


def test_9_9_the_response_to_a_push_has_a_triple_pole():
    """A step of the disturbance g of [9.6] moves the joint by  -g/a t^2/2 exp(-w t)."""
    model, dt, push = pendulum(), 1e-4, -3.0
    controller = PidController.with_triple_pole(model, W, inertia_of(model), limits=FREE)
    plant = RigidPlant(model, stops=False, saturate=False)
    here, q = Motion.at_rest([0.0]), []
    for _ in range(8000):
        q.append(plant.step(controller.torque(plant.state, here, dt) + push, dt).q[0])
    t = dt * np.arange(1, 8001)
    expected = push / inertia_of(model) * 0.5 * t**2 * np.exp(-W * t)
    np.testing.assert_allclose(q, expected, atol=2e-3 * np.abs(expected).max())


def test_9_7_the_response_to_a_motion_is_the_transfer_function():
    """Integrated independently: a qdd = Kp e + Kd ed + Ki z - F_v qd,  zd = e."""
    model, dt = pendulum(), 1e-4
    a, motion = inertia_of(model), quintic([0.0], [1.0], 0.4)
    c = PidController.with_triple_pole(model, W, a, limits=FREE)
    plant = RigidPlant(model, stops=False, saturate=False)
    t, q, _, _ = follow(plant, c, motion, 8000, dt)

    def rate(s, x):
        wanted = motion(s)
        e, ed = wanted.q[0] - x[0], wanted.qd[0] - x[1]
        force = c.kp[0] * e + c.kd[0] * ed + c.ki[0] * x[2] - VISCOUS * x[1]
        return np.array([x[1], force / a, e])

    x, expected, h = np.zeros(3), [0.0], 1e-3
    for k in range(800):
        s = k * h
        k1 = rate(s, x)
        k2 = rate(s + h / 2, x + h / 2 * k1)
        k3 = rate(s + h / 2, x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(s + h, x + h * k3))
        expected.append(x[0])
    np.testing.assert_allclose(q[::10, 0], expected, atol=2e-3)


def test_the_integral_carries_an_unknown_weight():
    model = rd.robots.rx90()
    wanted = Motion.at_rest(np.full(model.n, 0.2))
    controller = PidController.with_triple_pole(model, 15.0)
    plant = RigidPlant(model, wanted.q, friction=False, stops=False)
    _, q, _, _ = follow(plant, controller, lambda t: wanted, 2500)
    assert np.abs(q - wanted.q).max() > 5e-3  # it sags at first
    np.testing.assert_allclose(q[-1], wanted.q, atol=1e-4)
    weight = rd.gravity_torque(model, wanted.q)
    np.testing.assert_allclose(controller.integral, weight, atol=1e-3)


def test_too_much_friction_for_the_frequency_is_rejected():
    model = pendulum()
    lowest = VISCOUS / (3.0 * inertia_of(model))
    with pytest.raises(rd.ArgumentError, match=rf"'.*' has more viscous.*above {lowest:g} rad/s"):
        PidController.with_triple_pole(model, 0.9 * lowest)
    PidController.with_triple_pole(model, 1.1 * lowest)


def test_9_6_the_largest_inertia_of_a_plain_arm():
    """M_11 of two rods is largest when the arm is straight; M_22 is constant."""
    model = rd.robots.planar_2r()
    straight = np.diag(rd.mass_matrix(model, np.zeros(2)))
    np.testing.assert_allclose(largest_inertia(model), straight, rtol=1e-6)


@pytest.mark.parametrize("name", ["kuka_lwr4", "stanford", "rx90"])
def test_no_posture_has_more_than_the_largest_inertia(name):
    model = getattr(rd.robots, name)()
    low, high = np.maximum(model.q_min, -np.pi), np.minimum(model.q_max, np.pi)
    q = np.random.default_rng(9).uniform(low, high, (4000, model.n))
    seen = np.diagonal(rd.mass_matrix(model, q), axis1=1, axis2=2).max(axis=0)
    found = largest_inertia(model)
    assert (found >= seen * (1.0 - 1e-5)).all()
    assert (found <= seen * 1.1).all()


def test_the_integral_stops_while_the_torque_is_limited():
    model = pendulum()
    controller = PidController(model, 10.0, 2.0, 20.0, limits=TorqueLimits(5.0))
    still, dt = JointState(np.zeros(1), np.zeros(1)), 1e-2
    far, back = Motion.at_rest([1.0]), Motion.at_rest([-0.1])
    controller.torque(still, far, dt)
    grown = controller.integral
    for _ in range(100):
        assert controller.torque(still, far, dt)[0] == 5.0
        np.testing.assert_array_equal(controller.integral, grown)
    controller.torque(still, back, dt)  # in the other direction it grows at once
    assert controller.integral[0] == pytest.approx(grown[0] - 20.0 * 0.1 * dt)


def test_a_rate_limit_holds_the_integral_too():
    model = pendulum()
    controller = PidController(model, 10.0, 2.0, 20.0, limits=TorqueLimits(100.0, 1.0))
    still, far = JointState(np.zeros(1), np.zeros(1)), Motion.at_rest([1.0])
    controller.torque(still, Motion.at_rest([0.0]))
    controller.torque(still, far)
    grown = controller.integral
    controller.torque(still, far)
    np.testing.assert_array_equal(controller.integral, grown)
    assert controller.tau[0] == pytest.approx(2e-3)


@pytest.mark.parametrize("friction", [False, True])
def test_it_takes_over_without_a_bump(friction):
    """The first torque is that of `reset`, for any error and friction."""
    model, dt = rd.robots.rx90(), 1e-3
    random = np.random.default_rng(11)
    q, qd, q_d, qd_d = random.uniform(-0.2, 0.2, (4, model.n))
    compensation = FrictionFeedForward(model) if friction else None
    c = PidController(model, 300.0, 40.0, 500.0, limits=FREE, compensation=compensation)
    wanted, state = Motion(q_d, qd_d, np.zeros(6), np.zeros(6)), JointState(q, qd)
    tau = random.uniform(-20.0, 20.0, model.n)
    c.reset(tau)
    np.testing.assert_allclose(c.torque(state, wanted, dt), tau, atol=1e-12)
    # From then on it is the law: the torque changes by the integral
    np.testing.assert_allclose(
        c.torque(state, wanted, dt), tau + 500.0 * (q_d - q) * dt, atol=1e-12
    )
    c.reset()
    assert np.abs(c.torque(state, wanted, dt) - tau).max() > 1.0


def test_torque_that_cannot_be_taken_over_is_left_out():
    """Joints without ki, and torque beyond the limit."""
    model = rd.robots.planar_2r()
    state, wanted = JointState(np.zeros(2), np.zeros(2)), Motion.at_rest([0.1, 0.1])
    c = PidController(model, 100.0, 1.0, [50.0, 0.0], limits=TorqueLimits(30.0))
    c.reset([-40.0, -20.0])
    np.testing.assert_allclose(c.torque(state, wanted), [-30.0, 10.0], atol=1e-12)
    np.testing.assert_allclose(c.integral, [-40.0, 0.0], atol=1e-12)


def test_an_arm_that_is_taken_over_does_not_sag():
    model = rd.robots.rx90()
    wanted = Motion.at_rest(np.full(model.n, 0.2))
    controller = PidController.with_triple_pole(model, 15.0)
    controller.reset(rd.gravity_torque(model, wanted.q))
    plant = RigidPlant(model, wanted.q, friction=False, stops=False)
    _, q, _, _ = follow(plant, controller, lambda t: wanted, 500)
    np.testing.assert_allclose(q, np.broadcast_to(wanted.q, q.shape), atol=1e-9)


def test_a_bad_first_sample_does_not_end_the_take_over():
    model, tau = pendulum(), [3.0]
    controller, far = PidController(model, 10.0, 2.0, 20.0), Motion.at_rest([1.0])
    controller.reset(tau)
    with pytest.raises(rd.ArgumentError):
        controller.torque(JointState(np.array([np.nan]), np.zeros(1)), far)
    np.testing.assert_allclose(controller.torque(JointState(np.zeros(1), np.zeros(1)), far), tau)


def test_no_windup_means_far_less_overshoot():
    model, limit, dt = pendulum(), 0.6, 1e-3
    goal = Motion.at_rest([1.5])
    gains = PidController.with_triple_pole(model, 8.0, inertia_of(model))

    def overshoot(controller):
        plant = RigidPlant(model, stops=False, saturate=False)
        return follow(plant, controller, lambda t: goal, 5000, dt)[1].max() - 1.5

    class Naive:
        z = 0.0

        def torque(self, state, reference, dt):
            e = reference.q - state.q
            self.z = self.z + gains.ki * e * dt
            return np.clip(gains.kp * e - gains.kd * state.qd + self.z, -limit, limit)

    careful = PidController(model, gains.kp, gains.kd, gains.ki, limits=TorqueLimits(limit))
    assert overshoot(careful) < 0.5 * overshoot(Naive())
