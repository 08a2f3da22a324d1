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
    "simulator_node:rate:=100.0",
    "controller_node:arm.timeout:=1.0",
    "controller_node:rate:=100.0",
    "dynamics_node:rate:=100.0",
):
    ARGS += ["-p", setting]


class Looking:
    """A bench with a live arm that looks on."""

    def __init__(self, bench, arm, feed):
        self.bench, self.arm, self.feed, self.frames = bench, arm, feed, 0

    def until(self, condition, longest=30.0):
        def look():
            self.arm._frame(self.feed, lambda: None)
            self.frames += 1
            return bool(condition())

        self.bench.until(look, longest)

    def ask(self, wish, *arguments):
        """The answer to a wish: whether it was done, and what was said."""
        answers = []
        wish(*arguments, lambda done, said: answers.append((done, said)))
        self.until(lambda: answers)
        return answers[0]


@pytest.fixture(scope="module")
def looking():
    with bench(SimulatorNode, DynamicsNode, ControllerNode, args=ARGS) as b:
        ears = Node("ears", use_global_arguments=False)
        arm = DashboardBridge(ears, b.node, b.executor, read_only=False)
        found = Looking(b, arm, Feed(b.nodes[0].robot))
        feed = found.feed
        found.until(lambda: feed.detector.level == "CLEAR" and len(feed.parameters) == 3)
        yield found
        ears.destroy_node()


def test_everything_is_heard(looking):
    feed = looking.feed
    looking.until(lambda: feed.mode == "HOLDING" and len(feed.error.arrays()[0]) > 5)
    for what in ("state", "reference", "residual", "truth", "detector"):
        assert feed.fresh(what), what
    assert feed.q == pytest.approx([0.0, -0.6, 0.3, 1.2, 0.4, -0.7, 0.5], abs=0.05)
    assert np.abs(feed.error.arrays()[1]).max() < 0.05
    assert feed.thresholds("collision").tolist() == [5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0]


def test_a_push_is_felt_and_its_truth_known(looking):
    arm, feed = looking.arm, looking.feed
    assert looking.ask(arm.push, "link_6", np.array([0.0, 30.0, 0.0]), np.zeros(3)) == (True, "")
    looking.until(lambda: feed.contact is not None and np.abs(feed.tau_ext).max() > 1.0)
    assert feed.pushes[-1].link == "link_6"
    looking.until(lambda: feed.detector.level == "CLEAR")


def test_parameters_are_set_or_refused_with_a_reason(looking):
    arm, feed = looking.arm, looking.feed
    assert looking.ask(arm.set, "dynamics_node", {"monitor.gain": [66.0]}) == (True, "")
    assert looking.bench.nodes[1].settings.monitor.gain == (66.0,)
    looking.until(lambda: list(feed.parameters["dynamics_node"]["monitor.gain"]) == [66.0])
    done, said = looking.ask(arm.set, "dynamics_node", {"monitor.gain": [-1.0]})
    assert not done and "gain must be" in said


def test_services(looking):
    arm = looking.arm
    wishes = [
        ("controller_node", "clear"),
        ("dynamics_node", "reset"),
        ("simulator_node", "reset"),
    ]
    for node, service in wishes:
        answers = []
        arm.call(node, service, lambda done, said, to=answers: to.append((done, said)))
        looking.until(lambda to=answers: to)
        assert answers[0][1]
    answers = []
    arm.call("controller_node", "enable", lambda *said: answers.append(said), data=False)
    looking.until(lambda: answers)
    assert answers == [(True, "disabled")]
    arm.call("controller_node", "enable", lambda *said: answers.append(said), data=True)
    looking.until(lambda: len(answers) == 2)


def test_a_trajectory_is_followed(looking):
    arm, feed = looking.arm, looking.feed
    looking.until(lambda: feed.detector.level == "CLEAR")
    looking.ask(arm.call, "controller_node", "clear")  # the reset may have looked like a jump
    goal, sent, told = feed.q_ref + 0.1, [0.0], []

    def arrived():
        """Asked again now and then: an arm that is just resuming refuses."""
        if time.monotonic() - sent[0] > 4.0:
            sent[0], rest = time.monotonic(), np.zeros(7)
            points = [rd.TrajectoryPoint(goal, rest, rest, 1.0)]
            arm.follow(points, feed.model.joint_names, lambda done, said: told.append(done))
        return np.abs(feed.q - goal).max() < 0.03

    looking.until(arrived)
    assert told[0]


def test_nodes_that_end_are_missed_and_waited_for_no_longer_than_it_takes(looking):
    arm, feed = looking.arm, looking.feed
    looking.bench.executor.remove_node(looking.bench.nodes[1])  # it neither hears nor answers
    looking.until(lambda: not feed.fresh("detector"))
    done, said = looking.ask(arm.set, "dynamics_node", {"monitor.gain": [50.0]})
    assert not done and "no answer" in said
    looking.bench.executor.add_node(looking.bench.nodes[1])
    looking.until(lambda: feed.fresh("detector"))
