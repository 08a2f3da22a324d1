"""Faults and payloads of simulator_node: scripted, and by parameters while it runs."""

import numpy as np
import pytest
from ros_harness import bench

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from std_msgs.msg import Float64MultiArray  # isort: skip
from std_srvs.srv import Trigger  # isort: skip

from robodyn_ros.errors import RobodynError  # isort: skip
from robodyn_ros.nodes.codec import read_fault_state  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip

ARGS = ["-p", "robot.name:=planar_2r", "-p", "rate:=250.0", "-p", "plant.start:=[0.3, 0.4]"]
SCRIPT = [
    *("-p", "faults.names:=[weak, box]"),
    *("-p", "faults.weak.kind:=effectiveness", "-p", "faults.weak.joint:=joint_2"),
    *("-p", "faults.weak.value:=0.3", "-p", "faults.weak.at:=0.02"),
    *("-p", "faults.box.kind:=payload", "-p", "faults.box.value:=2", "-p", "faults.box.at:=0.04"),
    *("-p", "faults.box.duration:=0.02", "-p", "faults.box.com:=[0.1, 0.0, 0.0]"),
]


def steps(node, count):
    """Command no torque for some periods."""
    for _ in range(count):
        node.receive("effort_controller/commands", Float64MultiArray(data=[0.0, 0.0]))
        node.step()
        node.publish_state()


def stopped(node):
    """Return the node without timers of its own: the test steps it."""
    for timer in list(node.timers):
        timer.cancel()
    return node


def test_scripted_faults_begin_and_end_as_the_script_says():
    with bench(SimulatorNode, args=[*ARGS, *SCRIPT]) as there:
        node = stopped(there.nodes[0])
        told = []
        node.to_faults.local.append(told.append)
        plant = node.plant
        node.step()  # without a command the script has not begun
        assert not plant.injections
        steps(node, 5)  # 0 to 0.02 s
        assert not plant.acting
        steps(node, 1)
        assert plant.motor_gain.tolist() == [1.0, 0.3]
        steps(node, 6)
        (held,) = plant.payloads
        assert (held.link, held.mass, held.com) == (
            plant.bare.link_names[-1],
            2.0,
            (0.1, 0.0, 0.0),
        )
        steps(node, 6)
        assert not plant.payloads and plant.faults
        kinds = [[one.kind for one in read_fault_state(message)] for message in told]
        assert kinds == [["effectiveness"], ["effectiveness", "payload"], ["effectiveness"]]
        (weak, box) = read_fault_state(told[1])
        assert (weak.joint, weak.value) == ("joint_2", "0.3")
        assert (box.value, box.unit) == ("2", "kg")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["-p", "faults.names:=[odd]", "-p", "faults.odd.kind:=melted"], "melted"),
        (["-p", "faults.names:=[odd]", "-p", "faults.odd.joint:=joint_9"], "joint_9"),
        (["-p", "faults.names:=[odd]"], "one joint"),  # a bias of which joint?
        (
            ["-p", "faults.names:=[odd]", "-p", "faults.odd.kind:=friction"]
            + ["-p", "faults.odd.joint:=joint_1"],
            "plant.friction",
        ),
        (["-p", "payload.mass:=1", "-p", "payload.link:=hand"], "hand"),
    ],
)
def test_a_wrong_script_is_rejected_at_the_start(given, named):
    with pytest.raises(RobodynError, match=named), bench(SimulatorNode, args=[*ARGS, *given]):
        pass


def test_a_fault_and_a_payload_set_while_running_act_until_they_are_taken_back():
    with bench(SimulatorNode, args=ARGS) as there:
        node, plant = stopped(there.nodes[0]), there.nodes[0].plant
        steps(node, 2)
        assert there.set(
            node, fault__kind="bias", fault__joint="joint_1", fault__value=[7.0], payload__mass=1.5
        ).successful
        steps(node, 2)
        assert plant.motor_bias.tolist() == [7.0, 0.0]
        assert [held.mass for held in plant.payloads] == [1.5]
        assert there.set(node, fault__kind="free_swinging").successful  # replaces the bias
        steps(node, 1)
        assert plant.motor_bias[0] == 0.0 and plant.motor_gain[0] == 0.0
        node._reset(Trigger.Request(), Trigger.Response())
        steps(node, 1)
        assert len(plant.acting) == 2  # a reset keeps what the parameters say
        assert there.set(node, push_duration=0.3).successful  # another parameter changes nothing
        assert len(node.live) == len(plant.acting) == 2
        assert there.set(node, fault__kind="none", payload__mass=0.0).successful
        steps(node, 1)
        assert not plant.acting and plant.model is plant.bare


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"fault__kind": "bias", "fault__joint": "elbow"}, "elbow"),
        ({"fault__kind": "bias"}, "one joint"),
        ({"fault__kind": "melted", "fault__joint": "joint_1"}, "melted"),
        ({"fault__kind": "effort_sign", "fault__value": [2.0]}, "negative"),
        ({"payload__mass": -1.0}, "mass"),
        ({"payload__mass": 1.0, "payload__link": "hand"}, "hand"),
        ({"payload__mass": 1.0, "payload__com": [1.0]}, "com"),
        ({"payload__mass": 1.0, "payload__inertia": [1.0, 2.0]}, "inertia"),
    ],
)
def test_a_wrong_live_fault_is_refused_with_the_reason(values, named):
    with bench(SimulatorNode, args=ARGS) as there:
        node = stopped(there.nodes[0])
        result = there.set(node, **values)
        assert not result.successful and named in result.reason
        assert not node.plant.injections


def test_the_truth_is_latched_for_a_late_subscriber():
    given = ["-p", "fault.kind:=effort_scale", "-p", "fault.value:=0.05"]
    with bench(SimulatorNode, args=[*ARGS, *given]) as there:
        (node,) = there.nodes
        there.until(lambda: bool(node.acting))
        heard = there.collect(DiagnosticArray, "simulator_node/fault", LATCHED)
        there.until(lambda: bool(heard))
        (report,) = read_fault_state(heard[-1])
        assert (report.kind, report.joint, report.value) == ("effort_scale", "", "0.05")
        tau = node.plant.measurement.tau
        np.testing.assert_allclose(tau, 0.05 * node.plant.state.tau)
