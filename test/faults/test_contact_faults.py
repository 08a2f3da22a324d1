"""Rows 41, 43 and 44: offsets of the effort, joint stops, and pushes that hide from a joint."""

import math

import numpy as np
from fault_rig import Case, cases, copied, rig_of
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

import robodyn_ros as rd
from robodyn_ros.nodes.codec import read_collision_state

MODEL = rd.robots.lwr_iii()
MEASURED = {"effort.source": "joint_states", "motion": "none", "monitor.bias.rate": 1.0}
BEGIN = 1000.0  # [s], of the clock of a rig
SETTLED = 0.5  # [s] after the start, when the first moments have been averaged
JOINT = 2  # whose effort is off


def with_offset(rig, offset):
    """Let the effort of a joint be off by a function of the time since the start [s]."""

    def change(message):
        message = copied(message)
        effort = np.array(message.effort)
        effort[JOINT] -= offset(rig.now - BEGIN)  # the residual rises by it
        message.effort = effort.tolist()
        return [message]

    rig.states = change


def levels_since(rig, seconds):
    return {level for t, level, *_ in rig.reports if t > BEGIN + seconds}


def bias_of(rig):
    """The bias of the joint, as the node tells it on /diagnostics."""
    return float(rig.detector.health()[1]["bias"].split()[JOINT])


def tared(offset, total=1.5, end=None, **parameters):
    """The offset is learnt while the arm is untouched: CLEAR, and the bias is told."""

    def play():
        with rig_of(**MEASURED, **parameters) as rig:
            with_offset(rig, offset)
            rig.run(total)
            assert levels_since(rig, SETTLED) == {"CLEAR"}
            assert abs(bias_of(rig) - (offset(total) if end is None else end)) < 0.8
            assert np.abs(rig.residuals[-1][1]).max() < 0.8

    return play


def bounded():
    """An offset beyond the limit is not learnt any further, and /diagnostics names the joint."""
    with rig_of(**MEASURED, **{"monitor.bias.limit": [1.0]}) as rig:
        with_offset(rig, lambda t: min(0.7 * t, 1.8))
        rig.run(5.0)
        assert bias_of(rig) == 1.0 and levels_since(rig, SETTLED) == {"CLEAR"}
        rig.expect_warnings("bias of joint_3 at its limit, +1")


def lasting_contact():
    """A contact that lasts is not taken for an offset, not even slowly."""
    with rig_of(**MEASURED) as rig:
        with_offset(rig, lambda t: 3.0 if t > 1.0 else 0.0)
        rig.run(5.0)
        assert levels_since(rig, 1.2) == {"CONTACT"}
        assert abs(bias_of(rig)) < 0.05


def contact_at_the_start():
    """What acts in the first moments is an offset only up to `start_limit`; `~/tare` takes it."""
    with rig_of(**MEASURED, **{"monitor.bias.limit": [6.0]}) as rig:
        with_offset(rig, lambda t: 5.0)
        rig.run(2.0)
        assert levels_since(rig, SETTLED) == {"CONTACT"} and bias_of(rig) == 1.5
        answer = rig.detector._tare(Trigger.Request(), Trigger.Response())
        assert answer.success and "+5" in answer.message
        rig.run(0.5)
        assert rig.level == "CLEAR" and abs(bias_of(rig) - 5.0) < 0.1


def into_its_stop(joint, upper):
    """A drive pushes its joint against the end of its range: told as the stop, with its joint."""
    start = np.array([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5])
    end, away = (MODEL.q_max, -1.0) if upper else (MODEL.q_min, 1.0)
    start[joint] = end[joint] + 0.03 * away

    def play():
        with rig_of(motion="none", **{"plant.start": start.tolist()}) as rig:
            rig.run(0.5)
            assert rig.level == "CLEAR"

            def drive(message):
                data = list(message.data)
                data[joint] -= 0.8 * MODEL.tau_max[joint] * away
                return [Float64MultiArray(data=data)]

            rig.commands = drive
            heard = len(rig.reports)
            assert rig.run(1.0, lambda: rig.level == "COLLISION")
            rig.run(0.1)
            told = [read_collision_state(report[2]) for report in rig.reports[heard:]]
            touched = [one for one in told if one.level >= rd.Level.CONTACT]
            name, side = MODEL.joint_names[joint], "upper" if upper else "lower"
            for one in touched:
                assert (one.fault, one.fault_joint) == ("joint_stop", name)
                assert one.link == one.where == ""
                assert one.link_cause == f"{name} at its {side} stop"
            rig.expect_warnings(f"COLLISION: {name} at its {side} stop")

    return play


def hidden_push(link, along_axis):
    """A push that its own joint does not feel: this link or beyond, and never a force of 0 N."""
    row = MODEL.link_names.index(link)

    def play():
        with rig_of(motion="none", **{"arm.reaction": "none"}) as rig:
            rig.run(0.5)
            q = np.array(rig.plant_node.plant.state.q)
            force = np.array([25.0, -20.0, 24.0])
            if along_axis:
                force = 40.0 * rd.forward_kinematics(MODEL, q, link)[:3, :3] @ MODEL.axis[row]
            heard = len(rig.reports)
            rig.plant_node.plant.push(link, force, duration=0.4)
            rig.run(0.45)
            told = [report[2] for report in rig.reports[heard:] if report[1] != "CLEAR"]
            named = [one for one in map(read_collision_state, told) if one.where]
            assert named
            for one in named:
                first = one.where.removesuffix(" or beyond")
                assert MODEL.link_names.index(first) <= row
                assert one.where != first or one.link == link
            for message in told:
                texts = {item.key: item.value for item in message.status[0].values}
                known = texts["force"] != "unknown"
                assert not known or float(texts["force"].split()[0]) > 0.1
                assert not (known and "beyond" in texts["where"])
            force = rig.detector.monitor.verdict.force
            assert math.isnan(force) or force >= 0.0

    return play


CASES = [
    Case(41, "offset from the start", "tared", tared(lambda t: 1.2)),
    Case(41, "drift by 3 N m", "tared", tared(lambda t: min(0.7 * t, 3.0), 6.0)),
    Case(41, "beyond the limit", "bounded", bounded),
    Case(41, "a contact that lasts", "CONTACT", lasting_contact),
    Case(41, "a contact at the start", "CONTACT", contact_at_the_start),
    Case(43, "joint_4 at its upper stop", "told", into_its_stop(3, True)),
    Case(43, "joint_6 at its lower stop", "told", into_its_stop(5, False)),
    Case(44, "push at the origin of link_5", "beyond", hidden_push("link_5", False)),
    Case(44, "push at the origin of link_6", "beyond", hidden_push("link_6", False)),
    Case(44, "push along the axis of joint_5", "beyond", hidden_push("link_5", True)),
    Case(44, "push along the axis of joint_7", "beyond", hidden_push("link_7", True)),
]


@cases(*CASES)
def test_contact(case):
    case.play()
