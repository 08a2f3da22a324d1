"""dynamics_node: what touches the arm, from joint states and commanded or measured torque."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from ..detection.detector import Level
from ..detection.fault import Fault
from ..detection.monitor import ContactMonitor, Report
from ..model.robot import RobotModel
from .intake import Sample, torques_of
from .markers import force_arrow
from .node_settings import DynamicsSettings
from .runtime import LATCHED, STATE_IN, STATE_OUT, JointStateMessage, run, set_stamp
from .state_node import StateNode

FRAME = 1.0 / 30.0  # [s] between two markers
SILENCE = 0.02  # [s] without joint states or commands after which nothing is known, or
PATIENCE = 3  # periods without a usable sample after which nothing is known
# [s] after commands were missing: whoever drives the arm has held it meanwhile, and may need that
# long to give what is commanded again
HANDOVER = 0.4
LEVELS = {
    Level.CLEAR: DiagnosticStatus.OK,
    Level.CONTACT: DiagnosticStatus.WARN,
    Level.COLLISION: DiagnosticStatus.ERROR,
    Level.UNKNOWN: DiagnosticStatus.STALE,
}


class DynamicsNode(StateNode):
    """Publishes residual, collision state and external wrench for every joint state."""

    def __init__(self) -> None:
        self.word: tuple[Any, ...] | None = None  # what was last said about contact
        self.told = 0.0  # [s], when
        self.gravest = Level.CLEAR  # since the last reset: a controller that is restarted asks
        super().__init__("dynamics_node", DynamicsSettings())

    def configure(self, model: RobotModel) -> None:
        """Connect."""
        commanded = self.settings.effort == "command"
        self.monitor = ContactMonitor(model, self.settings.monitor, commanded=commanded)
        self.parameters.prepare = lambda new: self.monitor.prepare(new.monitor)
        self.parameters.apply = self.monitor.apply
        self.tau = np.zeros(model.n)
        self.limit = model.tau_max
        self.joints = model.joint_names
        self.command_t = -math.inf  # [s], of the sample after which the last command came
        self.obeyed_from = -math.inf  # [s], since when commands are what acts
        self.residual = JointStateMessage(model.joint_names, "effort")
        self.wrench = WrenchStamped()
        self.to_residual = self.outlet(JointState, "~/residual", STATE_OUT)
        self.to_wrench = self.outlet(WrenchStamped, "~/external_wrench", STATE_OUT)
        self.to_markers = self.outlet(MarkerArray, "~/markers", STATE_OUT)
        self.drawn = 0.0  # [s], when the arrow was last published
        self.to_state = self.outlet(DiagnosticStatus, "~/collision_state", LATCHED)
        self.to_flag = self.outlet(Bool, "~/collision", LATCHED)
        if commanded:
            self.listen(Float64MultiArray, "effort_controller/commands", self._commanded, STATE_IN)
        self.create_service(Trigger, "~/reset", self._reset)
        self.watch_states(model, SILENCE, forgiven=PATIENCE - 1)

    def _commanded(self, message: Float64MultiArray) -> None:
        """The torque that acts from now on: what is over the limit the motors do not give."""
        tau, reason = torques_of(message, self.joints)
        if tau is None:
            self.complain(f"refused a command: {reason}")
            return
        np.clip(tau, -self.limit, self.limit, out=self.tau)
        self.command_t = self.sample_t

    def sampled(self, sample: Sample) -> None:
        """Look for contact, if the torque is known."""
        if sample.restart:
            self.monitor.reset("joint states begin anew")
        tau, missing, fault = self._torque(sample)
        if tau is None:
            about = "no torque" if fault is Fault.NONE else "commands are missing"
            self.complain(f"{about}: {missing}")
            self._publish_state(self.monitor.lost(missing, fault), sample.t)
        else:
            self._publish(self.monitor.update(sample.t, sample.q, sample.qd, tau), sample.t)

    def _torque(self, sample: Sample) -> tuple[np.ndarray | None, str, Fault]:
        """What acted on the joints up to this sample, or None, why nobody knows, and the fault."""
        if self.settings.effort == "joint_states":
            return sample.tau, self.intake.no_effort, Fault.NONE
        if sample.restart:  # time may have gone back
            self.command_t = min(self.command_t, sample.t)
            self.obeyed_from = min(self.obeyed_from, sample.t)
        silent = sample.t - self.command_t
        if math.isinf(silent):
            return None, "no command yet", Fault.NONE
        # However rare samples have become: whoever drives the arm does not wait longer, either
        if silent > max(SILENCE, PATIENCE * self.pace.period) + self.pace.period:
            self.obeyed_from = sample.t + HANDOVER
            return None, f"no command for {silent:.3f} s", Fault.COMMANDS
        if sample.t < self.obeyed_from:
            return None, "commands have been missing: what acts now nobody knows", Fault.NONE
        return self.tau, "", Fault.NONE

    def unseen(self, reason: str, faulty: bool) -> None:
        """Nothing is known any more."""
        self._publish_state(self.monitor.lost(reason), self.sample_time)

    def _publish(self, report: Report, t: float) -> None:
        self.residual.effort[:] = report.r
        self.to_residual.publish(self.residual.at(t))
        if self.to_wrench.wanted:
            set_stamp(self.wrench.header.stamp, t)
            self.wrench.header.frame_id = report.link
            force, torque = self.wrench.wrench.force, self.wrench.wrench.torque
            force.x, force.y, force.z, torque.x, torque.y, torque.z = report.wrench.tolist()
            self.to_wrench.publish(self.wrench)
        if self.to_markers.wanted and not 0.0 <= t - self.drawn <= FRAME:
            self.drawn = t
            self.to_markers.publish(force_arrow(report, t))
        self._publish_state(report, t)

    def _publish_state(self, report: Report, t: float) -> None:
        """At every change, while something touches, and else now and then as a sign of life."""
        state = report.state
        word = (state.level, state.joints, state.link, state.fault)
        touched = state.level >= Level.CONTACT
        self.gravest = max(self.gravest, state.level)
        recent = 0.0 <= t - self.told < self.settings.heartbeat
        if word == self.word and recent and not touched:
            return
        if self.word is None or word[0] != self.word[0]:
            self.to_flag.publish(Bool(data=touched))
        self.word, self.told = word, t
        told = {
            "joints": " ".join(state.joints),
            "link": state.link or "",
            "force": f"{math.hypot(*report.wrench[:3]):.3f}",
            "residual": " ".join(f"{x:.6g}" for x in report.r) if touched else "",
            "reason": state.reason,
            "fault": state.fault.value,
            "gravest": self.gravest.name if self.gravest >= Level.CONTACT else "",
            "stamp": f"{t:.9f}",
        }
        self.to_state.publish(
            DiagnosticStatus(
                level=LEVELS[state.level],
                name=self.get_name(),
                message=state.level.name,
                values=[KeyValue(key=key, value=value) for key, value in told.items()],
            )
        )

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.monitor.reset("reset")
        self.gravest = Level.CLEAR
        response.success, response.message = True, "the observer starts anew"
        return response

    def health(self) -> tuple[str, dict[str, Any]]:
        """Why nothing is known, and how regularly samples come."""
        state = self.monitor.state
        unknown = f"UNKNOWN: {state.reason}" if state.level is Level.UNKNOWN else ""
        return unknown or self.pace.overrun(), {"state": state.level.name, **self.pace.facts()}


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    return run(DynamicsNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
