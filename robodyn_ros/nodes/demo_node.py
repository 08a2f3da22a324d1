"""demo_node: sends the demo's trajectories to controller_node, as a user would."""

from __future__ import annotations

from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from ..errors import RobodynError
from ..model.robot import RobotModel
from ..trajectory.trajectory_msg import to_points
from .arm_node import ArmNode
from .demo_trajectory import DemoTrajectory, split_postures
from .local_topics import LocalSubscription
from .node_settings import DemoSettings
from .runtime import LATCHED, STATE_IN, STATE_OUT, run, trajectory_message

POINT_SPACING = 0.05  # [s] between two points of a trajectory


class DemoNode(ArmNode):
    """Moves the arm from posture to posture while `active` is set."""

    def __init__(self) -> None:
        super().__init__("demo_node", DemoSettings())

    def configure(self, model: RobotModel) -> None:
        """Connect to the controller."""
        self.model = model
        self.demo = self._prepare(self.settings)
        self.parameters.prepare = self._prepare
        self.parameters.apply = self._apply
        self._positions: dict[str, float] = {}
        self._controller: tuple[str, str, bool] = ("", "", False)
        self.to_trajectory = self.outlet(
            JointTrajectory, "controller_node/joint_trajectory", STATE_OUT
        )
        self.listen(DiagnosticArray, "controller_node/state", self._on_controller, LATCHED)
        self.listen(JointState, "joint_states", self._on_joint_states, STATE_IN)
        self._states: LocalSubscription | None = self.inlets[-1]

    def _prepare(self, settings: DemoSettings) -> DemoTrajectory:
        postures = split_postures(self.model, settings.postures)
        return DemoTrajectory(self.model, settings.speed, postures)

    def _apply(self, demo: DemoTrajectory) -> None:
        self.demo = demo
        self.demo.on_controller(*self._controller)

    def _on_controller(self, message: DiagnosticArray) -> None:
        (status,) = message.status
        facts = {item.key: item.value for item in status.values}
        self._controller = status.message, facts["reason"], facts["detector"] == "heard"
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

    def look(self) -> None:
        """Also repeat a trajectory that was refused, and listen to joint states while needed."""
        super().look()
        if self.robot is not None:
            self._send_next()
            self._listen_while_needed()

    def _listen_while_needed(self) -> None:
        """Joint states come a thousand times a second: subscribe only while a position is needed.

        Within one process they are plain calls, which cost nothing.
        """
        needed = self.settings.active and self.demo.needs_position(self.now())
        if self._states is None and needed:
            self._states = LocalSubscription(
                self, JointState, "joint_states", self._on_joint_states, STATE_IN
            )
        elif self._states is not None and self._states.subscription is not None and not needed:
            self.destroy_subscription(self._states.subscription)
            self.inlets = [inlet for inlet in self.inlets if inlet is not self._states]
            self._states = None

    def _send_next(self) -> None:
        if not self.settings.active:
            return
        try:
            move = self.demo.next(self.now())
        except RobodynError as error:
            self.complain(f"skipped a trajectory: {error}")
            return
        if move is not None:
            points = to_points(move, POINT_SPACING, self.model.joint_names)
            self.to_trajectory.publish(trajectory_message(*points))

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return no fault, and whether the demo is active."""
        return "", {"active": str(self.settings.active).lower()}


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    return run(DemoNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
