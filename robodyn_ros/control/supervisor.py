"""Supervisor: samples and verdicts in, torque out, for one controlled arm.

The modes and what leads from one to another stand in `transitions`. The supervisor trusts the
status of a sample; it has no clock of its own. In every mode the torque is finite, within its
limits, and changes no faster than its rate limit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..dynamics.newton_euler import gravity_torque
from ..errors import RobodynError
from ..model.robot import RobotModel
from ..sensing.sample import Sample, Status
from ..sensing.settings import SensingSettings
from .arm_factory import ArmParts
from .arm_settings import ArmSettings
from .controller import PERIOD, Array, JointState
from .controller import sample as joint_array
from .reactions import Reaction
from .reference import Path, Reference, blend_time, check_joint_limits, check_start
from .sample_timeline import SampleTimeline
from .tracking_guard import TrackingGuard
from .transitions import FOLLOWING, TRANSITIONS, Action, Event, Guard, Mode

RAMP_DOWN_TIMEOUT = 0.05  # [s], upper bound of `timeout` after `ramp_down`


@dataclass
class ModeState:
    """What is remembered as long as the arm stays in one mode."""

    cleared: bool = False  # `clear` was called
    released: bool = False  # disabled, and braked
    remove_torque: bool = False  # ramped down: without torque in the end
    quiet: float = 0.0  # [s] without contact
    braking: float = 0.0  # [s] since the arm was disabled


@dataclass
class Inputs:
    """What detector and driver reported last."""

    touched: bool | None = None  # None: unknown
    residual: Array | None = None  # (n,) [N m or N]
    faulty: bool = False  # the last sample was rejected, not missing
    commands_lost_at: float | None = None  # [s]
    started_at: float = math.inf  # [s], when commands began


@dataclass
class Output:
    """The torque that is on its way to the arm."""

    target: Array  # (n,), what the rate limit approaches
    blind: bool = False  # output without a usable sample
    released: bool = False  # not commanded any more: something else holds the arm


class Supervisor:
    """Controller of one arm: `update` for every sample, every other event between two samples.

    It starts enabled and holds the posture of the first sample.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: ArmSettings | None = None,
        sensing: SensingSettings | None = None,
    ) -> None:
        self.model = model
        self.mode, self.reason = Mode.HOLDING, "waiting for the first sample"
        self._sensing = sensing or SensingSettings()
        self._parts = self.prepare(settings or ArmSettings())
        self._zeros = np.zeros(model.n)
        self._reference = Reference(self._zeros)
        self._reaction: Reaction = self._parts.stop
        self._has_sample = False
        self._state = JointState(self._zeros, self._zeros)  # the last usable sample
        self._timeline = SampleTimeline(self._sensing)
        self._guard = TrackingGuard(model, self._sensing)
        self._inputs, self._mode_state = Inputs(), ModeState()
        self._output = Output(self._zeros)
        self._restart_pending = True  # the next valid sample starts anew
        self._silence = 0.0  # [s], at the present sample
        self._guards = {x: getattr(self, f"_{x.name.lower()}") for x in Guard if x.value}
        self._actions = {x: getattr(self, f"_{x.name.lower()}") for x in Action if x.value}
        self._steps = {
            Mode.DISABLED: self._step_disabled,
            Mode.HOLDING: self._track,
            Mode.TRACKING: self._step_tracking,
            Mode.REACTING: self._step_reacting,
            Mode.RESUMING: self._step_resuming,
            Mode.SAFE_HOLD: self._step_safe_hold,
        }

    # properties

    @property
    def settings(self) -> ArmSettings:
        """Settings in use."""
        return self._parts.settings

    @property
    def sensing(self) -> SensingSettings:
        """Limits of the sensing in use; can be replaced between two samples."""
        return self._sensing

    @sensing.setter
    def sensing(self, sensing: SensingSettings) -> None:
        self._sensing = self._timeline.sensing = sensing
        self._guard.configure(sensing)

    @property
    def tau(self) -> Array:
        """Last torque (n,) [N m or N]; a copy."""
        return self._parts.rate_limiter.tau.copy()

    @property
    def reference(self) -> Motion:
        """Reference motion, copies; while the arm yields, its measured posture at rest."""
        return Motion(*(x.copy() for x in self._target_motion))

    @property
    def error(self) -> Array:
        """Tracking error (n,), reference minus measurement [rad or m]."""
        return np.asarray(self._target_motion.q - self._state.q)

    @property
    def moving(self) -> bool:
        """Whether the arm moves or brakes, so that losing its samples matters."""
        if self.mode in FOLLOWING:
            return self.mode is not Mode.HOLDING or bool(self._reference.motion.qd.any())
        return not (self._reaction.at_rest or self._mode_state.released)

    @property
    def at_rest(self) -> bool:
        """Whether the arm has come to rest without torque, after `ramp_down`."""
        state = self._mode_state
        return state.remove_torque and state.released and not self._parts.rate_limiter.tau.any()

    @property
    def blind(self) -> bool:
        """Whether the last torque was output without a usable sample."""
        return self._output.blind

    @property
    def uses_residual(self) -> bool:
        """Whether the reaction needs `set_residual`."""
        return self._parts.reaction is not None and self._parts.reaction.uses_residual

    @property
    def _target_motion(self) -> Motion:
        following = self.mode in FOLLOWING or not self._has_sample
        return self._reference.motion if following else self._reaction.reference

    @property
    def _allowed_silence(self) -> float:
        timeout = self.settings.timeout
        if self._mode_state.remove_torque:
            timeout = min(timeout, RAMP_DOWN_TIMEOUT)
        return self._timeline.allowed_silence(timeout)

    # events: samples

    def update(self, sample: Sample) -> Array:
        """Return the torque (n,) [N m or N] to command after a sample of any status.

        Without a valid sample, an arm that moves goes to a safe hold after `timeout`; an arm at
        rest after `rest_timeout`, or after `timeout` if samples are rejected. Until then the
        torque approaches the one for the last valid sample, so that a few missing samples cost
        nothing. From then on it approaches the weight of the arm in the posture seen last: an arm
        cannot be braked blindly.
        """
        if not sample.status.valid:
            invalid = sample.status is Status.INVALID
            return self._continue_blindly(sample.dt, sample.cause, faulty=invalid)
        state = JointState(sample.q, sample.qd)
        if sample.status is Status.RESTART or self._restart_pending:
            return self._start(sample.t, state)
        if self._guard.stuck.still_stuck(state.q):
            torque = self._continue_blindly(sample.dt, self.reason, faulty=False)
            self._timeline.ignore(sample.dt)
            return torque
        return self._continue(sample.t, sample.dt, state)

    def restart(self) -> None:
        """Treat the next sample as unrelated to the last: hold the arm where it is found."""
        self._restart_pending, self._output.target = True, self.tau

    def release_command(self) -> None:
        """Stop commanding until the next usable sample: the driver holds the arm meanwhile."""
        self._output.released = self._has_sample

    # events: requests

    def follow(self, trajectory: Path, at: float | None = None) -> None:
        """Follow a trajectory from now on, or as if it had begun at the time `at` [s].

        A small distance from its start is blended out; more than `start_tolerance`, or a way out
        of the joint limits, is rejected.
        """
        if not self._has_sample:
            raise RobodynError("no sample was received yet: the arm's posture is unknown")
        if self.mode in (Mode.HOLDING, Mode.TRACKING):
            s = 0.0 if at is None else self._timeline.t - at
            now = self.reference.q
            start = joint_array(self.model, "the trajectory's start", trajectory.at(s).q)
            check_start(self.model, start, now, self.settings.start_tolerance)
            check_joint_limits(self.model, trajectory, now)
            self._fire(Event.FOLLOW, "", trajectory, s, start - now)
        else:
            self._fire(Event.FOLLOW)

    def hold(self) -> None:
        """Leave the trajectory and come to rest smoothly."""
        self._fire(Event.HOLD)

    def clear(self) -> None:
        """Resume after a reaction, or end a safe hold, as soon as the arm is at rest.

        Rejected while the arm is in contact.
        """
        self._fire(Event.CLEAR)

    def safe_hold(self, reason: str) -> None:
        """Brake and hold until `clear`; the trajectory is forgotten."""
        self._fire(Event.FAULT, reason)

    def enable(self, enabled: bool) -> None:
        """Hold the posture found; or brake, then release the arm."""
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
        """React to a contact before this controller began: wait for `clear`, unless the arm
        resumes by itself.
        """
        self._fire(Event.EARLIER_CONTACT)

    def on_stuck_joint(self, joint: str, reason: str) -> None:
        """Ignore samples until the reading of this joint changes; safe hold if the arm moves."""
        if joint in self.model.joint_names:
            self._fire(Event.STUCK_JOINT, reason, self.model.joint_names.index(joint))

    def on_command_feedback(self, t: float, received: bool) -> None:
        """Note whether the arm received commands at the time t [s]; after `timeout` without, it
        goes to a safe hold.
        """
        inputs = self._inputs
        if received or t < inputs.started_at + self.settings.feedback_delay:
            inputs.commands_lost_at = None
        elif inputs.commands_lost_at is None:
            inputs.commands_lost_at = t

    # settings

    def prepare(self, settings: ArmSettings) -> ArmParts:
        """Return laws and reactions for new settings, or raise; nothing changes yet."""
        return ArmParts.of(self.model, settings)

    def apply(self, parts: ArmParts) -> None:
        """Take over prepared settings between two samples: the torque does not jump."""
        old, self._parts, before = self._parts, parts, self._reaction
        reacting = before is old.reaction
        self._reaction = (parts.reaction if reacting else None) or parts.stop
        if self._has_sample:
            parts.rate_limiter.reset(old.rate_limiter.tau)
            parts.law.reset(old.rate_limiter.tau)
            self._reaction.begin(self._state)
            if self.mode not in FOLLOWING:
                self._reaction.continue_from(before)

    # the table at work

    def _fire(self, event: Event, reason: str = "", *details: Any) -> None:
        """Take the first transition whose guard holds; none: the event is ignored.

        details: arguments of the action. An action that raises leaves the mode alone.
        """
        for row in TRANSITIONS[self.mode, event]:
            if row.guard is Guard.ALWAYS or self._guards[row.guard]():
                why = reason if row.reason is None else row.reason
                if row.action is Action.REJECT:
                    raise RobodynError(why.format(mode=self.mode.value, reason=self.reason))
                if row.to is not None:
                    self._mode_state = ModeState()
                    self._guard.reset_swing()
                if row.action is not Action.NOTHING:
                    self._actions[row.action](*details)
                if row.to is not None:
                    self.mode, self.reason = row.to, why
                return

    # guards

    def _started(self) -> bool:
        return self._has_sample

    def _found_moving(self) -> bool:
        return bool(np.abs(self._state.qd).max() > self.settings.start_speed)

    def _reacts(self) -> bool:
        return self._parts.reaction is not None

    def _latches(self) -> bool:
        return self._reacts() and self.settings.resume_after == 0.0

    def _touched(self) -> bool:
        return bool(self._inputs.touched)

    def _latched_touch(self) -> bool:
        return self._touched() and self._latches()

    def _cleared(self) -> bool:
        return self._mode_state.cleared

    def _quiet(self) -> bool:
        return 0.0 < self.settings.resume_after <= self._mode_state.quiet

    def _moving(self) -> bool:
        return self._has_sample and self.moving

    def _loss_matters(self) -> bool:
        silent = self._silence > self.settings.rest_timeout
        return self._inputs.faulty or silent or self.moving

    # actions

    def _hold_here(self) -> None:
        self._hold_at(self._state.q)

    def _hold_rest_posture(self) -> None:
        self._hold_at(self._reaction.reference.q)

    def _brake(self) -> None:
        self._begin_reaction(self._parts.stop)

    def _brake_and_hold(self) -> None:
        self._hold_here()
        self._brake()
        self._mode_state.cleared = not self._latched_touch()

    def _restart_reaction(self) -> None:
        self._begin_reaction(self._reaction)

    def _start_trajectory(self, trajectory: Path, s: float, away: Array) -> None:
        self._reference.follow(trajectory, s, self._time_for(away))

    def _stop_reference(self) -> None:
        self._reference.stop(self.settings.ramp)

    def _react(self) -> None:
        assert self._parts.reaction is not None
        self._begin_reaction(self._parts.reaction)
        self._guard.begin_stop(self._reference.motion.qd)

    def _cancel_clear(self) -> None:
        self._mode_state.cleared = False

    def _mark_cleared(self) -> None:
        if self.mode is Mode.REACTING and not self._reaction.holds:
            self._begin_reaction(self._parts.stop)
        self._trust_readings()
        self._mode_state.cleared = True

    def _trust_readings(self) -> None:
        self._guard.stuck.clear()

    def _resume(self) -> None:
        self._parts.law.reset(self._parts.law.tau)
        q = self._reaction.reference.q
        away = self._reference.interrupted_at - q
        self._reference.resume(q, self._time_for(away), self.settings.ramp)

    def _latch_stuck_joint(self, joint: int) -> None:
        self._guard.stuck.mark(joint, self._state.q)

    def _brake_stuck_joint(self, joint: int) -> None:
        self._latch_stuck_joint(joint)
        self._brake()

    def _restart(self) -> None:
        self.restart()

    def _release(self) -> None:
        self._mode_state.released = True

    def _remove_torque(self) -> None:
        self._mode_state.remove_torque = True

    def _brake_to_zero(self) -> None:
        self._brake()
        self._remove_torque()

    def _reject(self) -> None:
        """Nothing to do: `_fire` raises the error."""

    # samples

    def _start(self, t: float, state: JointState) -> Array:
        """Take over an arm of which only this sample is known."""
        first, self._has_sample, self._restart_pending = not self._has_sample, True, False
        self._state, self._silence = state, 0.0
        self._timeline.restart(t)
        self._inputs.commands_lost_at, self._output.blind = None, False
        if first or self._output.released:
            self._carry_weight(state)
        self._fire(Event.START)
        return self._step(state, PERIOD)

    def _continue(self, t: float, dt: float, state: JointState) -> Array:
        """Take a sample that continues the previous one, dt [s] later."""
        silence, allowed = self._timeline.silence(dt), self._allowed_silence
        self._state, self._silence, self._inputs.faulty = state, silence, False
        if silence > allowed:
            self._fire(Event.SAMPLES_LOST, f"no valid sample for {silence:.3g} s")
        step = self._timeline.accept(t, silence, allowed)
        if self._output.released:
            self._carry_weight(state)
        if self._output.blind or silence > allowed:
            self._output.blind = False
            self._reaction.begin(state)
        lost_at = self._inputs.commands_lost_at
        if lost_at is not None and t - lost_at + self.sensing.silence > self.settings.timeout:
            self._fire(Event.COMMANDS_LOST)
        if self._inputs.touched:
            self._fire(Event.CONTACT_SAMPLE)
        return self._step(state, step)

    def _continue_blindly(self, dt: float, reason: str, *, faulty: bool) -> Array:
        """Return the torque dt [s] after the last valid sample, without a usable one."""
        silence = self._timeline.silence(dt)
        since = self._timeline.since_output(silence)
        if not self._has_sample or since <= 0.0:
            return self.tau
        self._silence, self._inputs.faulty = silence, faulty
        if silence > self._allowed_silence:
            self._fire(Event.SAMPLES_LOST, reason)
            if self.mode in (Mode.SAFE_HOLD, Mode.DISABLED):
                self._output.blind = True
                self._mode_state.released = self.mode is Mode.DISABLED
                return self._rate_limited(self._idle_torque(self._seen_at_rest(), since), silence)
        return self._rate_limited(self._output.target, silence)

    def _carry_weight(self, state: JointState) -> None:
        """Start with the torque that carries the arm, as nothing was commanded before."""
        self._inputs.started_at = self._timeline.t
        limit = self._parts.law.limits.tau_max
        weight = np.clip(gravity_torque(self.model, state.q), -limit, limit)
        self._parts.rate_limiter.reset(weight)
        self._parts.law.reset(weight)
        self._output.released = False

    def _hold_at(self, q: Array) -> None:
        self._parts.law.reset(self._parts.law.tau)
        self._reference.stay(q)

    def _begin_reaction(self, reaction: Reaction) -> None:
        self._reaction = reaction
        if self._has_sample:
            reaction.begin(self._state)

    def _time_for(self, away: Array) -> float:
        settings = self.settings
        return max(settings.ramp, blend_time(self.model, away, settings.return_speed))

    # one step of each mode

    def _step(self, state: JointState, dt: float) -> Array:
        """Return the torque of the present mode; safe hold if there is a reason against it."""
        try:
            torque = self._steps[self.mode](state, dt)
        except RobodynError as error:
            self.safe_hold(str(error))
            torque = self._idle_torque(self._seen_at_rest(), dt)
        return self._rate_limited(torque, 0.0)

    def _track(self, state: JointState, dt: float) -> Array:
        motion, law, settings = self._reference.advance(dt), self._parts.law, self.settings
        self._guard.check_stuck(state, motion.qd, dt)
        self._guard.check_error(motion.q - state.q, settings.error_max)
        torque = law.torque(state, motion, dt)
        self._guard.check_swing(motion.qd - state.qd, law.excess, settings, dt)
        return torque

    def _step_tracking(self, state: JointState, dt: float) -> Array:
        torque = self._track(state, dt)
        if self._reference.arrived:
            self._fire(Event.ARRIVED)
        return torque

    def _step_resuming(self, state: JointState, dt: float) -> Array:
        torque = self._track(state, dt)
        if not self._reference.resuming:
            self._fire(Event.REJOINED)
        return torque

    def _step_reacting(self, state: JointState, dt: float) -> Array:
        inputs, mode_state = self._inputs, self._mode_state
        self._guard.check_stop(state, dt)
        torque = self._reaction.torque(state, inputs.residual if inputs.touched else None, dt)
        mode_state.quiet = mode_state.quiet + dt if inputs.touched is False else 0.0
        if self._reaction.at_rest:
            self._fire(Event.AT_REST)
        return torque

    def _step_safe_hold(self, state: JointState, dt: float) -> Array:
        torque = self._reaction.torque(state, None, dt)
        if self._reaction.at_rest:
            self._fire(Event.AT_REST)
        return torque

    def _step_disabled(self, state: JointState, dt: float) -> Array:
        mode_state = self._mode_state
        if mode_state.released:
            return self._idle_torque(state, dt)
        torque = self._reaction.torque(state, None, dt)
        mode_state.braking += dt
        late = mode_state.remove_torque and mode_state.braking > self.settings.ramp_down_time
        if late or self._reaction.at_rest:
            self._fire(Event.AT_REST)
        return torque

    # torque

    def _rate_limited(self, torque: Array, silence: float) -> Array:
        """Output a torque as far as the time since the last one allows."""
        self._parts.rate_limiter.apply(torque, self._timeline.output(silence))
        self._output.target = torque.copy()
        return self.tau

    def _idle_torque(self, state: JointState, dt: float) -> Array:
        """Return the torque that carries the arm, or none where that is disabled."""
        disabled = self.mode is Mode.DISABLED
        none = disabled and (self._mode_state.remove_torque or self.settings.disabled == "zero")
        idle = self._parts.idle
        return idle.release(dt) if none else idle.torque(state, idle.alone, dt)

    def _seen_at_rest(self) -> JointState:
        """Return the posture seen last, with zero velocity."""
        return JointState(self._state.q, self._zeros)
