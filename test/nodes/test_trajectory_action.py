"""FollowJointTrajectory: goals that are reached, refused, replaced, cancelled or fail.

control_msgs has no wheel. A stand-in has the fields of its action, and a stand-in server the calls
of rclpy's, so that the logic is tested sample by sample. With rclpy's own server and client, an
action of test_msgs carries the same fields, encoded in its integers.
"""

import sys
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from ros_harness import bench  # imports rclpy as the nodes need it

import robodyn_ros as rd

from action_msgs.msg import GoalStatus  # isort: skip
from builtin_interfaces.msg import Duration  # isort: skip
from rclpy.action import ActionClient  # isort: skip
from std_msgs.msg import Header  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from robodyn_ros.control.arm_controller import ArmController, Mode  # isort: skip
from robodyn_ros.nodes import trajectory_action  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.simulator_node import SimulatorNode  # isort: skip
from robodyn_ros.nodes.trajectory_action import (  # isort: skip
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER_TIMESTAMP,
    PATH_TOLERANCE_VIOLATED,
    ACTION,
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


@dataclass
class JointTolerance:
    """The fields of control_msgs/JointTolerance that are used."""

    name: str
    position: float = 0.0
    velocity: float = 0.0


def duration(seconds):
    return Duration(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))


class Goal:
    """What rclpy hands to the execute callback."""

    def __init__(self, trajectory, path=(), goal=(), time=0.0):
        self.request = SimpleNamespace(
            trajectory=trajectory,
            path_tolerance=[JointTolerance(**x) for x in path],
            goal_tolerance=[JointTolerance(**x) for x in goal],
            goal_time_tolerance=duration(time),
        )
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

    def follow(self, message, taken, refused, wanted):
        names, start = MODEL.joint_names, self.arm.reference[:3]
        try:
            points = from_points(
                message.joint_names, message.points, joint_names=names, start=start
            )
            self.arm.follow(points)
        except rd.RobodynError as error:
            refused(error)
        else:
            taken()

    def run(self, seconds, away=0.0):
        for _ in range(round(seconds / DT)):
            self.t += DT
            reference = self.arm.reference
            self.arm.update(self.t, reference.q - away, reference.qd)
            self.action.update()
            self.server.step()


def goal_to(q, seconds, names=MODEL.joint_names, stamp=0.0, **tolerances):
    point = JointTrajectoryPoint(positions=[float(x) for x in q])
    point.velocities = point.accelerations = 7 * [0.0]
    point.time_from_start = duration(seconds)
    message = JointTrajectory(joint_names=list(names), points=[point])
    message.header.stamp.nanosec = round(stamp * 1e9)
    return Goal(message, **tolerances)


def outcome(arm, goal):
    return goal.status, arm.server.results[goal].error_code


def test_a_goal_is_reached_with_feedback_on_the_way():
    arm, goal = Arm(), goal_to(START + 0.1, 0.5)
    arm.server.send(goal)
    arm.run(0.25)
    assert goal.status == "executing" and goal not in arm.server.results
    assert len(goal.feedback) == 5  # every 50 ms
    feedback = goal.feedback[-1]
    assert feedback.joint_names == list(MODEL.joint_names)
    np.testing.assert_allclose(feedback.desired.positions, arm.arm.reference.q)
    np.testing.assert_allclose(feedback.actual.velocities, arm.arm.reference.qd, rtol=0.02)
    assert 0.0 < np.abs(feedback.error.positions).max() < 1e-3
    assert feedback.desired.time_from_start.nanosec == pytest.approx(0.25e9, abs=1e7)
    arm.run(0.4)
    assert outcome(arm, goal) == ("succeeded", SUCCESSFUL)


def test_an_impossible_goal_is_aborted_with_the_reason():
    arm, goal = Arm(), goal_to(START + 10.0, 0.5)
    arm.server.send(goal)
    assert outcome(arm, goal) == ("aborted", INVALID_GOAL)
    assert "limits" in arm.server.results[goal].error_string


def test_codes_of_goals_that_are_refused():
    arm = Arm()
    arm.run(0.5)
    other = goal_to(START, 0.5, names=[*MODEL.joint_names[:6], "elbow"])
    unknown = goal_to(START, 0.5, path=[{"name": "elbow", "position": 0.1}])
    for goal in (other, unknown):
        arm.server.send(goal)
        assert outcome(arm, goal) == ("aborted", INVALID_JOINTS)


def test_a_path_tolerance_stops_the_arm():
    arm = Arm()
    goal = goal_to(START + 0.3, 1.0, path=[{"name": "joint_2", "position": 0.01}])
    arm.server.send(goal)
    arm.run(0.3, away=0.005)
    assert goal.status == "executing"
    arm.run(0.01, away=0.02)
    assert outcome(arm, goal) == ("aborted", PATH_TOLERANCE_VIOLATED)
    assert "joint_2" in arm.server.results[goal].error_string
    arm.run(1.0)
    assert arm.arm.mode is Mode.HOLDING and arm.arm.reference.q[0] < START[0] + 0.25


def test_a_goal_tolerance_is_waited_for_until_its_time():
    near = [{"name": name, "position": 0.01} for name in MODEL.joint_names]
    for away, later, expected in (
        (0.02, 0.0, ("aborted", GOAL_TOLERANCE_VIOLATED)),
        (0.02, 0.02, ("aborted", GOAL_TOLERANCE_VIOLATED)),
        (0.02, 0.005, ("succeeded", SUCCESSFUL)),
    ):
        arm, goal = Arm(), goal_to(START + 0.1, 0.5, goal=near, time=0.3)
        arm.server.send(goal)
        arm.run(0.6, away)
        assert goal.status == "executing" and arm.arm.mode is Mode.HOLDING
        arm.run(0.3, later or away)
        assert outcome(arm, goal) == expected


def test_a_goal_that_live_scaling_delays_fails_by_its_time_alone():
    for time, expected in ((0.0, SUCCESSFUL), (0.1, GOAL_TOLERANCE_VIOLATED)):
        arm, goal = Arm(), goal_to(START + 0.8, 0.3, time=time)
        arm.server.send(goal)
        arm.run(2.0)
        assert arm.server.results[goal].error_code == expected
        assert arm.arm.mode is Mode.HOLDING


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


# ---------------------------------------------------------------- rclpy's own server and client

GOALS: list = []  # the requests, by the number that travels


def encoded(monkeypatch):
    """Give an action of test_msgs the fields of FollowJointTrajectory, encoded in integers."""
    fibonacci = pytest.importorskip("test_msgs.action").Fibonacci
    for field in ("trajectory", "path_tolerance", "goal_tolerance", "goal_time_tolerance"):
        value = property(lambda goal, field=field: getattr(GOALS[goal.order].request, field))
        monkeypatch.setattr(fibonacci.Goal, field, value, raising=False)

    def set_code(result, code):
        result.sequence = [code, *list(result.sequence)[1:]]

    def set_text(result, text):
        result.sequence = [*list(result.sequence)[:1], *map(ord, text)]

    def set_error(feedback, point):
        feedback.sequence = [round(1e6 * x) for x in point.positions]

    def unseen(kind):
        return property(lambda _: kind(), lambda *_: None)

    for owner, name, value in (
        (fibonacci.Result, "error_code", property(None, set_code)),
        (fibonacci.Result, "error_string", property(None, set_text)),
        (fibonacci.Feedback, "error", property(None, set_error)),
        (fibonacci.Feedback, "header", unseen(Header)),
        (fibonacci.Feedback, "desired", unseen(JointTrajectoryPoint)),
        (fibonacci.Feedback, "actual", unseen(JointTrajectoryPoint)),
        (fibonacci.Feedback, "joint_names", unseen(list)),
    ):
        monkeypatch.setattr(owner, name, value, raising=False)
    return fibonacci


def decoded(result):
    code, *text = result.result.sequence
    return result.status, code, "".join(map(chr, text))


def test_goals_through_rclpy(monkeypatch):
    """Accepted, fed back, reached, preempted, cancelled and refused, by a real client."""
    kind = encoded(monkeypatch)
    monkeypatch.setattr("robodyn_ros.nodes.controller_node.action_type", lambda: kind)
    GOALS[:] = [
        goal_to(START + 0.05, 0.3),
        goal_to(START + 0.3, 5.0),
        goal_to(START, 0.5, stamp=1e-3),
        goal_to(START + 0.1, 3.0),
    ]
    args = ["-p", "robot.name:=lwr_iii", "-p", "free_running:=true", "-p", "use_sim_time:=true"]
    args += ["-p", f"plant.start:={START.tolist()}", "-p", "detector_timeout:=0.0"]
    with bench(SimulatorNode, ControllerNode, args=args) as there:
        client, feedback = ActionClient(there.node, kind, "controller_node" + ACTION[1:]), []
        there.until(client.server_is_ready)
        there.until(lambda: there.nodes[1].arm.time > 0.1)

        def send(number):
            future = client.send_goal_async(kind.Goal(order=number), feedback.append)
            there.until(future.done)
            assert future.result().accepted
            return future.result(), future.result().get_result_async()

        _, reached = send(0)
        there.until(reached.done, 30.0)
        assert decoded(reached.result()) == (GoalStatus.STATUS_SUCCEEDED, SUCCESSFUL, "arrived")
        assert feedback and all(len(x.feedback.sequence) == 7 for x in feedback)

        _, preempted = send(1)
        last, cancelled = send(3)
        there.until(preempted.done)
        status, code, text = decoded(preempted.result())
        assert (status, code) == (GoalStatus.STATUS_ABORTED, INVALID_GOAL) and "replaced" in text

        _, refused = send(2)
        there.until(refused.done)
        status, code, text = decoded(refused.result())
        assert (status, code) == (GoalStatus.STATUS_ABORTED, OLD_HEADER_TIMESTAMP)

        there.until(last.cancel_goal_async().done)
        there.until(cancelled.done)
        assert decoded(cancelled.result())[0] == GoalStatus.STATUS_CANCELED
        arm = there.nodes[1].arm
        there.until(lambda: not arm.reference.qd.any())
        assert arm.mode is Mode.HOLDING
        client.destroy()
