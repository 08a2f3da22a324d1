"""FollowJointTrajectory: goals that are reached, refused, replaced, cancelled or fail.

control_msgs has no wheel. A stand-in has the fields of its action, and a stand-in server the calls
of rclpy's, so that the logic is tested; the transport is rclpy's own.
"""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from ros_harness import bench  # imports rclpy as the nodes need it

import robodyn_ros as rd

from builtin_interfaces.msg import Duration  # isort: skip
from std_msgs.msg import Header  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from robodyn_ros.control.arm_controller import ArmController, Mode  # isort: skip
from robodyn_ros.nodes import trajectory_action  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.trajectory_action import (  # isort: skip
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    TrajectoryAction,
    action_type,
)
from robodyn_ros.trajectory.trajectory_msg import from_points  # isort: skip

MODEL = rd.robots.lwr_iii()
START = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
DT = 2e-3


class FollowJointTrajectory:
    """The fields of control_msgs/action/FollowJointTrajectory that are used."""

    class Result:
        def __init__(self):
            self.error_code, self.error_string = 0, ""

    class Feedback:
        def __init__(self):
            self.header, self.joint_names = Header(), []
            self.desired = self.actual = self.error = JointTrajectoryPoint()


class Goal:
    """What rclpy hands to the execute callback."""

    def __init__(self, trajectory):
        self.request = SimpleNamespace(trajectory=trajectory)
        self.is_cancel_requested, self.status, self.feedback = False, "executing", []

    def succeed(self):
        self.status = "succeeded"

    def abort(self):
        self.status = "aborted"

    def canceled(self):
        assert self.is_cancel_requested
        self.status = "canceled"

    def publish_feedback(self, feedback):
        self.feedback.append(feedback)


class Server:
    """The calls of rclpy.action.ActionServer; runs execute callbacks up to their end."""

    def __init__(self, node, kind, name, *, execute_callback, goal_callback, cancel_callback):
        self.name, self.execute = name, execute_callback
        self.results, self.running = {}, []

    def send(self, goal):
        task = self.execute(goal)
        self.running.append((goal, task))
        self.step()

    def step(self):
        for goal, task in list(self.running):
            try:
                task.send(None)
            except StopIteration as done:
                self.results[goal] = done.value
                self.running.remove((goal, task))


class Arm:
    """An arm that follows its reference exactly."""

    def __init__(self):
        self.arm, self.t = ArmController(MODEL), 0.0
        self.arm.update(0.0, START, np.zeros(7))
        self.action = TrajectoryAction(None, FollowJointTrajectory, self.arm, self.follow, Server)
        self.server = self.action.server

    def follow(self, message):
        names, start = MODEL.joint_names, self.arm.reference[:3]
        points = from_points(message.joint_names, message.points, joint_names=names, start=start)
        self.arm.follow(points)

    def run(self, seconds):
        for _ in range(round(seconds / DT)):
            self.t += DT
            reference = self.arm.reference
            self.arm.update(self.t, reference.q, reference.qd)
            self.action.update()
            self.server.step()


def goal_to(q, seconds, names=MODEL.joint_names):
    point = JointTrajectoryPoint(positions=[float(x) for x in q])
    point.velocities = point.accelerations = 7 * [0.0]
    point.time_from_start = Duration(sec=int(seconds), nanosec=int(seconds % 1 * 1e9))
    return Goal(JointTrajectory(joint_names=list(names), points=[point]))


def outcome(arm, goal):
    return goal.status, arm.server.results[goal].error_code


def test_a_goal_is_reached_with_feedback_on_the_way():
    arm, goal = Arm(), goal_to(START + 0.1, 0.5)
    arm.server.send(goal)
    arm.run(0.25)
    assert goal.status == "executing" and goal not in arm.server.results
    arm.action.publish_feedback(arm.t)
    feedback = goal.feedback[-1]
    assert feedback.joint_names == list(MODEL.joint_names)
    np.testing.assert_allclose(feedback.desired.positions, arm.arm.reference.q)
    assert feedback.desired.time_from_start.nanosec == pytest.approx(0.25e9, abs=1e7)
    arm.run(0.4)
    assert outcome(arm, goal) == ("succeeded", SUCCESSFUL)


def test_an_impossible_goal_is_aborted_with_the_reason():
    arm, goal = Arm(), goal_to(START + 10.0, 0.5)
    arm.server.send(goal)
    assert outcome(arm, goal) == ("aborted", INVALID_GOAL)
    assert "limits" in arm.server.results[goal].error_string


def test_a_new_goal_replaces_the_old_one():
    arm, first, second = Arm(), goal_to(START + 0.1, 1.0), goal_to(START + 0.2, 1.0)
    arm.server.send(first)
    arm.run(0.3)
    arm.server.send(second)
    arm.run(0.02)
    assert outcome(arm, first) == ("aborted", INVALID_GOAL)
    arm.run(1.5)
    assert outcome(arm, second) == ("succeeded", SUCCESSFUL)


def test_a_refused_goal_does_not_end_the_one_that_is_followed():
    arm, first = Arm(), goal_to(START + 0.1, 1.0)
    arm.server.send(first)
    arm.run(0.3)
    arm.server.send(goal_to(START + 10.0, 1.0))
    arm.run(1.5)
    assert outcome(arm, first) == ("succeeded", SUCCESSFUL)


def test_a_cancelled_goal_comes_to_rest():
    arm, goal = Arm(), goal_to(START + 0.3, 1.0)
    arm.server.send(goal)
    arm.run(0.4)
    goal.is_cancel_requested = True
    arm.run(1.0)
    assert goal.status == "canceled" and arm.arm.mode is Mode.HOLDING
    assert not arm.arm.reference.qd.any() and arm.arm.reference.q[0] < START[0] + 0.29


def test_a_safe_hold_aborts_and_a_contact_does_not():
    arm, goal = Arm(), goal_to(START + 0.3, 1.0)
    arm.server.send(goal)
    arm.run(0.4)
    arm.arm.contact(True)
    arm.run(0.1)
    assert goal.status == "executing" and arm.arm.mode is Mode.REACTING
    arm.arm.safe_hold("the test says so")
    arm.run(0.1)
    assert outcome(arm, goal) == ("aborted", PATH_TOLERANCE_VIOLATED)
    assert "the test says so" in arm.server.results[goal].error_string


def test_the_node_offers_it_where_control_msgs_can_be_imported(monkeypatch):
    assert action_type() is None  # no wheel
    module, package = ModuleType("control_msgs.action"), ModuleType("control_msgs")
    module.FollowJointTrajectory = FollowJointTrajectory
    monkeypatch.setitem(sys.modules, "control_msgs", package)
    monkeypatch.setitem(sys.modules, "control_msgs.action", module)
    assert action_type() is FollowJointTrajectory
    monkeypatch.setattr(trajectory_action.TrajectoryAction.__init__, "__defaults__", (Server,))
    with bench(ControllerNode, args=["-p", "robot.name:=lwr_iii"]) as there:
        (node,) = there.nodes
        assert node.action.server.name == "~/follow_joint_trajectory"
