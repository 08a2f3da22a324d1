"""guard_node: stops what other nodes drive, on the detector's verdict."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool

from ..detection.guard.guard import Action, Guard, Order
from ..detection.guard.settings import MeansSettings, check_chain
from ..detection.guard.stop import Stop
from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .arm_node import ArmNode
from .codec import read_collision_state, read_wrench
from .node_settings import GuardNodeSettings
from .parameters import declare_table
from .runtime import LATCHED, STATE_IN, run
from .state_node import WATCHDOG_PERIOD
from .stop_means import LastPositions, Means, make_means

# Latched as the detector's, but deep: a short collision is not lost while this process stalls
VERDICTS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
OLDEST_POSITION = 0.1  # [s]: an older position is none to hold
NO_MEANS = "means.names is empty: the guard can stop nothing"


class GuardNode(ArmNode):
    """Asks other nodes to stop, by all means that its parameters name."""

    def __init__(self) -> None:
        super().__init__("guard_node", GuardNodeSettings())
        self.rows: dict[str, MeansSettings] = declare_table(self, "means", MeansSettings)
        check_chain(self.rows)
        self.stop: Stop | None = None  # the last one
        self.published_armed: bool | None = None
        self.wait_for_robot()

    def configure(self, model: RobotModel) -> None:
        """Create guard, means, topics and services."""
        settings = self.settings
        self.guard = Guard(settings.guard, settings.expect, model.joint_names, model.link_names)
        self.positions = LastPositions(self.wall, OLDEST_POSITION)
        self.means = {name: self._make_means(name, row, model) for name, row in self.rows.items()}
        if not self.means:
            self.get_logger().error(NO_MEANS)
        self.to_armed = self.local_publisher(Bool, "~/armed", LATCHED)
        if any(row.kind == "hold_position" for row in self.rows.values()):
            on_state = self.positions.on_joint_state
            self.local_subscription(JointState, "joint_states", on_state, STATE_IN)
        # One message per sample: open only while a contact is expected
        topic = "dynamics_node/external_wrench"
        self.wrenches = self.local_subscription(WrenchStamped, topic, self._on_wrench, STATE_IN)
        self.wrenches.set_open(False)
        topic = "dynamics_node/collision_state"
        self.local_subscription(DiagnosticArray, topic, self._on_verdict, VERDICTS)
        self.create_subscription(WrenchStamped, "~/expect", self._on_expect, 10)
        self.create_service(SetBool, "~/expect", self._serve_expect)
        self.create_service(SetBool, "~/arm", self._serve_arm)
        self.create_timer(WATCHDOG_PERIOD, self._poll, clock=self.steady_clock)
        self._publish_armed()

    def prepare_settings(self, settings: GuardNodeSettings) -> Callable[[], None]:
        """Return a function that applies these settings; raise if they are invalid."""
        if self.robot is None:
            return super().prepare_settings(settings)
        self.guard.check(settings.guard, settings.expect)
        return partial(self.guard.apply, settings.guard, settings.expect)

    def _make_means(self, name: str, row: MeansSettings, model: RobotModel) -> Means:
        try:
            return make_means(self, row, model.joint_names, self.positions.of)
        except RobodynError as error:
            raise ArgumentError(f"means.{name}: {error}") from error

    def _on_verdict(self, message: DiagnosticArray) -> None:
        self._obey(self.guard.on_verdict(read_collision_state(message), self.wall()))

    def _on_wrench(self, message: WrenchStamped) -> None:
        t, link, wrench = read_wrench(message)
        self._obey(self.guard.on_force(t, link, math.hypot(*wrench[:3]), self.wall()))

    def _poll(self) -> None:
        """Do what is due as time passes."""
        wall = self.wall()
        self._obey(self.guard.poll(wall))
        for name in self.stop.overdue(wall) if self.stop else ():
            self.means[name].forget()
            self._failed(name, f"no answer within {self.rows[name].timeout:g} s", None)
            self._tell_if_finished()
        self.wrenches.set_open(bool(self.guard.expected.windows))
        self._publish_armed()

    def _obey(self, order: Order | None) -> None:
        if order is None:
            return
        if order.action is Action.STOP:
            self._stop(order.reason)
        elif order.action is Action.WARN:
            self.last_warning = order.reason
            self.get_logger().warning(order.reason)
        else:
            self.get_logger().info(f"armed: {order.reason}")
        self._publish_armed()

    def _stop(self, reason: str) -> None:
        """Ask by all means at once; only then log, which takes time."""
        report = self.guard.report
        self.stop = Stop(reason, report.t if report else self.now(), self.rows)
        first = self.stop.first()
        impossible = [(name, self._ask(name)) for name in first]
        self.get_logger().warning(f"STOP: {reason}; asked {', '.join(first) or 'by no means'}")
        for name, why in impossible:
            if why:
                self._failed(name, why, None)
        self._tell_if_finished()

    def _ask(self, name: str) -> str:
        """Ask by one means; return why that was impossible, or ''."""
        stop, means = self.stop, self.means[name]
        assert stop is not None

        def done(text: str, accepted: bool) -> None:
            now = self.now() if means.answers else None
            if stop is not self.stop:
                return  # a later stop has asked again
            if accepted:
                stop.accepted(name, text, now)
            else:
                self._failed(name, text, now)
            if means.answers:
                self._tell_if_finished()

        stop.sent(name, self.now(), self.wall())
        return means.send(done)

    def _failed(self, name: str, why: str, now: float | None) -> None:
        """Try the next means; report the one that failed."""
        assert self.stop is not None
        following = self.stop.failed(name, why, now)
        impossible = self._ask(following) if following else ""
        then = f"; trying {following}" if following else ""
        self.get_logger().error(f"stop by {name} ({self.rows[name].place}) failed: {why}{then}")
        if impossible:
            self._failed(following, impossible, None)

    def _tell_if_finished(self) -> None:
        """Publish the delays on /diagnostics as soon as the last answer is there."""
        if self.stop is not None and self.stop.finished:
            self.publish_diagnostics()

    def _publish_armed(self) -> None:
        armed = self.guard.armed(self.wall())
        if armed != self.published_armed:
            self.published_armed = armed
            self.to_armed.publish(Bool(data=armed))

    def _on_expect(self, message: WrenchStamped) -> None:
        _, link, wrench = read_wrench(message)
        try:
            self._expect(link, math.hypot(*wrench[:3]))
        except RobodynError as error:
            self.warn_refused(f"rejected an expected contact: {error}")

    def _serve_expect(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        """Expect the contact of the parameters; or, without, none."""
        expect = self.settings.expect
        response.success, response.message = True, "no contact is expected"
        if not request.data:
            self.guard.expected.close()
            return response
        try:
            self._expect(expect.link, expect.force)
            response.message = f"{expect.force:g} N on {expect.link} for {expect.time:g} s"
        except RobodynError as error:
            response.success, response.message = False, str(error)
            self.warn_refused(f"rejected an expected contact: {error}")
        return response

    def _expect(self, link: str, force: float) -> None:
        time = self.settings.expect.time
        self.guard.expected.open(link, force, self.wall(), time)
        self.wrenches.set_open(bool(self.guard.expected.windows))

    def _serve_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        try:
            if request.data:
                self.guard.arm(self.wall())
            else:
                self.guard.disarm()
            response.success, response.message = True, self.guard.mode.value
            self.get_logger().info(f"{response.message} by ~/arm")
        except RobodynError as error:
            response.success, response.message = False, str(error)
            self.warn_refused(f"rejected ~/arm: {error}")
        self._publish_armed()
        return response

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return what failed or is unknown, and mode, last reason and delays of the last stop."""
        wall, stop = self.wall(), self.stop
        facts = {"mode": self.guard.mode.value, "armed": str(self.guard.armed(wall)).lower()}
        unknown = self.guard.unknown_cause(wall) if self.guard.blind(wall) else ""
        failures = "; ".join(stop.failures()) if stop else ""
        if stop is not None:
            facts["last stop"] = stop.reason
            facts |= {f"by {name}": request.text() for name, request in stop.requests.items()}
        for link, window in self.guard.expected.windows.items():
            facts[f"expected on {link}"] = f"{window.force:g} N"
        wrong = failures and f"stop failed: {failures}"
        wrong = wrong or ("" if self.means else NO_MEANS)
        self.problem_level = DiagnosticStatus.ERROR if wrong else DiagnosticStatus.WARN
        return wrong or (f"UNKNOWN: {unknown}" if unknown else ""), facts


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal arrives; return the exit code."""
    return run(GuardNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
