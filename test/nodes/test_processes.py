"""The nodes as real processes: what a user starts, pushes, looks at and stops."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from ros_harness import own_domain

import robodyn_ros as rd
from robodyn_ros.resources import share_path

from geometry_msgs.msg import WrenchStamped  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from rclpy.qos import QoSProfile, ReliabilityPolicy  # isort: skip

from robodyn_ros.nodes import terminal  # isort: skip
from robodyn_ros.nodes.demo import Demo, running  # isort: skip
from robodyn_ros.nodes.demo_observer import DemoObserver  # isort: skip
from robodyn_ros.nodes.runtime import spin  # isort: skip

PARAMS = share_path("config", "demo.yaml")
QUIET = {  # a busy machine must not end a test
    "simulator_node": {"pushes.names": [""], "command_timeout": 5.0},
    "controller_node": {"arm.timeout": 1.0},
    "demo_node": {"active": False},
}


@pytest.fixture(autouse=True)
def domain(monkeypatch):
    number = str(own_domain())
    monkeypatch.setenv("ROS_DOMAIN_ID", number)
    return number


def wait(executor, condition, longest=60.0):
    spin(executor, condition, longest, every=0.01)
    assert condition(), "it did not happen in time"


@pytest.mark.parametrize("composed", [False, True], ids=["three processes", "composed"])
def test_pushed_felt_told_yielded_resumed_stopped(composed, capfd):
    demo = Demo(PARAMS, 0.0, composed, overrides=QUIET)
    with running(demo) as processes, terminal.open_terminal() as (node, executor):
        seen = DemoObserver(node)
        push = node.create_publisher(WrenchStamped, "simulator_node/push", 10)
        wait(executor, lambda: seen.states and seen.states[-1].level is rd.Level.CLEAR)
        wait(executor, lambda: seen.mode == "HOLDING" and push.get_subscription_count() == 1)
        message = WrenchStamped()
        message.header.frame_id = "link_6"
        message.wrench.torque.z = 8.0  # felt by the joint that carries the link, and before
        push.publish(message)
        wait(executor, lambda: any(w.level is rd.Level.COLLISION for w in seen.states))
        wait(executor, lambda: seen.states[-1].level is rd.Level.CLEAR)
        wait(executor, lambda: seen.mode == "HOLDING")
    # An onlooker that a busy machine held up may have missed truths: one push then looks like two
    event = next(event for event in seen.events() if event.pushed and event.reported)
    assert event.reported.level is rd.Level.COLLISION
    assert event.reported.link == "link_6"
    assert 0.0 <= event.delay < 0.5  # how soon is for a benchmark: a busy machine may have stalled
    assert np.abs(seen.r).max() > 2.0
    assert [process.returncode for process in processes] == len(processes) * [0]
    assert "Traceback" not in capfd.readouterr().err


def test_two_arms_in_two_namespaces_do_not_disturb_each_other():
    demos = [Demo(PARAMS, 0.0, True, side, overrides=QUIET) for side in ("left", "right")]
    heard = {"left": [], "right": []}
    with running(demos[0]), running(demos[1]), terminal.open_terminal() as (node, executor):
        # A reliable subscriber on one side, a best-effort one on the other
        for side, reliability in zip(heard, ReliabilityPolicy, strict=False):
            qos = QoSProfile(depth=10, reliability=reliability)
            topic = f"/{side}/dynamics_node/residual"
            node.create_subscription(JointState, topic, heard[side].append, qos)
        wait(executor, lambda: all(len(messages) > 50 for messages in heard.values()))
        push = node.create_publisher(WrenchStamped, "/left/simulator_node/push", 10)
        wait(executor, lambda: push.get_subscription_count() == 1)
        message = WrenchStamped()
        message.header.frame_id = "link_6"
        message.wrench.torque.z = 8.0
        push.publish(message)
        wait(executor, lambda: np.abs(heard["left"][-1].effort).max() > 1.0)
        assert np.abs([list(m.effort) for m in heard["right"]]).max() < 0.5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_node_cleanly(number, domain):
    command = [sys.executable, "-m", "robodyn_ros.nodes.composed", "--ros-args"]
    process = subprocess.Popen(
        [*command, "--params-file", str(PARAMS)], stderr=subprocess.PIPE, text=True
    )
    for line in process.stderr:
        if "controller_node]: ready" in line:
            break
    with terminal.open_terminal() as (_, executor):
        spin(executor, lambda: False, 0.5)
    os.kill(process.pid, number)
    _, rest = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Traceback" not in rest


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
def test_what_cannot_work_ends_with_one_line(arguments, reason):
    done = subprocess.run(
        [sys.executable, "-m", "robodyn_ros.nodes.dynamics_node", "--ros-args", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert reason in done.stderr and "Traceback" not in done.stderr


def test_a_look_from_a_second_terminal():
    with running(Demo(PARAMS, 0.0, True, overrides=QUIET)):
        with terminal.open_terminal() as (node, executor):
            seen = DemoObserver(node)
            wait(executor, lambda: bool(seen.t))
        (text,) = terminal.echo("residual", 1)
        assert "effort: [" in text and "joint_7" in text
        topics = {name: kind for name, kind, _ in terminal.topics()}
        assert topics["/joint_states"] == "sensor_msgs/msg/JointState"
        assert terminal.get_parameters("dynamics_node", ["effort"]) == {"effort": "joint_states"}
        assert terminal.set_parameter("dynamics_node", "monitor.gain", 33.0) == (True, "")
        assert terminal.get_parameters("dynamics_node")["monitor.gain"] == 33.0
        done, reason = terminal.set_parameter("dynamics_node", "monitor.gain", -1.0)
        assert not done and "gain must be" in reason
        with pytest.raises(rd.ArgumentError, match="no node 'nobody'"):
            terminal.get_parameters("nobody")
