"""ContactMonitor: from samples to verdicts.

    Sample ─► gap compensation ─► observer ─► effort scale ─► stuck readings ─► detector ─► Verdict

One compiled step does all of it but naming the link and the wrench; `monitor_rows` runs the same
step over a whole recording. There is no clock here: times come with the samples, which `sensing`
has judged.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel
from ..dynamics.kinematics import forward_kinematics
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..sensing.gap_compensation import GapCompensation, fill_gap, restart_gap, shrink
from ..sensing.sample import Sample, Status
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from ..sensing.stuck import READING, StuckCheck, find_stuck, forget_readings
from ..settings import one_or_each
from .detector import COLLISION_ON, CONTACT_ON, ON, CollisionDetector, Level, follow, forget_times
from .detector import DT as DETECTOR_DT
from .detector import ROWS as DETECTOR_ROWS
from .effort_scale import USUAL_SCALES, EffortScale, find_scale, restart_scale, scale_text
from .fault import EFFORT_SCALE, SENSOR_FREEZE, Fault
from .isolation import isolate
from .monitor_settings import MonitorSettings
from .observer import MomentumObserver, observe, restart_observer, set_step
from .verdict import Verdict
from .wrench import external_wrench

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

NO_WRENCH = np.zeros(6)
LIKELY_FORCE = 100.0  # [N], a contact's usual size: directions hardly felt give no larger one
ROUNDING = 1e-6  # [s], of the difference of two stamps
LOWEST_SCALE, HIGHEST_SCALE = USUAL_SCALES

# What a step finds: a level of `Level`, or why that is UNKNOWN
UNKNOWN, CLEAR, CONTACT, COLLISION = (int(level) for level in Level)
SETTLING, GAP, OVERFLOW, SCALED, STUCK, UNSTUCK = range(10, 16)
# How a sample is told to the step, as bits
RESTARTS, USABLE, LATE = 1, 2, 4

# Scalars: time of the previous sample [s], whether there was one, time since the detector was
# reset and its settling time [s], the observer's longest step [s], whether velocity matters to the
# thresholds, whether torque is commanded, share of the threshold that counts for stuck readings,
# with their time [s] and number of samples, the stuck joint, the scale of the effort
(
    LAST,
    RUNNING,
    SETTLED,
    SETTLING_TIME,
    LONGEST_STEP,
    MOVING,
    COMMANDED,
    STUCK_SHARE,
    STUCK_TIME,
    STUCK_SAMPLES,
    STUCK_JOINT,
    EFFORT_FACTOR,
    SCALARS,
) = (U(k) for k in range(13))
# Rows, n numbers each: residual, previous velocity, smoothed acceleration, torque, its mean over
# the step and its change, residual without what gaps may have caused, observer gain, contact
# threshold at rest (inf for a masked joint), torque change that counts for stuck readings
R, QD, QDD, TAU, MEAN, CHANGE, CERTAIN, GAIN, LIMIT, ENOUGH, ROWS = (U(k) for k in range(11))


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])"
)
def restart(observer, gap, gap_common, scale, scale_time, stuck, detector, _, own, rows):
    """Forget everything that was measured."""
    restart_observer(observer)
    restart_gap(gap, gap_common)
    restart_scale(scale, scale_time)
    forget_readings(stuck)
    forget_times(detector)
    for k in range(U(rows.shape[1])):
        rows[R, k] = rows[QDD, k] = 0.0
    own[RUNNING], own[SETTLED], own[STUCK_JOINT] = 0.0, 0.0, -1.0
    return 0


@inline
def _accelerate(rows, qd, before, dt):
    """Update the acceleration: differences of velocity, smoothed as the residual is."""
    gain, blend = -1.0, 0.0
    for k in range(U(qd.size)):
        if rows[GAIN, k] != gain:  # most arms have one gain for all joints
            gain = rows[GAIN, k]
            blend = -math.expm1(-gain * dt)
        rows[QDD, k] += blend * ((qd[k] - before[k]) / dt - rows[QDD, k])


@inline
def _compare(detector, common, own, r, qd, qdd, dt):
    """Compare a residual with its thresholds; return the level, or SETTLING."""
    common[DETECTOR_DT] = dt
    above = follow(detector, common, r, qd, qdd)
    own[SETTLED] += dt
    if above < 0:
        return OVERFLOW
    if own[SETTLED] <= own[SETTLING_TIME]:
        return SETTLING
    if above & COLLISION_ON:
        return COLLISION
    return CONTACT if above & CONTACT_ON else CLEAR


@inline
def _step(
    observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows,
    told, t, q, qd, tau,
):  # fmt: skip
    """Take one sample; return the level found, or why it is UNKNOWN."""
    n = U(rows.shape[1])
    usable, reason = told & USABLE != 0, SETTLING
    dt = t - own[LAST]
    frozen = int(own[STUCK_JOINT])
    if usable and frozen >= 0 and q[frozen] != stuck[READING, frozen]:
        reason = UNSTUCK
    elif usable and own[RUNNING] != 0.0 and dt > own[LONGEST_STEP] + ROUNDING:
        reason = GAP  # K dt must not exceed 1
    if told & RESTARTS or reason != SETTLING:
        restart(
            observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows
        )  # fmt: skip
    if told & LATE or not usable:
        forget_times(detector)
        own[SETTLED] = 0.0
    if not usable:
        return SETTLING
    first = own[RUNNING] == 0.0
    dt = own[LONGEST_STEP] if first else min(dt, own[LONGEST_STEP])
    inexact = fill_gap(gap, gap_common, tau, dt, rows[MEAN])
    set_step(observer, dt)
    if observe(observer, q, qd, rows[MEAN], rows[R]) != 0:
        forget_times(detector)
        own[SETTLED] = 0.0
        return OVERFLOW
    if own[MOVING] != 0.0 and not first:
        _accelerate(rows, qd, rows[QD], dt)
    for k in range(n):
        rows[QD, k] = qd[k]
        rows[CHANGE, k] = tau[k] - rows[TAU, k]
        rows[TAU, k] = tau[k]
    own[RUNNING], own[LAST] = 1.0, t
    if first:
        return reason
    own[EFFORT_FACTOR] = find_scale(scale, scale_time, rows[R], tau, dt)
    if not LOWEST_SCALE < own[EFFORT_FACTOR] < HIGHEST_SCALE:
        forget_times(detector)
        own[SETTLED] = 0.0
        return SCALED
    if own[COMMANDED] != 0.0:
        for k in range(n):
            rows[ENOUGH, k] = own[STUCK_SHARE] * rows[LIMIT, k]
            if abs(rows[R, k]) <= rows[ENOUGH, k]:
                rows[ENOUGH, k] = math.inf
        found = find_stuck(
            stuck, q, rows[CHANGE], rows[ENOUGH], dt, own[STUCK_TIME], own[STUCK_SAMPLES]
        )
        if own[STUCK_JOINT] < 0.0:
            own[STUCK_JOINT] = found
        if own[STUCK_JOINT] >= 0.0:
            forget_times(detector)
            own[SETTLED] = 0.0
            return STUCK
    r = rows[R]
    if inexact:
        shrink(gap, rows[R], rows[CERTAIN])
        r = rows[CERTAIN]
    return _compare(detector, common, own, r, qd, rows[QDD], dt)


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1],"
    " int64, float64, float64[::1], float64[::1], float64[::1])"
)
def step(
    observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows,
    told, t, q, qd, tau,
):  # fmt: skip
    """Take one sample; return the level found, or why it is UNKNOWN."""
    return _step(
        observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows,
        told, t, q, qd, tau,
    )  # fmt: skip


class _Parts(NamedTuple):
    """What works with one set of settings."""

    settings: MonitorSettings
    observer: MomentumObserver
    detector: CollisionDetector
    scale: EffortScale
    gap: GapCompensation


class ContactMonitor:
    """Contact state of one robot, sample by sample.

    commanded: the samples' torque is the commanded one, not measured; then a joint whose reading
    ignores its torque gives UNKNOWN, too.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: MonitorSettings | None = None,
        sensing: SensingSettings | None = None,
        *,
        commanded: bool = False,
    ) -> None:
        self.model = model
        self._own, self._rows = np.zeros(int(SCALARS)), np.zeros((int(ROWS), model.n))
        self._own[int(COMMANDED)] = commanded
        self._stuck = StuckCheck(model.n, math.inf, 1)
        self.set_sensing(sensing or SensingSettings())
        self._take(self.prepare(settings or MonitorSettings()))
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
        told = USABLE * usable + RESTARTS * (sample.status is Status.RESTART) + LATE * sample.late
        tau = self._rows[int(TAU)] if sample.tau is None else sample.tau
        found = step(*self._memory, told, sample.t, sample.q, sample.qd, tau)
        r = self._rows[int(R)].copy()
        if found <= COLLISION:
            self._verdict = self._located(sample.t, sample.q, r, Level(found))
        else:
            self._cause = self._why(found, sample) or self._cause
            self._verdict = self._unknown(found, sample, r)
        return self._verdict

    def reset(self, cause: str = "just started") -> Verdict:
        """Forget everything; return the verdict, UNKNOWN until the observer has settled."""
        restart(*self._memory)
        self._invalid, self._cause = 0, cause
        self._verdict = Verdict(-math.inf, Level.UNKNOWN, np.zeros(self.model.n), cause=cause)
        return self._verdict

    def prepare(self, settings: MonitorSettings) -> _Parts:
        """Return observer and detector for new settings, or raise; nothing changes yet."""
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
        scale = EffortScale(model, observer.gain, detector.contact.base)
        return _Parts(settings, observer, detector, scale, GapCompensation(observer.gain))

    def apply(self, parts: _Parts) -> None:
        """Take over what was prepared, between two samples: nothing jumps."""
        parts.observer.continue_from(self._parts.observer)
        parts.detector.continue_from(self._parts.detector)
        parts.scale.continue_from(self._parts.scale)
        parts.gap.continue_from(self._parts.gap)
        self._take(parts)

    def set_sensing(self, sensing: SensingSettings) -> None:
        """Judge stuck readings and rejected samples by these limits from now on."""
        self._sensing = sensing
        self._own[int(STUCK_SHARE)] = sensing.stuck_torque_share
        self._own[int(STUCK_TIME)] = sensing.stuck_torque_time
        self._own[int(STUCK_SAMPLES)] = sensing.stuck_samples

    def _take(self, parts: _Parts) -> None:
        self._parts, detector = parts, parts.detector
        self._own[int(SETTLING_TIME)] = detector.settling
        self._own[int(LONGEST_STEP)] = parts.observer.longest_step
        self._own[int(MOVING)] = detector.contact.moving or detector.collision.moving
        self._rows[int(GAIN)] = parts.observer.gain
        self._rows[int(LIMIT)] = np.where(detector.watched, detector.contact.base, np.inf)
        self._memory = (
            parts.observer.memory,
            parts.gap.own,
            parts.gap.common,
            parts.scale.own,
            parts.scale.seconds,
            self._stuck.own,
            *detector.memory,
            self._own,
            self._rows,
        )

    def _why(self, found: int, sample: Sample) -> str:
        """Return why the level is UNKNOWN; empty: for the same reason as before."""
        if found == SCALED:
            return scale_text(float(self._own[int(EFFORT_FACTOR)]))
        if found == STUCK:
            k = int(self._own[int(STUCK_JOINT)])
            return stuck_text(self.model.joint_names[k], self._stuck.seconds(k))
        if found == OVERFLOW:
            return "the momentum of the sample is not finite"
        return why_restarted(found, sample.status, sample.dt, sample.cause, sample.late)

    def _unknown(self, found: int, sample: Sample, r: Array) -> Verdict:
        fault = Fault(sample.fault) if sample.fault else None
        joints: tuple[str, ...] = ()
        if found == SCALED:
            fault = Fault(EFFORT_SCALE, value=float(self._own[int(EFFORT_FACTOR)]))
        elif found == STUCK:
            joint = self.model.joint_names[int(self._own[int(STUCK_JOINT)])]
            fault, joints = Fault(SENSOR_FREEZE, joint), (joint,)
        return Verdict(sample.t, Level.UNKNOWN, r, joints, fault=fault, cause=self._cause)

    def _located(self, t: float, q: Array, r: Array, level: Level) -> Verdict:
        joints = self._parts.detector.above if level >= Level.CONTACT else ()
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
    if found == UNSTUCK:
        return "a joint that was stuck reads something else"
    if found == GAP:
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
    if level < CONTACT and not settings.wrench_link:
        return link, link_cause, wrench_link, NO_WRENCH
    limit = np.broadcast_to(settings.contact.base, (model.n,))
    if level >= CONTACT:
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


@kernel(
    "int64(float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1],"
    " int64[::1], int64[::1], int64, float64[::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1], float64[::1],"
    " boolean[:, ::1])"
)
def _steps(
    observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows,
    status, late, max_invalid, t, q, qd, tau, r, certain, found, value, above,
):  # fmt: skip
    """The same over many samples; value: what the reason for UNKNOWN is about."""
    n, invalid = U(rows.shape[1]), 0
    for k in range(U(t.size)):
        invalid = invalid + 1 if status[k] == 2 else 0
        if 0 < invalid <= max_invalid:  # the previous verdict stands
            found[k] = found[k - U(1)] if k > 0 else SETTLING
            for j in range(n):
                above[k, j] = k > 0 and above[k - U(1), j]
                r[k, j] = rows[R, j]
            if certain.size:
                shrink(gap, rows[R], certain[k])
            continue
        told = LATE * late[k]
        if status[k] == 1:
            told |= RESTARTS
        if status[k] <= 1 and not math.isnan(tau[k, 0]):
            told |= USABLE
        found[k] = _step(
            observer, gap, gap_common, scale, scale_time, stuck, detector, common, own, rows,
            told, t[k], q[k], qd[k], tau[k],
        )  # fmt: skip
        if found[k] == SCALED:
            value[k] = own[EFFORT_FACTOR]
        elif found[k] == STUCK:
            value[k] = own[STUCK_JOINT]
        if certain.size:
            shrink(gap, rows[R], certain[k])
        for j in range(n):
            r[k, j] = rows[R, j]
            on = detector[ON, j] != 0.0 or detector[DETECTOR_ROWS + ON, j] != 0.0
            above[k, j] = on and CONTACT <= found[k] <= COLLISION
    return 0


class Rows(NamedTuple):
    """What the monitor finds in each of many samples."""

    r: Array  # (T, n) residual [N m or N]
    certain: Array  # (T, n) the same without what gaps may have caused; empty unless asked for
    found: Codes  # (T,) a level, or why it is UNKNOWN
    value: Array  # (T,) what that reason is about
    above: npt.NDArray[np.bool_]  # (T, n) joints above a threshold

    @property
    def level(self) -> Codes:
        """Levels (T,), as in `Level`."""
        return np.where(self.found <= COLLISION, self.found, UNKNOWN)


def monitor_rows(
    model: RobotModel,
    samples: Samples,
    settings: MonitorSettings,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    certain: bool = False,
) -> Rows:
    """Return what `ContactMonitor` finds in these samples, one after the other.

    certain: also the residual without what gaps may have caused.
    """
    monitor = ContactMonitor(model, settings, sensing, commanded=commanded)
    T, n = samples.q.shape
    out = Rows(
        np.zeros((T, n)),
        np.zeros((T if certain else 0, n)),
        np.zeros(T, dtype=np.int64),
        np.zeros(T),
        np.zeros((T, n), dtype=np.bool_),
    )
    limit = int(monitor._sensing.max_invalid)
    arrays = (samples.t, samples.q, samples.qd, samples.tau)
    _steps(*monitor._memory, samples.status, samples.late, limit, *arrays, *out)
    return out


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], int64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], int64[::1])"
)
def _compare_rows(detector, common, own, rows, found, t, r, qd, level):
    """The last stage of `step` over many samples; found: by `step` with other thresholds."""
    for k in range(U(t.size)):
        if found[k] > SETTLING or k == 0:  # the observer restarted, or the sample was unusable
            forget_times(detector)
            own[SETTLED] = 0.0
            for j in range(U(r.shape[1])):
                rows[QDD, j] = 0.0
            level[k] = UNKNOWN
            continue
        dt = t[k] - t[k - U(1)]
        _accelerate(rows, qd[k], qd[k - U(1)], dt)
        found_level = _compare(detector, common, own, r[k], qd[k], rows[QDD], dt)
        level[k] = found_level if found_level <= COLLISION else UNKNOWN
    return 0


def compare_rows(
    model: RobotModel, found: Codes, t: Array, r: Array, qd: Array, settings: MonitorSettings
) -> Codes:
    """Return the levels (T,) that other thresholds would have given.

    found: as in `Rows` of the same usable samples; r: their residual (T, n), t: times (T,).
    """
    monitor = ContactMonitor(model, settings)
    level = np.zeros(t.size, dtype=np.int64)
    detector, common, own, rows = monitor._memory[-4:]
    _compare_rows(detector, common, own, rows, found, t, r, qd, level)
    return level
