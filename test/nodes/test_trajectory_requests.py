"""Trajectories planned beside the loop: taken over, replaced, refused, planned again."""

import threading
import time

import numpy as np
import pytest
from ros_harness import bench  # imports rclpy as the nodes need it

import robodyn_ros as rd

from sensor_msgs.msg import JointState  # isort: skip
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint  # isort: skip

from robodyn_ros.control.arm_controller import ArmController, Mode  # isort: skip
from robodyn_ros.nodes.codec import set_stamp  # isort: skip
from robodyn_ros.nodes.controller_node import ControllerNode  # isort: skip
from robodyn_ros.nodes.trajectory_requests import (  # isort: skip
    LEAD,
    MAX_REPLACED,
    ReplacedError,
    Request,
    TrajectoryRequests,
)

MODEL = rd.robots.lwr_iii()
START = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
DT = 2e-3


class Arm:
    """An arm that follows its reference exactly, and its requests."""

    def __init__(self):
        self.arm, self.t = ArmController(MODEL), 0.0
        self.arm.update(0.0, START, np.zeros(7))
        self.requests, self.told = TrajectoryRequests(self.arm), {}

    def request(self, name, to, gate=None, seconds=1.0, wanted=lambda: True):
        """Request a move; it is planned once the gate, an event, is set."""
        waits = [gate] if gate else []

        def path(start, t):
            if waits:
                waits.pop().wait(20.0)
            return rd.joint_move(start.q, to, duration=seconds), None

        self.requests.plan(
            Request(
                path,
                lambda exceeded: self.told.update({name: exceeded}),
                lambda error: self.told.update({name: error}),
                wanted,
            )
        )

    def run(self, samples=1):
        for _ in range(samples):
            self.t += DT
            reference = self.arm.reference
            self.arm.update(self.t, reference.q, reference.qd)
            self.requests.update()

    def until_told(self, name, samples=1000):
        """Run until a request is taken over or refused; threads get time in between."""
        for _ in range(samples):
            self.run()
            if name in self.told:
                return self.told[name]
            time.sleep(DT)
        raise AssertionError(f"nothing was said about {name}")


def test_a_newer_trajectory_replaces_the_one_being_planned():
    arm, gate = Arm(), threading.Event()
    arm.request("old", START + 0.3, gate)
    arm.run(20)
    assert arm.arm.mode is Mode.HOLDING and not arm.told  # goes on meanwhile
    arm.request("new", START - 0.1)
    assert isinstance(arm.told["old"], ReplacedError)
    gate.set()  # it ends, and is forgotten
    assert arm.until_told("new") == ()
    arm.run(600)
    assert arm.arm.mode is Mode.HOLDING
    np.testing.assert_allclose(arm.arm.reference.q, START - 0.1)


def test_of_a_stream_some_are_followed():
    arm, gates = Arm(), [threading.Event() for _ in range(MAX_REPLACED + 3)]
    for k, gate in enumerate(gates):
        arm.request(k, START + 0.01 * k, gate)
        arm.run(5)
    for gate in gates:
        gate.set()
    assert arm.until_told(MAX_REPLACED) == ()  # before the latest
    assert arm.until_told(len(gates) - 1) == ()
    replaced = {name for name, said in arm.told.items() if isinstance(said, ReplacedError)}
    assert replaced == set(range(len(gates))) - {MAX_REPLACED, len(gates) - 1}


def test_a_plan_that_is_late_is_made_again_with_more_time():
    arm, gate = Arm(), threading.Event()
    arm.request("first", START + 0.3)
    arm.until_told("first")
    arm.run(150)
    arm.request("second", START, gate)
    arm.run(round(1.5 * LEAD / DT))
    speed = arm.arm.reference.qd
    assert np.abs(speed).max() > 0.1
    gate.set()
    arm.until_told("second")
    assert arm.told["second"] == () and arm.arm.mode is Mode.TRACKING
    assert np.abs(arm.arm.reference.qd).max() > 0.1  # joined in motion
    arm.run(1000)
    np.testing.assert_allclose(arm.arm.reference.q, START, atol=1e-9)


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (lambda arm: arm.arm.hold(), "stopped while"),
        (lambda arm: arm.arm.safe_hold("the test says so"), "the test says so"),
        (lambda arm: arm.arm.contact(True), "reacting, touched"),
        (lambda arm: arm.unwanted.append(True), "cancelled"),
    ],
)
def test_a_stop_in_between_makes_it_void(stop, says):
    arm, gate = Arm(), threading.Event()
    arm.unwanted = []
    arm.request("move", START + 0.3, gate, wanted=lambda: not arm.unwanted)
    arm.run(5)
    stop(arm)
    arm.run(5)
    gate.set()
    assert says in str(arm.until_told("move"))
    assert arm.arm.mode is not Mode.TRACKING


def test_errors_of_the_plan_are_reported():
    arm = Arm()
    arm.request("far", START + 10.0)
    assert "limits" in str(arm.until_told("far"))
    arm.request("text", "START")  # no error of this package
    assert isinstance(arm.until_told("text"), rd.RobodynError)


def trajectory(q, duration):
    point = JointTrajectoryPoint(positions=[float(x) for x in q], velocities=7 * [0.0])
    point.accelerations = 7 * [0.0]
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(duration * 1e9), 10**9)
    return JointTrajectory(joint_names=list(MODEL.joint_names), points=[point])


def test_no_callback_of_the_node_takes_long_when_a_trajectory_arrives_in_motion(monkeypatch):
    """By the processor time of the loop's thread: other programs do not count."""
    args = ["-p", "robot.name:=lwr_iii", "-p", "detector_timeout:=0.0"]
    with bench(ControllerNode, args=args) as there:
        (node,), spent, modes, commands = there.nodes, [], set(), []
        node.to_command.local.append(lambda message: commands.append(list(message.data)))
        refused, clock = [], [1000.0]
        monkeypatch.setattr(node, "warn_refused", refused.append)
        node.now = node.wall = lambda: clock[0]
        message = JointState(name=list(MODEL.joint_names), position=list(START))
        message.velocity = 7 * [0.0]

        def receive(topic, one):
            begun = time.thread_time()
            node.receive(topic, one)
            spent.append(time.thread_time() - begun)

        def run(condition, longest=20.0):
            end = clock[0] + longest
            while not condition():
                assert clock[0] < end
                clock[0] += DT
                set_stamp(message.header.stamp, clock[0])
                receive("joint_states", message)
                reference = node.arm.reference
                message.position, message.velocity = list(reference.q), list(reference.qd)
                modes.add(node.arm.mode)
                time.sleep(DT)

        path = lambda: node.arm._arm.reference.path  # noqa: E731
        run(lambda: node.statistics.samples > 20)
        for goal in (START + 0.8, START - 0.5, START + 0.3):  # the later ones in motion
            before = path()
            receive("~/joint_trajectory", trajectory(goal, 0.3))
            run(lambda before=before: path() is not before)
            end = clock[0] + 0.2
            run(lambda end=end: clock[0] > end)
        run(lambda: node.arm.mode is Mode.HOLDING)
        np.testing.assert_allclose(node.arm.reference.q, START + 0.3, atol=1e-6)
        assert not refused and modes == {Mode.HOLDING, Mode.TRACKING}
        assert max(spent[20:]) < 5e-3  # planned in place: more than 25 ms
        assert np.isfinite(commands).all()
