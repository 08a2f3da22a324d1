"""LinkNaming: a steady name of the touched link while a contact lasts.

The link is not decided anew with each sample but from the mean residual since shortly before the
alarm, at fixed times after it and when it ends. The mean gets less noisy, so later decisions are
better ones; the name changes at most twice. There is no clock here: times come with the samples.

    job = naming.update(t, touched, q, R, bias)
    if job:
        naming.decide(isolator.locate(job.q, job.y, covariance))
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .isolation import Isolation

Array = npt.NDArray[np.float64]

LOOK_BACK = 0.03  # [s] before the alarm, when the contact had begun already
DECISIONS = (0.05, 0.1, 0.2)  # [s] after the alarm
MAX_CHANGES = 2  # of the name, per contact
RESOLUTION = 1e-6  # [s], of the times that are compared

NO_ANSWER = Isolation(None, 0.0)


class NamingJob(NamedTuple):
    """What a decision is made from."""

    q: Array  # (n,) mean posture
    y: Array  # (n,) mean residual without bias [N m or N]
    seconds: float  # over which it was taken


class LinkNaming:
    """Asks for decisions about one contact after the other, and keeps their answer steady."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.reset()

    def reset(self) -> None:
        """Forget everything, e.g. after a gap in the samples."""
        self.answer = NO_ANSWER  # so far, also after the contact
        self.changes = 0  # of the name since the alarm
        self._before: deque[tuple[float, Array]] = deque()
        self._alarm = -math.inf  # [s]; -inf: no contact
        self._told = 0  # decisions asked for since the alarm
        self._start: tuple[float, Array] | None = None
        self._t, self._R, self._bias = 0.0, np.zeros(self._n), np.zeros(self._n)
        self._q_sum, self._count = np.zeros(self._n), 0

    def update(self, t: float, touched: bool, q: Array, R: Array, bias: Array) -> NamingJob | None:
        """Take a sample; return what to decide from if a decision is due.

        R: momentum less the integral of all known torques (n,) [N m s or N s], whose rise is the
        mean external torque; of a first-order residual r with gain K it is r/K plus the integral
        of r. bias: offset of that torque (n,) [N m or N], read when the contact begins.
        """
        if not touched:
            job = self._job() if self._alarm > -math.inf else None
            self._alarm = -math.inf
            self._before.append((t, R.copy()))
            self._forget_before(t - LOOK_BACK)
            return job
        if self._alarm == -math.inf:
            self._begin(t, bias)
        self._t, self._R = t, R.copy()
        self._q_sum += q
        self._count += 1
        due = bisect_right(DECISIONS, t - self._alarm + RESOLUTION)
        if due <= self._told:
            return None
        self._told = due
        return self._job()

    def decide(self, found: Isolation) -> Isolation:
        """Take an answer to the last job; return the name that stands."""
        known, new = self.answer.name, found.name
        if new == known:
            self.answer = found
        elif new and (not known or self.changes < MAX_CHANGES):
            self.changes += bool(known)
            self.answer = found
        return self.answer

    def _begin(self, t: float, bias: Array) -> None:
        self._alarm, self._told = t, 0
        self.answer, self.changes = NO_ANSWER, 0
        self._bias = bias.copy()
        self._forget_before(t - LOOK_BACK)
        self._start = self._before[0] if self._before else None
        self._before.clear()
        self._q_sum, self._count = np.zeros(self._n), 0

    def _forget_before(self, t: float) -> None:
        """Keep the samples from this time on, and the last one not later than it."""
        while len(self._before) > 1 and self._before[1][0] <= t + RESOLUTION:
            self._before.popleft()

    def _job(self) -> NamingJob | None:
        if self._start is None or self._t - self._start[0] < RESOLUTION:
            return None
        seconds = self._t - self._start[0]
        y = (self._R - self._start[1]) / seconds - self._bias
        return NamingJob(self._q_sum / self._count, y, seconds)
