"""Faults and payloads as messages and back, the lines of the log, and dynamics_node itself."""

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd
from robodyn_ros.detection.fault import Fault

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # isort: skip
from geometry_msgs.msg import InertiaStamped  # isort: skip
from std_srvs.srv import Trigger  # isort: skip

from robodyn_ros.errors import RobodynError  # isort: skip
from robodyn_ros.nodes.codec import (  # isort: skip
    fault_state,
    payload_message,
    read_fault_state,
    read_payload,
)
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # isort: skip
from robodyn_ros.nodes.log_lines import FaultLog, Severity, payload_line  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED  # isort: skip

LWR = rd.robots.lwr_iii()
INERTIA = np.array([[3.0, 0.1, 0.2], [0.1, 4.0, 0.3], [0.2, 0.3, 5.0]]) * 1e-3
HELD = rd.Payload("link_7", 1.5, (0.01, -0.02, 0.08), INERTIA)
ARGS = ["-p", "robot.name:=lwr_iii", "-p", "use_sim_time:=true"]


def test_a_fault_goes_through_a_message_with_all_that_people_need():
    fault = Fault("bias", "joint_3", 4.912, 0.97, "N m", 12.3456, "collision")
    message = fault_state("dynamics_node", 1000.5, fault)
    (status,) = message.status
    assert status.level == DiagnosticStatus.ERROR and status.message == fault.text()
    keys = [item.key for item in status.values]
    assert keys[:7] == ["kind", "joint", "value", "unit", "confidence", "onset", "runner_up"]
    (report,) = read_fault_state(message)
    assert (report.t, report.kind, report.joint) == (1000.5, "bias", "joint_3")
    assert (report.value, report.unit, report.confidence) == ("4.91", "N m", "97%")
    assert (report.onset, report.runner_up) == ("12.346", "collision")
    assert report.remedy == fault.remedy and report.text == fault.text()


def test_no_fault_is_told_too_and_harmless_ones_only_warn():
    (none,) = read_fault_state(fault_state("plant", 1.0, None))
    assert (none.kind, none.text) == ("", "no fault")
    assert fault_state("plant", 1.0, None).status[0].level == DiagnosticStatus.OK
    two = fault_state("plant", 1.0, Fault("payload", "link_7", 1.5), Fault("locked", "joint_2"))
    levels = [status.level for status in two.status]
    assert levels == [DiagnosticStatus.WARN, DiagnosticStatus.ERROR]
    assert [report.kind for report in read_fault_state(two)] == ["payload", "locked"]
    assert read_fault_state(DiagnosticArray()) == []


def test_a_payload_goes_through_a_message_in_typed_fields():
    message = payload_message(7.25, "link_6", HELD)
    assert message.header.frame_id == "link_7"
    read = read_payload(message)
    assert (read.link, read.mass, read.com) == (HELD.link, HELD.mass, HELD.com)
    np.testing.assert_array_equal(read.inertia, INERTIA)
    a, b = LWR.replace(payload=HELD), LWR.replace(payload=read)
    np.testing.assert_array_equal(a.inertia, b.inertia)
    nothing = payload_message(7.25, "link_6", None)
    assert nothing.header.frame_id == "link_6" and read_payload(nothing) is None


def test_a_fault_gives_a_line_when_it_is_named_and_when_it_is_over():
    log, told = FaultLog(), []
    undecided, bias = Fault("undecided"), Fault("bias", "joint_3", 5.0, unit="N m")
    for t, fault in (
        (1.0, undecided),
        (1.4, bias),
        (1.6, Fault("bias", "joint_3", 5.1, unit="N m")),  # only a number has changed
        (1.7, Fault("collision")),
        (1.8, Fault("locked", "joint_4")),  # revised
        (3.0, Fault("payload", "link_7", 1.5, unit="kg")),
        (4.0, None),
        (5.0, undecided),
        (6.0, None),
    ):
        line = log.update(t, fault)
        if line:
            told.append(line)
    assert [line.severity for line in told] == [
        Severity.ERROR,
        Severity.ERROR,
        Severity.WARN,
        Severity.INFO,
    ]
    assert told[0].text == f"FAULT, bias on joint_3: {bias.text()}. {bias.remedy}"
    assert told[-1].text == "no fault: payload on link_7 is over after 2.60 s"


def test_a_fault_that_flickers_gives_a_line_a_second():
    log = FaultLog()
    lines = [
        log.update(0.01 * k, Fault("sensor_freeze", "joint_7") if k % 2 else None)
        for k in range(250)
    ]
    told = [line.text.partition(":")[0] for line in lines if line]
    assert told.count("FAULT, sensor freeze on joint_7") == 3
    assert told.count("no fault") == 3
    assert log.update(9.0, Fault("command_loss")) is None  # the line about UNKNOWN tells it


def test_a_payload_gives_a_line_for_each_change():
    assert payload_line(None, None, "set") is None
    assert payload_line(None, HELD, "found").text == "payload: released, 1.50 kg"
    line = payload_line(HELD, None, "found")
    assert line.text == "payload: found, 1.50 kg on link_7, centre at (0.010, -0.020, 0.080) m"


def test_the_controller_takes_the_detectors_payload_over_within_its_bounds():
    with bench(ControllerNode, args=ARGS) as there:
        (node,) = there.nodes
        to_payload = there.node.create_publisher(InertiaStamped, "dynamics_node/payload", LATCHED)

        def send(held):
            to_payload.publish(payload_message(1.0, "link_7", held))

        send(HELD)
        there.until(lambda: node.payload is not None)
        assert node.arm.model.mass.sum() == pytest.approx(LWR.mass.sum() + 1.5)
        for bad in (
            rd.Payload("link_7", 50.0),  # more than payload.max_mass
            rd.Payload("hand", 1.0),
            rd.Payload("link_7", float("nan")),
            rd.Payload("link_7", 1.0, (float("inf"), 0.0, 0.0)),
            rd.Payload("link_7", -1.0),
        ):
            node.last_warning = ""
            node.receive("dynamics_node/payload", payload_message(1.0, "link_7", bad))
            assert node.last_warning.startswith("rejected a payload")
            assert node.payload.mass == 1.5
        send(None)
        there.until(lambda: node.payload is None)
        assert there.set(node, payload__follow=False).successful
        node.receive("dynamics_node/payload", payload_message(1.0, "link_7", HELD))
        assert node.payload is None


@pytest.mark.parametrize("make", [ControllerNode, DynamicsNode])
def test_a_payload_by_parameters_is_checked_and_can_be_set_at_the_start(make):
    given = ["-p", "payload.mass:=2.0", "-p", "payload.inertia:=0.01"]
    with bench(make, args=[*ARGS, *given]) as there:
        (node,) = there.nodes
        held = node.arm.model if make is ControllerNode else node.monitor._parts.observer.model
        assert held.mass.sum() == pytest.approx(LWR.mass.sum() + 2.0)
        for values, named in (
            ({"payload__link": "hand"}, "hand"),
            ({"payload__com": [0.1]}, "com"),
            ({"payload__inertia": [1.0, 2.0]}, "inertia"),
            ({"payload__mass": -1.0}, "mass"),
        ):
            result = there.set(node, **values)
            assert not result.successful and named in result.reason, values
        assert there.set(node, payload__mass=0.0).successful
    bad = ["-p", "payload.mass:=2.0", "-p", "payload.link:=hand"]
    with pytest.raises(RobodynError, match="hand"), bench(make, args=[*ARGS, *bad]):
        pass


def test_there_is_nothing_to_accept_without_a_payload():
    with bench(DynamicsNode, args=ARGS) as there:
        response = there.call(Trigger, "dynamics_node/accept_payload")
        assert not response.success and "no payload" in response.message
