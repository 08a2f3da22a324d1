"""dynamics_node: contact detection from joint states and commanded or measured torque."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from ..detection.detector import Level
from ..detection.fault import HARMLESS_KINDS, PAYLOAD, Fault
from ..detection.monitor import ContactMonitor
from ..detection.monitor_settings import MonitorSettings
from ..detection.verdict import Verdict
from ..errors import ArgumentError, RobodynError
from ..model.payload_settings import payload_values
from ..model.robot import Payload, RobotModel
from ..sensing.effort import CommandedEffort, JointTorque
from ..sensing.sample import Sample
from .codec import collision_state, fault_state, fill_wrench, force_arrow, payload_message
from .detector_kernels import DETECTOR, NAMES
from .later_kernels import POLL, have_arrived, wait_for
from .log_lines import ContactLog, FaultLog, payload_line
from .node_settings import DynamicsSettings
from .runtime import LATCHED, STATE_IN, STATE_OUT, JointStateMessage, run
from .state_node import StateNode

MARKER_PERIOD = 1.0 / 30.0  # [s]
FAULT_PERIOD = 0.2  # [s] between two messages about a fault of which only numbers change


class DynamicsNode(StateNode):
    """Publishes residual, collision state and external wrench for every joint state."""

    def __init__(self) -> None:
        super().__init__("dynamics_node", DynamicsSettings())
        self.last_state: tuple[Any, ...] | None = None  # as last published
        self.last_publish_time = self.last_marker_time = 0.0  # [s]
        self.worst_level = Level.CLEAR  # since the last reset, for a restarted controller
        self.contact_log = ContactLog(lambda: self.wall())
        self.fault_log = FaultLog()
        self.fault: Fault | None = None  # as last published
        self.fault_time = -math.inf  # [s], when
        self.payload: Payload | None = None  # as last published
        self.set_payload: tuple[Payload | None, ...] = ()  # by parameters, not published yet
        self.followed: Payload | None = None  # that the monitor has taken over by itself
        self.wait_for_robot()

    def configure(self, model: RobotModel) -> None:
        """Create monitor, topics and services."""
        settings = self.settings
        sensing, effort = settings.sensing, settings.effort
        commanded = effort.source == "command"
        self.torque = JointTorque(model, effort)
        self.monitor = ContactMonitor(
            model, settings.of_monitor, sensing, commanded=commanded, effort=effort
        )
        if _needs_names(settings.of_monitor):
            wait_for(NAMES)
        self.monitor.naming = have_arrived(NAMES)
        if not self.monitor.naming:
            self.naming_timer = self.create_timer(POLL, self._name, clock=self.steady_clock)
        self.residual = JointStateMessage(model.joint_names, "effort")
        self.wrench = WrenchStamped()
        self.to_residual = self.local_publisher(JointState, "~/residual", STATE_OUT)
        self.to_wrench = self.local_publisher(WrenchStamped, "~/external_wrench", STATE_OUT)
        self.to_markers = self.local_publisher(MarkerArray, "~/markers", STATE_OUT)
        self.to_state = self.local_publisher(DiagnosticArray, "~/collision_state", LATCHED)
        self.to_flag = self.local_publisher(Bool, "~/collision", LATCHED)
        self.to_fault = self.local_publisher(DiagnosticArray, "~/fault", LATCHED)
        self.to_payload = self.local_publisher(InertiaStamped, "~/payload", LATCHED)
        held = settings.payload.payload(model)
        if held is not None:
            self._take_payload(held)
        self.commands: CommandedEffort | None = None
        if commanded:
            self.commands = CommandedEffort(model, sensing, 1.0 / settings.rate)
            topic = "effort_controller/commands"
            self.local_subscription(Float64MultiArray, topic, self._on_command, STATE_IN)
        self.create_service(Trigger, "~/reset", self._reset)
        self.create_service(Trigger, "~/tare", self._tare)
        self.create_service(Trigger, "~/accept_payload", self._accept_payload)
        self.subscribe_states(model, sensing)

    def prepare_settings(self, settings: DynamicsSettings) -> Callable[[], None]:
        """Return a function that applies these settings; raise if they are invalid."""
        if self.robot is None:
            return super().prepare_settings(settings)
        wanted = settings.of_monitor
        begins = _tests_noise(wanted) and not _tests_noise(self.settings.of_monitor)
        if (_needs_names(wanted) or begins) and not self.monitor.naming:
            raise ArgumentError(
                "kernels for wrench_link, force.* and noise.* are still being compiled: try again "
                "in some seconds"
            )
        same = (settings.of_monitor, settings.effort) == (
            self.settings.of_monitor,
            self.settings.effort,
        )
        parts = None if same else self.monitor.prepare(settings.of_monitor, settings.effort)
        torque = JointTorque(self.robot, settings.effort)
        regrasped = settings.payload.held != self.settings.payload.held
        held = settings.payload.payload(self.robot) if regrasped else None

        def apply() -> None:
            if parts is not None:
                self.monitor.apply(parts)
            if regrasped:
                self._take_payload(held)
            self.torque = torque
            self.monitor.set_sensing(settings.sensing)
            self.sampler.apply(settings.sensing)
            if self.commands is not None:
                self.commands.apply(settings.sensing)

        return apply

    def on_sample(self, sample: Sample) -> None:
        """Publish the verdict on a sample, if it is new."""
        if self.commands is not None and sample.status.valid:
            sample = self.commands.with_torque(sample)
        measured = sample.status.valid and sample.tau is not None
        if sample.status.valid and not measured:
            self.last_warning = f"no torque: {sample.cause}"
        previous = self.monitor.verdict
        verdict = self.monitor.update(self.torque.of_sample(sample))
        if verdict is previous:
            return
        if measured:
            self._publish_measurement(verdict)
        self._publish_state(verdict)
        self.log_line(self.contact_log.update(verdict))
        self._publish_fault(verdict)
        for held in self.set_payload:
            self._publish_payload(verdict.t, held, "set")
        if verdict.payload is not self.followed:
            self.followed = verdict.payload
            if verdict.payload is not self.payload:
                self._publish_payload(verdict.t, verdict.payload, "found")

    def _name(self) -> None:
        """Begin to name links and causes once the kernels for that are there."""
        if have_arrived(NAMES):
            self.monitor.naming = True
            self.naming_timer.cancel()

    def on_silence(self, cause: str) -> None:
        """Leave silence to /diagnostics: the log says that the state is UNKNOWN."""
        self.last_warning = cause

    def _on_command(self, message: Float64MultiArray) -> None:
        assert self.commands is not None
        cause = self.commands.command(message.data, self.sampler.last)
        if cause:
            self.warn_throttled(f"rejected a command: {cause}")

    def _publish_measurement(self, verdict: Verdict) -> None:
        self.residual.effort[:] = verdict.r
        self.to_residual.publish(self.residual.at(verdict.t))
        if self.to_wrench.wanted and verdict.wrench is not None:
            self.to_wrench.publish(fill_wrench(self.wrench, verdict))
        recent = 0.0 <= verdict.t - self.last_marker_time <= MARKER_PERIOD
        if self.to_markers.wanted and not recent:
            self.last_marker_time = verdict.t
            self.to_markers.publish(force_arrow(verdict))

    def _publish_state(self, verdict: Verdict) -> None:
        """Publish at every change, at every sample of a contact, and as a heartbeat."""
        ended = verdict.ended is not None
        state = (verdict.level, verdict.joints, verdict.where, verdict.fault, ended)
        self.worst_level = max(self.worst_level, verdict.level)
        recent = 0.0 <= verdict.t - self.last_publish_time < self.settings.heartbeat
        if state == self.last_state and recent and not verdict.touched:
            return
        if self.last_state is None or verdict.level != self.last_state[0]:
            self.to_flag.publish(Bool(data=verdict.touched))
        self.last_state, self.last_publish_time = state, verdict.t
        self.to_state.publish(collision_state(verdict, self.get_name(), self.worst_level))

    def _publish_fault(self, verdict: Verdict) -> None:
        """Publish the name of the open case at every change, its numbers from time to time."""
        fault, before = verdict.fault, self.fault
        if fault == before and self.fault_time > -math.inf:
            return
        recent = 0.0 <= verdict.t - self.fault_time < FAULT_PERIOD
        if recent and _name(fault) == _name(before):
            return
        self.fault, self.fault_time = fault, verdict.t
        self.to_fault.publish(fault_state(self.get_name(), verdict.t, fault))
        self.log_line(self.fault_log.update(verdict.t, fault))

    def _take_payload(self, held: Payload | None) -> None:
        """Let the model hold this from now on; it is published with the next sample."""
        self.monitor.set_payload(held)
        self.followed, self.set_payload = None, (held,)

    def _publish_payload(self, t: float, held: Payload | None, how: str) -> None:
        """Publish and log what the arm holds; how: found or set."""
        self.log_line(payload_line(held, self.payload, how))
        self.payload, self.set_payload = held, ()
        link = self.settings.payload.link or self.monitor.model.link_names[-1]
        self.to_payload.publish(payload_message(t, link, held))

    def _accept_payload(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Take over the payload of the open case, as if the parameters had been set."""
        fault, found = self.monitor.verdict.fault, self.monitor.found_payload
        limit, response.success = self.settings.payload.max_mass, False
        if fault is None or fault.kind != PAYLOAD:
            response.message = "no payload has been found or released"
        elif found is not None and found.mass > limit:
            response.message = f"{found.mass:.2f} kg are more than payload.max_mass, {limit:g} kg"
        else:
            values = {"mass": 0.0} if found is None else payload_values(found)
            result = self.set_parameters_atomically(
                [Parameter(f"payload.{name}", value=value) for name, value in values.items()]
            )
            response.success = bool(result.successful)
            what = "release" if found is None else f"{found.mass:.2f} kg on {found.link}"
            response.message = f"{what} accepted" if result.successful else str(result.reason)
        return response

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.monitor.reset("reset")
        self.worst_level = Level.CLEAR
        response.success, response.message = True, "observer restarted"
        return response

    def _tare(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Take the present residual for its bias."""
        try:
            bias = ", ".join(f"{value:+.3g}" for value in self.monitor.tare().tolist())
            response.success, response.message = True, f"bias of the joints [N m or N]: {bias}"
        except RobodynError as error:
            response.success, response.message = False, str(error)
        return response

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return why the state is UNKNOWN, and loop statistics."""
        verdict = self.monitor.verdict
        unknown = f"UNKNOWN: {verdict.cause}" if verdict.level is Level.UNKNOWN else ""
        bias = " ".join(f"{value:.3g}" for value in self.monitor.bias.tolist())
        fault, held = verdict.fault, self.payload
        facts = {
            "state": verdict.level.name,
            "fault": fault.text() if fault else "",
            "payload": f"{held.mass:.3g} kg on {held.link}" if held else "",
            "bias": bias,
            **self.statistics.facts(),
        }
        named = f"{fault.text()}: {fault.remedy}" if fault and not _harmless(fault) else ""
        problems = (unknown, named, self.monitor.bias_problem(), self.statistics.overrun())
        return next(filter(None, problems), ""), facts


def _name(fault: Fault | None) -> tuple[str, str, str] | None:
    """Return what of a fault is worth a message at once."""
    return (fault.kind, fault.joint, fault.runner_up) if fault else None


def _harmless(fault: Fault) -> bool:
    return fault.kind in HARMLESS_KINDS


def _tests_noise(settings: MonitorSettings) -> bool:
    return settings.noise.short.threshold > 0.0 or settings.noise.long.threshold > 0.0


def _needs_names(settings: MonitorSettings) -> bool:
    """Return whether a detector with these settings calls some of NAMES at every sample."""
    return bool(settings.wrench_link or settings.force.contact or settings.force.collision)


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal arrives; return the exit code."""
    return run(DynamicsNode, args=args, kernels=DETECTOR, later=NAMES)


if __name__ == "__main__":
    raise SystemExit(main())
