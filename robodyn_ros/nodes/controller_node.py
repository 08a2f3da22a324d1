"""controller_node: torques that track a motion, and give way when something touches the arm."""

from __future__ import annotations

from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from ..control.arm_controller import ENDING, FOLLOWING, ArmController, Mode
from ..control.arm_torque import ArmParts
from ..detection.fault import Fault
from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from ..trajectory.trajectory_msg import from_points
from .command_conflict import Rivals
from .intake import Sample
from .node_settings import ControllerSettings
from .runtime import LATCHED, STATE_OUT, EffortMessage, JointStateMessage, run, set_stamp
from .state_node import StateNode

SAME = 1e-6  # [s]: stamps that went through text
BLIND = 1.0  # [s] without a good sample after which nothing is commanded any more, or
FAULTY = 0.2  # [s] of samples that cannot be trusted
LATEST = 1e12  # [s]: no clock has come to that
LEVELS = ("CLEAR", "CONTACT", "COLLISION")  # any other word means that nobody knows
TOUCHED = {"contact": ("CONTACT", "COLLISION"), "collision": ("COLLISION",)}


class ControllerNode(StateNode):
    """Answers every joint state with a command."""

    def __init__(self) -> None:
        super().__init__("controller_node", ControllerSettings())

    def configure(self, model: RobotModel) -> None:
        """Connect."""
        self.arm = ArmController(model, self.settings.arm)
        self.parameters.prepare = lambda new: self.arm.prepare(new.arm)
        self.parameters.apply = self._apply
        self.word_at = 0.0  # [s], the sample that the detector's last word is about
        self.told = False  # whether the detector has said anything yet
        self.answered_at = 0.0  # [s], the last one that could be trusted
        self.waiting: Sample | None = None  # for the detector's word, in lockstep
        self.command = EffortMessage(model.n)
        self.reference = JointStateMessage(model.joint_names, "position", "velocity", "effort")
        self.to_command = self.outlet(Float64MultiArray, "effort_controller/commands", STATE_OUT)
        self.rivals = Rivals(self, self.to_command, self._rivalled)
        self.to_reference = self.outlet(JointState, "~/reference", STATE_OUT)
        self.to_state = self.outlet(DiagnosticArray, "~/state", LATCHED)
        self.published_state: tuple[Mode, str, bool] | None = None
        self.watch_states(model, silence=self.settings.arm.timeout)
        self.listen(JointTrajectory, "~/joint_trajectory", self._follow, 10)
        self.listen(DiagnosticStatus, "dynamics_node/collision_state", self._touched, LATCHED)
        self.create_service(SetBool, "~/enable", self._enable)
        self.create_service(Trigger, "~/clear", self._clear)

    def sampled(self, sample: Sample) -> None:
        """Answer it; in lockstep, once the detector has said its word about it."""
        if self.settings.lockstep and abs(self.word_at - sample.t) > SAME:
            self.waiting = sample
        else:
            self._answer(sample)

    def unseen(self, reason: str, faulty: bool) -> None:
        """Without a sample, what the arm can do about it; in lockstep no answer is due, and before
        the first sample there is none. If that lasts, silence: whoever drives the arm then holds
        it, and one that begins anew elsewhere is not pushed about by somebody blind.
        """
        if not self.pace.samples or self.settings.lockstep:
            return
        if not self.time_stands_still:
            t = self.sample_time
            tau = self.arm.lost(t, reason, faulty=faulty)
            self._command_if_seen(tau, t, FAULTY if faulty else BLIND)
            self._publish_state(t)
        elif self.arm.moving:
            self.arm.safe_hold(reason)

    def look(self) -> None:
        """Find out who listens, and who else commands."""
        super().look()
        others = self.rivals.look() if self.robot is not None else ""
        if others:
            self.complain(f"commands are published by others, too: {others}")

    def _rivalled(self, names: str) -> None:
        reason = f"somebody else commands the arm, too: {names}"
        self.complain(reason)
        self.arm.safe_hold(reason)

    def _apply(self, parts: ArmParts) -> None:
        self.arm.apply(parts)
        self.allowed_silence = parts.settings.timeout

    def _answer(self, sample: Sample) -> None:
        if sample.restart:
            self.arm.restart()
            self.word_at = min(self.word_at, sample.t)  # time may have gone back
        tau = self.arm.update(sample.t, sample.q, sample.qd)
        if not self.arm.blind:
            self.answered_at = sample.t
        self._command_if_seen(tau, sample.t, FAULTY)
        self._publish_state(sample.t)
        self._publish_reference(sample.t)
        silent = sample.t - self.word_at
        if 0.0 < self.settings.detector_timeout < silent and self.word_at:
            self.arm.safe_hold(f"no word of the detector for {silent:.3f} s")

    def _command_if_seen(self, tau: np.ndarray, t: float, longest: float) -> None:
        """Command, unless nothing that can be trusted has been seen for so long [s]."""
        self.answered_at = min(self.answered_at, t)  # time may have gone back
        if t - self.answered_at <= longest:
            self._command(tau)
        else:
            self.arm.hand_over()

    def _command(self, tau: np.ndarray) -> None:
        self.command.data[:] = tau
        self.rivals.said(self.command.message)
        self.to_command.publish(self.command.message)

    def _publish_state(self, t: float) -> None:
        """Publish mode, reason, and whether the detector was heard, at every change."""
        state = self.arm.mode, self.arm.reason, self.told
        if state == self.published_state:
            return
        self.published_state = state
        mode, reason, heard = state
        values = {"reason": reason, "detector": "heard" if heard else "not heard"}
        status = DiagnosticStatus(
            name=self.get_name(),
            level=DiagnosticStatus.OK if mode in FOLLOWING else DiagnosticStatus.WARN,
            message=mode.name,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        message = DiagnosticArray(status=[status])
        set_stamp(message.header.stamp, t)
        self.to_state.publish(message)

    def _publish_reference(self, t: float) -> None:
        if not self.to_reference.wanted:
            return
        wanted = self.arm.reference
        self.reference.position[:], self.reference.velocity[:] = wanted.q, wanted.qd
        self.reference.effort[:] = self.command.data
        self.to_reference.publish(self.reference.at(t))

    def _follow(self, message: JointTrajectory) -> None:
        try:
            wanted = self.arm.reference
            names = self.arm.model.joint_names
            motion = from_points(
                message.joint_names, message.points, joint_names=names, start=wanted[:3]
            )
            self.arm.follow(motion)
        except RobodynError as error:
            self.complain(f"refused a trajectory: {error}")

    def _touched(self, message: DiagnosticStatus) -> None:
        """The detector's word, and while something touches, where the push goes."""
        told = {item.key: item.value for item in message.values}
        grave = TOUCHED[self.settings.react_to]
        touched = message.message in grave
        try:
            r = np.array(told.get("residual", "").split(), dtype=float)
            stamp = seconds_in(told.get("stamp", "0"))
            self.arm.contact(
                touched if message.message in LEVELS else None,
                r if r.size == self.arm.model.n else None,
            )
        except ValueError as error:  # an ArgumentError is one
            self.complain(f"refused a word about contact: {error}")
            return
        if not self.told and not touched and told.get("gravest") in grave:
            self.arm.touched_before()
        fault = told.get("fault", "")
        self.arm.heard(stamp, fault != Fault.COMMANDS.value)
        if fault == Fault.READINGS.value:
            self.arm.frozen(told.get("joints", ""), told.get("reason", ""))
        self.word_at, self.told = stamp, True
        if self.waiting is not None and abs(self.waiting.t - self.word_at) <= SAME:
            sample, self.waiting = self.waiting, None
            self._answer(sample)

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.arm.enable(request.data)
        response.success, response.message = True, self.arm.mode.value
        return response

    def _clear(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self.arm.clear()
            response.success, response.message = True, self.arm.mode.value
        except RobodynError as error:
            response.success, response.message = False, str(error)
        return response

    def begin_stop(self) -> None:
        """Brake and take the torque away before the end."""
        if self.robot is None or not self.pace.samples:
            self.stopped = True
            return
        self.arm.ramp_down()
        self.allowed_silence = min(self.allowed_silence, ENDING)
        self.create_timer(0.02, self._look_for_rest, clock=self._wall)

    def _look_for_rest(self) -> None:
        self.stopped = self.stopped or self.arm.at_rest

    def health(self) -> tuple[str, dict[str, Any]]:
        """Why the arm does not do what it should, its mode, and how regularly samples come."""
        mode = self.arm.mode
        wrong = mode in (Mode.SAFE_HOLD, Mode.REACTING)
        facts = {"mode": mode.name, "reason": self.arm.reason}
        facts["largest tracking error"] = f"{np.abs(self.arm.error).max():.2e}"
        text = f"{mode.name}: {self.arm.reason}" if wrong else self.pace.overrun()
        return text, {**facts, **self.pace.facts()}


def seconds_in(text: str) -> float:
    """[s], a time that went through text."""
    if not abs(t := float(text)) < LATEST:
        raise ArgumentError(f"its stamp is {text}")
    return t


def main(args: list[str] | None = None) -> int:
    """Run the node until a signal comes."""
    return run(ControllerNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
