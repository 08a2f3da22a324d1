"""Rows 35 to 38: the arm itself is at fault, or holds something, or reports a wrong effort."""

import numpy as np
from fault_rig import TOUCHED, Case, cases, rig_of

from robodyn_ros.control.transitions import Mode

MEASURED = {"effort.source": "joint_states"}
COMMANDED = {"effort.source": "command"}
GOES_ON = {"arm.reaction": "none"}
# So that the arm moves on although one joint stays behind: at rest they are all alike
SLOW = {**GOES_ON, "sensing.stuck_reference_travel": 1.0, "demo_speed": 0.15}
FRICTION = {"plant.friction": True, "effort.friction": "model", "arm.friction": True}
DRIVES = {**GOES_ON, **FRICTION}
FINE = {"monitor.contact.base": [0.8], "monitor.collision.base": [1.6]}  # [N m]
FOLLOW = {"payload.follow": True, "arm.resume_after": 0.3}
NAMED_AFTER = 1.0  # [s]
CLEAR_AFTER = 1.5  # [s], of a payload that is followed
MAX_CHANGES = 3  # of the name, per case
PUSH = 40.0  # [N]


def inject(rig, **values):
    """Let the plant have a fault or a payload from now on; forget what was told."""
    rig.forget()
    rig.begun_at = rig.now
    assert rig.set(rig.plant_node, **values).successful


def kinds(rig):
    """Return the names that were told, one after the other."""
    told = [fault.kind for _, fault in rig.faults]
    return [kind for k, kind in enumerate(told) if k == 0 or kind != told[k - 1]]


def expect_name(rig, kind, joint="", within=NAMED_AFTER):
    """Run on until the fault is told as this; return it. It stays, but for a locked joint: once
    the arm is held, that is a joint like any other.
    """

    def named():
        found = rig.faults and rig.faults[-1][1]
        return found and (found.kind, found.joint) == (kind, joint)

    assert rig.run(within, named), (kinds(rig), rig.level, rig.mode)
    told = rig.faults[-1][1]
    rig.run(0.3)
    assert named() or kind == "locked", kinds(rig)
    assert len(kinds(rig)) - 1 <= MAX_CHANGES, kinds(rig)
    assert told.remedy
    line = f"FAULT, {kind.replace('_', ' ')}{' on ' + joint if joint else ''}: "
    assert any(text.startswith(line) for text in rig.warnings()), rig.warnings()
    return told


def moving(**parameters):
    """Return a rig that is in motion; demo_speed and the like are parameters of `Rig`."""
    return rig_of(**parameters)


def drive(kind, joint, value=None, **parameters):
    """A fault of a drive is named, and the arm held because of it."""

    def play():
        with moving(**parameters) as rig:
            rig.run_normally()
            rig.run(0.5)
            size = {} if value is None else {"fault__value": [value]}
            inject(rig, fault__kind=kind, fault__joint=joint, **size)
            told = expect_name(rig, kind, joint)
            assert rig.mode is Mode.SAFE_HOLD
            name = kind.replace("_", " ")
            assert rig.controller.arm.reason == f"fault: {name} on {joint}"
            if kind in ("effectiveness", "bias"):
                assert abs(float(told.value) - value) < 0.15 * abs(value)
            if kind != "locked":
                response = rig.clear()
                assert not response.success
                assert "fault" in response.message or rig.level in TOUCHED

    return play


def stopped(kind, joint, value=None, **parameters):
    """The arm stops at once and nothing shows any more: both causes are told."""

    def play():
        with moving(**MEASURED, **parameters) as rig:
            rig.run_normally()
            rig.run(0.5)
            size = {} if value is None else {"fault__value": [value]}
            inject(rig, fault__kind=kind, fault__joint=joint, **size)
            rig.run(NAMED_AFTER)
            told = [fault for _, fault in rig.faults if fault.kind]
            assert {fault.kind for fault in told} == {"undecided"}, kinds(rig)
            assert set(told[-1].runner_up.split(" or ")) == {kind, "collision"}, told[-1]
            assert told[-1].joint == joint and rig.mode is Mode.REACTING

    return play


def answered(answer, mode):
    """The controller does what `arm.on_fault` says."""

    def play():
        chosen = {"arm.on_fault.bias": answer, **GOES_ON, **MEASURED}
        with moving(**chosen) as rig:
            rig.run_normally()
            inject(rig, fault__kind="bias", fault__joint="joint_3", fault__value=[5.0])
            expect_name(rig, "bias", "joint_3")
            assert rig.mode in mode

    return play


def frozen(kind, **parameters):
    """A stuck reading is named with its joint; the arm is held; it is no collision that lasts."""

    def play():
        with moving(**parameters) as rig:
            rig.run_normally()
            rig.run(0.5)
            inject(rig, fault__kind=kind, fault__joint="joint_4")
            expect_name(rig, "sensor_freeze", "joint_4")
            assert rig.mode is Mode.SAFE_HOLD
            assert "joint_4" in rig.controller.arm.reason

    return play


def payload(mass, **parameters):
    """A payload is followed at pick-up and at release; pushes are found in between."""

    def play():
        with moving(**MEASURED, **FINE, **FOLLOW, **parameters) as rig:
            rig.run_normally()
            rig.run(0.5)
            grip = {"payload__com": [0.0, 0.0, 0.08]}
            for held, before in ((mass, 0.0), (0.0, mass)):
                inject(rig, payload__mass=held, **grip)
                assert rig.run(NAMED_AFTER, lambda: kinds(rig)[-1:] == ["payload"]), kinds(rig)
                told = rig.faults[-1][1]
                if not before:
                    assert abs(float(told.value) - mass) < 0.1 * mass
                left = CLEAR_AFTER - (rig.now - rig.begun_at)
                assert rig.run(left, lambda: rig.level == "CLEAR"), (rig.level, kinds(rig))
                assert rig.run(3.0, rig.normal)
                rig.forget()
                rig.run(1.0)
                rig.expect_no_contact()  # it stays so
                carried = rig.controller.payload.mass if rig.controller.payload else 0.0
                assert abs(carried - held) < (0.2 if before else 0.1) * mass
                assert np.abs(rig.controller.arm.error).max() < 1e-3  # [rad], no sagging
                rig.plant_node.plant.push("link_5", [0.0, PUSH, PUSH], duration=0.2)
                assert rig.run(0.1, lambda: rig.level == "COLLISION")
                assert rig.run(3.0, rig.normal), (rig.level, rig.mode)
                rig.run(1.0)  # the case of the push is closed

    return play


def accepted(**parameters):
    """Without `follow` the payload is taken over on request, and the arm goes on."""

    def play():
        with moving(**MEASURED, **parameters, **{"arm.resume_after": 0.3}) as rig:
            rig.run_normally()
            assert not rig.accept_payload().success  # there is none
            inject(rig, payload__mass=1.5, payload__com=[0.0, 0.0, 0.08])
            expect_name(rig, "payload", "link_7")
            assert rig.level == "COLLISION"
            response = rig.accept_payload()
            assert response.success, response.message
            assert abs(rig.detector.settings.payload.mass - 1.5) < 0.1
            assert rig.run(2.0, rig.normal)
            inject(rig, payload__mass=0.0)
            expect_name(rig, "payload", "link_7")
            assert rig.accept_payload().success
            assert rig.detector.settings.payload.mass == 0.0
            assert rig.run(2.0, rig.normal)

    return play


def too_heavy():
    """A payload beyond `payload.max_mass` is named but not taken over."""
    with moving(**MEASURED, **FOLLOW, **{"payload.max_mass": 1.0}) as rig:
        rig.run_normally()
        inject(rig, payload__mass=2.0, payload__com=[0.0, 0.0, 0.08])
        expect_name(rig, "payload", "link_7")
        rig.run(1.0)
        assert rig.level == "COLLISION" and rig.controller.payload is None
        response = rig.accept_payload()
        assert not response.success and "max_mass" in response.message


def told_beforehand():
    """A payload that both nodes are told at the moment of the grip gives no flag and no step."""
    with moving(**MEASURED) as rig:
        rig.run_normally()
        held = {"payload__mass": 2.0, "payload__com": [0.0, 0.0, 0.08]}
        inject(rig, **held)
        assert rig.set(rig.detector, **held).successful  # and the controller hears it from there
        rig.run(2.0)
        assert rig.controller.payload.mass == 2.0
        rig.expect_no_contact()
        assert rig.normal() and np.abs(rig.controller.arm.error).max() < 1e-3


def effort(kind, value, joint="", **parameters):
    """A wrong effort is named with its factor; no force comes from it once it is."""

    def play():
        with moving(**MEASURED, **GOES_ON, **parameters) as rig:
            rig.run_normally()
            inject(rig, fault__kind=kind, fault__joint=joint, fault__value=[value])
            forces = []
            rig.detector.to_wrench.local.append(forces.append)
            told = expect_name(rig, kind, joint)
            forces.clear()
            rig.run(0.7)
            assert not forces
            assert abs(float(rig.faults[-1][1].value) / value - 1.0) < 0.1, told
            assert "effort.gain" in told.remedy

    return play


CASES = [
    Case(35, "motor gives half", "S", drive("effectiveness", "joint_2", 0.5, **MEASURED)),
    Case(35, "motor gives a fifth", "S", drive("effectiveness", "joint_4", 0.2, **MEASURED)),
    Case(35, "motor gives 80 %", "S", drive("effectiveness", "joint_2", 0.8, **COMMANDED)),
    Case(35, "half, command", "S", drive("effectiveness", "joint_2", 0.5, **COMMANDED)),
    Case(35, "free-swinging", "S", drive("free_swinging", "joint_4", **MEASURED)),
    Case(35, "free-swinging, shoulder", "S", drive("free_swinging", "joint_2", **MEASURED)),
    Case(35, "free-swinging, command", "S", drive("free_swinging", "joint_6", **COMMANDED)),
    Case(35, "torque bias", "S", drive("bias", "joint_3", 5.0, **MEASURED)),
    Case(35, "bias, command", "S", drive("bias", "joint_3", -5.0, **COMMANDED)),
    Case(35, "locked", "S", drive("locked", "joint_4", **MEASURED, **SLOW)),
    Case(35, "friction x2", "S", drive("friction", "joint_2", 2.0, **MEASURED, **DRIVES)),
    Case(35, "friction x4", "S", drive("friction", "joint_4", 4.0, **MEASURED, **DRIVES)),
    Case(35, "locked, stopped", "R", stopped("locked", "joint_4")),
    Case(35, "friction, stopped", "R", stopped("friction", "joint_2", 2.0, **FRICTION)),
    Case(35, "on_fault: continue", "goes on", answered("continue", (Mode.TRACKING, Mode.HOLDING))),
    Case(35, "on_fault: disable", "disabled", answered("disable", (Mode.DISABLED,))),
    Case(36, "position and velocity stuck", "S", frozen("sensor_freeze", **MEASURED)),
    Case(36, "position stuck", "S", frozen("position_freeze", **MEASURED)),
    Case(36, "encoder stuck, velocity 0", "S", frozen("encoder_freeze", **MEASURED)),
    Case(36, "velocity stuck", "S", frozen("velocity_freeze", **MEASURED)),
    Case(37, "0.3 kg", "followed", payload(0.3)),
    Case(37, "3 kg", "followed", payload(3.0)),
    Case(37, "accepted", "on request", accepted()),
    Case(37, "too heavy", "not followed", too_heavy),
    Case(37, "told beforehand", "no flag", told_beforehand),
    Case(38, "x0.05 on all", "named", effort("effort_scale", 0.05)),
    Case(38, "x1000 on all", "named", effort("effort_scale", 1000.0)),
    Case(38, "x0.7 on one", "named", effort("effort_scale", 0.7, "joint_2")),
    Case(38, "sign of all", "named", effort("effort_sign", -1.0)),
    Case(38, "sign of one", "named", effort("effort_sign", -1.0, "joint_2")),
]


@cases(*CASES)
def test_robot_fault(case):
    case.play()
