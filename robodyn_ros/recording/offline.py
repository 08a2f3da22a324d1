"""`detect`: the live pipeline over a whole recording.

The samples come from `sensing`, the verdicts from the compiled step of `ContactMonitor`: what the
node says about a recording is what this says about it, sample by sample. Link and wrench are
computed when they are asked for, by the monitor's own decisions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..detection.case_rows import CaseRows, case_rows
from ..detection.detector import Level
from ..detection.fault import Fault
from ..detection.faults.race import CAUSES
from ..detection.isolation import Isolation
from ..detection.link_naming import NO_ANSWER
from ..detection.monitor_parts import decisions
from ..detection.monitor_rows import Rows
from ..detection.monitor_settings import MonitorSettings
from ..detection.monitor_step import CONTACT
from ..detection.monitor_verdict import (
    located,
    push_wrench,
    stop_fault,
    unknown_cause,
    unknown_fault,
)
from ..detection.verdict import Verdict
from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from ..model.surface import surface_points
from ..sensing.effort import JointTorque
from ..sensing.effort_settings import EffortSettings
from ..sensing.log import Log
from ..sensing.sample import Status
from ..sensing.sampler import Samples, sample_rows
from ..sensing.settings import SensingSettings

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

LOCATED_SAMPLES = 25  # of an event, from which its force is estimated


@dataclass(frozen=True)
class Event:
    """A contiguous contact: its samples are CONTACT or above."""

    start: float  # [s]
    end: float  # [s]
    level: Level  # the highest; CLEAR: a known contact that was missed
    link: str  # touched link, decided from the whole event; empty: not known
    joints: tuple[str, ...]  # above a threshold
    force: float  # [N], median; NaN: unknown
    fault: Fault | None = None
    confidence: float = 0.0  # probability that `link` is the touched one, 0 to 1
    where: str = ""  # the touched link for people: 'link_5', 'link_5 or beyond'
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
    cases: RecordedCases = field(default_factory=lambda: RecordedCases(no_cases()))
    # Rows of rejected messages after which the verdict before them stands
    standing: frozenset[int] = frozenset()

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
    def touched(self) -> Codes:
        """Samples that are CONTACT or above (C,)."""
        return np.flatnonzero(self.level >= CONTACT)

    @cached_property
    def link(self) -> npt.NDArray[np.str_]:
        """Touched link (T,) as reported at each sample: its name, or ''."""
        names = [""] * self.t.size
        for k, answer in self._decided.answer.items():
            names[k] = "" if self.rows.value[k] else answer.link or ""
        return np.array(names, dtype=np.str_)

    @cached_property
    def wrench(self) -> Array:
        """External force [N] and torque [N m] (T, 6), in the axes of the touched link or of
        `wrench_link`; NaN where it is unknown.
        """
        found = np.zeros((self.t.size, 6))
        found[self.level == Level.UNKNOWN] = np.nan
        wanted = self.level >= (Level.CLEAR if self.settings.wrench_link else CONTACT)
        for k in np.flatnonzero(wanted).tolist():
            wrench = self.verdict(k).wrench
            found[k] = np.nan if wrench is None else wrench
        return found

    @cached_property
    def events(self) -> list[Event]:
        """Contacts in order of time: contiguous CONTACT or above is one event."""
        rows = self.touched
        breaks = np.flatnonzero(np.diff(rows) > 1) + 1
        return [self.event(part) for part in np.split(rows, breaks)] if rows.size else []

    def event(self, rows: Codes) -> Event:
        """Return the event made of these samples, in order."""
        level = Level(int(self.level[rows].max()))
        joints = self._names(np.asarray(self.rows.above[rows].any(axis=0)))
        start, end = float(self.t[rows[0]]), float(self.t[rows[-1]])
        stop = int(self.rows.value[rows[-1]])
        fault = self.cases.last(int(rows[0]))
        if stop:
            fault = stop_fault(fault, self.model.joint_names[abs(stop) - 1])
            return Event(start, end, level, "", joints, np.nan, fault)
        answer = self.answer(rows)
        return Event(
            start,
            end,
            level,
            answer.link or "",
            joints,
            self.force(rows),
            fault,
            confidence=answer.probability,
            where=answer.name,
        )

    def answer(self, rows: Codes) -> Isolation:
        """Return the last decision about the contact in these samples, of several the longest."""
        contacts = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        longest = max(contacts, key=len)
        return self._decided.last.get(int(longest[-1]), NO_ANSWER) if longest.size else NO_ANSWER

    def force(self, rows: Codes) -> float:
        """Return the median force [N] in these samples, by the last decision; NaN: unknown."""
        answer, forces = self.answer(rows), []
        for k in rows[np.unique(np.linspace(0, rows.size - 1, LOCATED_SAMPLES).astype(int))]:
            wrench = push_wrench(self.model, self.settings, self.samples.q[k], self.r[k], answer)
            if wrench is not None:
                forces.append(float(np.linalg.norm(wrench[:3])))
        return float(np.median(forces)) if forces else np.nan

    def joints(self, k: int) -> tuple[str, ...]:
        """Return the joints above a threshold at sample k."""
        return self._names(self.rows.above[k])

    def verdict(self, k: int) -> Verdict:
        """Return the verdict on sample k, as the node published it."""
        level, r = Level(int(self.level[k])), self.r[k]
        if level is Level.UNKNOWN:
            fault = self._fault(k)
            stuck = (fault.joint,) if fault and fault.joint else ()
            named = (fault or self.cases.at(k), self.cause(k))
            unknown = Verdict(float(self.t[k]), level, r, stuck, fault=named[0], cause=named[1])
            return unknown._replace(payload=self.cases.payload(k))
        verdict, decided = Verdict(float(self.t[k]), level, r, self.joints(k)), self._decided
        verdict = verdict._replace(fault=self.cases.at(k), payload=self.cases.payload(k))
        last = int(np.searchsorted(self.touched, k, side="right")) - 1
        stop = int(self.rows.value[self.touched[last]]) if last >= 0 else 0
        where = (self.model, self.settings, self.samples.q[k], r)
        answer = decided.answer.get(k, NO_ANSWER)
        return located(verdict, *where, answer, decided.ended.get(k), stop)

    def cause(self, k: int) -> str:
        """Return why sample k is UNKNOWN; empty if it is not."""
        if self.level[k] != Level.UNKNOWN:
            return ""
        while k > 0 and not (text := self._own_cause(k)):
            k -= 1
        return text if k > 0 else self._own_cause(0) or "just started"

    def only(self, kept: npt.NDArray[np.bool_]) -> Detection:
        """Return the same for some of the samples."""
        if kept.all():
            return self
        where = {int(k): row for row, k in enumerate(np.flatnonzero(kept))}
        s = self.samples
        samples = replace(
            s,
            **{name: getattr(s, name)[kept] for name in _COLUMNS},
            causes={where[k]: text for k, text in s.causes.items() if k in where},
            faults={where[k]: fault for k, fault in s.faults.items() if k in where},
        )
        r = self.rows
        rows = r._replace(**{name: x[kept] for name, x in r._asdict().items() if x.size})
        standing = frozenset(where[k] for k in self.standing if k in where)
        cases = self.cases.only(kept)
        return replace(self, samples=samples, rows=rows, cases=cases, standing=standing)

    def since(self, start: float) -> Detection:
        """Return the same with times counted from `start` [s]."""
        return replace(self, samples=replace(self.samples, t=self.samples.t - start))

    def _own_cause(self, k: int) -> str:
        if self.level[k] != Level.UNKNOWN or k in self.standing:
            return ""
        s = self.samples
        return unknown_cause(
            int(self.rows.found[k]),
            float(self.rows.value[k]),
            self.model.joint_names,
            status=int(s.status[k]),
            dt=float(s.dt[k]),
            cause=s.causes.get(k, ""),
            late=bool(s.late[k]),
        )

    def _fault(self, k: int) -> Fault | None:
        while k in self.standing:
            k -= 1
        if k < 0:
            return None
        found, value = int(self.rows.found[k]), float(self.rows.value[k])
        own = self.samples.faults.get(k, ("", ""))
        return unknown_fault(found, value, self.model.joint_names, *own)

    def _names(self, above: npt.NDArray[np.bool_]) -> tuple[str, ...]:
        return tuple(name for name, on in zip(self.model.joint_names, above, strict=True) if on)

    @cached_property
    def _decided(self) -> _Decided:
        """What `LinkDecisions` says when it gets these samples one by one."""
        decided = _Decided({}, {}, {})
        if not self.rows.due.any():
            return decided
        links = decisions(self.model, self.settings, surface_points(self.model))
        rows, T, touched, unknown = self.rows, self.t.size, self.touched, int(Level.UNKNOWN)
        # A message was rejected and the verdict before it stands
        invalid = self.samples.status == Status.INVALID
        stands = (invalid & (self.level != unknown)).data
        # Single numbers of an array are taken sooner through a view of its memory
        level, due, times = self.level.data, rows.due.data, self.t.data
        none = (np.zeros(0),) * 3
        starts = touched[np.diff(touched, prepend=-2) > 1].tolist()
        k = last = -1
        for start in starts:
            if start < k:  # passed already
                continue
            k = start
            while k < T and (level[k] >= CONTACT or due[k] or links.busy):
                if stands[k]:
                    if level[k] >= CONTACT:
                        last = k
                        decided.answer[k] = decided.last[k] = links.answer
                    k += 1
                    continue
                if level[k] == unknown:
                    links.reset()
                    break
                contact = level[k] >= CONTACT
                links.update(times[k], contact, due[k], *(rows.means[k] if due[k] else none))
                if links.ended is not None:
                    decided.ended[k] = decided.last[last] = links.ended
                if contact:
                    last = k
                    decided.answer[k] = decided.last[k] = links.answer
                k += 1
        return decided


def no_cases() -> CaseRows:
    """Return cases of a recording whose contacts were not named."""
    return CaseRows(np.zeros(0, dtype=np.int64), (), (), np.zeros((0, len(CAUSES))))


class RecordedCases:
    """Names of the causes of contacts; kept: rows of the recording that are left, else all."""

    def __init__(self, found: CaseRows, kept: Codes | None = None) -> None:
        self._found, self._kept = found, kept

    def only(self, kept: npt.NDArray[np.bool_]) -> RecordedCases:
        """Return the same for some of the rows."""
        rows = np.flatnonzero(kept)
        return RecordedCases(self._found, rows if self._kept is None else self._kept[rows])

    def at(self, k: int) -> Fault | None:
        """Return the name of the open case at row k; None: none is open."""
        return self._found.at(self._row(k))

    def last(self, k: int) -> Fault | None:
        """Return the last name of the case that is open at row k."""
        found, row = self._found, self._row(k)
        i = int(np.searchsorted(found.rows, row, side="right")) - 1
        if i < 0 or found.faults[i] is None:
            return None
        while i + 1 < len(found.faults) and found.faults[i + 1] is not None:
            i += 1
        return found.faults[i]

    def decisions(self) -> tuple[Codes, Array]:
        """Return the rows of all decisions (D,), and the probability of each cause there (D, 7),
        as in `race.CAUSES`; NaN where a case is over.
        """
        found = self._found
        rows, chances = found.rows, found.chances
        if self._kept is not None:
            inside = np.isin(rows, self._kept)
            rows, chances = np.searchsorted(self._kept, rows[inside]), chances[inside]
        return np.asarray(rows, dtype=np.int64), chances

    def named(self, t: Array) -> list[tuple[float, float, Fault]]:
        """Return first and last decision [s] of each case, and its last name; t: of the rows."""
        rows, _ = self.decisions()
        cases: list[tuple[float, float, Fault]] = []
        begun: float | None = None
        for row in rows.tolist():
            fault, now = self.at(row), float(t[row])
            if fault is None:
                begun = None
            elif begun is None:
                begun = now
                cases.append((begun, now, fault))
            else:
                cases[-1] = (begun, now, fault)
        return cases

    def payload(self, k: int) -> Payload | None:
        """Return the payload that the model includes at row k."""
        return self._found.payload(self._row(k))

    def _row(self, k: int) -> int:
        return k if self._kept is None else int(self._kept[k])


class _Decided(NamedTuple):
    """Decisions about links, by sample."""

    answer: dict[int, Isolation]  # while a contact lasts
    ended: dict[int, Isolation]  # the last one, when it was made
    last: dict[int, Isolation]  # the last one, by the last sample of the contact


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

    rows, cases = case_rows(
        model,
        samples,
        settings,
        sensing,
        commanded=commanded,
        certain=certain,
        effort=effort,
    )
    limit = (sensing or SensingSettings()).max_invalid
    return Detection(
        model, settings, samples, rows, RecordedCases(cases), standing_rows(samples, limit)
    )


def standing_rows(samples: Samples, max_invalid: float) -> frozenset[int]:
    """Return the rejected samples after which the verdict before them stands: those with at most
    `max_invalid` in a row up to them.
    """
    place, invalid = np.arange(samples.t.size), samples.status == Status.INVALID
    in_a_row = place - np.maximum.accumulate(np.where(invalid, -1, place))
    return frozenset(np.flatnonzero(invalid & (in_a_row <= max_invalid)).tolist())


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
