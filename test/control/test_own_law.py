"""controller: own, the law of a program, with the limits, reactions and payloads of an arm."""

import numpy as np
import pytest
from test_arm_controller import END, LWR, START, Mode, Move, Rig

import robodyn_ros as rd


class Spring(rd.Controller):
    """Springs and dampers to the reference, gravity compensated."""

    def __init__(self, model, settings, **options):
        super().__init__(model, **options)
        self.kp, self.kd = settings.kp or 300.0, settings.kd or 40.0

    def law_torque(self, state, reference, dt):
        pull = self.kp * (reference.q - state.q) + self.kd * (reference.qd - state.qd)
        return pull + rd.gravity_torque(self.model, state.q)


OWN = rd.ArmSettings(controller="own")


def test_it_tracks_reacts_and_resumes_within_the_limits():
    """`Rig.take` checks limit and rate of every torque."""
    rig = Rig(law=Spring, controller="own")
    rig.arm.follow(Move(START, END, 1.0))
    rig.run(0.5)
    rig.arm.contact(True, np.full(7, 5.0))
    rig.run(0.5)
    assert rig.is_in(Mode.REACTING)
    rig.arm.contact(False)
    rig.arm.clear()
    rig.run(4.0)
    assert rig.is_in(Mode.HOLDING), rig.arm.reason
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


def test_it_gets_settings_limits_compensation_and_payload():
    made = []

    def make(model, settings, **options):
        made.append((model, settings, options))
        return Spring(model, settings, **options)

    settings = rd.ArmSettings(
        controller="own", kp=(123.0,), torque_share=0.5, tau_rate_max=(77.0,), friction=True
    )
    arm = rd.ArmController(LWR, settings, law=make)
    model, given, options = made[-1]
    assert model is LWR and given is settings
    np.testing.assert_array_equal(options["limits"].tau_max, 0.5 * LWR.tau_max)
    assert (options["limits"].tau_rate_max == 77.0).all()
    assert isinstance(options["compensation"], rd.FrictionFeedForward)
    arm.update(0.0, START, np.zeros(7))
    held = rd.Payload("link_7", 2.0, (0.0, 0.0, 0.1), 0.01)
    arm.set_payload(held)
    assert made[-1][0] is arm.model is not LWR


def test_it_replaces_another_law_in_motion():
    rig = Rig(law=Spring)
    parts = [rig.arm.prepare(settings) for settings in (OWN, rd.ArmSettings())]
    rig.arm.follow(Move(START, END, 4.0))
    for k in range(8):
        rig.run(0.4)
        rig.arm.apply(parts[k % 2])
    rig.run(1.5)
    assert rig.is_in(Mode.HOLDING), rig.arm.reason
    np.testing.assert_allclose(rig.state.q, END, atol=1e-3)


@pytest.mark.parametrize("tau", [np.zeros(6), None, np.full(7, np.nan), "seven"])
def test_a_law_that_gives_no_torque_ends_in_a_safe_hold(tau):
    rig = Rig(law=Spring, controller="own")
    rig.arm.follow(Move(START, END, 1.0))
    rig.run(0.3)
    rig.arm._arm.parts.law.law_torque = lambda *_: tau
    rig.run(0.1)
    assert rig.is_in(Mode.SAFE_HOLD)
    assert "torque" in rig.arm.reason


def test_without_a_law_of_the_program_it_is_refused():
    with pytest.raises(rd.ArgumentError, match=r"ArmController\(..., law=...\)"):
        rd.ArmController(LWR, OWN)
    arm = rd.ArmController(LWR)
    with pytest.raises(rd.ArgumentError, match="gives a law"):
        arm.prepare(OWN)
