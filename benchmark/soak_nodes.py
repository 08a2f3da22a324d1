"""The nodes of a soak: the demo's in one process with a witness, or the witness alone.

    python benchmark/soak_nodes.py composed --ros-args …
    python benchmark/soak_nodes.py alone --ros-args …

In one process the witness hears every sample by plain calls, however fast they come. Once a
second its tally goes out as JSON on soak/tally.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from soak_witness import Witness
from std_msgs.msg import Float64MultiArray, String

from robodyn_ros.model.robots import load_robot
from robodyn_ros.nodes.codec import read_collision_state, read_fault_state, seconds
from robodyn_ros.nodes.composed import connect
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.demo_node import DemoNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.local_topics import LocalSubscription
from robodyn_ros.nodes.runtime import LATCHED, run
from robodyn_ros.nodes.simulator_node import SimulatorNode

DEEP = QoSProfile(depth=5000)  # by topics nothing may be missed
ROUNDING = 1e-9


class WitnessNode(Node):
    """Hears all that a witness needs. alone: by topics, not by calls."""

    def __init__(self, alone: bool = False) -> None:
        super().__init__("witness_node")
        robot = self.declare_parameter("robot.name", "lwr_iii").value
        rate = self.declare_parameter("rate", 500.0).value
        fastest = self.declare_parameter("tau_rate_max", 1000.0).value
        self.robot = load_robot(robot)
        tau_max, period = self.robot.tau_max * (1.0 + ROUNDING), 1.0 / rate
        self.witness = Witness(tau_max, fastest, period, apart=period if alone else 0.0)
        self._latest: list[float] = []  # residual [N m or N]
        self.local_publishers: list = []
        self.local_subscriptions = [
            LocalSubscription(
                self, JointState, "simulator_node/external_torque", self._truth, DEEP
            ),
            LocalSubscription(self, DiagnosticArray, "simulator_node/fault", self._fault, LATCHED),
            LocalSubscription(self, DiagnosticArray, "dynamics_node/fault", self._named, LATCHED),
            LocalSubscription(self, JointState, "joint_states", self._posture, DEEP),
            LocalSubscription(self, JointState, "dynamics_node/residual", self._residual, DEEP),
            LocalSubscription(
                self, DiagnosticArray, "dynamics_node/collision_state", self._word, LATCHED
            ),
            LocalSubscription(
                self, Float64MultiArray, "effort_controller/commands", self._command, DEEP
            ),
        ]
        self._tally = self.create_publisher(String, "soak/tally", 10)
        self.create_timer(1.0, self._tell, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.stopped = False

    def begin_stop(self) -> None:
        """Nothing has to come to rest here."""
        self.stopped = True

    def _truth(self, message: JointState) -> None:
        size = float(np.abs(np.frombuffer(message.effort)).max())
        self.witness.truth(seconds(message.header.stamp), size)

    def _fault(self, message: DiagnosticArray) -> None:
        first = read_fault_state(message)[0]
        self.witness.fault(first.t, first.kind)

    def _named(self, message: DiagnosticArray) -> None:
        first = read_fault_state(message)[0]
        self.witness.name(first.t, first.kind)

    def _posture(self, message: JointState) -> None:
        q = np.frombuffer(message.position)
        room = np.minimum(q - self.robot.q_min, self.robot.q_max - q)
        k = int(np.argmin(room))
        self.witness.posture(
            seconds(message.header.stamp), float(room[k]), self.robot.joint_names[k]
        )

    def _residual(self, message: JointState) -> None:
        self._latest = [float(f"{x:.3g}") for x in message.effort]
        self.witness.residual(seconds(message.header.stamp), np.frombuffer(message.effort))

    def _word(self, message: DiagnosticArray) -> None:
        report = read_collision_state(message)
        about = f"at {report.link}, {' '.join(report.joints)}: {self._latest}"
        self.witness.word(report.t, report.level.name, about)

    def _command(self, message: Float64MultiArray) -> None:
        self.witness.command(np.frombuffer(message.data), time.monotonic())

    def _tell(self) -> None:
        told = {"pid": os.getpid(), **asdict(self.witness.tally)}
        self._tally.publish(String(data=json.dumps(told)))


def main() -> int:
    """Run until a signal comes."""
    what, *args = sys.argv[1:]
    if what == "alone":
        return run(lambda: WitnessNode(alone=True), args=args)
    nodes = (SimulatorNode, DynamicsNode, ControllerNode, DemoNode, WitnessNode)
    return run(*nodes, args=args, made=connect)


if __name__ == "__main__":
    raise SystemExit(main())
