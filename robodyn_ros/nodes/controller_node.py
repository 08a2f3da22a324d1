"""controller_node: torque commands that track a trajectory, and reactions to contact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, PoseStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from ..control.law_factory import LawMaker
from ..control.supervisor import RAMP_DOWN_TIMEOUT, Supervisor
from ..control.transitions import FOLLOWING, Mode
from ..detection.detector import Level
from ..detection.fault import COMMAND_LOSS, SENSOR_FREEZE
from ..dynamics.limit_use import Binding
from ..dynamics.motion import Motion
from ..errors import ArgumentError, RobodynError
from ..model.robot import Payload, RobotModel
from ..sensing.sample import Sample, Status
from ..sensing.settings import SensingSettings
from ..trajectory.piecewise import PiecewisePolynomial
from ..trajectory.trajectory_msg import from_points
from .codec import (
    controller_state,
    read_collision_state,
    read_effort,
    read_payload,
    seconds,
)
from .command_conflict import CommandConflict
from .later_kernels import have_arrived, wait_for
from .log_lines import limits_line, mode_line, payload_line
from .node_kernels import CONTROLLER, LAWS, SLOWER, more_kernels
from .node_settings import ControllerSettings
from .pose_target import base_name, plan_pose, pose_of_message
from .runtime import LATCHED, STATE_IN, STATE_OUT, EffortMessage, JointStateMessage, run
from .state_node import StateNode
from .trajectory_action import OldTrajectoryError, TrajectoryAction, action_type
from .trajectory_requests import ReplacedError, Request, TrajectoryRequests

LOST_AFTER = 2  # repetitions of a joint state after which the command counts as lost
REST_POLL = 0.02  # [s] between two checks of whether the arm has come to rest
STOPPED = (Mode.SAFE_HOLD, Mode.REACTING)
REACT_TO = {"contact": Level.CONTACT, "collision": Level.COLLISION}


class ControllerNode(StateNode):
    """Publishes a command for every joint state.

    own_law: makes the law of `arm.controller: own`.
    """

    def __init__(self, own_law: LawMaker | None = None) -> None:
        super().__init__("controller_node", ControllerSettings())
        self.own_law = own_law
        self.detector_stamp = 0.0  # [s], of the detector's last verdict
        self.detector_heard = False
        self.answered = 0.0  # [s], of the last valid sample that was answered
        self.waiting: Sample | None = None  # for the detector's verdict, in lockstep
        self.repeated = (0.0, 0)  # time [s] of the last joint state, how often it was repeated
        self.published_state: tuple[Mode, str, bool] | None = None
        self.wait_for_robot()

    def configure(self, model: RobotModel) -> None:
        """Create supervisor, topics and services."""
        wait_for(more_kernels(self.settings.arm))
        self.arm = Supervisor(model, self.settings.arm, self.settings.sensing, self.own_law)
        self.payload: Payload | None = None
        self._carry(self.settings.payload.payload(model), "set")
        self.command = EffortMessage(model.n)
        self.reference = JointStateMessage(model.joint_names, "position", "velocity", "effort")
        commands = "effort_controller/commands"
        self.to_command = self.local_publisher(Float64MultiArray, commands, STATE_OUT)
        self.conflict = CommandConflict(self, self.to_command, self._on_conflict)
        self.to_reference = self.local_publisher(JointState, "~/reference", STATE_OUT)
        self.to_state = self.local_publisher(DiagnosticArray, "~/state", LATCHED)
        self.subscribe_states(model, _patient(self.settings))
        self.local_subscription(
            JointTrajectory, "~/joint_trajectory", self._on_trajectory, 10, keep_remote=True
        )
        self.requests = TrajectoryRequests(self.arm)
        self.action: TrajectoryAction | None = None
        self.local_subscription(PoseStamped, "~/pose_target", self._on_pose_target, 10)
        if kind := action_type():
            self.action = TrajectoryAction(self, kind, self.arm, self._follow_message)
        # One message per sample: open only if the reaction needs it
        residual = "dynamics_node/residual"
        self.residuals = self.local_subscription(JointState, residual, self._on_residual, STATE_IN)
        self.residuals.set_open(self.arm.uses_residual)
        verdicts = "dynamics_node/collision_state"
        self.local_subscription(DiagnosticArray, verdicts, self._on_verdict, LATCHED)
        held = "dynamics_node/payload"
        self.local_subscription(InertiaStamped, held, self._on_payload, LATCHED)
        self.create_service(SetBool, "~/enable", self._enable)
        self.create_service(Trigger, "~/clear", self.clear)

    def prepare_settings(self, settings: ControllerSettings) -> Callable[[], None]:
        """Return a function that applies these settings; raise if they are invalid."""
        if self.robot is None:
            return super().prepare_settings(settings)
        if not have_arrived(more_kernels(settings.arm)):
            raise ArgumentError(
                "this law or reaction is still being compiled, once on this machine: try again in "
                "some seconds"
            )
        same = settings.arm == self.settings.arm
        parts = None if same else self.arm.prepare(settings.arm)
        regrasped = settings.payload.held != self.settings.payload.held
        held = settings.payload.payload(self.robot) if regrasped else None

        def apply() -> None:
            if parts is not None:
                self.arm.apply(parts)
            if regrasped:
                self._carry(held, "set")
            self.arm.sensing = settings.sensing
            self.sampler.apply(_patient(settings))
            self.residuals.set_open(self.arm.uses_residual)

        return apply

    def on_sample(self, sample: Sample) -> None:
        """Publish a command; in lockstep, after the detector's verdict on the sample."""
        if not sample.status.valid:
            if self.statistics.samples and not self.settings.lockstep:
                self._answer_missing(sample)
        elif self.settings.lockstep and self.detector_stamp != sample.t:
            self.waiting = sample
        else:
            self._answer(sample)

    def poll_graph(self) -> None:
        """Check which topics have subscribers, and whether other nodes publish commands."""
        super().poll_graph()
        others = self.conflict.poll() if self.robot is not None else ""
        if others:
            self.warn_throttled(f"other nodes publish commands: {others}")

    def _answer(self, sample: Sample) -> None:
        if sample.status is Status.RESTART:  # time may have gone back
            self.detector_stamp = min(self.detector_stamp, sample.t)
        tau = self.arm.update(sample)
        self.repeated = (sample.t, 0)
        if not self.arm.blind:
            self.answered = sample.t
        self._command_unless_blind(tau, sample.t, self.settings.sensing.invalid_time)
        self._publish_state(sample.t)
        self._publish_reference(sample.t)
        self.requests.update()
        if self.action is not None:
            self.action.update()
        silent = sample.t - self.detector_stamp
        if 0.0 < self.settings.detector_timeout < silent and self.detector_heard:
            self.arm.safe_hold(f"no verdict of the detector for {silent:.3f} s")

    def _answer_missing(self, sample: Sample) -> None:
        """Command for a limited time without a valid sample; the driver then holds the arm."""
        if self.simulated and self.sampler.stopped(self.wall()):
            if self.arm.moving:
                self.arm.safe_hold(sample.cause)
            return
        invalid, sensing = sample.status is Status.INVALID, self.settings.sensing
        tau = self.arm.update(sample)
        longest = sensing.invalid_time if invalid else sensing.blind_time
        self._command_unless_blind(tau, sample.t, longest)
        self._publish_state(sample.t)

    def _command_unless_blind(self, tau: np.ndarray, t: float, longest: float) -> None:
        """Command, unless the last valid sample is older than `longest` [s]."""
        self.answered = min(self.answered, t)  # time may have gone back
        if t - self.answered <= longest:
            self.command.data[:] = tau
            self._send_command()
        else:
            self.arm.release_command()

    def _send_command(self) -> None:
        self.conflict.sent(self.command.message)
        self.to_command.publish(self.command.message)

    def _on_joint_state(self, message: JointState) -> None:
        """Take a joint state; in lockstep, send a lost command again.

        A plant that waits repeats its state. One repetition may be due to a stall, while the
        command is on its way; the next one is not.
        """
        super()._on_joint_state(message)
        t = seconds(message.header.stamp)
        self.repeated = (t, self.repeated[1] + 1 if t == self.repeated[0] else 0)
        if self.settings.lockstep and self.repeated[1] >= LOST_AFTER and t == self.answered:
            self.repeated = (t, 0)
            self._send_command()

    def _publish_state(self, t: float) -> None:
        """Publish mode, reason, and whether a verdict was received, at every change."""
        state = self.arm.mode, self.arm.reason, self.detector_heard
        if state != self.published_state:
            mode, reason, heard = state
            before = self.published_state
            if before is None or before[:2] != (mode, reason):
                self.log_line(mode_line(mode, reason, before[0] if before else None))
            self.published_state = state
            follows, name = mode in FOLLOWING, self.get_name()
            self.to_state.publish(controller_state(name, t, mode.name, reason, follows, heard))

    def _publish_reference(self, t: float) -> None:
        if self.to_reference.wanted:
            reference = self.arm.reference
            self.reference.position[:], self.reference.velocity[:] = reference.q, reference.qd
            self.reference.effort[:] = self.command.data
            self.to_reference.publish(self.reference.at(t))

    def _on_conflict(self, names: str) -> None:
        reason = f"other nodes command the arm: {names}"
        self.warn_throttled(reason)
        self.arm.safe_hold(reason)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        def refused(error: RobodynError) -> None:
            if not isinstance(error, ReplacedError):
                self.warn_refused(f"rejected a trajectory: {error}")

        self._follow_message(message, lambda: None, refused)

    def _follow_message(
        self,
        message: JointTrajectory,
        taken: Callable[[], None],
        refused: Callable[[RobodynError], None],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Follow a trajectory from its stamp on, or as soon as possible if that is 0."""
        names, own = message.joint_names, self.arm.model.joint_names
        at = seconds(message.header.stamp) or None

        def path(start: Motion, t: float) -> tuple[PiecewisePolynomial, float | None]:
            found = from_points(names, message.points, joint_names=own, start=start[:3])
            if at is not None and t - at > found.duration:
                late = t - at - found.duration
                raise OldTrajectoryError(f"it ended {late:.3g} s ago, by its stamp; 0 means now")
            return found, at

        request = Request(path, partial(self._on_taken, taken=taken), refused, wanted)
        # Only a loop that spins by the clock goes on meanwhile; elsewhere the result would depend
        # on the load of the machine
        if self.executor is None or self.simulated or self.settings.lockstep:
            self.requests.follow(request)
        else:
            self.requests.plan(request)

    def _on_taken(self, exceeded: tuple[Binding, ...], taken: Callable[[], None]) -> None:
        if exceeded:
            self.log_line(limits_line(exceeded))
        if self.action is not None:
            self.action.replace()
        taken()

    def _on_pose_target(self, message: PoseStamped) -> None:
        """Plan the way of the hand to a pose, and follow it."""

        def refused(error: RobodynError) -> None:
            self.warn_refused(f"rejected a pose target: {error}")

        try:
            if not self.statistics.samples:
                raise ArgumentError("no joint state was received yet")
            target = pose_of_message(message, base_name(self.arm.model))
        except RobodynError as error:
            refused(error)
            return
        model, task = self.arm.model, self.settings.arm.task

        def path(start: Motion, t: float) -> tuple[PiecewisePolynomial, None]:
            return plan_pose(model, task, start.q, target), None

        taken = partial(self._on_taken, taken=lambda: None)
        self.requests.plan(Request(path, taken, refused))

    def _on_residual(self, message: JointState) -> None:
        if not self.arm.uses_residual:
            return
        try:
            self.arm.set_residual(read_effort(message)[1])
        except ArgumentError as error:
            self.warn_throttled(f"rejected a residual: {error}")

    def _on_verdict(self, message: DiagnosticArray) -> None:
        """React to contact and faults; in lockstep, answer the sample of this verdict."""
        verdict = read_collision_state(message)
        limit = REACT_TO[self.settings.react_to]
        touched = verdict.level >= limit
        self.arm.on_contact(None if verdict.level is Level.UNKNOWN else touched)
        if not self.detector_heard and not touched and verdict.worst >= limit:
            self.arm.on_earlier_contact()
        self.arm.on_command_feedback(verdict.t, verdict.fault != COMMAND_LOSS)
        if verdict.fault == SENSOR_FREEZE and verdict.level is Level.UNKNOWN:
            self.arm.on_stuck_joint(verdict.fault_joint, verdict.cause)
        else:
            self.arm.on_fault(verdict.fault, verdict.fault_joint)
        self.detector_stamp, self.detector_heard = verdict.t, True
        if self.waiting is not None and self.waiting.t == verdict.t:
            sample, self.waiting = self.waiting, None
            self._answer(sample)

    def _on_payload(self, message: InertiaStamped) -> None:
        """Take over the payload that dynamics_node publishes."""
        held, settings = read_payload(message), self.settings.payload
        if not settings.follow:
            return
        try:
            if held is not None and not 0.0 < held.mass <= settings.max_mass:
                raise ArgumentError(f"{held.mass:g} kg, payload.max_mass is {settings.max_mass:g}")
            self._carry(held, "taken over")
        except RobodynError as error:
            self.warn_refused(f"rejected a payload: {error}")

    def _carry(self, held: Payload | None, how: str) -> None:
        """Carry a payload from now on, or none."""
        if held is not None or self.payload is not None:
            self.arm.set_payload(held)
            self.log_line(payload_line(held, self.payload, how))
            self.payload = held

    def _enable(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self.arm.enable(request.data)
        response.success, response.message = True, self.arm.mode.value
        return response

    def clear(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """End a reaction or a safe hold, once at rest; if that is refused, the answer says why."""
        try:
            self.arm.clear()
            mode = self.arm.mode
            later = ", which ends once the arm is at rest" if mode in STOPPED else ""
            response.success, response.message = True, mode.value + later
        except RobodynError as error:
            response.success, response.message = False, str(error)
            self.warn_refused(f"rejected clear: {error}")
        return response

    def begin_stop(self) -> None:
        """Brake and ramp the torque down."""
        if self.robot is None or not self.statistics.samples:
            self.stopped = True
            return
        self.arm.ramp_down()
        patient = _patient(self.settings)
        self.sampler.apply(replace(patient, silence=min(patient.silence, RAMP_DOWN_TIMEOUT)))
        self.create_timer(REST_POLL, self._poll_rest, clock=self.steady_clock)

    def _poll_rest(self) -> None:
        self.stopped = self.stopped or self.arm.at_rest

    def health(self) -> tuple[str, dict[str, Any]]:
        """Return why the arm does not follow, and mode and loop statistics."""
        mode = self.arm.mode
        text = f"{mode.name}: {self.arm.reason}" if mode in STOPPED else self.statistics.overrun()
        error = f"{np.abs(self.arm.error).max():.2e}"
        facts = {"mode": mode.name, "reason": self.arm.reason, "largest tracking error": error}
        facts["delay of the trajectory [s]"] = f"{self.arm.delay:.3f}"
        return text, facts | self.statistics.facts()


def _patient(settings: ControllerSettings) -> SensingSettings:
    """Return the sensing limits; joint states are silent only after the arm's timeout."""
    silence = max(settings.sensing.silence, settings.arm.timeout)
    return replace(settings.sensing, silence=silence)


def main(args: list[str] | None = None, law: LawMaker | None = None) -> int:
    """Run the node until a signal arrives; return the exit code.

    law: makes the law for `arm.controller: own`, by (model, settings, limits=, compensation=).
    """
    return run(partial(ControllerNode, law), args=args, kernels=CONTROLLER, later=(*SLOWER, *LAWS))


if __name__ == "__main__":
    raise SystemExit(main())
