"""SampleWatch: which samples of an arm's state can be trusted, and when they fail to come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..dynamics.vector import kernel
from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .controller import PERIOD, Array, JointState, sample

ABSURD = 1e6  # [rad, m, rad/s or m/s]: no joint is there or moves so fast
FROZEN, TRAVEL = 0.05, 0.02  # [s], [rad or m]: the same sample for so long, so far on the way
BLEND = 0.1  # share of the last gap between samples in their mean


@kernel("float64(float64[::1], float64[::1])")
def _digest(q, qd):
    """One number that changes if any of these does, and is not finite if any is not."""
    total = 0.0
    for k in range(q.size):
        total += q[k] * q[k] + qd[k] * qd[k]
    return total


class SampleWatch:
    """Looks at the samples of one arm. t: the time of the last good one [s]."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.t = -math.inf
        self.period = PERIOD  # [s] between samples, in the mean
        self._now = self._last = math.nan  # digests
        self._same = self._travel = 0.0

    def patience(self, timeout: float) -> float:
        """[s] without a good sample that are no reason to worry: `timeout` after one was due, or
        three periods where samples are rare.
        """
        return max(timeout + self.period, 3.0 * self.period)

    def checked(self, t: float, q: Any, qd: Any) -> JointState:
        """A copy of a sample, or the error that says what is wrong with it."""
        if not math.isfinite(t):
            raise ArgumentError(f"the time of a sample is {t!r}")
        try:
            state = JointState(np.array(q, dtype=np.float64), np.array(qd, dtype=np.float64))
        except (TypeError, ValueError):
            raise ArgumentError(f"a sample is q and qd, numbers each: {q!r}, {qd!r}") from None
        if state.q.shape == (self.model.n,) == state.qd.shape:
            self._now = _digest(state.q, state.qd)
            if self._now < ABSURD**2:
                return state
        sample(self.model, "q", state.q)
        sample(self.model, "qd", state.qd)
        raise ArgumentError(f"a joint of '{self.model.name}' is absurdly far away or fast")

    def take(self, t: float, longest: float) -> None:
        """A good sample has come; a gap counts as no longer than `longest` [s] in the mean."""
        self.period += BLEND * (min(t - self.t, longest) - self.period)
        self.t = t

    def follow(self, qd_wanted: Array, dt: float) -> None:
        """Refuse samples that stay the same although the arm is to move."""
        last, self._last = self._last, self._now
        if self._now != last:
            self._same = self._travel = 0.0
            return
        self._same += dt
        self._travel += dt * float(np.abs(qd_wanted).max())
        if self._same > FROZEN and self._travel > TRAVEL:
            raise RobodynError(f"measured values have been the same for {self._same:.3g} s")
