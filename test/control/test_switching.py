"""Laws and reactions that replace each other in motion: the torque changes within its limits."""

import dataclasses
from itertools import permutations

import numpy as np
from test_arm_controller import DT, END, HAND, LWR, START, STILL, Mode, Move, Rig

import robodyn_ros as rd
from robodyn_ros.control.arm_settings import LAWS, ArmSettings

REACTIONS = ("stop", "float", "reflex", "admittance", "null_space")
MODES = ("tracking", "position", "predictive")
ADAPTIVE = ("slotine_li", "lu_meng", "craig")


def variants():
    """Settings of every law in each of its forms."""
    elastic = dataclasses.replace(ArmSettings().elastic, measured="motor")
    found = [ArmSettings(controller=law, elastic=elastic) for law in LAWS]
    found += [ArmSettings(controller="computed_torque", computed_torque=mode) for mode in MODES]
    found += [ArmSettings(controller="pd_gravity", gravity_at="desired")]
    for law in ADAPTIVE:
        adaptive = dataclasses.replace(ArmSettings().adaptive, law=law, unknown=("payload.mass",))
        found.append(ArmSettings(controller="adaptive", adaptive=adaptive))
    return found


def test_each_law_replaces_each_other_in_motion():
    """`Rig.take` checks limit and rate of every torque. Slowly: one form takes no velocity."""
    rig = Rig()
    parts = [rig.arm.prepare(settings) for settings in variants()]
    usual, ends = rig.arm.prepare(ArmSettings()), [START, END]
    pairs = [*permutations(range(len(LAWS)), 2), *((0, k) for k in range(len(LAWS), len(parts)))]
    for k, (first, second) in enumerate(pairs):
        if rig.is_in(Mode.HOLDING):
            rig.run(0.05)
            rig.arm.follow(Move(rig.arm.reference.q, ends[k % 2 - 1], 6.0))
            rig.run(1.0)
        for law in (first, second):
            rig.arm.apply(parts[law])
            rig.run(0.02)
        rig.arm.apply(usual)
        rig.run(0.06)
    rig.arm.apply(rig.arm.prepare(ArmSettings()))
    assert not rig.is_in(Mode.SAFE_HOLD), rig.arm.reason
    rig.run(6.0)
    assert rig.is_in(Mode.HOLDING)
    assert np.abs(rig.arm.error).max() < 1e-3


def test_each_reaction_replaces_each_other_while_the_arm_yields():
    rig = Rig(reaction="reflex")
    rig.observer.update(START, STILL, rig.tau, DT)
    parts = {name: rig.arm.prepare(ArmSettings(reaction=name)) for name in REACTIONS}
    rig.detecting = True
    rig.arm.follow(Move())
    rig.run(0.8)
    rig.plant.push(HAND, (0.0, -20.0, 10.0), duration=2.0)
    assert rig.run(0.5, until=lambda rig: rig.is_in(Mode.REACTING))
    for pair in permutations(REACTIONS, 2):
        for reaction in pair:
            rig.arm.apply(parts[reaction])
            rig.run(0.02)
    assert rig.is_in(Mode.REACTING)
    assert np.abs(rig.state.qd).max() < 3.0


def test_gains_are_parameters_of_their_own():
    def law(**settings):
        return rd.ArmController(LWR)._arm.parts.__class__.of(LWR, ArmSettings(**settings)).law

    given = law(kd=(5.0,), rate=(7.0,), kp=(3.0,))
    np.testing.assert_array_equal([given.kp[0], given.kd[0], given.rate[0]], [3.0, 5.0, 7.0])
    short = law(frequency=(20.0,))
    np.testing.assert_array_equal(short.rate, np.full(7, 20.0))
    half = law(controller="computed_torque", frequency=(20.0,), kd=(55.0,))
    np.testing.assert_array_equal([half.kp[0], half.kd[0]], [400.0, 55.0])
    pid = law(controller="pid", ki=(0.0,))
    assert (pid.ki == 0.0).all() and (pid.kp > 0.0).all()
    for bad in ({"kp": (1.0, 2.0)}, {"friction": True, "friction_observer": 50.0}):
        try:
            law(**bad)
        except rd.ArgumentError:
            continue
        raise AssertionError(bad)
