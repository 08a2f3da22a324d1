"""What a controlled arm does once a fault is named, and how it takes a payload over."""

import dataclasses

import numpy as np
import pytest

import robodyn_ros as rd
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.fault_answers import FaultAnswers
from robodyn_ros.control.supervisor import Supervisor
from robodyn_ros.control.transitions import Mode
from robodyn_ros.detection.fault import ACTUATOR_KINDS
from robodyn_ros.sensing.sample import Sample, Status
from robodyn_ros.simulation.rigid import RigidPlant

LWR = rd.robots.lwr_iii()
BENT = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
DT = 0.002
HELD = rd.Payload("link_7", 3.0, (0.0, 0.0, 0.1), 0.01)


class Arm:
    """A supervisor and the plant that it commands."""

    def __init__(self, **settings):
        self.plant = RigidPlant(LWR, BENT, friction=False)
        self.supervisor = Supervisor(LWR, ArmSettings(**settings))
        self.torques = []
        self.status = Status.RESTART

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            t, q, qd = self.plant.state[:3]
            tau = self.supervisor.update(Sample(t, DT, q, qd, None, self.status))
            self.status = Status.OK
            self.torques.append(tau)
            self.plant.step(tau, DT)

    def move(self, duration=2.0):
        q = self.supervisor.reference.q
        self.supervisor.follow(rd.joint_move(q, q + 0.3, duration=duration))

    @property
    def largest_step(self):
        """Largest change of a torque between two samples [N m]."""
        return np.abs(np.diff(self.torques, axis=0)).max()

    @property
    def error(self):
        return np.abs(self.supervisor.error).max()


def moving(**settings):
    arm = Arm(**settings)
    arm.run(0.2)
    arm.move()
    arm.run(0.5)
    assert arm.supervisor.mode is Mode.TRACKING
    return arm


def test_every_actuator_fault_has_an_answer_and_it_is_a_safe_hold():
    answers = FaultAnswers()
    assert all(answers.to(kind) == "safe_hold" for kind in ACTUATOR_KINDS)
    for harmless in ("collision", "undecided", "joint_stop", "command_loss", ""):
        assert answers.to(harmless) == "continue"


def test_a_fault_named_later_turns_the_reaction_into_a_safe_hold_with_its_name():
    arm = moving()
    arm.supervisor.on_contact(True)
    arm.run(0.3)
    assert arm.supervisor.mode is Mode.REACTING
    arm.supervisor.on_fault("undecided")
    assert arm.supervisor.mode is Mode.REACTING
    arm.supervisor.on_fault("effectiveness", "joint_4")
    assert arm.supervisor.mode is Mode.SAFE_HOLD
    assert arm.supervisor.reason == "fault: effectiveness on joint_4"
    arm.supervisor.on_contact(False)
    with pytest.raises(rd.RobodynError, match="effectiveness on joint_4"):
        arm.supervisor.clear()
    arm.supervisor.on_fault("")  # mended
    arm.supervisor.clear()
    arm.run(0.5)
    assert arm.supervisor.mode is Mode.HOLDING


def test_a_safe_hold_for_what_the_fault_has_caused_gets_its_name():
    arm = moving()
    arm.supervisor.safe_hold("tracking error")
    arm.supervisor.on_fault("free_swinging", "joint_2")
    assert arm.supervisor.reason == "fault: free swinging on joint_2"


@pytest.mark.parametrize("answer", ["continue", "disable"])
def test_the_answer_is_chosen_by_kind(answer):
    arm = moving(on_fault=FaultAnswers(bias=answer))
    arm.supervisor.on_fault("bias", "joint_1")
    if answer == "continue":
        assert arm.supervisor.mode is Mode.TRACKING
    else:
        assert arm.supervisor.mode is Mode.DISABLED
        assert arm.supervisor.reason == "fault: bias on joint_1"
        arm.run(0.5)
        assert arm.plant.state.qd == pytest.approx(0.0, abs=0.05)
        arm.supervisor.on_fault("locked", "joint_1")  # no safe hold from there
        assert arm.supervisor.mode is Mode.DISABLED
    with pytest.raises(rd.ArgumentError, match="shrug"):
        FaultAnswers(bias="shrug")


@pytest.mark.parametrize("controller", ["passivity", "computed_torque", "pd_gravity"])
def test_a_payload_is_carried_without_a_step_and_without_sagging(controller):
    arm = Arm(controller=controller)
    arm.run(0.5)
    held_weight = np.abs(rd.gravity_torque(LWR.replace(payload=HELD), BENT)).max()
    assert held_weight > 10.0
    arm.plant.attach(HELD)
    arm.run(1.0)
    sagged = arm.error
    assert sagged > 2e-3
    arm.torques.clear()
    arm.supervisor.set_payload(HELD)
    arm.run(1.5)
    assert arm.largest_step < 0.5, arm.largest_step  # at the rate limit it would be 2 N m
    assert arm.error < 0.02 * sagged
    arm.plant.drop()
    arm.supervisor.set_payload(None)
    arm.run(2.0)
    assert arm.error < 0.02 * sagged
    assert arm.supervisor.mode is Mode.HOLDING


def test_a_payload_set_in_motion_or_in_a_reaction_makes_no_step():
    for reacting in (False, True):
        arm = moving()
        arm.plant.attach(HELD)
        if reacting:
            arm.supervisor.on_contact(True)
        arm.run(0.3)
        mode = arm.supervisor.mode
        arm.torques.clear()
        arm.supervisor.set_payload(HELD)
        arm.run(0.6)
        assert arm.largest_step < 0.8, (reacting, arm.largest_step)
        assert arm.supervisor.mode is mode
        settings = dataclasses.replace(arm.supervisor.settings, frequency=(25.0,))
        arm.supervisor.apply(arm.supervisor.prepare(settings))  # the payload stays
        arm.run(1.0)
        assert arm.supervisor.model.mass.sum() == pytest.approx(LWR.mass.sum() + 3.0)


def test_two_payloads_in_a_row_make_no_step():
    arm = Arm()
    arm.run(0.3)
    arm.plant.attach(HELD)
    arm.run(0.5)
    arm.torques.clear()
    arm.supervisor.set_payload(dataclasses.replace(HELD, mass=1.0))
    arm.run(0.1)
    arm.supervisor.set_payload(HELD)
    arm.run(1.5)
    assert arm.largest_step < 0.8
    assert arm.error < 1e-3
    with pytest.raises(rd.ArgumentError, match="hand"):
        arm.supervisor.set_payload(rd.Payload("hand", 1.0))
    assert arm.supervisor.model.mass.sum() == pytest.approx(LWR.mass.sum() + 3.0)
