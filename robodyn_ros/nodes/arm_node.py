"""ArmNode: base of all nodes of an arm, with robot, parameters, clocks and diagnostics."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String

from ..errors import ModelWarning, RobodynError
from ..model.robot import RobotModel
from .codec import seconds, status_message
from .local_topics import Callback, LocalPublisher, LocalSubscription
from .log_lines import Line, Severity
from .node_settings import RobotSettings
from .parameters import Parameters
from .runtime import LATCHED, STATE_IN

GRAPH_PERIOD = 0.05  # [s] between two checks for subscribers
WARNING_PERIOD = 1.0  # [s] between two warnings of the same prefix
# Refused requests that are logged: this many at once, and of more a little over one a second
REFUSAL_BURST, REFUSAL_RATE = 5.0, 1.1
LOGGED_LENGTH = 500  # [characters], longest text of a refusal
CLOCK_TIMEOUT = 5.0  # [s] for the first message on /clock, and between two warnings that none came
NO_CLOCK = (
    "use_sim_time: nothing received on /clock for {:.0f} s: start the simulation or the bag "
    "(`ros2 bag play --clock`) that publishes it, or set use_sim_time to false"
)


class ArmNode(Node):
    """A node of one arm. A subclass calls `wait_for_robot` at the end of its constructor."""

    def __init__(self, name: str, settings: Any) -> None:
        super().__init__(name)
        self.parameters = Parameters(self, settings, self.prepare_settings, self.warn_refused)
        self.stopped = False
        self.exit_code = 0
        self.robot: RobotModel | None = None
        self._warned_at: dict[str, float] = {}  # prefix: wall time [s]
        self._refusals_left, self._refused_at = REFUSAL_BURST, -math.inf  # second: wall time [s]
        self._unlogged = 0  # refusals since the last one that was logged
        self.last_warning = ""  # since /diagnostics was last published
        self.problem_level = DiagnosticStatus.WARN  # of what `health` reports
        self.local_publishers: list[LocalPublisher] = []
        self.local_subscriptions: list[LocalSubscription] = []
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        # On wall time, which continues when simulated time stops
        self.steady_clock = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(1.0, self.publish_diagnostics, clock=self.steady_clock)
        self.create_timer(GRAPH_PERIOD, self.poll_graph, clock=self.steady_clock)
        self.simulated = bool(self.get_parameter("use_sim_time").value)
        self._simulated_time = 0.0  # [s]
        self._clock_received = False
        self._created_at = self._clock_missed_at = self.wall()  # [s]
        if self.simulated:  # locally, so that the time arrives before the messages of that time
            self.local_subscription(ClockMessage, "/clock", self._on_clock, STATE_IN)

    @property
    def settings(self) -> Any:
        """Present parameters as a checked set."""
        return self.parameters.settings

    def wait_for_robot(self) -> None:
        """Call `configure` now if parameters name the robot, else once it is published."""
        robot: RobotSettings = self.settings.robot
        if robot.name or robot.urdf:
            self._set_robot(self._load(""))
        else:
            self.get_logger().info("waiting for robot_description")
            self.local_subscription(String, "robot_description", self._on_description, LATCHED)

    def configure(self, model: RobotModel) -> None:
        """Create all that depends on the robot; called once, when it is known."""
        raise NotImplementedError

    def prepare_settings(self, settings: Any) -> Callable[[], None]:
        """Return a function that applies these settings; raise if they are invalid."""
        return lambda: None

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return the present problem, or '', and facts, for /diagnostics."""
        return "", {}

    def begin_stop(self) -> None:
        """Begin to stop after a signal; set `stopped` when done."""
        self.stopped = True

    def local_publisher(self, kind: Any, topic: str, qos: Any) -> LocalPublisher:
        """Create a publisher that calls subscriptions of this process directly."""
        self.local_publishers.append(LocalPublisher(self, kind, topic, qos))
        return self.local_publishers[-1]

    def local_subscription(
        self, kind: Any, topic: str, callback: Callback, qos: Any, *, keep_remote: bool = False
    ) -> LocalSubscription:
        """Create a subscription that publishers of this process call directly."""
        made = LocalSubscription(self, kind, topic, callback, qos, keep_remote=keep_remote)
        self.local_subscriptions.append(made)
        return made

    def receive(self, topic: str, message: Any) -> None:
        """Handle a message as if it had arrived on this topic of `local_subscription`."""
        full = self.resolve_topic_name(topic)
        for subscription in self.local_subscriptions:
            if subscription.topic == full:
                subscription.callback(message)

    def now(self) -> float:
        """Return the time of the node's clock, simulated or not [s]."""
        return self._simulated_time if self.simulated else time.time()

    def wall(self) -> float:
        """Return the time of a steady clock [s], which continues when simulated time stops."""
        return time.monotonic()

    def warn_throttled(self, text: str) -> None:
        """Log a warning, throttled per prefix (up to the colon); show it on /diagnostics."""
        wall, prefix, self.last_warning = self.wall(), text.partition(":")[0], text
        if wall - self._warned_at.get(prefix, -math.inf) >= WARNING_PERIOD:
            self._warned_at[prefix] = wall
            self.get_logger().warning(text)

    def warn_refused(self, text: str) -> None:
        """Log a refused request, such as a parameter or a trajectory; show it on /diagnostics.

        A person sees each one, whatever streams of data are warned of. Of a flood, one a second.
        """
        wall, self.last_warning = self.wall(), text[:LOGGED_LENGTH]
        earned = REFUSAL_RATE * (wall - self._refused_at)
        self._refusals_left = min(self._refusals_left + earned, REFUSAL_BURST)
        self._refused_at = wall
        if self._refusals_left < 1.0:
            self._unlogged += 1
            return
        more = f" (and {self._unlogged} more since the last)" if self._unlogged else ""
        self._refusals_left, self._unlogged = self._refusals_left - 1.0, 0
        self.get_logger().warning(self.last_warning + more)

    def log_line(self, line: Line | None) -> None:
        """Log a line, if there is one; each place in the code has one severity, as rclpy asks."""
        if line is None:
            return
        if line.severity is Severity.ERROR:
            self.get_logger().error(line.text)
        elif line.severity is Severity.WARN:
            self.get_logger().warning(line.text)
        else:
            self.get_logger().info(line.text)

    def poll_graph(self) -> None:
        """Check which topics have subscribers."""
        for publisher in self.local_publishers:
            publisher.count_subscribers()

    def publish_diagnostics(self) -> None:
        """Publish the present problem and facts on /diagnostics."""
        self._check_clock()
        wrong, facts = self.health() if self.robot else ("waiting for robot_description", {})
        facts["warning"], self.last_warning = self.last_warning, ""
        level = self.problem_level if wrong else DiagnosticStatus.WARN
        wrong = wrong or facts["warning"]
        name, robot = self.get_fully_qualified_name().lstrip("/"), self.robot
        level = level if wrong else DiagnosticStatus.OK
        text, hardware = wrong or "running", robot.name if robot else ""
        message = status_message(name, self.now(), level, text, facts, hardware)
        self._diagnostics.publish(message)

    def _check_clock(self) -> None:
        """Warn while use_sim_time is set and /clock has never come."""
        wall = self.wall()
        missing = self.simulated and not self._clock_received
        if missing and wall - self._clock_missed_at >= CLOCK_TIMEOUT:
            self._clock_missed_at = wall
            self.warn_throttled(NO_CLOCK.format(wall - self._created_at))

    def _on_clock(self, message: ClockMessage) -> None:
        self._simulated_time, self._clock_received = seconds(message.clock), True

    def _on_description(self, message: String) -> None:
        if self.robot is None:
            try:
                self._set_robot(self._load(message.data))
            except RobodynError as error:
                self.get_logger().error(f"robot_description cannot be used: {error}")
                self.stopped, self.exit_code = True, 1

    def _load(self, description: str) -> RobotModel:
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
