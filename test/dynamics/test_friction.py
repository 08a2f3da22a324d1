"""Friction: [Khalil2019] (7.26), sharp and smooth."""

import math

import numpy as np
import pytest
from dynamics_cases import derivative, robot, with_friction
from oracle import close, random_body, random_state
from scipy.integrate import solve_ivp

import robodyn_ros as rd
from robodyn_ros.dynamics.friction import (
    RELAXATION_TIME,
    REST_SPEED,
    SlidingFriction,
    drive_friction,
    mean_losses,
)
from robodyn_ros.model.assemble import JointRow, assemble

MODEL = with_friction(robot("stanford"))


def test_khalil_7_26_by_hand():
    model = robot("planar_2r").replace(
        viscous=[0.5, 2.0], coulomb=[3.0, 1.0], stiction=[4.0, 1.5], stribeck=[10.0, 2.0]
    )
    tau = rd.friction_torque(model, [0.2, -0.5])
    assert tau[0] == pytest.approx(3.0 + 0.5 * 0.2 + (4.0 - 3.0) * math.exp(-2.0), rel=1e-14)
    assert tau[1] == pytest.approx(-1.0 - 2.0 * 0.5 - (1.5 - 1.0) * math.exp(-1.0), rel=1e-14)
    np.testing.assert_array_equal(rd.friction_torque(model, [0.0, 0.0]), [0.0, 0.0])
    # The onset of motion: stiction alone
    close(rd.friction_torque(model, [1e-12, -1e-12]), [4.0, -1.5], 1e-10)


def test_coulomb_and_viscous_friction_of_khalil_7_27():
    model = robot("kuka_lwr4")
    qd = np.array([1.0, -1.0, 0.5, 0.0, -2.0, 3.0, 1e-9])
    close(rd.friction_torque(model, qd), model.viscous * qd + model.coulomb * np.sign(qd), 1e-15)


def test_changing_coulomb_friction_changes_the_torque():
    # A model without Stribeck effect has none after a change of its Coulomb friction either.
    model = robot("kuka_lwr4").replace(coulomb=1.0, viscous=0.0)
    np.testing.assert_array_equal(rd.friction_torque(model, np.ones(7)), np.ones(7))


def test_the_smooth_version_has_no_step_and_the_same_far_away():
    width = 0.05
    smooth = [rd.friction_torque(MODEL, np.full(MODEL.n, v), width=width) for v in (1e-9, -1e-9)]
    assert np.abs(smooth[0] - smooth[1]).max() < 1e-6
    v = 0.03
    F_v, F_c, F_st, B = MODEL.viscous, MODEL.coulomb, MODEL.stiction, MODEL.stribeck
    expected = F_v * v + math.tanh(v / width) * (F_c + (F_st - F_c) * np.exp(-v * B))
    close(rd.friction_torque(MODEL, np.full(MODEL.n, v), width=width), expected, 1e-14)
    fast = np.full(MODEL.n, 1.5)
    close(rd.friction_torque(MODEL, fast, width=width), rd.friction_torque(MODEL, fast), 1e-12)


@pytest.mark.parametrize("width", [0.0, 0.1])
def test_friction_is_odd_and_takes_energy_in_a_batch(width):
    qd = np.random.default_rng(1).normal(size=(50, MODEL.n))
    qd[0] = 0.0
    tau = rd.friction_torque(MODEL, qd, width=width)
    np.testing.assert_array_equal(rd.friction_torque(MODEL, -qd, width=width), -tau)
    assert np.all(qd * tau >= 0.0)
    for t in range(50):
        np.testing.assert_array_equal(rd.friction_torque(MODEL, qd[t], width=width), tau[t])


def test_rate_is_the_derivative():
    qd, qdd = random_state(MODEL, 2)
    slope = derivative(lambda s: rd.friction_torque(MODEL, qd + s * qdd), 1e-4)
    close(rd.friction_rate(MODEL, qd, qdd), slope, 1e-8)


def test_at_rest_the_step_has_no_rate():
    _, qdd = random_state(MODEL, 3)
    close(rd.friction_rate(MODEL, np.zeros(MODEL.n), qdd), MODEL.viscous * qdd, 1e-15)


def test_mimic_joints_bring_their_friction_to_the_leader():
    random = np.random.default_rng(4)
    losses = {"viscous": 2.0, "coulomb": 3.0}
    rows = [
        JointRow("a", "link_a", body=random_body(random), **losses),
        JointRow("b", "link_b", 0, body=random_body(random), mimics="a", ratio=-0.5, **losses),
    ]
    model = assemble("pair", rows)
    # The power of both joints, with the follower at -0.5 of the leader's speed
    power = (2.0 + 2.0 * 0.5**2) * 1.5**2 + (3.0 + 3.0 * 0.5) * 1.5
    assert rd.friction_torque(model, [1.5])[0] * 1.5 == pytest.approx(power, rel=1e-14)


# ---------------------------------------------------------------- the rest of the law

LAW = {
    "friction_offset": [0.7, -0.2],
    "friction_load": [0.1, 0.05],
    "friction_width": [0.02, 0.01],
    "presliding": [1e-3, 0.0],
    "friction_speed": [1.0, np.inf],
}


def whole_law():
    return robot("planar_2r").replace(
        viscous=[0.5, 2.0], coulomb=[3.0, 1.0], stiction=[4.0, 0.4], stribeck=[10.0, 2.0], **LAW
    )


def test_the_whole_law_by_hand():
    model = whole_law()
    tau = rd.friction_torque(model, [0.2, -0.5], load=[-20.0, 6.0])
    first = 0.5 * 0.2 + math.tanh(10.0) * (3.0 + math.exp(-2.0) + 0.1 * 20.0) + 0.7
    second = -2.0 * 0.5 - math.tanh(50.0) * (1.0 - 0.6 * math.exp(-1.0) + 0.05 * 6.0) - 0.2
    close(tau, [first, second], 1e-14)


def test_a_model_without_the_rest_of_the_law_has_the_friction_it_had():
    model = robot("planar_2r").replace(viscous=0.5, coulomb=3.0)
    for name, value in (("friction_offset", 0.0), ("presliding", 0.0), ("friction_speed", np.inf)):
        np.testing.assert_array_equal(getattr(model, name), np.full(2, value))
    qd = [0.3, -0.2]
    close(rd.friction_torque(model, qd, load=[5.0, 5.0]), rd.friction_torque(model, qd), 1e-16)


def test_beyond_the_known_speeds_friction_stays():
    model = whole_law()
    at, beyond = (rd.friction_torque(model, [v, v]) for v in (1.0, 5.0))
    assert beyond[0] == pytest.approx(at[0], rel=1e-12) and beyond[1] > at[1] + 1.0


def test_friction_of_a_drive_is_that_of_the_load_it_leaves():
    model = whole_law()
    random = np.random.default_rng(5)
    qd, rigid = random.normal(size=(200, 2)), 30.0 * random.normal(size=(200, 2))
    friction = rd.friction_torque(model, qd, load=rigid)
    close(drive_friction(model, qd, rigid + friction), friction, 1e-12)
    qdd = random.normal(size=(200, 2))
    tau = rd.inverse_dynamics(model, qd, qd, qdd, friction=True)
    close(rd.forward_dynamics(model, qd, qd, tau, friction=True), qdd, 1e-9)


def test_rate_of_the_whole_law():
    model = whole_law()
    qd, qdd = np.array([0.03, -0.02]), np.array([0.5, 0.8])
    slope = derivative(lambda s: rd.friction_torque(model, qd + s * qdd), 1e-5)
    close(rd.friction_rate(model, qd, qdd), slope, 1e-6)


def dahl(dt, qd, width, presliding):
    """Reference: Dahl's equation with a smooth end value, integrated by scipy."""

    def velocity(t):
        return np.interp(t, dt * np.arange(qd.size), qd)

    def rate(t, s):
        v = velocity(t)
        if abs(v) <= REST_SPEED:
            return -s / RELAXATION_TIME
        return abs(v) / presliding * (math.tanh(v / width) - s)

    t = dt * np.arange(qd.size)
    return solve_ivp(rate, (0.0, t[-1]), [0.0], t_eval=t, rtol=1e-8, atol=1e-8, max_step=dt).y[0]


def test_the_state_follows_dahls_law():
    dt, model = 1e-3, whole_law()
    t = dt * np.arange(2000)
    v = 0.05 * np.sin(2.0 * np.pi * t) * (t < 1.4)  # two reversals, then rest
    friction, s = SlidingFriction(model), []
    for speed in v:
        friction.of_load(np.full(2, speed), np.zeros(2), dt)
        s.append(friction.s)
    wanted = dahl(dt, v, 0.02, 1e-3)
    assert wanted.min() < -0.9 and wanted.max() > 0.9 and abs(wanted[-1]) < 0.01
    np.testing.assert_allclose(np.array(s)[:, 0], wanted, atol=5e-3)
    np.testing.assert_allclose(np.array(s)[:, 1], np.tanh(v / 0.01), atol=1e-12)


def test_steady_sliding_is_the_limit_of_the_state():
    model, friction = whole_law(), SlidingFriction(whole_law())
    qd, load = np.array([0.03, -0.02]), np.array([4.0, -5.0])
    friction.of_load(np.zeros(2), load, 1e-3)
    first = friction.of_load(qd, load, 1e-3).copy()
    for _ in range(500):
        last = friction.of_load(qd, load, 1e-3)
    close(last, rd.friction_torque(model, qd, load=load), 1e-4)
    assert abs(first[0] - last[0]) > 1.0  # presliding: it took its time
    friction.reset()
    assert friction.of_load(qd, load, 1e-3)[0] == pytest.approx(0.5 * 0.03 + 0.7)


def test_noise_at_rest_gives_no_friction():
    model = whole_law().replace(friction_offset=0.0)
    friction = SlidingFriction(model)
    noise = 1e-3 * np.random.default_rng(6).normal(size=(2000, 2))
    torques = np.array([friction.of_load(v, np.zeros(2), 1e-3).copy() for v in noise])
    assert np.abs(torques[:, 0]).max() < 0.1 * 4.0
    sharp = np.abs(rd.friction_torque(model.replace(friction_width=0.0), noise))
    assert np.median(sharp[:, 0]) > 3.9


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"friction_load": 1.0}, "friction_load 1"),
        ({"friction_offset": np.nan}, "friction_offset nan"),
        ({"presliding": -1e-4}, "presliding -0.0001"),
        ({"friction_speed": 0.0}, "friction_speed 0"),
    ],
)
def test_friction_parameters_are_checked(changes, named):
    with pytest.raises(rd.ModelError, match=named):
        robot("planar_2r").replace(**changes)


def test_samples_of_a_state_are_checked():
    friction = SlidingFriction(whole_law())
    for qd, dt in (([0.1, np.nan], 1e-3), ([0.1, 0.1], 0.0)):
        with pytest.raises(rd.ArgumentError, match="finite numbers, dt positive"):
            friction.of_load(np.array(qd), np.zeros(2), dt)


@pytest.mark.parametrize("dt", [1e-4, 2e-3, 1e-2])
def test_mean_over_a_step_of_a_joint_that_friction_brakes(dt):
    """J dv/dt = u - c v from v0: exact, also where the step is long beside J / c."""
    J, c, u, v0 = 0.4, 300.0, 5.0, 0.05
    rate, end = c / J, u / c
    v1 = end + (v0 - end) * math.exp(-rate * dt)
    mean = c * (end + (v0 - end) * -math.expm1(-rate * dt) / (rate * dt))
    losses = np.array([c * v0, c * v1])
    mean_losses(np.array([J]), np.array([0.0, dt]), np.array([v0, v1]), losses)
    assert losses[1] == pytest.approx(mean, rel=1e-6)
