"""Whose command is it? Own ones that arrive late are no other node's."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from std_msgs.msg import Float64MultiArray  # noqa: E402

from robodyn_ros.nodes.command_conflict import CommandConflict  # noqa: E402

CYCLES = 500  # by which a busy machine delays messages: 0.5 s at 1 kHz


class TwoPublishers:
    """A node on whose command topic another one publishes, which ends meanwhile."""

    topic = "effort_controller/commands"

    def count_publishers(self, topic):
        return 2

    def create_subscription(self, *_):
        return self

    def get_publishers_info_by_topic(self, topic):
        return []

    def get_name(self):
        return "controller_node"


def test_an_own_command_that_comes_late_is_no_conflict_and_a_foreign_one_is():
    node, reported = TwoPublishers(), []
    conflict = CommandConflict(node, node, reported.append)
    conflict.poll()
    commands = [Float64MultiArray(data=[float(k), 0.5]) for k in range(CYCLES)]
    for command in commands:
        conflict.sent(command)
    conflict._on_command(commands[0])
    assert reported == []
    conflict._on_command(Float64MultiArray(data=[0.0, 0.6]))
    assert reported == ["one that has ended"]
