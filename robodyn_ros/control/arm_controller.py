"""ArmController: all that a controlled arm does with a stream of samples.

    HOLDING <-> TRACKING -- touched --> REACTING -- clear --> RESUMING --> TRACKING or HOLDING
    any -- safe_hold, silence, bad samples --> SAFE_HOLD -- clear --> HOLDING
    any -- enable(False) --> DISABLED -- enable(True) --> HOLDING

There is no clock in it: times come with the samples. Whatever happens, the torque is finite,
within its limits, and changes no faster than its rate limit.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..dynamics.newton_euler import gravity_torque
from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .arm_factory import ArmParts
from .arm_settings import ArmSettings
from .controller import PERIOD, Array, JointState, sample
from .reactions import Reaction
from .reference import Path, Reference
from .sample_watch import SampleWatch

BACK = 1.0  # [s], a time that goes back by more means that time began anew
LONG = 5.0  # [s] without a sample: nobody knows what became of the arm, also if it was at rest
LOOKS = 9  # instants at which a trajectory is looked at before it is followed
SLIGHTLY = 1e-3  # [rad or m], by how far it may leave the joints' limits
FALLING = 0.1  # [rad/s or m/s]: an arm that is found faster than that is braked first
NOTICED = 0.02  # [s] without commands after which a detector says so
OBEYED = 0.1  # [s] after taking over, in which its commands may not have got through yet
ENDING = 0.05  # [s] without a sample after which torque goes in the end, however long the timeout
SWUNG = 0.03  # [s] for which a joint may be off its speed by `error_max` a second
BRAKING = 0.5  # [s] after which torque goes in the end, whether the arm seems to rest or not
PEAK = 1.875  # of the speed of a smooth step over its mean


class Mode(Enum):
    """What the arm does."""

    DISABLED = "disabled"
    HOLDING = "holding"
    TRACKING = "tracking"
    REACTING = "reacting"
    RESUMING = "resuming"
    SAFE_HOLD = "safe hold"


FOLLOWING = (Mode.HOLDING, Mode.TRACKING, Mode.RESUMING)  # these follow the reference


class ArmController:
    """Controls one arm: `update` for every sample; everything else between two samples.

    At first it is enabled: it holds the pose that it finds.
    """

    def __init__(self, model: RobotModel, settings: ArmSettings | None = None) -> None:
        self.model = model
        self.mode, self.reason = Mode.HOLDING, "waits for the first sample"
        self._parts = self.prepare(settings or ArmSettings())
        self._nothing = np.zeros(model.n)
        self._reference = Reference(self._nothing)
        self._giving_in: Reaction = self._parts.stop
        self._state: JointState | None = None  # the last good sample
        self._watch = SampleWatch(model)
        self._given_at = -math.inf  # [s], when torque was given last
        self._aim = self._nothing  # what it was to be, if its rate allowed
        self._fresh = True  # the next sample begins anew
        self._blind = False  # torque was given without a sample
        self._carried = False  # somebody else holds the arm
        self._began = math.inf  # [s], when it took over
        self._unheard_at: float | None = None  # [s], since when its commands do not get through
        self._touched: bool | None = None
        self._r: Array | None = None
        self._going = self._nothing.copy()  # how fast joints went that read the same ever since
        self._quiet = 0.0  # [s] without contact
        self._braking = 0.0  # [s] since it was disabled
        self._swung = 0.0  # [s], for which torque could not follow an arm that is thrown
        self._cleared = False
        self._idle = self._off = False  # disabled and at rest; without torque in the end
        self._step = {
            Mode.DISABLED: self._disabled,
            Mode.HOLDING: self._holding,
            Mode.TRACKING: self._tracking,
            Mode.REACTING: self._reacting,
            Mode.RESUMING: self._resuming,
            Mode.SAFE_HOLD: self._holding_safely,
        }

    @property
    def settings(self) -> ArmSettings:
        """What it works with now."""
        return self._parts.settings

    @property
    def tau(self) -> Array:
        """(n,): the torque given last [N m or N]; a copy."""
        return self._parts.rate_limiter.tau.copy()

    @property
    def reference(self) -> Motion:
        """Where the arm is to be; while it yields, where it is. Copies."""
        return Motion(*(x.copy() for x in self._wanted))

    @property
    def error(self) -> Array:
        """(n,): from where the arm is to where it is to be [rad or m]."""
        return np.zeros(self.model.n) if self._state is None else self._wanted.q - self._state.q

    @property
    def moving(self) -> bool:
        """Whether the arm is on its way, so that losing sight of it matters."""
        if self.mode in FOLLOWING:
            return self.mode is not Mode.HOLDING or bool(self._reference.motion.qd.any())
        return not (self._giving_in.at_rest or self._idle)

    @property
    def at_rest(self) -> bool:
        """After `ramp_down`: whether the arm has come to rest and all torque is gone."""
        return self._off and self._idle and not self._parts.rate_limiter.tau.any()

    @property
    def blind(self) -> bool:
        """Whether the torque given last was given without a sample that can be trusted."""
        return self._blind

    @property
    def _wanted(self) -> Motion:
        following = self.mode in FOLLOWING or self._state is None
        return self._reference.motion if following else self._giving_in.reference

    @property
    def _waits_after_touch(self) -> bool:
        return self._parts.reaction is not None and self.settings.resume_after == 0.0

    @property
    def _patience(self) -> float:
        timeout = self.settings.timeout
        return self._watch.patience(min(timeout, ENDING) if self._off else timeout)

    # samples

    def update(self, t: float, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:
        """(n,): the torque [N m or N] to give after a sample of the time t [s].

        A sample that is no newer than the last one changes nothing; one that is not finite counts
        as lost.
        """
        try:
            state = self._watch.checked(t, q, qd)
        except ArgumentError as error:
            return self.lost(t, str(error), faulty=True)
        silence, patience = t - self._watch.t, self._patience
        if self._fresh or silence < -BACK:
            return self._begin(t, state)
        if silence <= 0.0:
            return self.tau
        if self._watch.still_frozen(state):
            return self.lost(t, self.reason)
        self._state = state  # what it holds from now on is here, not where it was seen before
        if silence > patience and (self.moving or silence > LONG):
            self.safe_hold(f"no good sample for {silence:.3g} s")
        self._watch.take(t, patience)
        if self._carried:
            self._carry(state)
        if self._blind or silence > patience:
            self._blind = False
            self._giving_in.begin(state)
        if self._unheard_at is not None and t - self._unheard_at + NOTICED > self.settings.timeout:
            self.safe_hold("its commands do not reach the arm")
        if self._touched and self._parts.reaction is not None and self.mode in FOLLOWING:
            self._give_in(self._parts.reaction)
            self._enter(Mode.REACTING, "touched")
            self._going = self._reference.motion.qd.copy()
        return self._give(state, min(silence, self._watch.longest_stride))

    def lost(self, t: float, reason: str, *, faulty: bool = False) -> Array:
        """(n,): the torque to give at the time t [s], when there is no good sample for it.

        An arm that moves goes to a safe hold if that lasts; one at rest only if it lasts long, or
        if samples do come but are faulty. Without a sample nothing can be braked: the torque then
        goes to what carried the arm where it was seen last. Before that it goes to what the last
        good sample asked for, so that a bad one shortly before a good one costs no time.
        """
        if self._state is None or not math.isfinite(t):
            return self.tau
        if t < self._given_at - BACK:  # time began anew, and nothing was seen since
            self._given_at = self._watch.t = t
            self.restart()
        if t <= self._given_at:
            return self.tau
        silence = t - self._watch.t
        if silence > self._patience:
            if self.moving or faulty or silence > LONG:
                self.safe_hold(reason)
            if self.mode in (Mode.SAFE_HOLD, Mode.DISABLED):
                self._blind, self._idle = True, self.mode is Mode.DISABLED
                return self._output(self._let_go(self._seen_still(), t - self._given_at), t)
        return self._output(self._aim, t)

    def restart(self) -> None:
        """The next sample has nothing to do with the last: hold the arm where that finds it."""
        self._fresh, self._aim = True, self.tau

    def hand_over(self) -> None:
        """No torque is given any more, until the next sample: whoever drives the arm holds it."""
        self._carried = self._state is not None

    # orders

    def follow(self, trajectory: Path, at: float | None = None) -> None:
        """Follow a trajectory from now on, or from the time `at` [s]; one that has begun is joined
        where it is.

        By how far the arm is away from it, is made up for in the first moments; too far is
        refused.
        """
        if self._state is None:
            raise RobodynError("no sample has come yet: nobody knows where the arm is")
        if self.mode not in (Mode.HOLDING, Mode.TRACKING):
            raise RobodynError(
                f"no trajectory can be followed now: {self.mode.value}, {self.reason}"
            )
        s = 0.0 if at is None else self._watch.t - at
        away = sample(self.model, "the trajectory's start", trajectory.at(s).q) - self.reference.q
        joint = int(np.argmax(np.abs(away)))
        if abs(away[joint]) > self.settings.start_tolerance:
            raise ArgumentError(
                f"the trajectory begins {away[joint]:+.3g} from where joint "
                f"'{self.model.joint_names[joint]}' is to be now, {self.reference.q[joint]:.4g}; "
                f"{self.settings.start_tolerance:g} is allowed: move there first"
            )
        self._check_inside(trajectory)
        self._reference.follow(trajectory, s, self._time_for(away))
        self._enter(Mode.TRACKING, "")

    def hold(self) -> None:
        """Leave the trajectory and come to rest smoothly."""
        if self.mode in FOLLOWING:
            self._reference.stop(self.settings.ramp)
            self._enter(Mode.HOLDING, "told to hold")

    def contact(self, touched: bool | None, r: npt.ArrayLike | None = None) -> None:
        """What the detector says: whether the arm is touched so that it has to react, None if
        nobody knows. r: as for `felt`.
        """
        self._touched = touched
        if touched and self.mode is Mode.SAFE_HOLD and self._waits_after_touch:
            self._cleared = False
        if r is not None:
            self.felt(r)

    def frozen(self, joint: str, reason: str) -> None:
        """Somebody who knows the torques says that this joint's readings are frozen: an arm on its
        way goes to a safe hold.
        """
        if self._state is not None and self.moving and joint in self.model.joint_names:
            self._watch.distrust(self.model.joint_names.index(joint), self._state)
            self.safe_hold(reason)

    def heard(self, t: float, heard: bool) -> None:
        """Whether commands get through, at the time t [s]; if not for the timeout: safe hold."""
        if heard or t < self._began + OBEYED:
            self._unheard_at = None
        elif self._unheard_at is None:
            self._unheard_at = t

    def felt(self, r: npt.ArrayLike) -> None:
        """The residual (n,) [N m or N]: where a push goes, if it is one."""
        self._r = sample(self.model, "r", r)

    def clear(self) -> None:
        """After a reaction, return to where it was interrupted; end a safe hold. Both as soon as
        the arm is at rest. An arm that is being touched is not cleared.
        """
        latched = self.mode is Mode.SAFE_HOLD and self._waits_after_touch
        if self._touched and (latched or self.mode is Mode.REACTING):
            raise RobodynError("the arm is still being touched: free it first")
        if self.mode is Mode.REACTING and not self._giving_in.holds:
            self._give_in(self._parts.stop)
        self._watch.trust()
        self._cleared = self.mode in (Mode.REACTING, Mode.SAFE_HOLD)

    def safe_hold(self, reason: str) -> None:
        """Brake and hold until `clear`. The trajectory is forgotten."""
        if self._state is not None and self.mode not in (Mode.DISABLED, Mode.SAFE_HOLD):
            self._give_in(self._parts.stop)
            self._enter(Mode.SAFE_HOLD, reason)

    def touched_before(self) -> None:
        """Something touched the arm before this controller began: unless it is to go on by itself
        after a touch, it waits to be cleared.
        """
        if self._waits_after_touch and self.mode in FOLLOWING:
            self._give_in(self._parts.stop)
            self._enter(Mode.SAFE_HOLD, "touched before this controller began")

    def enable(self, enabled: bool) -> None:
        """Hold the pose that it finds; or brake, and then let go."""
        if enabled and self.mode is Mode.DISABLED:
            self._enter(Mode.HOLDING, "enabled")
            self.restart()
        elif not enabled and self.mode is not Mode.DISABLED:
            self._give_in(self._parts.stop)
            self._enter(Mode.DISABLED, "told to be")

    def ramp_down(self) -> None:
        """Brake, then take all torque away: `at_rest` tells when that is done."""
        self.enable(False)
        self._off = True

    # settings

    def prepare(self, settings: ArmSettings) -> ArmParts:
        """Laws and reactions for new settings, or an error; nothing changes yet."""
        return ArmParts.of(self.model, settings)

    def apply(self, parts: ArmParts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        old, self._parts, before = self._parts, parts, self._giving_in
        reacting = before is old.reaction
        self._giving_in = (parts.reaction if reacting else None) or parts.stop
        if self._state is not None:
            parts.rate_limiter.reset(old.rate_limiter.tau)
            parts.law.reset(old.rate_limiter.tau)
            self._giving_in.begin(self._state)
            if self.mode not in FOLLOWING:
                self._giving_in.continue_from(before)

    # one step of each mode

    def _holding(self, state: JointState, dt: float) -> Array:
        motion = self._reference.advance(dt)
        self._watch.follow(state, motion.qd, dt)
        e = motion.q - state.q
        if e @ e > self.settings.error_max**2:  # then one joint may be that far away
            self._guard(e)
        torque = self._parts.law.torque(state, motion, dt)
        self._guard_swing(state.qd - motion.qd, dt)
        return torque

    def _tracking(self, state: JointState, dt: float) -> Array:
        torque = self._holding(state, dt)
        if self._reference.arrived and self.mode is Mode.TRACKING:
            self._enter(Mode.HOLDING, "arrived")
        return torque

    def _resuming(self, state: JointState, dt: float) -> Array:
        torque = self._holding(state, dt)
        if not self._reference.resuming and self.mode is Mode.RESUMING:
            self._enter(Mode.TRACKING, "")
        return torque

    def _reacting(self, state: JointState, dt: float) -> Array:
        self._guard_stop(state, dt)
        torque = self._giving_in.torque(state, self._r if self._touched else None, dt)
        self._quiet = self._quiet + dt if self._touched is False else 0.0
        self._cleared = self._cleared and not self._touched
        waited = 0.0 < self.settings.resume_after <= self._quiet
        if (self._cleared or waited) and self._giving_in.at_rest:
            self._resume()
        return torque

    def _holding_safely(self, state: JointState, dt: float) -> Array:
        torque = self._giving_in.torque(state, None, dt)
        if self._cleared and self._giving_in.at_rest:
            self._hold_at(self._giving_in.reference.q, "cleared")
        return torque

    def _disabled(self, state: JointState, dt: float) -> Array:
        if self._idle:
            return self._let_go(state, dt)
        torque = self._giving_in.torque(state, None, dt)
        self._braking += dt
        self._idle = self._giving_in.at_rest or (self._off and self._braking > BRAKING)
        return torque

    # from one mode to another

    def _begin(self, t: float, state: JointState) -> Array:
        """Take over an arm of which nothing is known but this sample."""
        first, self._fresh = self._state is None, False
        self._state, self._watch.t = state, t
        self._given_at = t - PERIOD
        self._unheard_at = None
        if first or self._carried:
            self._carry(state)
        if self.mode in FOLLOWING:
            self._hold_at(state.q, "found here")
            if np.abs(state.qd).max() > FALLING:
                self.safe_hold("found in motion")
                self._cleared = not (self._touched and self._waits_after_touch)
        else:
            self._giving_in.begin(state)
        return self._give(state, PERIOD)

    def _carry(self, state: JointState) -> None:
        """Nothing was given before: begin with the torque that carries the arm."""
        self._began = self._watch.t
        limit = self._parts.law.limits.tau_max
        carrying = np.clip(gravity_torque(self.model, state.q), -limit, limit)
        self._parts.rate_limiter.reset(carrying)
        self._parts.law.reset(carrying)
        self._carried = False

    def _hold_at(self, q: Array, reason: str) -> None:
        self._parts.law.reset(self._parts.law.tau)
        self._reference.stay(q)
        self._enter(Mode.HOLDING, reason)

    def _resume(self) -> None:
        """Go back to where the trajectory's clock stopped, and then on."""
        self._parts.law.reset(self._parts.law.tau)
        q = self._giving_in.reference.q
        away = self._reference.interrupted_at - q
        self._reference.resume(q, self._time_for(away), self.settings.ramp)
        self._enter(Mode.RESUMING, "cleared" if self._cleared else "no contact any more")

    def _give_in(self, reaction: Reaction) -> None:
        self._giving_in = reaction
        if self._state is not None:
            reaction.begin(self._state)

    def _enter(self, mode: Mode, reason: str) -> None:
        self.mode, self.reason = mode, reason
        self._cleared = self._idle = self._off = False
        self._quiet = self._braking = self._swung = 0.0

    # torque

    def _give(self, state: JointState, dt: float) -> Array:
        """One step of the mode it is in; a safe hold if that cannot be done."""
        try:
            torque = self._step[self.mode](state, dt)
        except RobodynError as error:
            self.safe_hold(str(error))
            torque = self._let_go(self._seen_still(), dt)
        return self._output(torque, self._watch.t)

    def _output(self, torque: Array, t: float) -> Array:
        """Give this at the time t, as far as the time since the last torque allows. After a gap,
        that does not count in full: the change would be a step.
        """
        since = min(max(t - self._given_at, 0.0), self._watch.longest_step)
        self._parts.rate_limiter.apply(torque, since)
        self._given_at, self._aim = t, torque.copy()
        return self.tau

    def _let_go(self, state: JointState, dt: float) -> Array:
        """What is left when nothing is wanted: the torque that carries the arm, or none."""
        none = self.mode is Mode.DISABLED and (self._off or self.settings.disabled == "zero")
        idle = self._parts.idle
        return idle.release(dt) if none else idle.torque(state, idle.alone, dt)

    def _seen_still(self) -> JointState:
        """Where the arm was seen last, as if it did not move."""
        return JointState(self._nothing if self._state is None else self._state.q, self._nothing)

    def _time_for(self, away: Array) -> float:
        """[s] for a smooth way of this length."""
        speed = np.where(np.isfinite(self.model.qd_max), self.model.qd_max, math.pi)
        needed = PEAK * np.abs(away) / (self.settings.return_speed * speed)
        return max(self.settings.ramp, float(needed.max()))

    def _check_inside(self, trajectory: Path) -> None:
        """Refuse a way out of the joints' limits; one that is out already may come back."""
        now = self.reference.q
        low, high = np.minimum(self.model.q_min, now), np.maximum(self.model.q_max, now)
        for s in np.linspace(0.0, trajectory.duration, LOOKS):
            q = trajectory.at(float(s)).q
            out = np.maximum(low - q, q - high)
            if (out > SLIGHTLY).any():
                joint = int(np.nanargmax(out))
                raise ArgumentError(
                    f"the trajectory leads joint '{self.model.joint_names[joint]}' to "
                    f"{q[joint]:.4g}; its limits are {self.model.q_min[joint]:.4g} and "
                    f"{self.model.q_max[joint]:.4g}"
                )

    def _guard_swing(self, ed: Array, dt: float) -> None:
        """Refuse to go on with an arm that is thrown about although all that the torque's rate
        allows is done: a stiff law would swing it up.
        """
        fast = ed @ ed > self.settings.error_max**2 and self._parts.law.excess.any()
        self._swung = self._swung + dt if fast else 0.0
        if self._swung > SWUNG:
            joint = int(np.argmax(np.abs(ed)))
            name = self.model.joint_names[joint]
            raise RobodynError(f"joint '{name}' is {ed[joint]:+.3g} off the speed it is to have")

    def _guard_stop(self, state: JointState, dt: float) -> None:
        """Refuse to react to a stop that no touch brings about: a reading that froze in motion."""
        self._going[self._watch.changed(state)] = 0.0
        if self._going.any():
            self._watch.follow(state, self._going, dt)

    def _guard(self, e: Array) -> None:
        """Refuse to pull at an arm that is far from where it is to be."""
        joint = int(np.argmax(np.abs(e)))
        if abs(e[joint]) > self.settings.error_max:
            name = self.model.joint_names[joint]
            raise RobodynError(f"joint '{name}' is {e[joint]:+.3g} from where it is to be")
