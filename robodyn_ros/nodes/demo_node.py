"""demo_node: sends the demo's trajectories to controller_node, as a user would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ..errors import RobodynError
from ..model.robot import RobotModel
from ..trajectory.trajectory_msg import to_points
from .arm_node import ArmNode
from .codec import read_controller_state, trajectory_message
from .demo_trajectory import DemoTrajectory, split_postures
from .node_kernels import DEMO
from .node_settings import DemoSettings
from .runtime import LATCHED, STATE_IN, STATE_OUT, run

POINT_SPACING = 0.05  # [s] between two points of a trajectory


class DemoNode(ArmNode):
    """Moves the arm from posture to posture while `active` is set."""

    def __init__(self) -> None:
        super().__init__("demo_node", DemoSettings())
        self._positions: dict[str, float] = {}
        self._controller: tuple[str, str, bool] = ("", "", False)
        self.wait_for_robot()

    def configure(self, model: RobotModel) -> None:
        """Connect to the controller."""
        self.model = model
        self.demo = self._make_demo(self.settings)
        topic = "controller_node/joint_trajectory"
        self.to_trajectory = self.local_publisher(JointTrajectory, topic, STATE_OUT)
        topic = "controller_node/state"
        self.local_subscription(DiagnosticArray, topic, self._on_controller, LATCHED)
        self._states = self.local_subscription(
            JointState, "joint_states", self._on_joint_states, STATE_IN
        )

    def prepare_settings(self, settings: DemoSettings) -> Callable[[], None]:
        """Check new settings; return what takes them over."""
        if self.robot is None:
            return super().prepare_settings(settings)
        demo = self._make_demo(settings)

        def apply() -> None:
            self.demo = demo
            self.demo.on_controller(*self._controller)

        return apply

    def _make_demo(self, settings: DemoSettings) -> DemoTrajectory:
        postures = split_postures(self.model, settings.postures)
        return DemoTrajectory(self.model, settings.speed, postures)

    def _on_controller(self, message: DiagnosticArray) -> None:
        self._controller = read_controller_state(message)
        self.demo.on_controller(*self._controller)
        self._send_next()

    def _on_joint_states(self, message: JointState) -> None:
        if not self.demo.needs_position(self.now()):
            return
        self._positions.update(zip(message.name, message.position, strict=False))
        if all(name in self._positions for name in self.model.joint_names):
            q = [self._positions[name] for name in self.model.joint_names]
            self._positions.clear()
            self.demo.on_position(np.array(q))
            self._send_next()

    def poll_graph(self) -> None:
        """Also repeat a rejected trajectory, and subscribe to joint states while needed."""
        super().poll_graph()
        if self.robot is not None:
            self._send_next()
            # A thousand a second: open only while a position is needed
            needed = self.settings.active and self.demo.needs_position(self.now())
            self._states.set_open(needed)

    def _send_next(self) -> None:
        if not self.settings.active:
            return
        try:
            move = self.demo.next(self.now())
        except RobodynError as error:
            self.warn_throttled(f"skipped a trajectory: {error}")
            return
        if move is not None:
            points = to_points(move, POINT_SPACING, self.model.joint_names)
            self.to_trajectory.publish(trajectory_message(*points))

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return no fault, and whether the demo is active."""
        return "", {"active": str(self.settings.active).lower()}


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal arrives; return the exit code."""
    return run(DemoNode, args=args, kernels=DEMO)


if __name__ == "__main__":
    raise SystemExit(main())
