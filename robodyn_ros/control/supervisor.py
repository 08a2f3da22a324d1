"""Supervisor: samples and verdicts in, torque out, for one controlled arm.

The modes and the transitions between them stand in `transitions`. The supervisor trusts the status
of a sample; it has no clock of its own. In every mode the torque is finite, within its limits, and
changes no faster than its rate limit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.limit_use import Binding
from ..dynamics.motion import Motion
from ..errors import RobodynError
from ..model.robot import Payload, RobotModel
from ..sensing.sample import Sample, Status
from ..sensing.settings import SensingSettings
from .arm_settings import ArmSettings
from .arm_torque import ArmParts, ArmTorque
from .controller import PERIOD, Array, JointState, joint_array
from .fault_answers import DISABLE
from .fault_answers import SAFE_HOLD as SAFE_HOLD_ANSWER
from .law_factory import LawMaker
from .path_shape import Path
from .reference import OutdatedPlanError
from .trajectory_plan import TrajectoryPlan, TrajectoryPlanner
from .transitions import FOLLOWING, LATCHED, REJECT, TRANSITIONS, Event, Mode

RAMP_DOWN_TIMEOUT = 0.05  # [s], upper bound of `timeout` after `ramp_down`
# Periods of the samples by which a plan may be taken over too early or too late
EARLY, LATE = 0.5, 2.0
# Events that change the mode as a plan expects it
EXPECTED = (Event.FOLLOW, Event.ARRIVED, Event.REJOINED)


@dataclass
class ModeState:
    """What is remembered as long as the arm stays in one mode."""

    cleared: bool = False  # `clear` was called
    idle: bool = False  # disabled, and braked
    remove_torque: bool = False  # ramped down: without torque in the end
    quiet: float = 0.0  # [s] without contact
    braking: float = 0.0  # [s] since the arm was disabled


@dataclass
class Inputs:
    """What sensing, detector and driver reported last."""

    touched: bool | None = None  # None: unknown
    residual: Array | None = None  # (n,) [N m or N]
    fault: str = ""  # named one for which the arm is held
    silence: float = 0.0  # [s] since the last usable sample
    invalid: bool = False  # the sample was rejected
    commands_lost_at: float | None = None  # [s]
    started_at: float = math.inf  # [s], when commanding began


class Supervisor:
    """Controller of one arm, enabled at first: `update` per sample, other events in between.

    law: makes the law for `controller: own`, by (model, settings, limits=, compensation=).
    """

    def __init__(
        self,
        model: RobotModel,
        settings: ArmSettings | None = None,
        sensing: SensingSettings | None = None,
        law: LawMaker | None = None,
    ) -> None:
        self._own_law = law
        self.model = self._bare = model  # with its payload, and without
        self.mode, self.reason = Mode.HOLDING, "waiting for the first sample"
        self._sensing = sensing or SensingSettings()
        parts = self.prepare(settings or ArmSettings())
        self._arm = ArmTorque(model, parts, self._sensing)
        self._inputs, self._mode_state = Inputs(), ModeState()
        self._blind = False
        self._interruptions = 0  # changes of mode that no plan expects
        self._restart_pending = True  # the next valid sample starts anew

    # properties

    @property
    def settings(self) -> ArmSettings:
        """Settings in use."""
        return self._arm.parts.settings

    @property
    def sensing(self) -> SensingSettings:
        """Limits of the sensing in use; can be replaced between two samples."""
        return self._sensing

    @sensing.setter
    def sensing(self, sensing: SensingSettings) -> None:
        self._sensing = self._arm.timeline.sensing = sensing
        self._arm.guard.configure(sensing)

    @property
    def time(self) -> float:
        """Time of the last usable sample [s]."""
        return self._arm.timeline.t

    @property
    def delay(self) -> float:
        """Time by which the reference is behind its trajectory [s]."""
        return self._arm.reference.scaling.delay

    @property
    def tau(self) -> Array:
        """Last torque (n,) [N m or N]; a copy."""
        return self._arm.tau

    @property
    def reference(self) -> Motion:
        """Reference motion, copies; while the arm yields, its measured posture at rest."""
        return Motion(*(x.copy() for x in self._target_motion))

    @property
    def error(self) -> Array:
        """Tracking error (n,), reference minus measurement [rad or m]."""
        return np.asarray(self._target_motion.q - self._arm.state.q)

    @property
    def velocity_error(self) -> Array:
        """Velocity error (n,), reference minus measurement [rad/s or m/s]."""
        return np.asarray(self._target_motion.qd - self._arm.state.qd)

    @property
    def moving(self) -> bool:
        """Whether the arm moves or brakes, so that losing its samples matters."""
        if self.mode in FOLLOWING:
            return self.mode is not Mode.HOLDING or bool(self._arm.reference.motion.qd.any())
        return not (self._arm.reaction.at_rest or self._mode_state.idle)

    @property
    def at_rest(self) -> bool:
        """Whether the arm has come to rest without torque, after `ramp_down`."""
        state = self._mode_state
        return state.remove_torque and state.idle and not self._arm.parts.rate_limiter.tau.any()

    @property
    def blind(self) -> bool:
        """Whether the last torque was output without a usable sample."""
        return self._blind

    @property
    def uses_residual(self) -> bool:
        """Whether the reaction needs `set_residual`."""
        reaction = self._arm.parts.reaction
        return reaction is not None and reaction.uses_residual

    @property
    def _target_motion(self) -> Motion:
        following = self.mode in FOLLOWING or not self._arm.started
        return self._arm.reference.motion if following else self._arm.reaction.reference

    @property
    def _allowed_silence(self) -> float:
        timeout = self.settings.timeout
        if self._mode_state.remove_torque:
            timeout = min(timeout, RAMP_DOWN_TIMEOUT)
        return self._arm.timeline.allowed_silence(timeout)

    # events: samples

    def update(self, sample: Sample) -> Array:
        """Return the torque (n,) [N m or N] to command after a sample of any status.

        The sample's arrays are kept. Without a valid sample, an arm that moves goes to a safe hold
        after `timeout`; an arm at rest after `rest_timeout`, or after `timeout` if samples are
        rejected. Until then the torque approaches the one for the last valid sample, from then on
        the weight of the arm in the last known posture: an arm cannot be braked blindly.
        """
        if not sample.status.valid:
            invalid = sample.status is Status.INVALID
            return self._continue_blindly(sample.dt, sample.cause, invalid)
        state = JointState(sample.q, sample.qd, sample.tau)
        if sample.status is Status.RESTART or self._restart_pending:
            return self._start(sample.t, state)
        if self._arm.guard.stuck.still_stuck(state.q):
            torque = self._continue_blindly(sample.dt, self.reason, False)
            self._arm.timeline.ignore(sample.dt)
            return torque
        return self._continue(sample.t, sample.dt, state)

    def restart(self) -> None:
        """Hold the posture of the next sample, which is unrelated to the last."""
        self._restart_pending, self._arm.target = True, self.tau

    def release_command(self) -> None:
        """Stop commanding until the next usable sample: the driver holds the arm meanwhile."""
        self._arm.released = self._arm.started

    # events: requests

    def follow(
        self, trajectory: Path | TrajectoryPlan, at: float | None = None
    ) -> tuple[Binding, ...]:
        """Follow a trajectory from now on, or as if it had begun at the time `at` [s].

        A small distance from its start is blended out. A start further away than
        `start_tolerance`, or a way out of the joint limits, is rejected. Returns which limits it
        breaks at its own speed, the worst first: with `scaling: live` it is slowed down where it
        does, with `strict` it is rejected.

        That is planned here, which takes milliseconds, unless it is planned already (`plan`).
        OutdatedPlanError: it must be planned again, since the arm or its settings have changed.
        """
        if isinstance(trajectory, TrajectoryPlan):
            plan = trajectory
            self._check_plan(plan)
        else:
            plan = self.plan(trajectory, at)
        joined = self._arm.reference.joined(plan.start, plan.seconds)
        self._fire(Event.FOLLOW, "", plan.path, plan.s, joined)
        return plan.exceeded

    def plan(self, trajectory: Path, at: float | None = None) -> TrajectoryPlan:
        """Return a plan to `follow` a trajectory now; nothing changes yet."""
        return self.planner().plan(trajectory, at)

    def planner(self, lead: float = 0.0) -> TrajectoryPlanner:
        """Return a planner of trajectories to follow `lead` [s] from now; it may run in a thread.

        Its plan can be followed as soon as `is_due` says so.
        """
        arm = self._arm
        if not arm.started:
            raise RobodynError("no sample was received yet: the arm's posture is unknown")
        self._check_mode()
        parts, reference = arm.parts, arm.reference.ahead(0.0, PERIOD)
        times = (arm.timeline.t, lead, arm.timeline.period)
        return TrajectoryPlanner(
            self.model, parts.settings, parts.scaling, reference, *times, self._interruptions
        )

    def is_due(self, plan: TrajectoryPlan) -> bool:
        """Return whether the time of a plan has come."""
        return plan.t is None or self.time >= plan.t - EARLY * self._arm.timeline.period

    def _check_mode(self) -> None:
        """Raise if no trajectory can be followed now."""
        if self.mode not in (Mode.HOLDING, Mode.TRACKING):
            self._fire(Event.FOLLOW)

    def _check_plan(self, plan: TrajectoryPlan) -> None:
        """Raise if a plan does not fit any more."""
        self._check_mode()
        if plan.interruptions != self._interruptions:
            raise RobodynError(
                f"the arm was stopped while this was planned: {self.mode.value}, {self.reason}"
            )
        if plan.limits is not self._arm.parts.scaling:
            raise OutdatedPlanError("the settings have changed since this was planned")
        if plan.t is not None and self.time - plan.t > LATE * self._arm.timeline.period:
            raise OutdatedPlanError(f"this was planned for {self.time - plan.t:.3g} s ago")

    def hold(self) -> None:
        """Leave the trajectory and come to rest smoothly."""
        self._fire(Event.HOLD)

    def clear(self) -> None:
        """Resume, or end a safe hold, once the arm is at rest; rejected during contact."""
        self._fire(Event.CLEAR)

    def safe_hold(self, reason: str) -> None:
        """Brake and hold until `clear`; the trajectory is forgotten."""
        self._fire(Event.FAULT, reason)

    def enable(self, enabled: bool) -> None:
        """Hold the posture found; or brake, then go idle."""
        self._fire(Event.ENABLE if enabled else Event.DISABLE)

    def ramp_down(self) -> None:
        """Brake, then remove all torque: `at_rest` tells when that is done."""
        self._fire(Event.RAMP_DOWN)

    # events: reports of detector and driver

    def on_contact(self, touched: bool | None) -> None:
        """Take the detector's verdict: in contact or not, None if unknown."""
        self._inputs.touched = touched
        if touched:
            self._fire(Event.CONTACT)

    def set_residual(self, r: npt.ArrayLike) -> None:
        """Set the residual (n,) [N m or N] that reflex and admittance follow during contact."""
        self._inputs.residual = joint_array(self.model, "r", r)

    def on_earlier_contact(self) -> None:
        """React to a contact before this controller began: wait for `clear`, if it latches."""
        self._fire(Event.EARLIER_CONTACT)

    def on_stuck_joint(self, joint: str, reason: str) -> None:
        """Ignore samples until the reading of this joint changes; safe hold if the arm moves."""
        if joint in self.model.joint_names:
            self._fire(Event.STUCK_JOINT, reason, self.model.joint_names.index(joint))

    def on_fault(self, kind: str, joint: str = "") -> None:
        """Answer a fault that the detector has named, as `on_fault` says; empty: there is none."""
        answer, text = self.settings.on_fault.to(kind), fault_text(kind, joint)
        self._inputs.fault = text if answer == SAFE_HOLD_ANSWER else ""
        if answer == SAFE_HOLD_ANSWER:
            self._fire(Event.FAULT, text)
            if self.mode is Mode.SAFE_HOLD:  # perhaps for what the fault has caused before
                self.reason = text
        elif answer == DISABLE and self.mode is not Mode.DISABLED:
            self.enable(False)
            self.reason = text

    def on_command_feedback(self, t: float, received: bool) -> None:
        """Note whether commands arrived at t [s]; `timeout` without them ends in a safe hold."""
        inputs = self._inputs
        if received or t < inputs.started_at + self.settings.feedback_delay:
            inputs.commands_lost_at = None
        elif inputs.commands_lost_at is None:
            inputs.commands_lost_at = t

    # settings

    def prepare(self, settings: ArmSettings) -> ArmParts:
        """Return laws and reactions for new settings, or raise; nothing changes yet.

        They must fit the arm without its payload, too: it can be put down at any time.
        """
        if self.model is not self._bare:
            ArmParts.of(self._bare, settings, self._own_law)
        return ArmParts.of(self.model, settings, self._own_law)

    def apply(self, parts: ArmParts) -> None:
        """Take over prepared settings between two samples: the torque does not jump."""
        self._arm.apply(parts, yielding=self.mode not in FOLLOWING)

    def set_payload(self, payload: Payload | None) -> None:
        """Carry this payload from now on, or none: its torque is blended in within `ramp`."""
        model = self._bare if payload is None else self._bare.replace(payload=payload)
        parts = ArmParts.of(model, self.settings, self._own_law)
        self.model = model
        self._arm.apply(parts, yielding=self.mode not in FOLLOWING, blend=True)

    # the table at work

    def _fire(self, event: Event, reason: str = "", *details: Any) -> None:
        """Take the first transition whose guard holds, if any; details: for its action."""
        for row in TRANSITIONS[self.mode, event]:
            if row.guard and not self._holds(row.guard):
                continue
            why = reason if row.reason is None else row.reason
            if row.action == REJECT:
                raise RobodynError(why.format(mode=self.mode.value, reason=self.reason))
            if row.to is not None:
                self._mode_state = ModeState()
                self._arm.guard.reset_swing()
                self._interruptions += event not in EXPECTED
            if row.action:
                action_of(self, row.action)(*details)
            if row.to is not None:
                self.mode, self.reason = row.to, why
            return

    def _holds(self, guard: str) -> bool:
        return bool(GUARDS[guard][1](self))

    # actions; those of the arm alone are methods of `ArmTorque`

    def _brake_and_hold(self) -> None:
        """Brake, then hold; after a contact only once it is cleared."""
        self._arm.hold_here()
        self._arm.brake()
        self._mode_state.cleared = not self._holds("touched_and_latches")

    def _cancel_clear(self) -> None:
        """Forget an earlier `clear`."""
        self._mode_state.cleared = False

    def _mark_cleared(self) -> None:
        """Clear as soon as the arm is at rest; clear the stuck-joint latch."""
        if self.mode is Mode.REACTING and not self._arm.reaction.holds:
            self._arm.brake()
        self._arm.trust_readings()
        self._mode_state.cleared = True

    def _go_idle(self) -> None:
        """Carry the weight, or remove the torque, as `disabled` says."""
        self._mode_state.idle = True

    def _remove_torque(self) -> None:
        """Remove all torque."""
        self._mode_state.remove_torque = True

    def _brake_to_zero(self) -> None:
        """Brake, then remove all torque."""
        self._arm.brake()
        self._remove_torque()

    # samples

    def _start(self, t: float, state: JointState) -> Array:
        arm, first = self._arm, not self._arm.started
        self._restart_pending = self._blind = False
        self._inputs.commands_lost_at = None
        arm.started, arm.state = True, state
        arm.timeline.restart(t)
        if first or arm.released:
            self._take_command()
        self._fire(Event.START)
        return self._step(PERIOD)

    def _continue(self, t: float, dt: float, state: JointState) -> Array:
        arm, inputs, allowed = self._arm, self._inputs, self._allowed_silence
        silence = arm.timeline.silence(dt)
        arm.state, inputs.silence, inputs.invalid = state, silence, False
        late = silence > allowed
        if late:
            self._fire(Event.SAMPLES_LOST, f"no valid sample for {silence:.3g} s")
        step = arm.timeline.accept(t, silence, allowed)
        if arm.released:
            self._take_command()
        if late or self._blind:
            self._blind = False
            arm.reaction.begin(state)
        lost_at = inputs.commands_lost_at
        if lost_at is not None and t - lost_at + self.sensing.silence > self.settings.timeout:
            self._fire(Event.COMMANDS_LOST)
        if inputs.touched:
            self._fire(Event.CONTACT_SAMPLE)
        return self._step(step)

    def _continue_blindly(self, dt: float, reason: str, invalid: bool) -> Array:
        """Return the torque dt [s] after the last valid sample, without a usable one."""
        arm, silence = self._arm, self._arm.timeline.silence(dt)
        since = arm.timeline.since_output(silence)
        if not arm.started or since <= 0.0:
            return self.tau
        self._inputs.silence, self._inputs.invalid = silence, invalid
        if silence > self._allowed_silence:
            self._fire(Event.SAMPLES_LOST, reason)
            if self.mode in LATCHED:
                self._blind, self._mode_state.idle = True, self.mode is Mode.DISABLED
                return arm.output(arm.idle(since, zero=self._ends_at_zero), silence)
        return arm.output(arm.target, silence)

    def _take_command(self) -> None:
        self._inputs.started_at = self._arm.timeline.t
        self._arm.carry_weight()

    # torque

    def _step(self, dt: float) -> Array:
        """Return the torque of the present mode; safe hold if there is a reason against it."""
        try:
            torque = self._track(dt) if self.mode in FOLLOWING else self._yield(dt)
        except RobodynError as error:
            self.safe_hold(str(error))
            torque = self._arm.idle(dt, zero=self._ends_at_zero)
        return self._arm.output(self._arm.blended(torque, dt))

    def _track(self, dt: float) -> Array:
        torque, reference = self._arm.track(dt), self._arm.reference
        if reference.arrived:
            self._fire(Event.ARRIVED)
        if not reference.resuming and self.mode is Mode.RESUMING:
            self._fire(Event.REJOINED)
        return torque

    def _yield(self, dt: float) -> Array:
        arm, state, touched = self._arm, self._mode_state, self._inputs.touched
        if state.idle:
            return arm.idle(dt, zero=self._ends_at_zero, moving=True)
        residual = None
        if self.mode is Mode.REACTING:
            arm.guard.check_stop(arm.state.q, dt)
            residual = self._inputs.residual if touched else None
        torque = arm.reaction.torque(arm.state, residual, dt)
        state.quiet = state.quiet + dt if touched is False else 0.0
        state.braking += dt
        late = state.remove_torque and state.braking > self.settings.ramp_down_time
        if late or arm.reaction.at_rest:
            self._fire(Event.AT_REST)
        return torque

    @property
    def _ends_at_zero(self) -> bool:
        """Whether the torque ends at zero, not at the weight of the arm."""
        without = self._mode_state.remove_torque or self.settings.disabled == "zero"
        return self.mode is Mode.DISABLED and without


# Guards of the transitions: the text for the table, and the condition
GUARDS: dict[str, tuple[str, Callable[[Supervisor], Any]]] = {
    "started": ("a sample was received", lambda s: s._arm.started),
    "found_moving": (
        "faster than `start_speed`",
        lambda s: np.abs(s._arm.state.qd).max() > s.settings.start_speed,
    ),
    "reacts": ("`reaction` is not none", lambda s: s._arm.parts.reaction is not None),
    "latches": (
        "`reaction` is not none, `resume_after` is 0",
        lambda s: s._holds("reacts") and s.settings.resume_after == 0.0,
    ),
    "touched": ("in contact", lambda s: s._inputs.touched),
    "touched_and_latches": (
        "in contact, `reaction` is not none, `resume_after` is 0",
        lambda s: s._inputs.touched and s._holds("latches"),
    ),
    "faulty": ("a fault is named", lambda s: s._inputs.fault),
    "cleared": ("cleared", lambda s: s._mode_state.cleared),
    "quiet": (
        "no contact for `resume_after`",
        lambda s: 0.0 < s.settings.resume_after <= s._mode_state.quiet,
    ),
    "in_motion": ("moving", lambda s: s._arm.started and s.moving),
    "loss_matters": (
        "moving, samples rejected, or silent for `rest_timeout`",
        lambda s: s.moving or s._inputs.invalid or s._inputs.silence > s.settings.rest_timeout,
    ),
}


def fault_text(kind: str, joint: str) -> str:
    """Return a named fault as the reason of a mode."""
    name = kind.replace("_", " ")
    return f"fault: {name} on {joint}" if joint else f"fault: {name}"


def action_of(supervisor: Supervisor, name: str) -> Callable[..., None]:
    """Return the method that a row of the table names, of the supervisor or of its arm."""
    for owner, attribute in ((supervisor, f"_{name}"), (supervisor._arm, name)):
        found = getattr(owner, attribute, None)
        if found is not None:
            return found
    return getattr(supervisor, name)
