"""The nodes as real processes: what a user starts, pushes, looks at and stops."""

import subprocess
import sys

import numpy as np
import pytest
from ros_harness import own_domain

import robodyn_ros as rd
from robodyn_ros.resources import share_path

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from geometry_msgs.msg import WrenchStamped  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from rclpy.qos import QoSProfile, ReliabilityPolicy  # isort: skip

from robodyn_ros.nodes import dynamics_node, terminal  # isort: skip
from robodyn_ros.nodes.codec import read_controller_state  # isort: skip
from robodyn_ros.nodes.demo import IDEAL, Demo, running  # isort: skip
from robodyn_ros.nodes.demo_observer import DemoObserver  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, spin  # isort: skip

PARAMS = share_path("config", "demo.yaml")
QUIET = {  # a busy machine must not end a test
    "simulator_node": {"pushes.names": [""], "command_timeout": 5.0} | IDEAL["simulator_node"],
    "controller_node": {"arm.timeout": 1.0} | IDEAL["controller_node"],
    "dynamics_node": IDEAL["dynamics_node"],
    "demo_node": {"active": False},
}


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    number = str(own_domain())
    monkeypatch.setenv("ROS_DOMAIN_ID", number)
    return number


def wait(executor, condition, longest=120.0):  # [s], for processes to start on a busy machine
    spin(executor, condition, longest, every=0.01)
    assert condition(), "it did not happen in time"


def pushed(node, executor, topic):
    """Push link 6 along its surface, 0.06 m off the axis of its joint."""
    push = node.create_publisher(WrenchStamped, topic, 10)
    wait(executor, lambda: push.get_subscription_count() == 1)
    message = WrenchStamped()
    message.header.frame_id = "link_6"
    message.wrench.force.x, message.wrench.torque.z = -80.0, 4.8
    push.publish(message)


def test_three_processes_detect_a_push_react_resume_and_stop(capfd):
    demo = Demo(PARAMS, 0.0, False, overrides=QUIET)
    with running(demo) as processes, terminal.open_terminal() as (node, executor):
        seen = DemoObserver(node)
        wait(executor, lambda: seen.states and seen.states[-1].level is rd.Level.CLEAR)
        wait(executor, lambda: seen.mode == "HOLDING")
        pushed(node, executor, "simulator_node/push")
        wait(executor, lambda: any(w.level is rd.Level.COLLISION for w in seen.states))
        wait(executor, lambda: seen.states[-1].level is rd.Level.CLEAR)
        wait(executor, lambda: seen.mode == "HOLDING")
    # On a busy machine the observer may miss external torques: one push then looks like two
    event = next(event for event in seen.events() if event.pushed and event.reported)
    assert event.reported.level is rd.Level.COLLISION
    assert event.reported.names("link_6")
    assert 0.0 <= event.delay < 0.5  # a benchmark measures the delay: a busy machine may stall
    assert np.abs(seen.r).max() > 2.0
    assert [process.returncode for process in processes] == len(processes) * [0]
    assert "Traceback" not in capfd.readouterr().err


def test_two_arms_in_two_namespaces_and_a_look_from_a_second_terminal(capfd, monkeypatch):
    monkeypatch.setattr(terminal, "ANSWER_TIMEOUT", 30.0)  # [s], on a busy machine
    demos = [Demo(PARAMS, 0.0, True, side, overrides=QUIET) for side in ("left", "right")]
    heard, modes = {"left": [], "right": []}, []
    with running(demos[0]) as left, running(demos[1]) as right:
        with terminal.open_terminal() as (node, executor):
            # A reliable subscriber on one side, a best-effort one on the other
            for side, reliability in zip(heard, ReliabilityPolicy, strict=False):
                qos = QoSProfile(depth=10, reliability=reliability)
                topic = f"/{side}/dynamics_node/residual"
                node.create_subscription(JointState, topic, heard[side].append, qos)
            topic = "/left/controller_node/state"
            node.create_subscription(
                DiagnosticArray,
                topic,
                lambda m: modes.append(read_controller_state(m)[0]),
                LATCHED,
            )
            wait(executor, lambda: all(len(messages) > 50 for messages in heard.values()))
            wait(executor, lambda: modes[-1:] == ["HOLDING"])
            pushed(node, executor, "/left/simulator_node/push")
            wait(executor, lambda: np.abs(heard["left"][-1].effort).max() > 1.0)
            wait(executor, lambda: "REACTING" in modes and modes[-1] == "HOLDING")
            assert np.abs([list(m.effort) for m in heard["right"]]).max() < 0.5
        (text,) = terminal.echo("left/dynamics_node/residual", 1)
        assert "effort: [" in text and "joint_7" in text
        topics = {name: kind for name, kind, _ in terminal.topics()}
        assert topics["/right/joint_states"] == "sensor_msgs/msg/JointState"
        detector = "left/dynamics_node"
        assert terminal.get_parameters(detector, ["effort.source"]) == {
            "effort.source": "joint_states"
        }
        assert terminal.set_parameter(detector, "monitor.gain", 33.0) == (True, "")
        assert terminal.get_parameters(detector)["monitor.gain"] == 33.0
        accepted, reason = terminal.set_parameter(detector, "monitor.gain", -1.0)
        assert not accepted and "gain must be" in reason
        monkeypatch.setattr(terminal, "ANSWER_TIMEOUT", 0.5)
        with pytest.raises(rd.ArgumentError, match="no node 'no_such_node'"):
            terminal.get_parameters("no_such_node")
    assert [process.returncode for process in (*left, *right)] == [0, 0]
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-p", "robot.name:=no_such_arm"], "no_such_arm"),
        (["-p", "robot.name:=lwr_iii", "-p", "monitor.gain:=-3.0"], "gain must be"),
        (["-p", "robot.name:=lwr_iii", "-p", "monitor.masked:=[elbow]"], "elbow"),
        (["-p", "robot.name:=3"], "robot.name"),
        (["--params-file", "no_such_file.yaml"], "no_such_file.yaml"),
    ],
)
def test_invalid_arguments_end_a_node_with_one_line(arguments, reason, capfd):
    assert dynamics_node.main(["--ros-args", *arguments]) == 1
    said = capfd.readouterr().err
    assert reason in said and "Traceback" not in said


def test_the_process_of_a_node_returns_the_exit_code():
    command = [sys.executable, "-m", "robodyn_ros.nodes.dynamics_node", "--ros-args"]
    done = subprocess.run(
        [*command, "-p", "robot.name:=no_such_arm"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "no_such_arm" in done.stderr and "Traceback" not in done.stderr
