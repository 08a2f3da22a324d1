"""LoopStatistics: rate, missed periods and latencies of a node's loop, for /diagnostics."""

from __future__ import annotations

from collections import deque

import numpy as np

LATENCIES_KEPT = 4096  # latest ones, for their percentiles
MAX_MISSED_SHARE = 0.02  # of the periods, before a warning


class LoopStatistics:
    """Counters of a loop; the rate covers the time since `facts` was last called."""

    def __init__(self, period: float) -> None:
        self.period = period  # [s], nominal
        self.samples = 0  # in all
        self.missed = 0  # periods without a sample, or cycles without a fresh command, in all
        self.latencies: deque[float] = deque(maxlen=LATENCIES_KEPT)  # [s]
        self._last: float | None = None  # [s], time of the latest sample
        self._first, self._count, self._missed_before = 0.0, 0, 0  # since `facts` was called

    def sample(self, t: float) -> None:
        """Count a sample of the time t [s]."""
        if self._last is not None and t > self._last:
            self.missed += max(0, round((t - self._last) / self.period) - 1)
        if self._count == 0:
            self._first = t
        self._last = t
        self.samples += 1
        self._count += 1

    def stale(self) -> None:
        """Count a cycle without a fresh command."""
        self.missed += 1

    def latency(self, seconds: float) -> None:
        """Record the time from an input to its output [s]."""
        self.latencies.append(seconds)

    def overrun(self) -> str:
        """Return a warning if many periods were missed since `facts` was called, else ''."""
        missed = self.missed - self._missed_before
        due = self._count + missed
        if missed <= MAX_MISSED_SHARE * due:
            return ""
        rate = 1.0 / self.period
        return f"{missed} of {due} periods missed: too busy, or the rate is not {rate:g} Hz"

    def facts(self) -> dict[str, str]:
        """Return rate, missed periods and latencies as texts, and restart the counts."""
        span = self._last - self._first if self._last is not None and self._count else 0.0
        late = np.percentile(self.latencies, [50, 99, 100]) if self.latencies else np.zeros(3)
        found = {
            "rate [Hz]": f"{(self._count - 1) / span:.1f}" if span > 0.0 else "0",
            "samples": str(self.samples),
            "missed": str(self.missed),
            "latency p50, p99, max [ms]": ", ".join(f"{1e3 * x:.3f}" for x in late),
        }
        self._count, self._missed_before = 0, self.missed
        return found
