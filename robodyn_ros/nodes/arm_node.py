"""ArmNode: what all nodes of an arm share: robot, parameters, clocks and diagnostics."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String

from ..errors import ModelWarning, RobodynError
from ..model.robot import RobotModel
from .codec import seconds
from .local_topics import Callback, LocalPublisher, LocalSubscription
from .node_settings import RobotSettings
from .parameters import Parameters
from .runtime import LATCHED, STATE_IN

GRAPH_PERIOD = 0.05  # [s] between two checks of who subscribes
WARNING_PERIOD = 1.0  # [s] between two warnings of the same prefix


class ArmNode(Node):
    """A node for one arm.

    A subclass calls `wait_for_robot` at the end of its constructor; `configure(model)` is called
    once the robot is known.
    """

    def __init__(self, name: str, settings: Any) -> None:
        super().__init__(name)
        self.parameters = Parameters(self, settings, self.prepare_settings)
        self.stopped = False
        self.exit_code = 0
        self.robot: RobotModel | None = None
        self._warned_at: dict[str, float] = {}  # prefix: wall time [s]
        self.last_warning = ""  # the last one since /diagnostics was published
        self.local_publishers: list[LocalPublisher] = []
        self.local_subscriptions: list[LocalSubscription] = []
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # On wall time: they go on when simulated time stands still
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self.publish_diagnostics, clock=self.steady_clock)
        self.create_timer(GRAPH_PERIOD, self.poll_graph, clock=self.steady_clock)
        self.simulated = bool(self.get_parameter("use_sim_time").value)
        self._simulated_time = 0.0  # [s]
        if self.simulated:  # locally, so that it arrives before what happens at that time
            self.local_subscription(ClockMessage, "/clock", self._on_clock, STATE_IN)

    @property
    def settings(self) -> Any:
        """The parameters as a checked set."""
        return self.parameters.settings

    def wait_for_robot(self) -> None:
        """Configure the node at once if parameters name the robot, else on robot_description."""
        robot: RobotSettings = self.settings.robot
        if robot.name or robot.urdf:
            self._set_robot(self._load(""))
        else:
            self.get_logger().info("waiting for robot_description")
            self.local_subscription(String, "robot_description", self._on_description, LATCHED)

    def configure(self, model: RobotModel) -> None:
        """Create everything that depends on the robot."""
        raise NotImplementedError

    def prepare_settings(self, settings: Any) -> Callable[[], None]:
        """Check new settings, raise if they do not fit; return what takes them over."""
        return lambda: None

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return what is wrong, or an empty text, and facts for /diagnostics."""
        return "", {}

    def begin_stop(self) -> None:
        """Begin to stop after a signal; `stopped` tells when that is done."""
        self.stopped = True

    def local_publisher(self, kind: Any, topic: str, qos: Any) -> LocalPublisher:
        """Create a publisher that other nodes of this process receive by plain calls."""
        self.local_publishers.append(LocalPublisher(self, kind, topic, qos))
        return self.local_publishers[-1]

    def local_subscription(
        self, kind: Any, topic: str, callback: Callback, qos: Any, *, keep_remote: bool = False
    ) -> LocalSubscription:
        """Create a subscription that nodes of this process serve by plain calls."""
        made = LocalSubscription(self, kind, topic, callback, qos, keep_remote=keep_remote)
        self.local_subscriptions.append(made)
        return made

    def receive(self, topic: str, message: Any) -> None:
        """Handle a message as if it had arrived on the topic; topic: as given when subscribing."""
        full = self.resolve_topic_name(topic)
        for subscription in self.local_subscriptions:
            if subscription.topic == full:
                subscription.callback(message)

    def now(self) -> float:
        """Return the time of the node's clock, simulated or not [s]."""
        return self._simulated_time if self.simulated else time.time()

    def wall(self) -> float:
        """Return the time of a clock that goes on when simulated time stands still [s]."""
        return time.monotonic()

    def warn_throttled(self, text: str) -> None:
        """Log a warning, throttled per message prefix (up to its colon); /diagnostics has the
        last one.
        """
        wall, prefix, self.last_warning = self.wall(), text.partition(":")[0], text
        if wall - self._warned_at.get(prefix, -math.inf) >= WARNING_PERIOD:
            self._warned_at[prefix] = wall
            self.get_logger().warning(text)

    def poll_graph(self) -> None:
        """Find out which topics have subscribers."""
        for publisher in self.local_publishers:
            publisher.count_subscribers()

    def publish_diagnostics(self) -> None:
        """Publish what is wrong, and facts, on /diagnostics."""
        wrong, facts = self.health() if self.robot else ("waiting for robot_description", {})
        facts["warning"], self.last_warning = self.last_warning, ""
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

    def _on_clock(self, message: ClockMessage) -> None:
        self._simulated_time = seconds(message.clock)

    def _on_description(self, message: String) -> None:
        if self.robot is None:
            try:
                self._set_robot(self._load(message.data))
            except RobodynError as error:
                self.get_logger().error(f"robot_description cannot be used: {error}")
                self.stopped, self.exit_code = True, 1

    def _load(self, description: str) -> RobotModel:
        """Return the model; its warnings go to the log and to /diagnostics."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            model: RobotModel = self.settings.robot.load(description)
        for warning in caught:
            self.warn_throttled(f"{warning.message}")
        return model

    def _set_robot(self, model: RobotModel) -> None:
        self.configure(model)
        self.robot = model
        self.get_logger().info(f"ready for {model.name}: {', '.join(model.joint_names)}")
