"""The bridge with real nodes: what it receives, and what it can make them do."""

import time

import numpy as np
import pytest
from ros_harness import bench

import robodyn_ros as rd
from robodyn_ros.dashboard.feed import Feed
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.dashboard_bridge import DashboardBridge
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.resources import share_path

from rclpy.node import Node  # isort: skip

PARAMS = share_path("config", "demo.yaml")
ARGS = ["--params-file", str(PARAMS)]
for setting in (
    "simulator_node:pushes.names:=['']",
    "simulator_node:command_timeout:=5.0",
    "simulator_node:push_duration:=1.5",  # a busy machine must not miss it
    "simulator_node:rate:=100.0",
    "controller_node:arm.timeout:=1.0",
    "controller_node:rate:=100.0",
    "dynamics_node:rate:=100.0",
):
    ARGS += ["-p", setting]


class Bridged:
    """A bench with a bridge and its feed."""

    def __init__(self, bench, arm, feed):
        self.bench, self.arm, self.feed, self.frames = bench, arm, feed, 0

    def until(self, condition, longest=30.0):
        def frame():
            self.arm._frame(self.feed, lambda: None)
            self.frames += 1
            return bool(condition())

        self.bench.until(frame, longest)

    def ask(self, request, *arguments):
        """Return the answer to a request: whether it was done, and the message."""
        answers = []
        request(*arguments, lambda done, said: answers.append((done, said)))
        self.until(lambda: answers)
        return answers[0]


@pytest.fixture(scope="module")
def bridged():
    with bench(SimulatorNode, DynamicsNode, ControllerNode, args=ARGS) as b:
        listener = Node("listener", use_global_arguments=False)
        arm = DashboardBridge(listener, b.node, b.executor, read_only=False)
        found = Bridged(b, arm, Feed(b.nodes[0].robot))
        feed = found.feed
        found.until(lambda: feed.detector.level == "CLEAR" and len(feed.parameters) == 3)
        yield found
        listener.destroy_node()


def test_all_topics_are_received(bridged):
    feed = bridged.feed
    bridged.until(lambda: feed.mode == "HOLDING" and len(feed.error.arrays()[0]) > 5)
    for what in ("state", "reference", "residual", "truth", "detector"):
        assert feed.fresh(what), what
    assert feed.q == pytest.approx([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5], abs=0.05)
    assert np.abs(feed.error.arrays()[1]).max() < 0.05
    assert feed.thresholds("collision").tolist() == [5.0, 6.0, 3.0, 3.2, 1.8, 1.2, 1.2]


def test_a_push_is_detected_and_its_true_force_known(bridged):
    arm, feed = bridged.arm, bridged.feed
    assert bridged.ask(arm.push, "link_6", np.array([0.0, 30.0, 0.0]), np.zeros(3)) == (True, "")
    bridged.until(lambda: np.abs(feed.tau_ext).max() > 1.0)
    bridged.until(lambda: feed.contact is not None)
    assert feed.pushes[-1].link == "link_6"
    bridged.until(lambda: feed.detector.level == "CLEAR")


def test_parameters_are_set_or_refused_with_a_reason(bridged):
    arm, feed = bridged.arm, bridged.feed
    assert bridged.ask(arm.set, "dynamics_node", {"monitor.gain": [66.0]}) == (True, "")
    assert bridged.bench.nodes[1].settings.monitor.gain == (66.0,)
    bridged.until(lambda: list(feed.parameters["dynamics_node"]["monitor.gain"]) == [66.0])
    done, said = bridged.ask(arm.set, "dynamics_node", {"monitor.gain": [-1.0]})
    assert not done and "gain must be" in said


def test_services(bridged):
    arm = bridged.arm
    requests = [
        ("controller_node", "clear"),
        ("dynamics_node", "reset"),
        ("simulator_node", "reset"),
    ]
    for node, service in requests:
        answers = []
        arm.call(node, service, lambda done, said, to=answers: to.append((done, said)))
        bridged.until(lambda to=answers: to)
        assert answers[0][1]
    answers = []
    arm.call("controller_node", "enable", lambda *said: answers.append(said), data=False)
    bridged.until(lambda: answers)
    assert answers == [(True, "disabled")]
    arm.call("controller_node", "enable", lambda *said: answers.append(said), data=True)
    bridged.until(lambda: len(answers) == 2)


def test_a_trajectory_is_followed(bridged):
    arm, feed = bridged.arm, bridged.feed
    bridged.until(lambda: feed.detector.level == "CLEAR")
    bridged.ask(arm.call, "controller_node", "clear")  # the reset may count as a jump
    goal, sent, told = feed.q_ref + 0.1, [0.0], []

    def arrived():
        """Send it again every 4 s: a resuming arm rejects it."""
        if time.monotonic() - sent[0] > 4.0:
            sent[0], rest = time.monotonic(), np.zeros(7)
            points = [rd.TrajectoryPoint(goal, rest, rest, 1.0)]
            arm.follow(points, feed.model.joint_names, lambda done, said: told.append(done))
        return np.abs(feed.q - goal).max() < 0.03

    bridged.until(arrived)
    assert told[0]


def test_a_node_that_does_not_answer_is_reported_and_found_again(bridged):
    arm, feed = bridged.arm, bridged.feed
    bridged.bench.executor.remove_node(bridged.bench.nodes[1])  # it neither receives nor answers
    bridged.until(lambda: not feed.fresh("detector"))
    done, said = bridged.ask(arm.set, "dynamics_node", {"monitor.gain": [50.0]})
    assert not done and "no answer" in said
    bridged.bench.executor.add_node(bridged.bench.nodes[1])
    bridged.until(lambda: feed.fresh("detector"))
