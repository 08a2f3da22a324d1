"""The witness of a soak: compares what the nodes say with the truth, and keeps a tally. No ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

AFTER = 0.3  # [s] after a push within which it may still be told
# [s] after a push in which an arm that gives way may still be carried by it: the fastest joint's
# 3.56 rad/s fade at the least damping of a soak, 3 1/s, to 0.02 rad/s, which counts as rest
COASTS = 1.7
HEALS = 2.0  # [s] after a fault or payload within which the detector may still tell of it
STOP = 0.01  # [rad or m] from a joint's end: it may touch it before the next sample
FELT = 1e-6  # [N m or N]: the truth is 0 but for rounding
WAIT = 0.1  # [s] after which the truth about an alarm is known, whichever came first
APART = 1.0  # [s] without a wrong word: the next one is another false alarm
ROUNDING = 1e-3  # of stamps
NEVER = (-math.inf, -math.inf)
TOUCHED = ("CONTACT", "COLLISION")


@dataclass
class Tally:
    """What was seen since the witness began; times are those of the samples [s]."""

    first: float | None = None
    now: float | None = None
    stops: int = 0  # how often a joint ran into its end by itself: felt as any touch
    carried: int = 0  # how often a push carried it there
    stops_at: list[str] = field(default_factory=list)  # the latest of both: which joint, and when
    pushes: int = 0
    told: int = 0  # pushes
    cut: int = 0  # 1 while one may still be told: if this life ends now, nobody will know
    delays: list[float] = field(default_factory=list)  # [s], of the latest pushes told
    false_alarms: int = 0  # that began without a push, or lasted too long after one
    false_at: list[str] = field(default_factory=list)  # the first of them: when, and what of
    injected: int = 0  # faults and payloads of the arm
    noticed: int = 0  # of these, by an alarm, UNKNOWN or a name
    named: int = 0  # with the right kind
    unnoticed_at: list[str] = field(default_factory=list)
    unknown: float = 0.0  # [s]
    bad_numbers: int = 0  # commands or residuals that are not finite, or beyond the limits
    steps: int = 0  # commands that changed faster than they may
    quiet: float = 0.0  # [N m or N], the largest residual while nothing touched the arm


class Witness:
    """Hears truth, words, commands and residuals.

    tau_max [N m or N]: of a command. tau_rate_max [N m/s or N/s]: how fast it may change. period
    [s]: between samples. apart [s]: by how much a command and the truth of its sample may come one
    before the other, 0 in one process.
    """

    def __init__(
        self, tau_max: np.ndarray, tau_rate_max: float, period: float, apart: float = 0.0
    ) -> None:
        self.tally = Tally()
        self._tau_max, self._fastest = tau_max, tau_rate_max
        self._period, self._apart = period, apart
        self._pushes = [NEVER, NEVER]  # begin and end of the two latest
        self._touching = False
        self._fault, self._fault_kind = NEVER, ""  # begin and end of the latest, and which it was
        self._noticed = self._named = True
        self._stop = NEVER  # the latest time in which a joint was at its end
        self._push_told = True
        self._level, self._level_at = "", math.inf
        # When the detector said that something touches, what of, and how near a joint's end was
        self._waiting: list[tuple[float, str]] = []
        self._room = math.inf  # [rad or m], from the nearest joint's end
        self._wrong_at = -math.inf  # when it last did without a reason
        self._tau: np.ndarray | None = None
        self._commanded_at = (0.0, 0.0)  # [s], of the samples' time and of wall time

    def truth(self, t: float, size: float) -> None:
        """The largest external joint torque at a time."""
        tally = self.tally
        tally.first = t if tally.first is None else tally.first
        tally.now = t
        before, self._touching = self._touching, size > FELT
        if self._touching:
            if not before and t - self._pushes[-1][1] > AFTER:
                tally.pushes += 1
                self._pushes = [self._pushes[-1], (t, t)]
                self._push_told = False
            self._pushes[-1] = (self._pushes[-1][0], t)
        while self._waiting and t >= self._waiting[0][0] + WAIT:
            self._judge(*self._waiting.pop(0))
        open_until = self._pushes[-1][1] + AFTER + WAIT  # the last word may wait to be judged
        tally.cut = int(not self._push_told and t <= open_until)

    def fault(self, t: float, kind: str) -> None:
        """What is wrong with the arm from now on, or a payload; empty: nothing any more."""
        if kind:
            self.tally.injected += 1
            self._fault, self._fault_kind = (t, math.inf), kind
            self._noticed = self._named = False
        elif self._fault[1] == math.inf:
            self._fault = (self._fault[0], t)
            if not self._noticed:
                self.tally.unnoticed_at = [*self.tally.unnoticed_at, self._fault_kind][:20]

    def name(self, t: float, kind: str) -> None:
        """The kind of fault that the detector tells."""
        if self._is_faulty(t) and kind:
            self._notice()
            if kind == self._fault_kind and not self._named:
                self._named = True
                self.tally.named += 1

    def _is_faulty(self, t: float) -> bool:
        """Whether a fault acts, or has just ended."""
        return self._fault[0] <= t <= self._fault[1] + HEALS

    def _notice(self) -> None:
        if not self._noticed and self._fault[1] == math.inf:
            self._noticed = True
            self.tally.noticed += 1

    def posture(self, t: float, room: float, joint: str = "") -> None:
        """How far the joints are from their ends [rad or m]: the nearest one, and which it is."""
        self._room = room
        if room < STOP:
            if t - self._stop[1] > AFTER:
                self._ran_into(t, joint)
                self._stop = (t, t)
            self._stop = (self._stop[0], t)

    def _ran_into(self, t: float, joint: str) -> None:
        """A joint's end, by itself or by a push, which an arm that gives way follows for a while
        and is not held back there.
        """
        since = t - max(self._pushes[-1][1], self._fault[1])
        if since <= COASTS:
            self.tally.carried += 1
        else:
            self.tally.stops += 1
        said = f"{joint} at {t:.3f} s, {max(since, 0.0):.2f} s after a push or fault"
        self.tally.stops_at = [*self.tally.stops_at, said][-20:]

    def word(self, t: float, level: str, about: str = "") -> None:
        """What the detector says about a time, and what else it says."""
        if self._level == "UNKNOWN":
            self.tally.unknown += max(t - self._level_at, 0.0)
        self._level, self._level_at = level, t
        if level != "CLEAR" and self._is_faulty(t):
            self._notice()
        if level in TOUCHED:
            self._waiting.append((t, f"{level} {about}; {self._room:.3f} from a joint's end"))

    def _judge(self, t: float, what: str) -> None:
        begin = self._pushes[-1][0]
        if any(start <= t <= end + AFTER for start, end in self._pushes):
            if not self._push_told and t >= begin:
                self._push_told = True
                self.tally.told += 1
                self.tally.delays = [*self.tally.delays[-99:], t - begin]
            return
        if self._stop[0] <= t <= self._stop[1] + AFTER or self._is_faulty(t):
            return
        if t - self._wrong_at > APART:
            self.tally.false_alarms += 1
            self.tally.false_at = [*self.tally.false_at, f"{t:.3f} s: {what}"][:20]
        self._wrong_at = t

    def command(self, tau: np.ndarray, wall: float) -> None:
        """A command: finite, within its limits, and near the one before. wall: [s], when."""
        now = self.tally.now or 0.0
        if not (np.abs(tau) <= self._tau_max).all():
            self.tally.bad_numbers += 1
        if self._tau is not None and self._faster(tau, now, wall):
            self.tally.steps += 1
        self._tau, self._commanded_at = tau.copy(), (now, wall)

    def _faster(self, tau: np.ndarray, now: float, wall: float) -> bool:
        """Whether the torque has changed by more than it may since the last command. Commands
        answer samples, so what counts is their time; a controller that sees none goes by the
        wall's.
        """
        before, wall_before = self._commanded_at
        since = now - before
        if since <= 0.0:
            since = wall - wall_before + self._period
        allowed = self._fastest * (since + self._apart) * (1.0 + ROUNDING)
        return bool(np.abs(tau - self._tau).max() > allowed)

    def residual(self, t: float, r: np.ndarray) -> None:
        """A residual: finite, and small while nothing touches the arm."""
        size = float(np.abs(r).max())
        if not math.isfinite(size):
            self.tally.bad_numbers += 1
        elif self._is_faulty(t):
            return
        elif t > max(self._pushes[-1][1], self._stop[1]) + AFTER and self._level == "CLEAR":
            self.tally.quiet = max(self.tally.quiet, size)
