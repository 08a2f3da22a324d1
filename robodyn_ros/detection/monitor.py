"""ContactMonitor: from measured samples to residual, contact state, touched link and wrench.

Everything that a detector does with a stream of samples, in one place and without a clock: times
come with the samples. Gaps and jumps of time start the observer anew; settings change while it
runs, and neither the residual nor the state jumps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.gap_compensation import LostSamples
from ..settings import one_or_each
from .detector import CollisionDetector, CollisionState, Level
from .effort_scale import EffortScale
from .fault import Fault
from .isolation import isolate
from .monitor_settings import MonitorSettings
from .observer import MomentumObserver
from .stuck_readings import StuckReadings
from .wrench import external_wrench

Array = npt.NDArray[np.float64]

NO_WRENCH = np.zeros(6)
ROUNDING = 1e-6  # [s], of the difference of two stamps
LIKELY = 100.0  # [N], how hard an arm is touched: what it hardly feels is not told as a wild force


class _Parts(NamedTuple):
    """What works with one set of settings."""

    settings: MonitorSettings
    observer: MomentumObserver
    detector: CollisionDetector


class Report(NamedTuple):
    """What a sample tells."""

    r: Array  # (n,) [N m or N], the residual
    state: CollisionState
    link: str  # where the wrench is told
    wrench: Array  # (6,) [N, N m], in the link's own axes


class ContactMonitor:
    """Watches one robot.

    Samples come with their times [s]. A step back, or one too long for the gain, starts the
    observer anew; a sample that is not finite is dropped. Both give UNKNOWN until it has settled.
    So does an effort that is no torque. commanded: torque is what was commanded, not measured;
    then a joint that does not heed it at all gives UNKNOWN, too.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: MonitorSettings | None = None,
        *,
        commanded: bool = False,
    ) -> None:
        self.model = model
        self._stuck = StuckReadings(model) if commanded else None
        self._parts = self.prepare(settings or MonitorSettings())
        self._scale = self._scale_for(self._parts)
        self._limit = self._moves_from(self._parts)
        self._lost = LostSamples(self._parts.observer.gain)
        self.reset()

    @property
    def settings(self) -> MonitorSettings:
        """What it works with now."""
        return self._parts.settings

    def prepare(self, settings: MonitorSettings) -> _Parts:
        """Observer and detector for new settings, or an error; nothing changes yet."""
        model = self.model
        if settings.wrench_link:
            model.frame(settings.wrench_link)
        observer = MomentumObserver(
            model,
            one_or_each(settings.gain),
            settings.friction,
            gravity_free=settings.gravity_free,
        )
        detector = CollisionDetector(
            settings.contact.thresholds(model),
            settings.collision.thresholds(model),
            model,
            debounce=settings.debounce,
            hysteresis=settings.hysteresis,
            release=settings.release,
            settling=settings.settling,
            masked=settings.masked,
        )
        return _Parts(settings, observer, detector)

    def apply(self, parts: _Parts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        parts.observer.continue_from(self._parts.observer)
        parts.detector.continue_from(self._parts.detector)
        scale = self._scale_for(parts)
        scale.continue_from(self._scale)
        self._lost.follow(parts.observer.gain)
        self._parts, self._scale, self._limit = parts, scale, self._moves_from(parts)

    def _moves_from(self, parts: _Parts) -> Array:
        """(n,) [N m or N]: contact thresholds; a masked joint may be locked, and need not move."""
        masked = [name in parts.settings.masked for name in self.model.joint_names]
        return np.where(masked, np.inf, parts.detector.contact.base)

    def _scale_for(self, parts: _Parts) -> EffortScale:
        return EffortScale(self.model, parts.observer.gain, parts.detector.contact.base)

    def reset(self, reason: str = "just started") -> None:
        """Forget everything; UNKNOWN until it has settled."""
        self._parts.observer.reset()
        self._parts.detector.reset(reason)
        self._scale.reset()
        self._lost.reset()
        if self._stuck is not None:
            self._stuck.reset()
        self._last: tuple[float, Array] | None = None
        self._qdd = np.zeros(self.model.n)
        self.state = CollisionState(Level.UNKNOWN, reason=reason)
        self.r = np.zeros(self.model.n)

    def update(self, t: float, q: Array, qd: Array, tau: Array) -> Report:
        """Take in a sample; tau is what was applied since the one before."""
        _, observer, detector = self._parts
        if self._stuck is not None and self._stuck.over(q):
            self.reset("a joint that was stuck reads something else")
        dt = t - self._last[0] if self._last is not None else observer.longest_step
        if 0.0 < dt <= observer.longest_step + ROUNDING:
            dt = min(dt, observer.longest_step)
        else:
            jump = "time went back" if dt <= 0.0 else f"no sample for {dt:.3g} s"
            self.reset(jump)
            dt = observer.longest_step
        try:
            self.r = observer.update(q, qd, self._lost.fill(tau, dt), dt)
        except ArgumentError as error:
            return self.lost(str(error))
        if detector.contact.moving or detector.collision.moving:
            self._accelerate(qd, dt)
        started, self._last = self._last is not None, (t, qd.copy())
        if started:
            wrong = self._scale.fault(self.r, tau, dt)
            if wrong:
                return self.lost(wrong)
            if self._stuck is not None:
                wrong = self._stuck.doubt(q, tau, self.r, self._limit, dt)
                if wrong:
                    return self.lost(wrong, Fault.READINGS, (self._stuck.joint,))
            self.state = detector.update(self._lost.felt(self.r), dt, qd, self._qdd)
        return self._report(q)

    def lost(self, reason: str, fault: Fault = Fault.NONE, joints: tuple[str, ...] = ()) -> Report:
        """A sample that cannot be used: nothing is known until good ones have come for a while."""
        self._parts.detector.reset(reason)
        self.state = CollisionState(Level.UNKNOWN, joints, reason=reason, fault=fault)
        return Report(self.r, self.state, self.model.link_names[-1], NO_WRENCH)

    def _accelerate(self, qd: Array, dt: float) -> None:
        """The acceleration, by differences that are smoothed as the residual is."""
        if self._last is not None:
            blend = -np.expm1(-self._parts.observer.gain * dt)
            self._qdd += blend * ((qd - self._last[1]) / dt - self._qdd)

    def _report(self, q: Array) -> Report:
        """Where it is touched and with which wrench, if it is."""
        link = self.settings.wrench_link or self.model.link_names[-1]
        if self.state.level < Level.CONTACT and not self.settings.wrench_link:
            return Report(self.r, self.state, link, NO_WRENCH)
        limit = self._parts.detector.contact.base
        if self.state.level >= Level.CONTACT:
            # A joint that feels half its threshold may be the touched one: then nobody can tell
            where = isolate(self.model, self.r, np.maximum(0.5 * limit, 1e-6), clear=2.0)
            self.state = replace(self.state, link=where.link, reason=where.reason)
            link = self.settings.wrench_link or where.link or link
        W = external_wrench(
            self.model,
            q,
            self.r,
            link,
            # What touches an arm pushes but does not twist; a chosen link may hold a tool
            force_only=None if self.settings.wrench_link else True,
            weights=1.0 / np.maximum(0.1 * limit, 1e-6),  # far less than a threshold is noise
            likely=LIKELY,
        )
        R = forward_kinematics(self.model, q, link)[:3, :3]
        return Report(self.r, self.state, link, np.concatenate([R.T @ W[:3], R.T @ W[3:]]))
