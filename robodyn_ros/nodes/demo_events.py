"""Events of a demo: truth against the detector's reports. No ROS here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..detection.detector import Level

Array = npt.NDArray[np.float64]

NO_TORQUE = 1e-6  # [N m or N]: rounding error of the true external torque
REPORT_DELAY = 0.3  # [s] after a push within which a report still belongs to it
PUSH_ONSET = 0.05  # [s], longest time before the first sample of a push in which it began
SCRIPT_JITTER = 1.0  # [s] by which a busy plant may delay the next push of its script
# A push names its link only if, in the end, it loads the link's own joint by this many contact
# thresholds: a force through the axis of that joint is the same as one on the link before
LINK_CLEAR = 1.5

FOUND, UNCLEAR, UNNAMED = "found", "unclear", "no link"
WRONG_LINK, MISSED, FALSE_ALARM = "wrong link", "missed", "FALSE ALARM"


@dataclass(frozen=True)
class DetectorState:
    """State of the detector at one instant."""

    t: float  # [s]
    level: Level
    link: str
    joints: tuple[str, ...]
    force: float = math.nan  # [N], median while the state lasts; NaN: unknown
    where: str = ""  # the link for people: 'link_5', 'link_5 or beyond'

    def names(self, link: str) -> bool:
        """Return whether this link is the one named, or the first of those named."""
        return link in (self.link, self.where.removesuffix(" or beyond"))


@dataclass(frozen=True)
class ScriptedPush:
    """A push of the plant's script."""

    at: float  # [s], after the first command
    link: str
    force: float  # [N]
    joint: int | None = None  # index of the link's own joint, if known


@dataclass
class PushSpan:
    """A time in which something pushed the arm."""

    begin: float  # [s]
    end: float  # [s]
    torque: Array  # (n,) [N m or N], size of the external torque at its end


class PushSpans:
    """The pushes that really happened, from the external torque; less than REPORT_DELAY apart are
    one.
    """

    def __init__(self) -> None:
        self.found: list[PushSpan] = []
        self._last, self._pushed = -math.inf, False  # time [s] of the last sample, and of a push

    def add(self, t: float, tau_ext: Array) -> None:
        """Take the external torque (n,) at the time t [s]."""
        size, before, continues = np.abs(tau_ext), self._last, self._pushed
        self._last, self._pushed = t, bool(size.max(initial=0.0) > NO_TORQUE)
        if not self._pushed:
            return
        # A busy plant may skip time within a push
        if self.found and (continues or t - self.found[-1].end < REPORT_DELAY):
            self.found[-1].end, self.found[-1].torque = t, size
        else:
            self.found.append(PushSpan(max(before, t - PUSH_ONSET), t, size))


@dataclass
class Event:
    """A push, or a false alarm, and the detector's report."""

    t: float  # [s], since the first residual
    pushed: bool  # false: an alarm without a push
    link: str = ""  # of a scripted push
    force: float | None = None  # [N], of a scripted push
    reported: DetectorState | None = None  # None: the push was missed
    delay: float | None = None  # [s], of the first report
    link_clear: bool = True  # whether the push still loads the joint of its link in the end

    @property
    def judgement(self) -> str:
        """The report compared with the truth, in a word or two."""
        if not self.pushed:
            return FALSE_ALARM
        if self.reported is None:
            return MISSED
        if not self.link or self.reported.names(self.link):
            return FOUND
        if not self.link_clear:
            return UNCLEAR
        return WRONG_LINK if self.reported.link else UNNAMED

    @property
    def right(self) -> bool:
        """Whether the push was found, with its link if that can be identified."""
        return self.judgement in (FOUND, UNCLEAR)


def compare(
    start: float,
    spans: Sequence[PushSpan],
    states: Sequence[DetectorState],
    script: Sequence[ScriptedPush],
    contact: Array,
) -> list[Event]:
    """Return every push with the detector's report, and every false alarm, in order.

    start: time [s] from which events count; contact: thresholds (n,).
    """
    found = [Event(span.begin - start, pushed=True) for span in spans]
    for k, push in _scripted(spans, script):
        found[k].link, found[k].force = push.link, push.force
        if push.joint is not None:
            least = LINK_CLEAR * contact[push.joint]
            found[k].link_clear = bool(spans[k].torque[push.joint] >= least)
    alarm = False  # whether the previous state was an alarm, too
    for state in states:
        touched = state.level >= Level.CONTACT
        of = [k for k, x in enumerate(spans) if x.begin <= state.t <= x.end + REPORT_DELAY]
        if touched and of:
            _report(found[of[-1]], spans[of[-1]], state)
        elif touched and not alarm:
            found.append(Event(state.t - start, pushed=False, reported=state))
        alarm = touched
    return sorted(found, key=lambda event: event.t)


def with_forces(
    states: Sequence[DetectorState], forces: Sequence[tuple[float, float]]
) -> list[DetectorState]:
    """Return the states with the median of the forces (time [s], size [N]) while each lasted."""
    times, sizes = np.array(forces).reshape(-1, 2).T
    edges = [state.t for state in states] + [math.inf]
    first, last = np.searchsorted(times, edges[:-1]), np.searchsorted(times, edges[1:])
    return [
        replace(state, force=float(np.median(sizes[a:b]))) if b > a else state
        for state, a, b in zip(states, first, last, strict=True)
    ]


def _scripted(
    spans: Sequence[PushSpan], script: Sequence[ScriptedPush]
) -> list[tuple[int, ScriptedPush]]:
    """Return which of the spans are which pushes of the script; the first begins it."""
    if not spans or not script:
        return []
    begins = np.array([span.begin for span in spans])
    late, found = begins[0] - script[0].at, []
    for push in script:
        k = int(np.argmin(np.abs(begins - push.at - late)))
        if abs(begins[k] - push.at - late) < SCRIPT_JITTER:
            late = begins[k] - push.at
            found.append((k, push))
    return found


def _report(event: Event, span: PushSpan, state: DetectorState) -> None:
    """Add a state to a push; the last link named until its end counts."""
    first = event.reported
    if first is None:
        event.delay = state.t - span.begin
    if first is None or (state.t <= span.end and (state.link or not first.link)):
        event.reported = state
