"""ArmNode: what the three nodes share: robot, parameters, and what they say about themselves."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as Tick
from std_msgs.msg import String

from ..errors import ModelWarning, RobodynError
from ..model.robot import RobotModel
from .local_topics import LocalPublisher, LocalSubscription
from .node_settings import RobotSettings
from .parameters import Parameters
from .runtime import LATCHED, STATE_IN, seconds

LOOK = 0.05  # [s] between two looks at who listens


class ArmNode(Node):
    """A node for one arm: `configure(model)` is called once the robot is known."""

    def __init__(self, name: str, settings: Any) -> None:
        super().__init__(name)
        self.parameters = Parameters(self, settings)
        self.stopped = False
        self.exit_code = 0
        self.robot: RobotModel | None = None
        self._said: dict[str, float] = {}
        self._warned = ""  # the last warning since /diagnostics were published
        self.outlets: list[LocalPublisher] = []
        self.inlets: list[LocalSubscription] = []
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # On wall time: they go on when simulated time stands still
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self._diagnose, clock=self._wall)
        self.create_timer(LOOK, self.look, clock=self._wall)
        self._simulated = bool(self.get_parameter("use_sim_time").value)
        self._simulated_time = 0.0  # [s], simulated time
        if self._simulated:  # as an inlet: within one process it comes before what happens then
            self.listen(Tick, "/clock", self._ticked, STATE_IN)
        robot: RobotSettings = self.settings.robot
        if robot.name or robot.urdf:
            self._take(self._load(""))
        else:
            self.get_logger().info("waiting for robot_description")
            self.create_subscription(String, "robot_description", self._described, LATCHED)

    @property
    def settings(self) -> Any:
        """The parameters as a checked set."""
        return self.parameters.settings

    def configure(self, model: RobotModel) -> None:
        """Make all that depends on the robot."""
        raise NotImplementedError

    def health(self) -> tuple[str, dict[str, Any]]:
        """What is wrong, or nothing, and numbers worth knowing."""
        return "", {}

    def begin_stop(self) -> None:
        """A signal came: end as soon as the robot is safe."""
        self.stopped = True

    def outlet(self, kind: Any, topic: str, qos: Any) -> LocalPublisher:
        """A topic that this node publishes."""
        self.outlets.append(LocalPublisher(self, kind, topic, qos))
        return self.outlets[-1]

    def listen(self, kind: Any, topic: str, callback: Any, qos: Any) -> None:
        """A topic that this node hears."""
        self.inlets.append(LocalSubscription(self, kind, topic, callback, qos))

    def now(self) -> float:
        """[s], of the node's clock, simulated or not."""
        return self._simulated_time if self._simulated else time.time()

    def wall(self) -> float:
        """[s], of a clock that goes on when simulated time stands still."""
        return time.monotonic()

    def complain(self, text: str) -> None:
        """A warning, at most once a second about what stands before its colon; /diagnostics tell
        the last one.
        """
        wall, about, self._warned = self.wall(), text.partition(":")[0], text
        if wall - self._said.get(about, -math.inf) >= 1.0:
            self._said[about] = wall
            self.get_logger().warning(text)

    def look(self) -> None:
        """Find out who listens."""
        for outlet in self.outlets:
            outlet.look()

    def _ticked(self, message: Tick) -> None:
        self._simulated_time = seconds(message.clock)

    def _described(self, message: String) -> None:
        if self.robot is None:
            try:
                self._take(self._load(message.data))
            except RobodynError as error:
                self.get_logger().error(f"robot_description cannot be used: {error}")
                self.stopped, self.exit_code = True, 1

    def _load(self, description: str) -> RobotModel:
        """The model; what is odd about it goes to the log and to /diagnostics."""
        with warnings.catch_warnings(record=True) as odd:
            warnings.simplefilter("always", ModelWarning)
            model = self.settings.robot.load(description)
        for warning in odd:
            self.complain(f"{warning.message}")
        return model

    def _take(self, model: RobotModel) -> None:
        self.configure(model)
        self.robot = model
        self.get_logger().info(f"ready for {model.name}: {', '.join(model.joint_names)}")

    def _diagnose(self) -> None:
        wrong, facts = self.health() if self.robot else ("waiting for robot_description", {})
        facts["warning"], self._warned = self._warned, ""
        wrong = wrong or facts["warning"]
        status = DiagnosticStatus(
            name=self.get_fully_qualified_name().lstrip("/"),
            hardware_id=self.robot.name if self.robot else "",
            level=DiagnosticStatus.WARN if wrong else DiagnosticStatus.OK,
            message=wrong or "running",
            values=[KeyValue(key=key, value=str(value)) for key, value in facts.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(array)
