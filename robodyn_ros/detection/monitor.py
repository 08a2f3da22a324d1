"""ContactMonitor: from samples to verdicts.

    Sample ─► gap compensation ─► observer ─► noise test, bias ─► effort scale ─► stuck readings ─►
    detector ─► Verdict

One compiled step does all of it but naming the link and the wrench; `monitor_rows` runs the same
step over a whole recording. There is no clock here: times come with the samples, which `sensing`
has judged.
"""

import math
from itertools import compress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.effort_settings import EffortSettings
from ..sensing.gap_compensation import GapCompensation
from ..sensing.sample import Sample, Status
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from ..sensing.stuck import StuckCheck
from ..settings import one_or_each
from . import monitor_step as at
from .detector import CollisionDetector, Level
from .effort_scale import EffortScale, scale_text
from .fault import EFFORT_SCALE, SENSOR_FREEZE, Fault
from .isolation import isolate
from .monitor_settings import MonitorSettings
from .noise import NoiseDetector
from .observer import MomentumObserver
from .verdict import Verdict
from .wrench import external_wrench

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NO_WRENCH = np.zeros(6)
TARING = "taring: the offset of the residual is averaged"
LIKELY_FORCE = 100.0  # [N], a contact's usual size: directions hardly felt give no larger one


class _Parts(NamedTuple):
    """What works with one set of settings."""

    settings: MonitorSettings
    effort: EffortSettings
    observer: MomentumObserver
    detector: CollisionDetector
    noise: NoiseDetector
    scale: EffortScale
    gap: GapCompensation


class ContactMonitor:
    """Contact state of one robot, sample by sample.

    commanded: the samples' torque is the commanded one, not measured; then a joint whose reading
    ignores its torque gives UNKNOWN, too. effort: what the torque includes; gain and offset are
    applied before, by `JointTorque`.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: MonitorSettings | None = None,
        sensing: SensingSettings | None = None,
        *,
        commanded: bool = False,
        effort: EffortSettings | None = None,
    ) -> None:
        self.model = model
        self._link_side: RobotModel | None = None  # the model without rotors, once it is needed
        self._own, self._rows = np.zeros(int(at.SCALARS)), np.zeros((int(at.ROWS), model.n))
        self._own[int(at.COMMANDED)] = commanded
        self._above = np.zeros(model.n, dtype=np.bool_)
        self._stuck = StuckCheck(model.n, math.inf, 1)
        self.set_sensing(sensing or SensingSettings())
        self._take(self.prepare(settings or MonitorSettings(), effort or EffortSettings()))
        self._invalid = 0  # rejected messages in a row
        self._cause = ""  # why the level is UNKNOWN
        self._verdict = self.reset()

    @property
    def settings(self) -> MonitorSettings:
        """Settings in use."""
        return self._parts.settings

    @property
    def verdict(self) -> Verdict:
        """The last verdict."""
        return self._verdict

    def update(self, sample: Sample) -> Verdict:
        """Return the verdict on a sample.

        Rejected messages leave the previous verdict standing until there are more than
        `sensing.max_invalid` in a row.
        """
        if sample.status is Status.INVALID:
            self._invalid += 1
            if self._invalid <= self._sensing.max_invalid:
                return self._verdict
        else:
            self._invalid = 0
        usable = sample.status.valid and sample.tau is not None
        told = (
            at.USABLE * usable
            + at.RESTARTS * (sample.status is Status.RESTART)
            + at.LATE * sample.late
        )
        tau = self._rows[int(at.TAU)] if sample.tau is None else sample.tau
        found = at.step(*self._memory, told, sample.t, sample.q, sample.qd, tau)
        r = self._rows[int(at.R)].copy()
        if found <= at.COLLISION:
            self._verdict = self._located(sample.t, sample.q, r, Level(found))
        else:
            self._cause = self._why(found, sample) or self._cause
            self._verdict = self._unknown(found, sample, r)
        return self._verdict

    def reset(self, cause: str = "just started") -> Verdict:
        """Forget everything; return the verdict, UNKNOWN until the observer has settled."""
        self._parts.noise.forget()
        at.restart(*self._memory)
        self._invalid, self._cause = 0, cause
        self._verdict = Verdict(-math.inf, Level.UNKNOWN, np.zeros(self.model.n), cause=cause)
        return self._verdict

    @property
    def bias(self) -> Array:
        """Offset of the residual without contact (n,) [N m or N]; a copy."""
        return self._parts.noise.bias

    def tare(self) -> Array:
        """Take the present residual for its bias and return it (n,) [N m or N], or raise."""
        if self._verdict.level is Level.UNKNOWN:
            raise ArgumentError(f"nothing to tare from: {self._verdict.cause}")
        self._parts.noise.tare(self._rows[int(at.RAW)])
        return self.bias

    def prepare(self, settings: MonitorSettings, effort: EffortSettings | None = None) -> _Parts:
        """Return observer and detector for new settings, or raise; nothing changes yet.

        effort: as now by default.
        """
        model = self.model
        effort = effort or self._parts.effort
        if settings.wrench_link:
            model.frame(settings.wrench_link)
        observer = MomentumObserver(
            self._observed(effort.side),
            one_or_each(settings.gain),
            settings.friction or effort.friction == "model",
            gravity_free=settings.gravity_free or effort.gravity == "removed",
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
        noise = NoiseDetector(model, settings.noise, settings.bias)
        scale = EffortScale(model, observer.gain, detector.contact.base)
        return _Parts(
            settings, effort, observer, detector, noise, scale, GapCompensation(observer.gain)
        )

    def _observed(self, side: str) -> RobotModel:
        """Return the model that moves by the torque of this side: sensors see no rotors."""
        if side == "motor" or not self.model.rotor_inertia.any():
            return self.model
        if self._link_side is None:
            self._link_side = self.model.replace(rotor_inertia=0.0)
        return self._link_side

    def apply(self, parts: _Parts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        parts.observer.continue_from(self._parts.observer)
        parts.detector.continue_from(self._parts.detector)
        parts.noise.continue_from(self._parts.noise)
        parts.scale.continue_from(self._parts.scale)
        parts.gap.continue_from(self._parts.gap)
        self._take(parts)

    def set_sensing(self, sensing: SensingSettings) -> None:
        """Judge stuck readings and rejected samples by these limits from now on."""
        self._sensing = sensing
        self._own[int(at.STUCK_SHARE)] = sensing.stuck_torque_share
        self._own[int(at.STUCK_TIME)] = sensing.stuck_torque_time
        self._own[int(at.STUCK_SAMPLES)] = sensing.stuck_samples

    def _take(self, parts: _Parts) -> None:
        self._parts, detector = parts, parts.detector
        self._own[int(at.SETTLING_TIME)] = detector.settling
        self._own[int(at.LONGEST_STEP)] = parts.observer.longest_step
        self._own[int(at.NOISE_TEST)] = parts.noise.active
        self._own[int(at.MOVING)] = detector.contact.moving or detector.collision.moving
        self._rows[int(at.GAIN)] = parts.observer.gain
        self._rows[int(at.LIMIT)] = np.where(detector.watched, detector.contact.base, np.inf)
        self._memory = (
            parts.observer.memory,
            parts.gap.own,
            parts.gap.common,
            parts.scale.own,
            parts.scale.seconds,
            self._stuck.own,
            *parts.noise.memory,
            *detector.memory,
            self._own,
            self._rows,
        )

    def _why(self, found: int, sample: Sample) -> str:
        """Return why the level is UNKNOWN; empty: for the same reason as before."""
        if found == at.SCALED:
            return scale_text(float(self._own[int(at.EFFORT_FACTOR)]))
        if found == at.STUCK:
            k = int(self._own[int(at.STUCK_JOINT)])
            return stuck_text(self.model.joint_names[k], self._stuck.seconds(k))
        if found == at.OVERFLOW:
            return "the momentum of the sample is not finite"
        if found == at.TARING:
            return TARING
        return why_restarted(found, sample.status, sample.dt, sample.cause, sample.late)

    def _unknown(self, found: int, sample: Sample, r: Array) -> Verdict:
        fault = Fault(sample.fault) if sample.fault else None
        joints: tuple[str, ...] = ()
        if found == at.SCALED:
            fault = Fault(EFFORT_SCALE, value=float(self._own[int(at.EFFORT_FACTOR)]))
        elif found == at.STUCK:
            joint = self.model.joint_names[int(self._own[int(at.STUCK_JOINT)])]
            fault, joints = Fault(SENSOR_FREEZE, joint), (joint,)
        return Verdict(sample.t, Level.UNKNOWN, r, joints, fault=fault, cause=self._cause)

    def _located(self, t: float, q: Array, r: Array, level: Level) -> Verdict:
        joints: tuple[str, ...] = ()
        if level >= Level.CONTACT:
            detector, noise = self._parts.detector.memory[0], self._parts.noise
            at.mark_joints(detector, noise.rows, noise.own, self._above)
            joints = tuple(compress(self.model.joint_names, self._above.tolist()))
        link, link_cause, wrench_link, wrench = locate(self.model, self.settings, q, r, level)
        return Verdict(t, level, r, joints, link, wrench, wrench_link, link_cause=link_cause)


def why_restarted(found: int, status: int, dt: float, cause: str, late: bool) -> str:
    """Return why the monitor started anew or settles again; empty: for the same reason as before.

    found: by `step`; the rest are fields of the sample.
    """
    if cause:
        return cause
    if status == Status.RESTART:
        return "joint states begin anew"
    if found == at.UNSTUCK:
        return "a joint that was stuck reads something else"
    if found == at.GAP:
        return f"no sample for {dt:.3g} s"
    return "joint states were silent" if late else ""


def stuck_text(joint: str, seconds: float) -> str:
    """Return the cause of a reading that ignores its torque."""
    return f"joint '{joint}' has read the same for {seconds:.3g} s although its torque moves"


def locate(
    model: RobotModel, settings: MonitorSettings, q: Array, r: Array, level: int
) -> tuple[str, str, str, Array]:
    """Return the touched link, why none is named, and the wrench's link and values (6,) [N, N m].

    Below CONTACT the wrench is 0 unless `wrench_link` is set.
    """
    link = link_cause = ""
    wrench_link = settings.wrench_link or model.link_names[-1]
    if level < at.CONTACT and not settings.wrench_link:
        return link, link_cause, wrench_link, NO_WRENCH
    limit = np.broadcast_to(settings.contact.base, (model.n,))
    if level >= at.CONTACT:
        # A joint that feels half its threshold may be the touched one: then no link is named
        where = isolate(model, r, np.maximum(0.5 * limit, 1e-6), clear=2.0)
        link, link_cause = where.link or "", where.reason
        wrench_link = settings.wrench_link or link or wrench_link
    W = external_wrench(
        model,
        q,
        r,
        wrench_link,
        # What touches an arm pushes but does not twist; a chosen link may hold a tool
        force_only=None if settings.wrench_link else True,
        weights=1.0 / np.maximum(0.1 * limit, 1e-6),  # far less than a threshold is noise
        likely=LIKELY_FORCE,
    )
    R_link = forward_kinematics(model, q, wrench_link)[:3, :3]
    return link, link_cause, wrench_link, np.concatenate([R_link.T @ W[:3], R_link.T @ W[3:]])


class Rows(NamedTuple):
    """What the monitor finds in each of many samples."""

    r: Array  # (T, n) residual [N m or N]
    certain: Array  # (T, n) the same without what gaps may have caused; empty unless asked for
    found: Codes  # (T,) a level, or why it is UNKNOWN
    value: Array  # (T,) what that reason is about
    above: npt.NDArray[np.bool_]  # (T, n) joints above a threshold
    external: Array  # (T, n) mean external torque since the previous sample; as `certain`

    @property
    def level(self) -> Codes:
        """Levels (T,), as in `Level`."""
        return np.where(self.found <= at.COLLISION, self.found, at.UNKNOWN)


def monitor_rows(
    model: RobotModel,
    samples: Samples,
    settings: MonitorSettings,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    certain: bool = False,
    effort: EffortSettings | None = None,
) -> Rows:
    """Return what `ContactMonitor` finds in these samples, one after the other.

    certain: also the residual without what gaps may have caused, and the mean external torque of
    every step.
    """
    monitor = ContactMonitor(model, settings, sensing, commanded=commanded, effort=effort)
    T, n = samples.q.shape
    out = Rows(
        np.zeros((T, n)),
        np.zeros((T if certain else 0, n)),
        np.zeros(T, dtype=np.int64),
        np.zeros(T),
        np.zeros((T, n), dtype=np.bool_),
        np.zeros((T if certain else 0, n)),
    )
    limit = int(monitor._sensing.max_invalid)
    arrays = (samples.t, samples.q, samples.qd, samples.tau)
    at.steps(*monitor._memory, samples.status, samples.late, limit, *arrays, *out)
    return out


def compare_rows(
    model: RobotModel, samples: Samples, rows: Rows, settings: MonitorSettings
) -> Codes:
    """Return the levels (T,) that other thresholds would have given.

    rows: of the same samples, all usable, with `certain` residuals.
    """
    resets = (samples.status == Status.RESTART) | (samples.late != 0) | (rows.found > at.SETTLING)
    monitor = ContactMonitor(model, settings)
    level = np.zeros(samples.t.size, dtype=np.int64)
    arrays = (resets.astype(np.int64), samples.t, rows.certain, samples.qd)
    at.compare_samples(*monitor._memory[-4:], *arrays, level)
    return level
