"""Events of a run: what was told about each contact, and where it was true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..detection.isolation import isolate
from ..detection.monitor import LIKELY
from ..detection.wrench import external_wrench
from .offline import CONTACT, Watched
from .run import Array, Run, Span

FELT = 1e-6  # [N m or N]: a simulated truth is 0 but for rounding
TOGETHER = 0.3  # [s], contacts that are closer are one, and so late a contact may still be told
LOOKS = 25  # samples of a contact from which link and force are told


@dataclass(frozen=True)
class Event:
    """A contact that was told, one that was missed, or an alarm without one."""

    t: float  # [s], when it began
    end: float  # [s]
    level: str  # CONTACT or COLLISION; empty: missed
    joints: tuple[str, ...]
    link: str  # empty: cannot tell
    force: float  # [N], the estimate; nan if none
    true: bool | None  # whether there was one; None: nobody knows
    delay: float  # [s], from its beginning to the first word; nan if not known


def true_spans(run: Run) -> list[Span] | None:
    """When something touched the arm, if the recording has the truth."""
    if run.truth is None:
        return None
    t, torque = run.truth
    touched = np.abs(torque).max(axis=1) > FELT
    spans = spans_of(t, touched)
    # Truth is told after a step: it began one step before
    step = float(np.median(np.diff(t))) if t.size > 1 else 0.0
    return [(a - step, b) for a, b in spans]


def free_of_contact(t: Array, spans: Sequence[Span], gain: float) -> npt.NDArray[np.bool_]:
    """(T,): whether a sample has nothing to do with a contact, not even by the filter's memory."""
    free = np.ones(t.size, dtype=bool)
    for begin, end in spans:
        free &= (t < begin) | (t > end + TOGETHER + 7.0 / gain)
    return free


def tells_of(told: Span, contact: Span, early: float = 0.0) -> bool:
    """Whether an alarm is about a contact: it begins with it, not before.

    early [s]: by how much before, where the times of contacts are not exact.
    """
    return contact[0] - early <= told[0] <= contact[1] + TOGETHER


def events(
    run: Run, watched: Watched, spans: Sequence[Span] | None, early: float = 0.0
) -> list[Event]:
    """Every contact that was told or missed, and every alarm without one, in order of time.

    spans: when there was a contact; None: nobody knows.
    """
    told = spans_of(watched.t, watched.level >= CONTACT)
    found = []
    known = spans is not None
    for begin, end in spans or ():
        of = [s for s in told if tells_of(s, (begin, end), early)]
        told = [s for s in told if s not in of]
        event = _event(run, watched, of, (begin, end))
        found.append(replace(event, delay=np.nan) if early else event)
    found += [_event(run, watched, [s], None, known) for s in told]
    return sorted(found, key=lambda event: event.t)


def _event(
    run: Run, watched: Watched, told: list[Span], truth: Span | None, known: bool = True
) -> Event:
    true = truth is not None if known else None
    if not told:
        begin, end = truth or (np.nan, np.nan)
        return Event(begin, end, "", (), "", np.nan, true, np.nan)
    first, last = told[0][0], told[-1][1]
    rows = np.flatnonzero((run.t >= first) & (run.t <= last) & (watched.level >= CONTACT))
    worst = rows[np.argmax(watched.level[rows])]
    bits = int(np.bitwise_or.reduce(watched.joints[rows]))
    joints = tuple(n for j, n in enumerate(watched.model.joint_names) if bits >> j & 1)
    link, force = _where(run, watched, rows[run.t[rows] <= (truth[1] if truth else last)])
    level = "COLLISION" if watched.level[worst] > CONTACT else "CONTACT"
    begin, end = truth or (first, last)
    delay = max(first - begin, 0.0) if truth else np.nan
    return Event(begin, end, level, joints, link, force, true, delay)


def link_and_force(run: Run, watched: Watched, k: int) -> tuple[str, float]:
    """The touched link, empty if physics keeps it back, and the force [N] on it, at a sample.

    The same rules as `ContactMonitor`'s.
    """
    model, limit = watched.model, np.broadcast_to(watched.settings.contact.base, watched.model.n)
    where = isolate(model, watched.r[k], np.maximum(0.5 * limit, 1e-6), clear=2.0)
    W = external_wrench(
        model,
        run.q[k],
        watched.r[k],
        watched.settings.wrench_link or where.link or model.link_names[-1],
        force_only=None if watched.settings.wrench_link else True,
        weights=1.0 / np.maximum(0.1 * limit, 1e-6),
        likely=LIKELY,
    )
    return where.link or "", float(np.linalg.norm(W[:3]))


def _where(run: Run, watched: Watched, rows: npt.NDArray[np.int64]) -> tuple[str, float]:
    """The link told most often, and the median of the forces told with it."""
    looks = rows[np.unique(np.linspace(0, rows.size - 1, LOOKS).astype(int))] if rows.size else []
    told = [link_and_force(run, watched, int(k)) for k in looks]
    if not told:
        return "", np.nan
    links = [link for link, _ in told if link]
    link = max(set(links), key=links.count) if links else ""
    return link, float(np.median([force for where, force in told if where == link]))


def spans_of(t: Array, on: npt.NDArray[np.bool_]) -> list[Span]:
    """Beginning and end of each time that something was on; short pauses do not count."""
    rows = np.flatnonzero(on)
    if not rows.size:
        return []
    breaks = np.flatnonzero(np.diff(t[rows]) > TOGETHER)
    firsts = rows[np.concatenate([[0], breaks + 1])]
    lasts = rows[np.concatenate([breaks, [rows.size - 1]])]
    return [(float(t[a]), float(t[b])) for a, b in zip(firsts, lasts, strict=True)]
