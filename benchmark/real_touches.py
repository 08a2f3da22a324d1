"""Touches on a real Panda that stands still: found, named, how soon, and how many false alarms.

Tuned on the recordings of all postures but one, judged on that one, for each posture in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import recorded_arms
from real_figures import RealFigure, todays_settings
from recorded_arms import Recording
from rich.console import Console
from rich.progress import track

import robodyn_ros as rd

NEEDS = ("panda/touches.npz", "panda/panda_gaz.urdf")
LEAD = 4.25  # recommended `isolation.lead`: a named link is so many times likelier than all others
BEFORE, AFTER = 0.3, 0.5  # [s] about a label that are not called free motion
NEAR = 0.2  # [s] from a label: an event further away is a false alarm,
STILL = 0.2  # [N m], if the maker's own external torque moves by less
LATE = 0.1  # [s] after a label's end, until which a touch is found
START = 0.5  # [s] in which the monitor settles and tares: touches that end there do not count

Method = Callable[[rd.RobotModel, Sequence[Recording]], rd.MonitorSettings]


@dataclass(frozen=True)
class Touch:
    """A labelled touch and what was told of it."""

    link: int  # 1 to 7
    delay: float  # [s], from the label to the event; infinite: not found
    told: int  # link of the event, 0: none
    confidence: float  # of that link, 0 to 1


@dataclass
class Judged:
    """What a method found in all recordings."""

    touches: list[Touch] = field(default_factory=list)
    events: int = 0  # near a label
    alarms: int = 0  # false ones
    hours: float = 0.0  # [h] of all recordings
    free_hours: float = 0.0  # [h] further than NEAR from a label

    def found(self, *links: int) -> float:
        """Share of the touches on these links that were found."""
        return float(np.mean([np.isfinite(x.delay) for x in self.touches if x.link in links]))


def labels(recording: Recording) -> list[tuple[float, float]]:
    """The labels, widened: what lies between is free motion."""
    return [(begin - BEFORE, end + AFTER) for begin, end in recording.touches]


def tuned(robot: rd.RobotModel, recordings: Sequence[Recording]) -> rd.MonitorSettings:
    """The present method, with its defaults."""
    contacts = [labels(recording) for recording in recordings]
    return rd.tune(robot, [recording.log for recording in recordings], contacts=contacts)


def calibrated(robot: rd.RobotModel, recordings: Sequence[Recording]) -> rd.MonitorSettings:
    """Settings of the plain method."""
    logs, contacts = [x.log for x in recordings], [labels(x) for x in recordings]
    return todays_settings(robot, logs, contacts)


def free_pieces(recording: Recording) -> list[rd.Log]:
    """The free parts of a recording, as logs of their own."""
    t, near = recording.log.t, np.zeros(recording.log.t.size, dtype=bool)
    for begin, end in labels(recording):
        near |= (t > begin) & (t < end)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], ~near, [0]])))
    return [recording.log.part(int(a), int(b)) for a, b in edges.reshape(-1, 2) if b - a >= 60]


def tuned_on_pieces(robot: rd.RobotModel, recordings: Sequence[Recording]) -> rd.MonitorSettings:
    """The present method on logs that were cut at the labels."""
    return rd.tune(robot, [piece for x in recordings for piece in free_pieces(x)])


def tuned_on_all(robot: rd.RobotModel, recordings: Sequence[Recording]) -> rd.MonitorSettings:
    """The present method on whole logs, touches and all, without a word of these."""
    return rd.tune(robot, [recording.log for recording in recordings])


def judge(
    robot: rd.RobotModel, recording: Recording, settings: rd.MonitorSettings, into: Judged
) -> None:
    """Detect the touches of a recording and count."""
    found = rd.detect(robot, recording.log, settings)
    t, events = found.t, found.events
    for begin, end in recording.touches:
        if end < t[0] + START:
            continue
        mine = [e for e in events if e.start <= end + LATE and e.end >= begin]
        starts = [e for e in events if begin - NEAR <= e.start <= end + NEAR]
        first = mine[0] if mine else None
        told = robot.link_names.index(first.link) + 1 if first and first.link else 0
        delay = max(first.start - begin, 0.0) if first else np.inf
        confidence = getattr(first, "confidence", 0.0) if first else 0.0
        into.touches.append(Touch(recording.link, delay, told, confidence))
        into.events += len(starts)
    free = np.ones(t.size, dtype=bool)
    for begin, end in recording.touches:
        free &= (t < begin - NEAR) | (t > end + NEAR)
    step = np.diff(t, prepend=t[0])
    into.hours += float(step.sum()) / 3600.0
    into.free_hours += float(step[free].sum()) / 3600.0
    for event in events:
        k = int(np.searchsorted(t, event.start))
        if free[k] and recording.external is not None:
            about = recording.external[(t >= event.start - NEAR) & (t <= event.start + NEAR)]
            into.alarms += bool(np.ptp(about, axis=0).max() < STILL)


def cross_validated(
    console: Console, method: Method, name: str, train_step: int = 1, test_step: int = 1
) -> Judged:
    """All postures, each judged by settings from the others; steps: leave recordings out."""
    robot, recordings = recorded_arms.panda(), recorded_arms.panda_touches()
    judged = Judged()
    for posture in track(sorted({x.posture for x in recordings}), name, console=console):
        settings = method(robot, [x for x in recordings if x.posture != posture][::train_step])
        for recording in [x for x in recordings if x.posture == posture][::test_step]:
            judge(robot, recording, settings, judged)
    return judged


def figures(console: Console, quick: bool) -> list[RealFigure]:
    """The figures of the table."""
    steps = (5, 3) if quick else (1, 1)
    today = cross_validated(console, calibrated, "touches, the plain method", *steps)
    now = cross_validated(console, tuned, "touches", *steps)
    return [*compared(today, now)]


def compared(today: Judged, now: Judged) -> Iterator[RealFigure]:
    """Lines of the table from what both methods found."""
    count = f"{len(now.touches)} touches, {now.hours:.2f} h"
    for name, links, bar in (
        ("all links", range(1, 8), 0.98),
        *((f"link {k}", (k,), 0.99) for k in (2, 4, 5, 6, 7)),
        ("link 3", (3,), 0.90),
        ("link 1", (1,), 0.70),
    ):
        before, share = today.found(*links), now.found(*links)
        what = f"Panda, touches found: {name}"
        note = count if name == "all links" else ""
        yield RealFigure(what, f"{share:.1%}", f"{bar:.0%}", share >= bar, note, f"{before:.1%}")
    yield from named(today, now)
    rate, before = (x.events / len(x.touches) for x in (now, today))
    good = 0.95 <= rate <= 1.05
    yield RealFigure("– events a touch", f"{rate:.2f}", "0.95–1.05", good, "", f"{before:.2f}")
    rate, before = (x.alarms / x.hours for x in (now, today))
    note = f"{now.alarms} alarms; {now.alarms / now.free_hours:.0f} per hour without a touch near"
    yield RealFigure(
        "– false alarms per hour", f"{rate:.0f}", "40", rate <= 40, note, f"{before:.0f}"
    )
    for name, percent, bar in (("median", 50, 0.04), ("95 %", 95, 0.11)):
        late, before = (
            np.percentile([t.delay for t in x.touches if np.isfinite(t.delay)], percent)
            for x in (now, today)
        )
        texts = f"{1e3 * late:.0f} ms", f"{1e3 * bar:.0f} ms", bool(late <= bar + 1e-3)
        yield RealFigure(f"– delay, {name}", *texts, "fresh every 10 ms", f"{1e3 * before:.0f} ms")


def named(today: Judged, now: Judged) -> Iterator[RealFigure]:
    """Which link was named, of the touches that were found."""
    rows = []
    for judged in (today, now):
        found = [x for x in judged.touches if np.isfinite(x.delay)]
        link, told = np.array([x.link for x in found]), np.array([x.told for x in found])
        rows.append((link, told, np.array([x.confidence for x in found])))
    shares = []
    for link, told, confidence in rows:
        answered, lead = told > 0, confidence >= LEAD / (1.0 + LEAD)
        shares.append(
            (
                answered.mean(),
                np.mean(told[answered] == link[answered]) if answered.any() else 0.0,
                np.mean(abs(told - link)[answered] <= 1) if answered.any() else 0.0,
                lead.mean(),
                np.mean(told[lead] == link[lead]) if lead.any() else 0.0,
            )
        )
    names = (
        ("link answered", 0.98),
        ("link exact", 0.78),
        ("within one link", 0.98),
        (f"with a lead of {LEAD:g}: answered", 0.65),
        ("of these exact", 0.88),
    )
    for k, (name, bar) in enumerate(names):
        share, before = float(shares[1][k]), f"{shares[0][k]:.1%}" if k < 3 else "–"
        yield RealFigure(f"– {name}", f"{share:.1%}", f"{bar:.0%}", share >= bar, "", before)
