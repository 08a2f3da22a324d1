"""ContactMonitor: from samples to verdicts.

    Sample ─► gap compensation ─► observer ─► noise test, bias ─► effort scale ─► stuck readings ─►
    detector ─► joint stops, mean of the contact ─► link decisions, fault cases ─► Verdict

One compiled step does all of it but deciding the link, the wrench and the fault; `monitor_rows`
runs the same step over a whole recording. There is no clock here: times come with the samples,
which `sensing` has judged.
"""

import math
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from ..model.surface import LinkSurfaces, surface_points
from ..sensing.effort_settings import EffortSettings
from ..sensing.gap_compensation import GapCompensation
from ..sensing.sample import Sample, Status
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from ..sensing.stuck import StuckCheck
from ..settings import one_or_each
from . import contact_mean
from . import monitor_step as at
from .detector import CollisionDetector, Level
from .effort_scale import EffortScale, scale_fault, scale_text
from .fault import HARMLESS_KINDS, JOINT_STOP, SENSOR_FREEZE, STOP_KINDS, Fault
from .faults.stream import FaultStream, Torque
from .force_thresholds import force_memory
from .isolation import ContactIsolator, Isolation
from .link_naming import LinkDecisions
from .monitor_settings import MonitorSettings
from .noise import BIAS, NoiseDetector, mean_noise
from .observer import MomentumObserver
from .payload_noise import payload_doubt, payload_noise
from .thresholds import Thresholds
from .verdict import LEAST_FORCE, Ended, Verdict
from .wrench import external_wrench, followed_force

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NO_WRENCH = np.zeros(6)
TARING = "taring: the offset of the residual is averaged"
UNDECIDED = "not decided yet"
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
    links: LinkDecisions | None
    faults: FaultStream | None
    drag: Array  # (4, n): dry, viscous, presliding of the friction that the model lacks; zigzag


class ContactMonitor:
    """Contact state of one robot, sample by sample.

    commanded: the samples' torque is the commanded one, not measured; then a joint whose reading
    ignores its torque gives UNKNOWN, too. effort: what the torque includes; gain and offset are
    applied before, by `JointTorque`. surfaces: of the links, by default those of the model.
    links: whether the touched link is named; faults: whether the cause of a contact is.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: MonitorSettings | None = None,
        sensing: SensingSettings | None = None,
        *,
        commanded: bool = False,
        effort: EffortSettings | None = None,
        surfaces: LinkSurfaces | None = None,
        links: bool = True,
        faults: bool = True,
    ) -> None:
        self.model = model
        self._payload: Payload | None = None  # taken over into the observed model
        self.payload_doubt = np.zeros(model.n)  # by how much its weight may be off
        self._usual_step = 0.0  # [s] between samples when it was taken over
        self._with_faults = faults
        self.naming = True  # False: links and causes stay open, while a node compiles for them
        self._surfaces = (surfaces or surface_points(model)) if links else None
        self._link_side: RobotModel | None = None  # the model without rotors, once it is needed
        self._own, self._rows = np.zeros(int(at.SCALARS)), np.zeros((int(at.ROWS), model.n))
        self._own[int(at.COMMANDED)] = commanded
        self._rows[int(at.LOWEST)], self._rows[int(at.HIGHEST)] = model.q_min, model.q_max
        self._before = np.zeros((contact_mean.CAPACITY, model.n + 1))
        self._contact = np.zeros((int(contact_mean.ROWS), model.n))
        self._contact_own = np.zeros(int(contact_mean.SCALARS))
        self._above = np.zeros(model.n, dtype=np.bool_)
        self._stuck = StuckCheck(model.n, math.inf, 1)
        self.set_sensing(sensing or SensingSettings())
        self._take(self.prepare(settings or MonitorSettings(), effort or EffortSettings()))
        self._invalid = 0  # rejected messages in a row
        self._cause = ""  # why the level is UNKNOWN
        self._stop = 0  # the joint at its stop in the last contact, as `located` has it
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
        t, q, qd = sample.t, sample.q, sample.qd
        found = at.judge(*self._memory, told, t, q, qd, tau)
        if self.naming:
            at.follow_touch(*self._touch, found, t, q, qd)
        r = self._rows[int(at.R)].copy()
        self._decide(sample.t, found)
        self._follow_case(sample, found)
        if found <= at.COLLISION:
            self._verdict = self._located(sample.t, sample.q, r, Level(found))
        else:
            self._cause = self._why(found, sample) or self._cause
            self._verdict = self._unknown(found, sample, r)
        return self._verdict

    def reset(self, cause: str = "just started") -> Verdict:
        """Forget everything; return the verdict, UNKNOWN until the observer has settled."""
        self._parts.noise.forget()
        self._parts.scale.forget()
        at.restart(*self._memory)
        if self._parts.links is not None:
            self._parts.links.reset()
        if self._parts.faults is not None:
            self._parts.faults.reset()
        self._invalid, self._cause = 0, cause
        self._verdict = Verdict(
            -math.inf, Level.UNKNOWN, np.zeros(self.model.n), cause=cause, payload=self._payload
        )
        return self._verdict

    @property
    def thresholds(self) -> Thresholds:
        """Contact thresholds in force: those of the settings, and what a payload adds."""
        return self._parts.detector.contact

    @property
    def cases(self) -> FaultStream | None:
        """What names the causes of contacts; None: nothing does."""
        return self._parts.faults

    @property
    def memory(self) -> tuple[Array, ...]:
        """The state of all parts, as `monitor_step.judge` takes it."""
        return self._memory

    def recording(self, samples: Samples) -> tuple[Any, ...]:
        """Return the samples of a recording as `monitor_step.take_row` takes them."""
        limit = int(self._sensing.max_invalid)
        arrays = (samples.t, samples.q, samples.qd, samples.tau)
        return (samples.status, samples.late, limit, *arrays)

    @property
    def found_payload(self) -> Payload | None:
        """Payload of the last case that was named a payload; None: nothing held."""
        faults = self._parts.faults
        return None if faults is None else faults.found

    def set_payload(self, payload: Payload | None) -> None:
        """Take a payload into the observed model, between two samples: the residual does not jump.

        None: the arm holds nothing. The payload stands for all that the model has not by itself.
        """
        self.carry(payload, self._verdict.t)

    def carry(self, payload: Payload | None, t: float, doubt: Array | None = None) -> None:
        """`set_payload` after a sample at time t [s].

        doubt (n,): by how much its weight may be off [N m or N]; by default as the open case says.
        """
        parts = self._parts
        observed = self._observed(parts.effort.side, payload)  # or raise
        self._payload = payload
        self._usual_step = float(self._own[int(at.STEP)]) or self._usual_step
        estimate = None if self.cases is None else self.cases.covariance
        if doubt is None and payload is not None and estimate is not None:
            doubt = payload_doubt(self.model, payload, estimate)
        self.payload_doubt = np.zeros(self.model.n) if doubt is None else doubt
        observer, detector, scale = self._thresholded(parts.settings, parts.effort, observed)
        observer.continue_from(parts.observer)
        detector.continue_from(parts.detector)
        scale.continue_from(parts.scale)
        self._take(parts._replace(observer=observer, detector=detector, scale=scale))
        if parts.faults is not None:
            parts.faults.carry(payload, t, detector.contact.base)

    @property
    def bias(self) -> Array:
        """Offset of the residual without contact (n,) [N m or N]; a copy."""
        return self._parts.noise.bias

    def bias_problem(self) -> str:
        """Return which joint's bias is at its limit; empty: none is."""
        bias, limit = self.bias, self._parts.noise.limit
        over = np.flatnonzero((np.abs(bias) >= limit) & (bias != 0.0))
        if not over.size:
            return ""
        k = int(over[0])
        return (
            f"bias of {self.model.joint_names[k]} at its limit, {bias[k]:+.3g}: its torque is off "
            "by more (monitor.bias.limit, effort.offset)"
        )

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
        observed = self._observed(effort.side, self._payload)
        observer, detector, scale = self._thresholded(settings, effort, observed)
        noise = NoiseDetector(model, settings.noise, settings.bias)
        gap = GapCompensation(observer.gain)
        links = None if self._surfaces is None else decisions(model, settings, self._surfaces)
        faults = self._cases(settings, effort, detector.contact.base)
        names = ("dry", "viscous", "presliding")
        rows = [per_joint(model, f"drag.{x}", getattr(settings.drag, x)) for x in names]
        drag = np.array([*rows, per_joint(model, "noise.spike", settings.noise.spike)])
        return _Parts(settings, effort, observer, detector, noise, scale, gap, links, faults, drag)

    def _thresholded(
        self, settings: MonitorSettings, effort: EffortSettings, observed: RobotModel
    ) -> tuple[MomentumObserver, CollisionDetector, EffortScale]:
        """Return the parts that depend on the payload, which the observed model includes."""
        model = self.model
        observer = MomentumObserver(
            observed,
            one_or_each(settings.gain),
            settings.friction or effort.friction == "model",
            gravity_free=settings.gravity_free or effort.gravity == "removed",
        )
        added = self._payload_noise(observer, effort.side)
        detector = CollisionDetector(
            settings.contact.thresholds(model).above(added),
            settings.collision.thresholds(model).above(added),
            model,
            debounce=settings.debounce,
            hysteresis=settings.hysteresis,
            release=settings.release,
            settling=settings.settling,
            masked=settings.masked,
            force=force_memory(model, settings.force),
        )
        return observer, detector, EffortScale(model, detector.contact.base)

    def _cases(
        self, settings: MonitorSettings, effort: EffortSettings, limit: Array
    ) -> FaultStream | None:
        """Return what names the cause of contacts."""
        if not (self._with_faults and settings.faults.enabled):
            return None
        commanded = bool(self._own[int(at.COMMANDED)])
        torque = torque_of(settings, effort, commanded)
        return FaultStream(self.model, settings.faults, limit, torque)

    def _observed(self, side: str, payload: Payload | None) -> RobotModel:
        """Return the model that moves by the torque of this side, with a payload: sensors see no
        rotors.
        """
        model = self.model
        if side == "link" and model.rotor_inertia.any():
            if self._link_side is None:
                self._link_side = model.replace(rotor_inertia=0.0)
            model = self._link_side
        return model if payload is None else model.replace(payload=payload)

    def _payload_noise(self, observer: MomentumObserver, side: str) -> Array:
        """Return what the payload that was taken over adds to the noise of the residual (n,)."""
        if self._payload is None or self._usual_step == 0.0:
            return np.zeros(self.model.n)
        noise = np.sqrt(self._rows[int(at.QD_VARIANCE)])
        empty = self._observed(side, None)
        step = self._usual_step
        added = payload_noise(empty, observer.model, observer.gain, step, noise)
        return np.asarray(np.hypot(added, self.payload_doubt))

    def apply(self, parts: _Parts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        parts.observer.continue_from(self._parts.observer)
        parts.detector.continue_from(self._parts.detector)
        parts.noise.continue_from(self._parts.noise)
        parts.scale.continue_from(self._parts.scale)
        parts.gap.continue_from(self._parts.gap)
        if parts.links is not None and self._parts.links is not None:
            parts.links.continue_from(self._parts.links)
        if parts.faults is not None and self._parts.faults is not None:
            parts.faults.continue_from(self._parts.faults)
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
        rows = at.DRY, at.VISCOUS, at.PRESLIDING, at.SPIKE
        for row, values in zip(rows, parts.drag, strict=True):
            self._rows[int(row)] = values
        speed = parts.settings.drag.speed if parts.drag[:2].any() else 0.0
        self._own[int(at.DRAG_SPEED)] = speed
        self._own[int(at.NOISE_TEST)] = parts.noise.active
        self._own[int(at.MOVING)] = detector.contact.moving or detector.collision.moving
        self._rows[int(at.GAIN)] = parts.observer.gain
        self._rows[int(at.LIMIT)] = np.where(detector.watched, detector.contact.base, np.inf)
        self._memory = (
            parts.observer.memory,
            parts.gap.own,
            parts.gap.common,
            parts.scale.own,
            parts.scale.common,
            self._stuck.own,
            *parts.noise.memory,
            self._before,
            self._contact,
            self._contact_own,
            *detector.memory,
            self._own,
            self._rows,
        )
        own = (self._before, self._contact, self._contact_own, self._own, self._rows)
        self._touch = (parts.noise.rows, *own)

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
        fault = Fault(sample.fault, sample.joint) if sample.fault else None
        joints: tuple[str, ...] = (sample.joint,) if fault and sample.joint else ()
        if found == at.SCALED:
            fault = scale_fault(float(self._own[int(at.EFFORT_FACTOR)]))
        elif found == at.STUCK:
            joint = self.model.joint_names[int(self._own[int(at.STUCK_JOINT)])]
            fault, joints = Fault(SENSOR_FREEZE, joint), (joint,)
        cases = self._parts.faults
        if fault is None and cases is not None:
            fault = cases.fault
        return Verdict(
            sample.t,
            Level.UNKNOWN,
            r,
            joints,
            fault=fault,
            cause=self._cause,
            payload=self._payload,
        )

    def _follow_case(self, sample: Sample, found: int) -> None:
        """Let the cause of a contact be named as far as it is due at this sample."""
        faults = self._parts.faults
        if faults is None or not self.naming:
            return
        if found > at.COLLISION:
            faults.pause(sample.t)
            return
        rows = self._rows
        follow = faults.update(
            found >= at.CONTACT,
            sample.t,
            float(self._own[int(at.STEP)]),
            sample.q,
            sample.qd,
            rows[int(at.MEAN)],
            rows[int(at.EXTERNAL)],
            self._parts.noise.rows[int(BIAS)],
        )
        if follow:
            self.carry(faults.found, sample.t)

    def _decide(self, t: float, found: int) -> None:
        """Let the link be decided as far as it is due at this sample."""
        links, due = self._parts.links, float(self._own[int(at.LINK_DUE)])
        touched = at.CONTACT <= found <= at.COLLISION
        if links is None or not self.naming or not (touched or due or links.busy):
            return
        if found > at.COLLISION:
            links.reset()
            return
        rows = (contact_mean.Y, contact_mean.Q, contact_mean.SPEED)
        links.update(t, touched, due, *(self._contact[int(row)] for row in rows))

    def _located(self, t: float, q: Array, r: Array, level: Level) -> Verdict:
        joints: tuple[str, ...] = ()
        if level >= Level.CONTACT:
            detector, noise = self._parts.detector.memory[0], self._parts.noise
            at.mark_joints(detector, noise.rows, noise.own, self._above)
            joints = tuple(compress(self.model.joint_names, self._above.tolist()))
            self._stop = int(self._own[int(at.STOP)])
        links = self._parts.links
        answer, ended = (None, None) if links is None else (links.answer, links.ended)
        where = (self.model, self.settings, q, r)
        faults = self._parts.faults
        case = None if faults is None else faults.fault
        verdict = Verdict(t, level, r, joints, fault=case, payload=self._payload)
        return located(verdict, *where, answer, ended, self._stop)


def torque_of(settings: MonitorSettings, effort: EffortSettings, commanded: bool) -> Torque:
    """Return what the torque of the samples is, for the classifier of faults."""
    friction = settings.friction or effort.friction == "model"
    return Torque(commanded, commanded or effort.side == "motor", friction)


def why_restarted(found: int, status: int, dt: float, cause: str, late: bool) -> str:
    """Return why the monitor started anew or settles again; empty: for the same reason as before.

    found: by `judge`; the rest are fields of the sample.
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


def decisions(
    model: RobotModel, settings: MonitorSettings, surfaces: LinkSurfaces
) -> LinkDecisions:
    """Return what decides on the touched link."""
    isolator = ContactIsolator(model, surfaces, settings.isolation)
    return LinkDecisions(isolator, lambda speed: mean_noise(model, settings, speed))


def located(
    verdict: Verdict,
    model: RobotModel,
    settings: MonitorSettings,
    q: Array,
    r: Array,
    answer: Isolation | None,
    ended: Isolation | None,
    stop: int,
) -> Verdict:
    """Return a verdict of a known level with link and wrench.

    answer: about the present contact, None: links are not named; ended: about one that is over;
    stop: the joint at its stop in the last contact, counted from 1, negative at the lower one.
    """
    joint = model.joint_names[abs(stop) - 1] if stop else ""
    if joint and (verdict.fault or verdict.level >= Level.CONTACT):  # a case outlasts its contact
        verdict = verdict._replace(fault=stop_fault(verdict.fault, joint))
    if ended is not None:
        size = math.nan if ended.force is None else float(np.linalg.norm(ended.force))
        told = Ended(ended.link or "", ended.name, ended.probability, size)
        verdict = verdict._replace(ended=told)
    if verdict.level < Level.CONTACT:
        link = settings.wrench_link
        wrench = chosen_wrench(model, settings, q, r) if link else NO_WRENCH
        return verdict._replace(wrench=wrench, wrench_link=link or model.link_names[-1])
    push: Array | None = None
    at_link = ""
    if joint:
        verdict = verdict._replace(link_cause=stop_text(joint, stop))
    elif answer is not None:
        name, cause = answer.name, answer.reason
        cause = cause or ("" if name else UNDECIDED)
        verdict = verdict._replace(
            link=answer.link or "", where=name, confidence=answer.probability, link_cause=cause
        )
        push, at_link = push_wrench(model, settings, q, r, answer), answer.link or ""
    if settings.wrench_link:
        push, at_link = chosen_wrench(model, settings, q, r), settings.wrench_link
    return verdict._replace(wrench=push, wrench_link=at_link)


def stop_fault(case: Fault | None, joint: str) -> Fault:
    """Return the fault to report for a joint at its stop; case: the cause named so far.

    A joint that swings freely ends at its stop: that name stays.
    """
    if case is None or case.kind in HARMLESS_KINDS:
        return Fault(JOINT_STOP, joint)
    held = case.kind in STOP_KINDS and case.joint == joint
    return Fault(JOINT_STOP, joint) if held else case


def stop_text(joint: str, stop: int) -> str:
    """Return which end of its range a joint has run into."""
    return f"{joint} at its {'upper' if stop > 0 else 'lower'} stop"


def push_wrench(
    model: RobotModel, settings: MonitorSettings, q: Array, r: Array, answer: Isolation
) -> Array | None:
    """Return the wrench (6,) [N, N m] of a push that was found, in the axes of its link.

    None if its force is not known, or if hardly anything of it is left.
    """
    if answer.link is None or answer.force is None or answer.place is None:
        return None
    variance = np.diag(mean_noise(model, settings, np.zeros(model.n)))
    force = followed_force(model, q, r, answer.link, answer.place, answer.force, variance)
    if math.hypot(*force) < LEAST_FORCE:
        return None
    F = forward_kinematics(model, q, answer.link)[:3, :3].T @ force
    return np.concatenate([F, np.cross(answer.place, F)])


def chosen_wrench(model: RobotModel, settings: MonitorSettings, q: Array, r: Array) -> Array:
    """Return the wrench (6,) [N, N m] that explains the residual on `wrench_link`, in its axes."""
    link, limit = settings.wrench_link, np.broadcast_to(settings.contact.base, (model.n,))
    # Far less than a threshold is noise
    weights = 1.0 / np.maximum(0.1 * limit, 1e-6)
    W = external_wrench(model, q, r, link, weights=weights, likely=LIKELY_FORCE)
    R_link = forward_kinematics(model, q, link)[:3, :3]
    return np.concatenate([R_link.T @ W[:3], R_link.T @ W[3:]])


class Rows(NamedTuple):
    """What the monitor finds in each of many samples."""

    r: Array  # (T, n) residual [N m or N]
    certain: Array  # (T, n) the same without what gaps may have caused; empty unless asked for
    found: Codes  # (T,) a level, or why it is UNKNOWN
    value: Array  # (T,) what that reason is about; in a contact, the joint at its stop
    above: npt.NDArray[np.bool_]  # (T, n) joints above a threshold
    external: Array  # (T, n) mean external torque since the previous sample; as `certain`
    due: Array  # (T,) when a decision about the link is due, as LINK_DUE of `monitor_step`
    means: Array  # (T, 3, n) there: mean residual [N m or N], posture and speed of the contact

    @property
    def level(self) -> Codes:
        """Levels (T,), as in `Level`."""
        return np.where(self.found <= at.COLLISION, self.found, at.UNKNOWN)


def empty_rows(samples: Samples, certain: bool) -> Rows:
    """Return room for what is found in these samples; certain: as in `monitor_rows`."""
    T, n = samples.q.shape
    return Rows(
        np.zeros((T, n)),
        np.zeros((T if certain else 0, n)),
        np.zeros(T, dtype=np.int64),
        np.zeros(T),
        np.zeros((T, n), dtype=np.bool_),
        np.zeros((T if certain else 0, n)),
        np.zeros(T),
        np.zeros((T, 3, n)),
    )


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
    """Return what `ContactMonitor` finds in these samples, one after the other, without the causes
    of contacts; with these, see `case_rows`.

    certain: also the residual without what gaps may have caused, and the mean external torque of
    every step.
    """
    monitor = ContactMonitor(
        model, settings, sensing, commanded=commanded, effort=effort, links=False, faults=False
    )
    out = empty_rows(samples, certain)
    at.steps(*monitor.memory, *monitor.recording(samples), *out)
    return out


def compare_rows(
    model: RobotModel, samples: Samples, rows: Rows, settings: MonitorSettings
) -> Codes:
    """Return the levels (T,) that other thresholds would have given.

    rows: of the same samples, all usable, with `certain` residuals.
    """
    resets = (samples.status == Status.RESTART) | (samples.late != 0) | (rows.found > at.SETTLING)
    monitor = ContactMonitor(model, settings, links=False, faults=False)
    level = np.zeros(samples.t.size, dtype=np.int64)
    arrays = (resets.astype(np.int64), samples.t, rows.certain, samples.q, samples.qd)
    at.compare_samples(*monitor.memory[-4:], *arrays, level)
    return level
