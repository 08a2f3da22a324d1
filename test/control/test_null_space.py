"""NullSpace: the arm gives way, the hand stays; a reflex where the null space does not help."""

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.arm_controller import ArmController, Mode
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.simulation.rigid import RigidPlant

LWR = rd.robots.lwr_iii()
HAND, ELBOW = LWR.link_names[-1], LWR.link_names[3]
Q = np.radians([0.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
DT = 2e-3


def place(q, link):
    return rd.forward_kinematics(LWR, q, link)[:3, 3]


def across():
    """Return the direction across the line from shoulder to wrist, at the elbow."""
    shoulder, elbow, wrist = (place(Q, LWR.link_names[k]) for k in (1, 3, 5))
    line = (wrist - shoulder) / np.linalg.norm(wrist - shoulder)
    off = elbow - shoulder - line * ((elbow - shoulder) @ line)
    return np.cross(line, off / np.linalg.norm(off))


def pushed(reaction, link, force, seconds=0.4):
    """Return the arm and the states while a link is pushed for some time, and after."""
    plant, arm = (
        RigidPlant(LWR, Q, friction=False),
        ArmController(LWR, ArmSettings(reaction=reaction)),
    )
    observer, states = rd.MomentumObserver(LWR, 50.0), []
    tau = arm.update(0.0, Q, np.zeros(7))
    observer.update(Q, np.zeros(7), tau, DT)
    plant.push(link, force, start=0.1, duration=seconds)
    for _ in range(round((seconds + 1.6) / DT)):
        state = plant.step(tau, DT)
        r = observer.update(state.q, state.qd, tau, DT)
        arm.contact(bool(np.abs(r).max() > 1.0), r)
        tau = arm.update(state.t, state.q, state.qd)
        states.append(state)
    return arm, states


def test_the_elbow_gives_way_and_the_hand_stays():
    arm, states = pushed("null_space", ELBOW, 30.0 * across())
    hand = max(np.linalg.norm(place(s.q, HAND) - place(Q, HAND)) for s in states)
    elbow = max((place(s.q, ELBOW) - place(Q, ELBOW)) @ across() for s in states)
    turned = max(
        np.abs(
            rd.forward_kinematics(LWR, s.q, HAND)[:3, :3]
            - rd.forward_kinematics(LWR, Q, HAND)[:3, :3]
        ).max()
        for s in states
    )
    _, reflex = pushed("reflex", ELBOW, 30.0 * across())
    by_reflex = max((place(s.q, ELBOW) - place(Q, ELBOW)) @ across() for s in reflex)
    assert hand < 2e-3 and turned < 5e-3
    assert elbow > 0.05 and elbow > 0.5 * by_reflex
    assert arm._arm.reaction.helps and arm.mode is Mode.REACTING
    assert np.abs(states[-1].qd).max() < 0.05  # at rest again


def test_a_push_of_the_hand_is_followed_as_by_reflex():
    arm, states = pushed("null_space", HAND, (0.0, 0.0, -25.0))
    _, reflex = pushed("reflex", HAND, (0.0, 0.0, -25.0))
    moved, by_reflex = (place(s[-1].q, HAND) - place(Q, HAND) for s in (states, reflex))
    assert not arm._arm.reaction.helps
    assert np.linalg.norm(moved) > 0.7 * np.linalg.norm(by_reflex) > 0.05


def test_an_arm_without_redundancy_follows_by_reflex():
    six = rd.load_robot("stanford")
    arm = ArmController(six, ArmSettings(reaction="null_space"))
    arm.update(0.0, np.full(six.n, 0.3), np.zeros(six.n))
    arm.contact(True, np.ones(six.n))
    arm.update(DT, np.full(six.n, 0.3), np.zeros(six.n))
    assert arm.mode is Mode.REACTING
    assert not arm._arm.reaction.redundant and not arm._arm.reaction.helps


def test_near_a_singular_posture_it_follows_by_reflex():
    arm = ArmController(LWR, ArmSettings(reaction="null_space"))
    arm.update(0.0, np.zeros(7), np.zeros(7))
    arm.contact(True, np.ones(7))
    arm.update(DT, np.zeros(7), np.zeros(7))
    assert not arm._arm.reaction.helps


def test_a_hand_in_motion_is_braked_first():
    plant, arm = (
        RigidPlant(LWR, Q, friction=False),
        ArmController(LWR, ArmSettings(reaction="null_space")),
    )
    tau = arm.update(0.0, Q, np.zeros(7))
    arm.follow(rd.joint_move(Q, Q + 0.4, duration=1.2))
    for k in range(900):
        state = plant.step(tau, DT)
        if k == 300:
            assert np.abs(state.qd).max() > 0.4
            arm.contact(True, np.zeros(7))
        tau = arm.update(state.t, state.q, state.qd)
    assert arm.mode is Mode.REACTING and arm._arm.reaction.helps
    assert np.abs(state.qd).max() < 0.02
    np.testing.assert_allclose(arm._arm.reaction.hand_error[:3], 0.0, atol=5e-3)


def test_a_residual_of_wrong_size_is_refused():
    arm = ArmController(LWR, ArmSettings(reaction="null_space"))
    with pytest.raises(rd.ArgumentError, match="r must have"):
        arm.set_residual(np.zeros(3))
