"""Pace: how regularly a node's work comes, how long it takes, how late its answers are."""

from __future__ import annotations

from collections import deque

import numpy as np

KEPT = 4096  # latest latencies, for their percentiles
FEW = 0.02  # share of periods that may be missed


class Pace:
    """Counts for /diagnostics; those over time since `facts` was last asked for."""

    def __init__(self, period: float) -> None:
        self.period = period  # [s], wanted between samples
        self.samples = 0  # ever
        self.missed = 0  # periods without a sample, or cycles without a fresh command, ever
        self.bad = 0  # messages in a row that gave no sample
        self.latencies: deque[float] = deque(maxlen=KEPT)  # [s]
        self._last: float | None = None
        self._first, self._count = 0.0, 0
        self._missed_before = 0

    def sample(self, t: float) -> None:
        """A sample of the time t [s] has come."""
        if self._last is not None and t > self._last:
            self.missed += max(0, round((t - self._last) / self.period) - 1)
        if self._count == 0:
            self._first = t
        self._last = t
        self.samples += 1
        self._count += 1
        self.bad = 0

    def dropped(self) -> int:
        """A message came and was no good; how many in a row."""
        self.bad += 1
        return self.bad

    def stale(self) -> None:
        """A cycle had to do without a fresh command."""
        self.missed += 1

    def latency(self, seconds: float) -> None:
        """So long passed from what came in to what went out."""
        self.latencies.append(seconds)

    def overrun(self) -> str:
        """How many periods were missed since `facts` was asked for, if that is worth a warning."""
        missed = self.missed - self._missed_before
        due = self._count + missed
        if missed <= FEW * due:
            return ""
        return f"{missed} of {due} periods missed: too busy, or the rate is not {self.rate:g} Hz"

    @property
    def rate(self) -> float:
        """[Hz], wanted."""
        return 1.0 / self.period

    def facts(self) -> dict[str, str]:
        """Rate, misses and latencies, and begin to count anew."""
        span = self._last - self._first if self._last is not None else 0.0
        late = np.percentile(self.latencies, [50, 99, 100]) if self.latencies else np.zeros(3)
        found = {
            "rate [Hz]": f"{(self._count - 1) / span:.1f}" if span > 0.0 else "0",
            "samples": str(self.samples),
            "missed": str(self.missed),
            "latency p50, p99, max [ms]": ", ".join(f"{1e3 * x:.3f}" for x in late),
        }
        self._count, self._missed_before = 0, self.missed
        return found
