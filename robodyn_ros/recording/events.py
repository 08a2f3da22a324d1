"""Events of a recording against the truth: contacts detected or missed, and false alarms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level
from ..detection.monitor_step import CONTACT
from .offline import Detection, Event
from .run import Array, Run, Span

MIN_TRUTH = 1e-6  # [N m or N]: a simulated truth is 0 but for rounding
SAME_CONTACT = 0.3  # [s]: contacts that are closer are one; a contact may be detected that late


def true_spans(run: Run) -> list[Span] | None:
    """Return begin and end of every true contact [s], or None if the recording has no truth."""
    if run.truth is None:
        return None
    t, torque = run.truth
    spans = spans_of(t, np.abs(torque).max(axis=1) > MIN_TRUTH)
    # The truth of a step is published at its end
    step = float(np.median(np.diff(t))) if t.size > 1 else 0.0
    return [(begin - step, end) for begin, end in spans]


def free_of_contact(t: Array, spans: Sequence[Span], gain: float) -> npt.NDArray[np.bool_]:
    """Return which samples (T,) no contact affects, not even by the observer's memory."""
    free = np.ones(t.size, dtype=bool)
    for begin, end in spans:
        free &= (t < begin) | (t > end + SAME_CONTACT + 7.0 / gain)
    return free


def detects(alarm: Span, contact: Span, early: float = 0.0) -> bool:
    """Return whether an alarm belongs to a contact: it begins with it, not before.

    early [s]: by how much before, where the times of contacts are not exact.
    """
    return contact[0] - early <= alarm[0] <= contact[1] + SAME_CONTACT


def events(found: Detection, spans: Sequence[Span] | None, early: float = 0.0) -> list[Event]:
    """Return contacts detected or missed and false alarms, in order of time.

    spans: true contacts [s]; None: unknown. early: as for `detects`.
    """
    alarms = spans_of(found.t, found.level >= CONTACT)
    result = []
    for begin, end in spans or ():
        own = [alarm for alarm in alarms if detects(alarm, (begin, end), early)]
        alarms = [alarm for alarm in alarms if alarm not in own]
        result.append(_contact(found, own, (begin, end), exact=not early))
    known = None if spans is None else False
    result += [replace(found.event(_rows(found, alarm)), true=known) for alarm in alarms]
    return sorted(result, key=lambda event: event.start)


def _contact(found: Detection, alarms: list[Span], contact: Span, exact: bool) -> Event:
    """Return the event of a true contact, detected by these alarms or missed."""
    begin, end = contact
    if not alarms:
        return Event(begin, end, Level.CLEAR, "", (), np.nan, true=True)
    first = alarms[0][0]
    rows = _rows(found, (first, alarms[-1][1]))
    event = found.event(rows)
    delay = max(first - begin, 0.0) if exact else np.nan
    return replace(event, start=begin, end=end, true=True, delay=delay)


def _rows(found: Detection, span: Span) -> npt.NDArray[np.int64]:
    """Return the samples of a span that are CONTACT or above."""
    t = found.t[found.touched]
    return np.asarray(found.touched[(t >= span[0]) & (t <= span[1])])


def spans_of(t: Array, on: npt.NDArray[np.bool_]) -> list[Span]:
    """Return begin and end [s] of every time that something was on, short pauses included."""
    rows = np.flatnonzero(on)
    if not rows.size:
        return []
    breaks = np.flatnonzero(np.diff(t[rows]) > SAME_CONTACT)
    firsts = rows[np.concatenate([[0], breaks + 1])]
    lasts = rows[np.concatenate([breaks, [rows.size - 1]])]
    return [(float(t[a]), float(t[b])) for a, b in zip(firsts, lasts, strict=True)]
