"""`detect`: the live pipeline over a whole recording.

The samples come from `sensing`, the verdicts from the compiled step of `ContactMonitor`: what the
node says about a recording is what this says about it, sample by sample. Link and wrench are
computed when they are asked for, by the monitor's own rule.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level
from ..detection.effort_scale import scale_text
from ..detection.fault import EFFORT_SCALE, SENSOR_FREEZE, Fault
from ..detection.monitor import TARING as TARING_TEXT
from ..detection.monitor import Rows, locate, monitor_rows, why_restarted
from ..detection.monitor_settings import MonitorSettings
from ..detection.monitor_step import CONTACT, GAP, OVERFLOW, SCALED, STUCK, TARING, UNSTUCK
from ..detection.verdict import Verdict
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.effort import JointTorque
from ..sensing.effort_settings import EffortSettings
from ..sensing.log import Log
from ..sensing.sample import Status
from ..sensing.sampler import Samples, sample_rows
from ..sensing.settings import SensingSettings

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

LOCATED_SAMPLES = 25  # of an event, from which its link and force are estimated


@dataclass(frozen=True)
class Event:
    """A contiguous contact: its samples are CONTACT or above."""

    start: float  # [s]
    end: float  # [s]
    level: Level  # the highest; CLEAR: a known contact that was missed
    link: str  # touched link; empty: cannot be told
    joints: tuple[str, ...]  # above a threshold
    force: float  # [N], median; NaN if none
    fault: Fault | None = None
    true: bool | None = None  # whether there was a contact; None: unknown
    delay: float = np.nan  # [s], from the contact to the first sample of the event

    @property
    def detected(self) -> str:
        """Name of the level; empty if the contact was missed."""
        return self.level.name if self.level >= Level.CONTACT else ""


@dataclass(frozen=True, eq=False)
class Detection:
    """The monitor's verdicts on all samples of a recording."""

    model: RobotModel
    settings: MonitorSettings
    samples: Samples
    rows: Rows

    @property
    def t(self) -> Array:
        """Times (T,) [s]."""
        return self.samples.t

    @property
    def r(self) -> Array:
        """Residual (T, n) [N m or N]."""
        return self.rows.r

    @property
    def certain(self) -> Array:
        """Residual (T, n) [N m or N] without what lost samples may have caused; see `detect`."""
        return self.rows.certain

    @property
    def status(self) -> Codes:
        """Status of each sample (T,), as in `rd.Status`."""
        return self.samples.status

    @cached_property
    def level(self) -> Codes:
        """Level of each sample (T,), as in `rd.Level`."""
        return self.rows.level

    @cached_property
    def link(self) -> npt.NDArray[np.str_]:
        """Touched link of each sample (T,): its name, or '' if there is none."""
        names = [""] * self.t.size
        for k, (link, *_) in self._located.items():
            names[k] = link
        return np.array(names, dtype=np.str_)

    @cached_property
    def wrench(self) -> Array:
        """External force [N] and torque [N m] (T, 6), in the axes of the touched or last link."""
        found = np.zeros((self.t.size, 6))
        for k, (*_, wrench) in self._located.items():
            found[k] = wrench
        return found

    @cached_property
    def events(self) -> list[Event]:
        """Contacts in order of time: contiguous CONTACT or above is one event."""
        touched = np.concatenate([[False], self.level >= CONTACT, [False]])
        edges = np.flatnonzero(np.diff(touched.astype(np.int8)))
        return [self.event(np.arange(a, b)) for a, b in edges.reshape(-1, 2).tolist()]

    def event(self, rows: Codes) -> Event:
        """Return the event made of these samples, in order."""
        level = Level(int(self.level[rows].max()))
        joints = self._names(np.asarray(self.rows.above[rows].any(axis=0)))
        link, force = self.where(rows)
        start, end = float(self.t[rows[0]]), float(self.t[rows[-1]])
        return Event(start, end, level, link, joints, force)

    def where(self, rows: Codes) -> tuple[str, float]:
        """Return the link named most often in these samples, and the median force on it [N]."""
        if not rows.size:
            return "", np.nan
        chosen = rows[np.unique(np.linspace(0, rows.size - 1, LOCATED_SAMPLES).astype(int))]
        found = [self._locate(int(k)) for k in chosen]
        links = [link for link, *_ in found if link]
        link = max(set(links), key=links.count) if links else ""
        forces = [np.linalg.norm(wrench[:3]) for where, _, _, wrench in found if where == link]
        return link, float(np.median(forces))

    def joints(self, k: int) -> tuple[str, ...]:
        """Return the joints above a threshold at sample k."""
        return self._names(self.rows.above[k])

    def verdict(self, k: int) -> Verdict:
        """Return the verdict on sample k, as the node published it."""
        level, r = Level(int(self.level[k])), self.r[k]
        if level is Level.UNKNOWN:
            fault = self._fault(k)
            stuck = (fault.joint,) if fault and fault.joint else ()
            return Verdict(float(self.t[k]), level, r, stuck, fault=fault, cause=self.cause(k))
        link, link_cause, wrench_link, wrench = self._locate(k)
        t, joints = float(self.t[k]), self.joints(k)
        return Verdict(t, level, r, joints, link, wrench, wrench_link, link_cause=link_cause)

    def cause(self, k: int) -> str:
        """Return why sample k is UNKNOWN; empty if it is not."""
        if self.level[k] != Level.UNKNOWN:
            return ""
        while k > 0 and not (text := self._own_cause(k)):
            k -= 1
        return text if k > 0 else self._own_cause(0) or "just started"

    def only(self, kept: npt.NDArray[np.bool_]) -> Detection:
        """Return the same for some of the samples."""
        where = {int(k): row for row, k in enumerate(np.flatnonzero(kept))}
        s = self.samples
        samples = replace(
            s,
            **{name: getattr(s, name)[kept] for name in _COLUMNS},
            causes={where[k]: text for k, text in s.causes.items() if k in where},
            faults={where[k]: text for k, text in s.faults.items() if k in where},
        )
        r = self.rows
        rows = r._replace(**{name: x[kept] for name, x in r._asdict().items() if x.size})
        return replace(self, samples=samples, rows=rows)

    def since(self, start: float) -> Detection:
        """Return the same with times counted from `start` [s]."""
        return replace(self, samples=replace(self.samples, t=self.samples.t - start))

    def _own_cause(self, k: int) -> str:
        found, value, s = int(self.rows.found[k]), float(self.rows.value[k]), self.samples
        if found == SCALED:
            return scale_text(value)
        if found == STUCK:
            joint = self.model.joint_names[int(value)]
            return f"joint '{joint}' reads the same although its torque moves"
        if found == OVERFLOW:
            return "the momentum of the sample is not finite"
        if found == TARING:
            return TARING_TEXT
        text = why_restarted(
            found, int(s.status[k]), float(s.dt[k]), s.causes.get(k, ""), bool(s.late[k])
        )
        return text if found in (GAP, UNSTUCK) or self.level[k] == Level.UNKNOWN else ""

    def _fault(self, k: int) -> Fault | None:
        found, value = int(self.rows.found[k]), float(self.rows.value[k])
        if found == SCALED:
            return Fault(EFFORT_SCALE, value=value)
        if found == STUCK:
            return Fault(SENSOR_FREEZE, self.model.joint_names[int(value)])
        kind = self.samples.faults.get(k, "")
        return Fault(kind) if kind else None

    def _names(self, above: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(name for name, on in zip(self.model.joint_names, above, strict=True) if on)

    def _locate(self, k: int) -> tuple[str, str, str, Array]:
        """Return link, why none is named, and the wrench's link and values, of sample k."""
        q, r, level = self.samples.q[k], self.r[k], int(self.level[k])
        return locate(self.model, self.settings, q, r, level)

    @cached_property
    def _located(self) -> dict[int, tuple[str, str, str, Array]]:
        """`_locate` of every sample that has a link or a wrench."""
        wanted = self.level >= CONTACT
        if self.settings.wrench_link:
            wanted = self.level != Level.UNKNOWN
        return {int(k): self._locate(int(k)) for k in np.flatnonzero(wanted)}


_COLUMNS = ("t", "dt", "q", "qd", "tau", "status", "late")


def detect(
    model: RobotModel,
    log: Log | Samples,
    settings: MonitorSettings | None = None,
    sensing: SensingSettings | None = None,
    *,
    commanded: bool = False,
    certain: bool = False,
    effort: EffortSettings | None = None,
) -> Detection:
    """Return the verdicts of the live pipeline on every sample of a log.

    commanded: the log's torque is the commanded one, not measured. certain: keep the residual
    without what lost samples may have caused, too. effort: what the log's tau means, by default
    the motors' torque; its `source` does not matter here.
    """
    samples, settings = samples_of(model, log, sensing), settings or MonitorSettings()
    samples = JointTorque(model, effort).of_samples(samples)
    rows = monitor_rows(
        model, samples, settings, sensing, commanded=commanded, certain=certain, effort=effort
    )
    return Detection(model, settings, samples, rows)


def samples_of(
    model: RobotModel, log: Log | Samples, sensing: SensingSettings | None = None
) -> Samples:
    """Return the samples of a log, as `sensing` judges them."""
    if isinstance(log, Samples):
        return log
    if log.n != model.n:
        raise ArgumentError(f"the log has {log.n} joints, robot '{model.name}' has {model.n}")
    period = float(np.median(np.diff(log.t)))
    return sample_rows(model, log.t, log.q, log.qd, log.tau, sensing, period=period)


def usable(samples: Samples) -> npt.NDArray[np.bool_]:
    """Return which samples are valid and have a torque (T,)."""
    return np.asarray((samples.status <= Status.RESTART) & ~np.isnan(samples.tau).any(axis=1))
