"""Guard: decides from the detector's verdicts when what drives the arm has to stop. No ROS here.

Times are those of a steady clock, given by the caller, so that a detector that falls silent is
noticed as well.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import Enum
from typing import NamedTuple, Protocol

from ...errors import ArgumentError
from ..detector import Level
from ..fault import HARMLESS_KINDS
from .expected_contacts import ExpectedContacts
from .settings import ALL_FAULTS, ExpectSettings, GuardSettings

LIMIT = {"contact": Level.CONTACT, "collision": Level.COLLISION}


class Report(Protocol):
    """What the guard reads of a verdict."""

    @property
    def t(self) -> float:
        """Time of the sample [s]."""

    @property
    def level(self) -> Level:
        """Level of contact."""

    @property
    def joints(self) -> tuple[str, ...]:
        """Joints above their thresholds."""

    @property
    def link(self) -> str:
        """Touched link, or ''."""

    @property
    def cause(self) -> str:
        """Why the level is UNKNOWN."""

    @property
    def fault(self) -> str:
        """Kind of fault, or ''."""

    @property
    def fault_joint(self) -> str:
        """Its joint, or ''."""


class Mode(Enum):
    """What the guard does."""

    ARMED = "armed"
    STOPPED = "stopped"  # has stopped the arm and waits to be re-armed
    DISARMED = "disarmed"  # by ~/arm


class Action(Enum):
    """What is to be done."""

    STOP = "stop"
    WARN = "warn"
    REARMED = "re-armed"


class Order(NamedTuple):
    """What is to be done, and why."""

    action: Action
    reason: str


class Guard:
    """Turns verdicts, forces and the time that passes into orders.

    joints, links: names of the arm, by which filters and windows are checked.
    """

    def __init__(
        self,
        settings: GuardSettings,
        expect: ExpectSettings,
        joints: Collection[str],
        links: Collection[str],
    ) -> None:
        self._joints, self._links = tuple(joints), tuple(links)
        self.expected = ExpectedContacts(self._links, expect.max_force)
        self.apply(settings, expect)
        self.mode = Mode.ARMED
        self.report: Report | None = None  # the last one
        self._heard_at = -math.inf  # [s], when it came
        self._since: float | None = None  # [s], begin of the reason to stop
        self._quiet_since: float | None = None  # [s]
        self._unknown_since: float | None = None  # [s]
        self._unknown_told = False
        self._stopped_at = -math.inf  # [s], of the last order to stop

    def check(self, settings: GuardSettings, expect: ExpectSettings) -> None:
        """Raise if a filter or a window names a joint or link that the arm does not have."""
        link = (expect.link,) if expect.link else ()
        _check_names("guard.joints", settings.joints, self._joints)
        _check_names("guard.links", settings.links, self._links)
        _check_names("expect.link", link, self._links)

    def apply(self, settings: GuardSettings, expect: ExpectSettings) -> None:
        """Take new settings; open windows stay."""
        self.check(settings, expect)
        self.settings, self.expect_settings = settings, expect
        self.expected.max_force = expect.max_force

    @property
    def has_verdict(self) -> bool:
        """Whether the detector has sent a verdict."""
        return self.report is not None

    def blind(self, now: float) -> bool:
        """Return whether a contact could not be seen: no verdict yet, or UNKNOWN for long."""
        since = self._unknown_since
        unknown = since is not None and now - since >= self.settings.unknown_time
        return not self.has_verdict or unknown

    def armed(self, now: float) -> bool:
        """Return whether a contact would now stop the arm."""
        return self.mode is Mode.ARMED and not self.blind(now)

    def unknown_cause(self, now: float) -> str:
        """Return why the state is UNKNOWN, or ''."""
        if self.report is None:
            return "no verdict of the detector yet"
        if self._silent(now):
            return f"no verdict of the detector for {now - self._heard_at:.2g} s"
        return self.report.cause or "no cause" if self.report.level is Level.UNKNOWN else ""

    def on_verdict(self, report: Report, now: float) -> Order | None:
        """Return what a verdict demands."""
        self.report, self._heard_at = report, now
        if report.level is not Level.UNKNOWN:
            self._unknown_since, self._unknown_told = None, False
        elif self._unknown_since is None:
            self._unknown_since = now
        return self.poll(now)

    def on_force(self, t: float, link: str, force: float, now: float) -> Order | None:
        """Take the force [N] on a link for the sample of the time t [s]."""
        self.expected.measure(t, link, force)
        waiting = self._since is not None and self.report is not None and self.report.t == t
        return self.poll(now) if waiting else None

    def poll(self, now: float) -> Order | None:
        """Return what is due at this time [s]; called often, also while no verdicts come."""
        self.expected.expire(now)
        if self.report is None:
            return None
        if self._unknown_since is None and self._silent(now):
            self._unknown_since = self._heard_at
        reason, wait = self._reason()
        if reason:
            self._quiet_since = None
            self._since = now if self._since is None else self._since
            lasted = now - self._since
            if lasted >= max(self.settings.delay, wait):
                return self._stop(reason, now)
            return self._on_unknown(now)
        self._since = None
        return self._on_unknown(now) or self._on_quiet(now)

    def arm(self, now: float) -> None:
        """Arm; raise while there is a reason to stop or the state is UNKNOWN."""
        reason = self._reason()[0] or (self.unknown_cause(now) if self.blind(now) else "")
        if reason:
            raise ArgumentError(f"not armed: {reason}")
        self.mode, self._since = Mode.ARMED, None

    def disarm(self) -> None:
        """Stop nothing until armed again."""
        self.mode = Mode.DISARMED

    def _silent(self, now: float) -> bool:
        return now - self._heard_at > self.settings.silence

    def _reason(self) -> tuple[str, float]:
        """Return the reason to stop that the last verdict gives, or '', and how long it has to
        last [s] for a contact that may be an expected one.
        """
        report, settings = self.report, self.settings
        if report is None:
            return "", 0.0
        any_fault = ALL_FAULTS in settings.faults and report.fault not in HARMLESS_KINDS
        if report.fault and (report.fault in settings.faults or any_fault):
            joint = report.fault_joint
            if not (joint and settings.joints) or joint in settings.joints:
                return f"fault {report.fault}{f' of {joint}' if joint else ''}", 0.0
        limit = LIMIT.get(settings.level)
        if limit is None or report.level < limit or not self._concerns(report):
            return "", 0.0
        expected = self.expected.allow(report.t, report.link)
        if expected:
            return "", 0.0
        where = report.link or "link unknown"
        reason = f"{report.level.name} on {where} ({', '.join(report.joints) or 'no joint'})"
        if expected is None:
            return f"{reason}, not known to be expected", self.expect_settings.naming_time
        window = self.expected.windows.get(report.link)
        more = f", above the expected {window.force:g} N" if window else ""
        return reason + more, 0.0

    def _concerns(self, report: Report) -> bool:
        """Return whether joints and links of a contact act; those that are not known do."""
        joints, links = self.settings.joints, self.settings.links
        if joints and report.joints and not set(joints) & set(report.joints):
            return False
        return not (links and report.link) or report.link in links

    def _stop(self, reason: str, now: float) -> Order | None:
        repeat = self.settings.repeat
        again = self.mode is Mode.STOPPED and 0.0 < repeat <= now - self._stopped_at
        if self.mode is Mode.ARMED or again:
            self.mode, self._stopped_at = Mode.STOPPED, now
            return Order(Action.STOP, f"again: {reason}" if again else reason)
        return None

    def _on_unknown(self, now: float) -> Order | None:
        """Return the order for an UNKNOWN state that lasts too long, once."""
        if self._unknown_since is None or not self.blind(now) or self._unknown_told:
            return None
        self._unknown_told = True
        lasted = now - self._unknown_since
        reason = f"UNKNOWN for {lasted:.2g} s: {self.unknown_cause(now)}"
        if self.settings.unknown == "act":
            return self._stop(reason, now)
        return Order(Action.WARN, reason) if self.mode is not Mode.DISARMED else None

    def _on_quiet(self, now: float) -> Order | None:
        """Return the order to re-arm, once it has been quiet for long enough."""
        assert self.report is not None
        known = self._unknown_since is None
        touched = self.report.level >= Level.CONTACT
        expected = touched and self.expected.allow(self.report.t, self.report.link)
        if not known or (touched and not expected):
            self._quiet_since = None
            return None
        self._quiet_since = now if self._quiet_since is None else self._quiet_since
        wait, lasted = self.settings.rearm_after, now - self._quiet_since
        if self.mode is not Mode.STOPPED or not 0.0 < wait <= lasted:
            return None
        self.mode = Mode.ARMED
        return Order(Action.REARMED, f"{wait:g} s without contact")


def _check_names(parameter: str, given: Collection[str], known: Collection[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ArgumentError(
            f"{parameter}: no {', '.join(unknown)}; the arm has {', '.join(known)}"
        )
