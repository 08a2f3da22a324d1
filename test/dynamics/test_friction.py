"""Friction: [Khalil2019] (7.26), sharp and smooth."""

import math

import numpy as np
import pytest
from dynamics_cases import derivative, robot, with_friction
from oracle import close, random_body, random_state

import robodyn_ros as rd
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
