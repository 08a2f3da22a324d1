"""Faults and payloads of a demo: the truth beside the detector's reports. No ROS here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..detection.fault import HARMLESS_KINDS, PAYLOAD, SENSOR_FREEZE
from ..simulation.disturbances import FREEZES

NAMING_TIME = 2.0  # [s] after its end in which a short fault may still be named
CASE_TIME = 4.0  # [s] after a fault in which its case may still be open
ECHO_TIME = 2.0  # [s] after its end in which a fault may still look like a contact
MASS_ERROR = 0.1  # share of a payload's mass
NO_MASS = 0.15  # [kg], left in the model after a release

NAMED, WRONG, MISSED, FALSE_NAME = "named", "wrong name", "not named", "FALSE NAME"


@dataclass(frozen=True)
class Name:
    """A cause that the detector named at a time."""

    t: float  # [s]
    kind: str
    joint: str = ""
    text: str = ""


@dataclass
class FaultSpan:
    """A time in which the plant had a fault or held a payload."""

    begin: float  # [s]
    kind: str
    joint: str
    text: str  # of the plant
    mass: float = 0.0  # [kg], of a payload
    end: float = math.inf  # [s]

    @property
    def expected_name(self) -> str:
        """Kind that the detector should name."""
        return SENSOR_FREEZE if self.kind in FREEZES else self.kind

    def is_meant(self, name: Name) -> bool:
        """Return whether a name is the right one."""
        return name.kind == self.expected_name and (
            self.kind == PAYLOAD or name.joint == self.joint
        )


@dataclass
class FaultEvent:
    """A fault, a payload gripped or released, or a false name, and the detector's report."""

    t: float  # [s], since the first residual
    truth: str  # empty: there was none
    reported: str = ""  # empty: nothing
    delay: float | None = None  # [s]
    judgement: str = MISSED

    @property
    def right(self) -> bool:
        """Whether it was named as it should be."""
        return self.judgement == NAMED


def compare_faults(
    start: float,
    spans: Sequence[FaultSpan],
    names: Sequence[Name],
    masses: Sequence[tuple[float, float]],
) -> list[FaultEvent]:
    """Return every fault with its report, and every false name, in order.

    start: time [s] from which events count; masses: of the payload that the detector carries [kg],
    each with its time [s].
    """
    decided = [name for name in names if name.kind == PAYLOAD or name.kind not in HARMLESS_KINDS]
    decided = [name for name in decided if name.kind]
    events = []
    for span in spans:
        until = span.end + NAMING_TIME
        given = [name for name in decided if span.begin <= name.t < min(span.end, until)]
        given = given or [name for name in decided if span.begin <= name.t < until]
        event = FaultEvent(span.begin - start, span.text)
        right = [name for name in given if span.is_meant(name)]
        if given:
            event.reported = given[-1].text
            event.judgement = NAMED if span.is_meant(given[-1]) else WRONG
        if right:
            event.delay = right[0].t - span.begin
        if span.kind == PAYLOAD:
            _judge_mass(event, span, masses)
        events.append(event)
        if span.kind == PAYLOAD and span.end < math.inf:
            events.append(_released(start, span, masses))
    for name in decided:
        known = any(x.begin <= name.t < x.end + CASE_TIME for x in spans)
        if not known:
            events.append(FaultEvent(name.t - start, "", name.text, None, FALSE_NAME))
    return sorted(events, key=lambda event: event.t)


def in_span(t: float, spans: Sequence[FaultSpan]) -> bool:
    """Return whether a contact at t [s] may be due to a fault."""
    return any(
        span.begin <= t < span.end + ECHO_TIME for span in spans if span.kind != PAYLOAD
    ) or any(
        span.begin <= t < span.begin + ECHO_TIME or span.end <= t < span.end + ECHO_TIME
        for span in spans
        if span.kind == PAYLOAD
    )


def _judge_mass(event: FaultEvent, span: FaultSpan, masses: Sequence[tuple[float, float]]) -> None:
    """Compare the mass that the detector carries with the true one, if it carries one."""
    carried = [mass for t, mass in masses if span.begin <= t < span.end]
    if carried:
        event.reported += f", carried: {carried[-1]:.2f} kg"
        if abs(carried[-1] - span.mass) > MASS_ERROR * span.mass:
            event.judgement = WRONG


def _released(start: float, span: FaultSpan, masses: Sequence[tuple[float, float]]) -> FaultEvent:
    event = FaultEvent(span.end - start, f"{span.mass:.3g} kg released")
    after = [(t, mass) for t, mass in masses if t >= span.end]
    if after:
        event.reported, event.delay = f"carried: {after[-1][1]:.2f} kg", after[0][0] - span.end
        event.judgement = NAMED if after[-1][1] < NO_MASS else WRONG
    return event
