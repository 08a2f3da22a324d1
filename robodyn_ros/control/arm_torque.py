"""ArmTorque: laws, reference, reaction and rate-limited output of one arm.

ArmParts holds the laws and reactions made from one set of settings; ArmTorque runs them.
"""

from typing import NamedTuple

import numpy as np

from ..dynamics.dispatch import per_joint
from ..dynamics.friction import friction_torque
from ..dynamics.newton_euler import gravity_torque
from ..model.robot import RobotModel
from ..sensing.settings import SensingSettings
from .arm_settings import ArmSettings
from .controller import Array, Controller, JointState
from .law_factory import LawMaker, reaction_of, tracking_law
from .laws.momentum_damping import MomentumDampingController
from .limits import Limiter, TorqueLimits
from .live_scaling import LiveScaling
from .path_shape import Path, ScalingLimits
from .reactions import Reaction, Stop
from .reference import Joined, Reference
from .sample_timeline import SampleTimeline
from .tracking_guard import TrackingGuard
from .trajectory_plan import blend_seconds


class ArmParts(NamedTuple):
    """Laws and reactions for one set of settings; all laws share one limiter."""

    settings: ArmSettings
    law: Controller
    reaction: Reaction | None  # None: contact is ignored
    stop: Stop
    idle: MomentumDampingController
    rate_limiter: Limiter  # without torque limits: lowered ones are approached at the rate limit
    scaling: ScalingLimits  # of the reference

    @classmethod
    def of(
        cls, model: RobotModel, settings: ArmSettings, own_law: LawMaker | None = None
    ) -> "ArmParts":
        """Return the parts for a robot; raise an error if the settings do not fit it."""
        law = tracking_law(model, settings, own_law)
        return cls(
            settings,
            law,
            reaction_of(law, settings),
            Stop(law, settings.braking),
            MomentumDampingController.sharing_limits(law, damping=settings.damping),
            Limiter(model, TorqueLimits(np.inf, law.limits.tau_rate_max)),
            _scaling_limits(model, law, settings),
        )


def _scaling_limits(model: RobotModel, law: Controller, settings: ArmSettings) -> ScalingLimits:
    tau_max = np.broadcast_to(law.limits.tau_max, (model.n,)).copy()
    if law.compensation is not None:  # its compensation takes a part
        fastest = np.where(np.isfinite(model.qd_max), model.qd_max, 1.0)
        tau_max -= np.minimum(np.abs(friction_torque(model, fastest)), 0.5 * tau_max)
    rate = np.broadcast_to(law.limits.tau_rate_max, (model.n,)).copy()
    qdd_max = per_joint(model, "qdd_max", settings.qdd_max) if settings.qdd_max else np.inf
    return ScalingLimits(tau_max, rate, model.qd_max.copy(), np.full(model.n, qdd_max))


class ArmTorque:
    """Torque of one arm: tracking, yielding or idle, always output through one rate limiter.

    state: the last usable sample. started: there was one. reaction: the active one, or the last.
    target: torque (n,) that the rate limit approaches. released: nothing is commanded at present.
    """

    def __init__(self, model: RobotModel, parts: ArmParts, sensing: SensingSettings) -> None:
        self.model, self.parts = model, parts
        self._zeros = np.zeros(model.n)
        self.started = self.released = False
        self.state = JointState(self._zeros, self._zeros)
        self.target = self._zeros
        scaling = LiveScaling(model, parts.scaling, parts.settings.catch_up)
        self.reference = Reference(self._zeros, scaling)
        self.reaction: Reaction = parts.stop
        self._step = self._zeros  # torque (n,) of the last change of payload, blended out
        self._step_left = 0.0  # share of it that is left
        self._step_new = False  # whether the next torque shows it
        self.timeline = SampleTimeline(sensing)
        self.guard = TrackingGuard(model, sensing)

    @property
    def tau(self) -> Array:
        """Last torque (n,) [N m or N]; a copy."""
        return self.parts.rate_limiter.tau.copy()

    def apply(self, parts: ArmParts, yielding: bool, blend: bool = False) -> None:
        """Take over new settings at the last torque; a reaction at work goes on.

        blend: approach their torque within `ramp`, not at the rate limit.
        """
        tau, old, self.parts, before = self.tau, self.parts, parts, self.reaction
        self.reference.scaling.configure(parts.scaling, parts.settings.catch_up)
        self.reaction = (parts.reaction if before is old.reaction else None) or parts.stop
        if self.started:
            parts.rate_limiter.reset(tau)
            parts.law.reset(None if blend else tau)
            self._step_new = self._step_new or blend
            self.reaction.begin(self.state)
            if yielding:
                self.reaction.continue_from(before)

    def carry_weight(self) -> None:
        """Start with the torque that carries the arm, as nothing was commanded before."""
        limit = self.parts.law.limits.tau_max
        model = self.parts.law.model  # with its payload
        weight = np.clip(gravity_torque(model, self.state.q), -limit, limit)
        self.parts.rate_limiter.reset(weight)
        self.parts.law.reset(weight)
        self.released = False

    # actions of the transitions

    def hold_here(self) -> None:
        """Hold the measured posture."""
        self._hold_at(self.state.q)

    def hold_rest_posture(self) -> None:
        """Hold the posture in which the arm came to rest."""
        self._hold_at(self.reaction.reference.q)

    def follow_path(self, trajectory: Path, s: float, joined: Joined) -> None:
        """Blend into the trajectory."""
        self.reference.join(trajectory, s, joined)

    def stop_reference(self) -> None:
        """Bring the reference to rest within `ramp`."""
        self.reference.stop(self.parts.settings.ramp)

    def resume(self) -> None:
        """Return to the interrupted point, then follow the trajectory."""
        self.parts.law.take_over(self.parts.law.tau)
        q = self.reaction.reference.q
        away = self.reference.interrupted_at - q
        seconds = blend_seconds(self.model, self.parts.settings, away)
        self.reference.resume(q, seconds, self.parts.settings.ramp)

    def brake(self) -> None:
        """Brake, then hold."""
        self._begin(self.parts.stop)

    def begin_reaction(self) -> None:
        """Start the reaction."""
        self._begin(self.parts.reaction or self.parts.stop)
        self.guard.begin_stop(self.reference.motion.qd)

    def restart_reaction(self) -> None:
        """Brake or yield from the measured state."""
        self._begin(self.reaction)

    def latch_stuck_joint(self, joint: int) -> None:
        """Ignore samples until the joint's reading changes."""
        self.guard.stuck.mark(joint, self.state.q)

    def brake_stuck_joint(self, joint: int) -> None:
        """Ignore samples until the joint's reading changes; brake, then hold."""
        self.latch_stuck_joint(joint)
        self.brake()

    def trust_readings(self) -> None:
        """Clear the stuck-joint latch."""
        self.guard.stuck.clear()

    # torque

    def track(self, dt: float) -> Array:
        """Return the torque (n,) of the tracking law; raise if the arm must not go on."""
        state, motion, law = self.state, self.reference.advance(dt), self.parts.law
        settings = self.parts.settings
        self.guard.check(state, motion, dt, settings.error_max)
        torque = law.torque(state, motion, dt)
        self.guard.check_swing(state, motion, dt, law.excess, settings)
        return torque

    def idle(self, dt: float, *, zero: bool, moving: bool = False) -> Array:
        """Return the torque (n,) that carries the arm, damped if `moving`, or ramps to zero."""
        idle = self.parts.idle
        if zero:
            return idle.release(dt)
        state = self.state if moving else JointState(self.state.q, self._zeros)
        return idle.torque(state, idle.no_push, dt)

    def blended(self, torque: Array, dt: float) -> Array:
        """Return a torque (n,) that leaves the last one without a step after a new payload."""
        if self._step_new:
            self._step_new, self._step_left = False, 1.0
            self._step = self.parts.rate_limiter.tau - torque
        if self._step_left > 0.0:
            limit = self.parts.law.limits.tau_max  # of the law alone: the sum may be beyond
            torque = np.clip(torque + self._step_left * self._step, -limit, limit)
            self._step_left = max(self._step_left - dt / self.parts.settings.ramp, 0.0)
        return torque

    def output(self, torque: Array, silence: float = 0.0) -> Array:
        """Output a torque (n,) within its rate limit, after `silence` [s]; return it."""
        self.parts.rate_limiter.apply(torque, self.timeline.output(silence))
        self.target = torque.copy()
        return self.tau

    def _hold_at(self, q: Array) -> None:
        self.parts.law.take_over(self.parts.law.tau)
        self.reference.stay(q)

    def _begin(self, reaction: Reaction) -> None:
        self.reaction = reaction
        if self.started:
            reaction.begin(self.state)
