"""LinkNaming: a steady name of the touched link while a contact lasts.

The link is not decided anew with each sample but from the mean residual since shortly before the
alarm, at fixed times after it and when it ends (`contact_mean`). The mean gets less noisy, so
later decisions are better ones; the link changes at most twice, the last time by the decision at
the end. There is no clock here: times come with the samples.

    job = naming.update(t, touched, q, R, bias)
    if job:
        naming.decide(isolator.locate(job.q, job.y, covariance), job.over)

`LinkDecisions` does the same for the monitor, whose compiled step has taken the mean, and spreads
the work over samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from . import contact_mean as at
from .isolation import ContactIsolator, Isolation

Array = npt.NDArray[np.float64]

MAX_CHANGES = 2  # of the name, per contact; one is reserved for the end
PART_TIME = 1e-3  # [s] of samples for each link that is weighed

NO_ANSWER = Isolation(None, 0.0)


class NamingJob(NamedTuple):
    """What a decision is made from."""

    q: Array  # (n,) mean posture
    y: Array  # (n,) mean residual without bias [N m or N]
    seconds: float  # over which it was taken
    speed: Array  # (n,) mean speed of the joints
    over: bool  # whether the contact is over


class SteadyName:
    """The answer about one contact, which changes its name at most twice."""

    def __init__(self) -> None:
        self.answer, self.changes = NO_ANSWER, 0

    def decide(self, found: Isolation, over: bool = False) -> Isolation:
        """Take an answer, over: at the end of the contact; return the one that stands."""
        known, new = (x.link or x.innermost or "" for x in (self.answer, found))
        most = MAX_CHANGES if over else MAX_CHANGES - 1
        if new == known:  # more or less certain
            self.answer = found
        elif new and (not known or self.changes < most):
            self.changes += bool(known)
            self.answer = found
        return self.answer


class LinkNaming:
    """Asks for decisions about one contact after the other, and keeps their answer steady."""

    def __init__(self, n: int) -> None:
        self._still = np.zeros(n)
        self._ring = np.zeros((at.CAPACITY, n + 1))
        self._rows, self._own = np.zeros((int(at.ROWS), n)), np.zeros(int(at.SCALARS))
        self.reset()

    def reset(self) -> None:
        """Forget everything, e.g. after a gap in the samples."""
        at.restart_contact(self._rows, self._own)
        self._name, self._touched = SteadyName(), False

    @property
    def answer(self) -> Isolation:
        """The answer so far, also after the contact."""
        return self._name.answer

    @property
    def changes(self) -> int:
        """Changes of the name since the alarm."""
        return self._name.changes

    def update(
        self, t: float, touched: bool, q: Array, R: Array, bias: Array, qd: Array | None = None
    ) -> NamingJob | None:
        """Take a sample; return what to decide from if a decision is due.

        R: momentum less the integral of all known torques (n,) [N m s or N s], whose rise is the
        mean external torque; of a first-order residual r with gain K it is r/K plus the integral
        of r. bias: offset of that torque (n,) [N m or N], read when the contact begins.
        """
        if touched and not self._touched:
            self._name = SteadyName()
        self._touched = bool(touched)
        rows, own = self._rows, self._own
        rows[int(at.MOMENTUM)] = R
        measured = (q, self._still if qd is None else qd, bias)
        arrays = (np.ascontiguousarray(x, dtype=np.float64) for x in measured)
        due = at.follow_contact(self._ring, rows, own, t, self._touched, *arrays)
        if due == at.NO:
            return None
        y, q, speed = (rows[int(row)].copy() for row in (at.Y, at.Q, at.SPEED))
        seconds = float(own[int(at.LAST)] - own[int(at.START)])
        return NamingJob(q, y, seconds, speed, due == at.OVER)

    def decide(self, found: Isolation, over: bool = False) -> Isolation:
        """Take an answer to the last job; return the name that stands."""
        return self._name.decide(found, over)


class LinkDecisions:
    """Makes the decisions that the monitor's step asks for, part by part, sample by sample.

    How much is done at a sample follows from the times of samples alone, so a node and an offline
    run give the same answers. One link is weighed for each PART_TIME; where the period is longer
    than that of all links, the decision is made at once.
    """

    def __init__(self, isolator: ContactIsolator, covariance: Callable[[Array], Array]) -> None:
        """covariance: of the mean residual (n, n), from the mean speeds of the joints (n,)."""
        self.isolator, self._covariance = isolator, covariance
        self.reset()

    def reset(self) -> None:
        """Forget the contact and the decision under way."""
        self._name, self._touched = SteadyName(), False
        self._work: Generator[None, None, Isolation] | None = None
        self._over, self._since, self._parts = False, 0.0, 0
        self.ended: Isolation | None = None  # the last answer about a contact, when it is made

    def continue_from(self, other: LinkDecisions) -> None:
        """Continue where another one of the same robot stands."""
        self._name, self._touched, self.ended = other._name, other._touched, other.ended
        self._work, self._over = other._work, other._over
        self._since, self._parts = other._since, other._parts

    @property
    def busy(self) -> bool:
        """Whether `update` has something to do although no contact is there and none is due."""
        return self._touched or self._work is not None or self.ended is not None

    @property
    def answer(self) -> Isolation:
        """The answer about the present contact, so far."""
        return self._name.answer if self._touched else NO_ANSWER

    def update(
        self, t: float, touched: bool, due: float, y: Array, q: Array, speed: Array
    ) -> None:
        """Take a sample. due: 0, or a decision is due; the sample's period [s], negative if the
        contact is over. y, q, speed: means (n,) for this decision.
        """
        self.ended = None
        if touched and not self._touched:
            self._finish()  # the contact before
            self._name = SteadyName()
        self._touched = touched
        if due != 0.0:
            if self._over:
                self._finish()
            self._work = self.isolator.located_by_link(q, y, self._covariance(speed))
            self._over, self._since, self._parts = due < 0.0, t - abs(due), 0
        if self._work is not None:
            allowed = max(math.floor((t - self._since) / PART_TIME + 1e-6), 1)
            while self._work is not None and self._parts < allowed:
                self._advance()

    def _finish(self) -> None:
        while self._work is not None:
            self._advance()

    def _advance(self) -> None:
        """Weigh one more link; take the answer after the last one."""
        assert self._work is not None
        try:
            next(self._work)
            self._parts += 1
        except StopIteration as done:
            self._work = None
            found = self._name.decide(done.value, self._over)
            if self._over:
                self.ended, self._over = found, False
