"""Log lines of dynamics_node and controller_node: one for every change that matters. No ROS here.

Verdicts come a thousand times a second and may flicker between two levels. A contact gives a line
when it begins, when it becomes a collision, when its link becomes known, and when it is over.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from enum import Enum
from statistics import median
from typing import NamedTuple

from ..control.transitions import Mode
from ..detection.detector import Level
from ..detection.fault import (
    COLLISION,
    COMMAND_LOSS,
    HARMLESS_KINDS,
    JOINT_STOP,
    UNDECIDED,
    Fault,
)
from ..detection.verdict import LEAST_FORCE, Ended, Verdict
from ..dynamics.limit_use import Binding
from ..model.robot import Payload

END_DELAY = 0.3  # [s] without contact after which it is over; a shorter pause is flicker
LINK_LINES = 3  # about links in one contact at once; then one every
LINK_PERIOD = 1.0  # [s]
UNKNOWN_PERIOD = 1.0  # [s] between two lines about UNKNOWN, and for a node to start without one
UNKNOWN_REMINDER = 10.0  # [s] between two lines about the same UNKNOWN that lasts
CLOCK_RESET = 1.0  # [s]: time that goes back by more begins anew
MOST_FORCES = 2000  # estimates kept of a contact that lasts
NUMBERS = re.compile(r"(?<!\w)[-+]?\d[\d.]*(e[-+]?\d+)?")  # not those of names, as in joint_3


# Names of cases that the lines about contacts and UNKNOWN tell already
UNNAMED = (COLLISION, COMMAND_LOSS, JOINT_STOP, UNDECIDED)
NAME_PERIOD = 1.0  # [s] between two lines about the same fault


class Severity(Enum):
    """Severity of a log line."""

    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class Line(NamedTuple):
    """A line for the log."""

    severity: Severity
    text: str


class ContactLog:
    """Turns verdicts into the few lines that say what happened; times are those of samples.

    wall: a steady clock [s], by which lines about UNKNOWN are throttled: that state may come from
    stamps that go to and fro.
    """

    def __init__(self, wall: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._level = Level.UNKNOWN  # of the last line, or as found at the start
        self._contact: _Contact | None = None  # present one
        self._since: float | None = None  # [s], begin of the present UNKNOWN; None: none yet
        self._logged_cause = ""  # of the present UNKNOWN in the last line, without numbers
        self._unknown_line = -math.inf  # [s], wall time of the last line about UNKNOWN
        self._started = False  # whether the first UNKNOWN is over

    def update(self, verdict: Verdict) -> Line | None:
        """Return the line that is due, if any."""
        level = verdict.level
        if verdict.ended is not None and self._contact is not None:
            self._contact.end(verdict.ended)
        if level is Level.CLEAR:
            return None if self._level is Level.CLEAR else self._clear(verdict.t)
        return self._touched(verdict) if verdict.touched else self._unknown(verdict)

    def _touched(self, verdict: Verdict) -> Line | None:
        t, contact = verdict.t, self._contact
        if contact is None:
            contact = self._contact = _Contact(t)
            self._started, self._since = True, None
        contact.add(verdict)
        where = _where(verdict)
        if verdict.level <= contact.logged_level and not contact.is_news(where, t):
            return None
        contact.logged_level = max(contact.logged_level, verdict.level)
        contact.note_line(where, t)
        self._level = contact.logged_level
        severity = Severity.ERROR if self._level is Level.COLLISION else Severity.WARN
        force, joints = force_text(verdict.force), _names(verdict.joints)
        if _at_stop(verdict):
            text = f"{self._level.name}: {where}"
        elif where:
            text = f"{self._level.name} on {where}: {force}"
        else:
            text = f"{self._level.name}: link unknown, {force}"
        return Line(severity, f"{text} ({joints})")

    def _clear(self, t: float) -> Line | None:
        contact = self._contact
        if contact is not None:
            if _elapsed(contact.last_touch, t) < END_DELAY:
                return None
            self._contact, self._level = None, Level.CLEAR
            return Line(Severity.INFO, f"CLEAR after {contact.duration:.2f} s: {contact.summary}")
        cause, since, first = self._logged_cause, self._since, not self._started
        self._level, self._since, self._logged_cause, self._started = Level.CLEAR, None, "", True
        if cause and since is not None:
            return Line(Severity.INFO, f"CLEAR: known again after {max(t - since, 0.0):.2f} s")
        return Line(Severity.INFO, "CLEAR: watching for contact") if first else None

    def _unknown(self, verdict: Verdict) -> Line | None:
        t, contact = verdict.t, self._contact
        self._level, self._contact = Level.UNKNOWN, None
        if self._since is None or _elapsed(self._since, t) == math.inf:
            self._since, self._logged_cause = t, ""
        lasted, wall = _elapsed(self._since, t), self._wall()
        waited = wall - self._unknown_line
        starting = not self._started and lasted < UNKNOWN_PERIOD
        if contact is None and (starting or waited < UNKNOWN_PERIOD):
            return None
        cause = NUMBERS.sub("", verdict.cause)
        again = cause == self._logged_cause
        if again and waited < UNKNOWN_REMINDER:
            return None
        self._logged_cause, self._unknown_line = cause, wall
        duration = f" for {lasted:.0f} s" if again else ""
        before = f"; before it {contact.summary}" if contact else ""
        return Line(Severity.WARN, f"UNKNOWN{duration}: {verdict.cause}{before}")


class _Contact:
    """A contact, from its first line to the last."""

    def __init__(self, t: float) -> None:
        self.begin = self.last_touch = t  # [s]
        self.logged_level, self.logged_where = Level.CLEAR, ""
        self._lines, self._last_line = 0, -math.inf  # about links; [s]
        self._where = ""  # the link in words, or a joint's stop, as last known
        self._named = t  # [s], when that was decided
        self._forces: list[float] = []  # [N], since then
        self._joints: dict[str, None] = {}  # in the order in which they exceeded their thresholds

    @property
    def duration(self) -> float:
        """Time [s] from the first to the last sample of the contact."""
        return self.last_touch - self.begin

    def add(self, verdict: Verdict) -> None:
        """Add a verdict of CONTACT or COLLISION."""
        self.last_touch, where = verdict.t, _where(verdict)
        if where and where != self._where:
            self._where, self._forces, self._named = where, [], verdict.t
        if verdict.force >= LEAST_FORCE:
            self._forces.append(verdict.force)
            if len(self._forces) > MOST_FORCES:
                del self._forces[::2]
        self._joints.update(dict.fromkeys(verdict.joints))

    def is_news(self, where: str, t: float) -> bool:
        """Return whether the log should name this place of the contact, at the time t [s]."""
        if where in ("", self.logged_where):
            return False
        return self._lines < LINK_LINES or _elapsed(self._last_line, t) >= LINK_PERIOD

    def note_line(self, where: str, t: float) -> None:
        """Remember that a line names this place at the time t [s]."""
        if where and where != self.logged_where:
            self.logged_where, self._last_line = where, t
            self._lines += 1

    def end(self, ended: Ended) -> None:
        """Take the final decision about its link.

        Also the mean force on it, if it was decided so late that only the end of a push was felt.
        """
        late = self._named - self.begin > 0.5 * self.duration
        if ended.where and (late or ended.where != self._where):
            self._where = ended.where
            self._forces = [ended.force] if ended.force >= LEAST_FORCE else []

    @property
    def summary(self) -> str:
        """Highest level, the link that was decided last, and the median of the force on it."""
        if not self._where:
            return f"{self.logged_level.name}, link and force unknown ({_names(self._joints)})"
        if self._where.endswith(" stop"):
            return f"{self.logged_level.name}, {self._where}"
        text = f"{self.logged_level.name} on {self._where}, "
        if not self._forces:
            return text + force_text(math.nan)
        return f"{text}about {force_text(median(self._forces))}"


class FaultLog:
    """Turns the names of open cases into lines: one when a fault is named, and when it is over."""

    def __init__(self) -> None:
        self._logged: Fault | None = None
        self._since = 0.0  # [s]
        self._last: dict[str, float] = {}  # name: time of its last line [s]

    def update(self, t: float, fault: Fault | None) -> Line | None:
        """Return the line that is due at the time t [s], if any."""
        before = self._logged
        if fault is None or fault.kind in UNNAMED:
            if before is None or fault is not None:  # it may be named again
                return None
            self._logged, text = None, f"{_kind(before)} is over after {t - self._since:.2f} s"
            return self._line(t, Severity.INFO, "no fault", text)
        if before is not None and _kind(before) == _kind(fault):
            return None
        self._since = t if before is None else self._since
        self._logged = fault
        severity = Severity.WARN if fault.kind in HARMLESS_KINDS else Severity.ERROR
        text = f"{fault.text()}. {fault.remedy}".rstrip()
        return self._line(t, severity, f"FAULT, {_kind(fault)}", text)

    def _line(self, t: float, severity: Severity, name: str, text: str) -> Line | None:
        """Return a line, unless one of the same name was due within the last second."""
        if 0.0 <= t - self._last.get(name, -math.inf) < NAME_PERIOD:
            return None
        self._last[name] = t
        return Line(severity, f"{name}: {text}")


def payload_line(held: Payload | None, before: Payload | None, how: str) -> Line | None:
    """Return the line about a payload that was set, found or released; before: the last one."""
    if held is None:
        gone = f"payload: released, {before.mass:.2f} kg" if before else ""
        return Line(Severity.INFO, gone) if gone else None
    com = ", ".join(f"{x:.3f}" for x in held.com)
    text = f"payload: {how}, {held.mass:.2f} kg on {held.link}, centre at ({com}) m"
    return Line(Severity.INFO, text)


def mode_line(mode: Mode, reason: str, before: Mode | None) -> Line:
    """Return the line about a controller's new mode or reason; before: the mode until now."""
    if mode is Mode.TRACKING and not reason:
        reason = "trajectory rejoined" if before is Mode.RESUMING else "new trajectory"
    severity = {Mode.REACTING: Severity.WARN, Mode.SAFE_HOLD: Severity.ERROR}
    text = f"{mode.name}: {reason}" if reason else mode.name
    return Line(severity.get(mode, Severity.INFO), text)


def limits_line(exceeded: Sequence[Binding]) -> Line:
    """Return the line about a trajectory that is slowed down; exceeded: the worst limit first."""
    worst = {binding.limit: binding for binding in reversed(exceeded)}
    named = "; ".join(str(b) for b in sorted(worst.values(), key=lambda b: -b.share))
    return Line(Severity.WARN, f"the trajectory exceeds limits and is slowed down there: {named}")


def force_text(force: float) -> str:
    """Return a force [N] in words; NaN, and nothing during a contact, is unknown."""
    if not force >= LEAST_FORCE:
        return "force unknown"
    return f"{force:.0f} N" if force >= 9.95 else f"{force:.1f} N"


def _where(verdict: Verdict) -> str:
    """Return the touched link in words, or the joint at its stop."""
    return verdict.link_cause if _at_stop(verdict) else verdict.where


def _at_stop(verdict: Verdict) -> bool:
    return verdict.fault is not None and verdict.fault.kind == JOINT_STOP


def _kind(fault: Fault) -> str:
    """Return a fault's kind and joint in words."""
    name = fault.kind.replace("_", " ")
    return f"{name} on {fault.joint}" if fault.joint else name


def _elapsed(since: float, t: float) -> float:
    """Return the time [s] since then; infinite if the clock was reset.

    Stamps are a little behind the clock that measures silence.
    """
    return math.inf if t < since - CLOCK_RESET else max(t - since, 0.0)


def _names(joints: tuple[str, ...] | dict[str, None]) -> str:
    return ", ".join(joints) or "no joint"
