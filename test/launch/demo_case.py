"""The collision demo under launch_testing; also for `launch_test` by hand."""

import time
import unittest
from pathlib import Path

import launch_testing
import rclpy
from ament_index_python.packages import get_package_share_path
from diagnostic_msgs.msg import DiagnosticArray
from launch import LaunchDescription
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch_testing.actions import ReadyToTest
from launch_testing.asserts import assertExitCodes
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

LONGEST = 120.0  # [s] for the nodes to start and the first push to be over, on a busy machine


def generate_test_description():
    path = Path(get_package_share_path("robodyn_ros"), "launch", "collision_demo.launch.py")
    demo = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(path)), launch_arguments={"namespace": "left"}.items()
    )
    return LaunchDescription([demo, ReadyToTest()])


class TestDemo(unittest.TestCase):
    """What is heard while it runs."""

    def test_a_push_is_felt_and_over_again(self):
        residuals, levels = [], []
        latched = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        rclpy.init()
        node = rclpy.create_node("onlooker", namespace="left")
        try:
            node.create_subscription(JointState, "dynamics_node/residual", residuals.append, 10)
            node.create_subscription(
                DiagnosticArray,
                "dynamics_node/collision_state",
                lambda message: levels.append(message.status[0].message),
                latched,
            )
            end = time.monotonic() + LONGEST
            while time.monotonic() < end and not told_in_order(levels):
                rclpy.spin_once(node, timeout_sec=0.1)
        finally:
            node.destroy_node()
            rclpy.shutdown()
        self.assertTrue(told_in_order(levels), sorted(set(levels)))
        self.assertEqual(residuals[0].name, [f"joint_{k}" for k in range(1, 8)])


def told_in_order(levels):
    """Whether all was clear, then there was a collision, then it was over."""
    wanted = iter(["CLEAR", "COLLISION", "CLEAR"])
    now = next(wanted)
    for level in levels:
        if level == now:
            now = next(wanted, None)
    return now is None


@launch_testing.post_shutdown_test()
class TestStop(unittest.TestCase):
    """What is left once it was stopped."""

    def test_all_nodes_ended_cleanly(self, proc_info):
        self.assertEqual(len(proc_info.process_names()), 5)  # four nodes and the report
        assertExitCodes(proc_info)
