"""The maker's own external torque beside the residual: sign, delay, noise, offset, and events.

Makers' estimates come with either sign. The one that follows the residual is taken, at the shift
in time at which both agree best, and both are stated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..detection.detector import Level
from .events import SAME_CONTACT, free_of_contact, spans_of
from .offline import Detection
from .run import Array, Run, Span

MAX_DELAY = 0.2  # [s], either way
MIN_CORRELATION = 0.3  # below, sign and delay are not known
NOISE_WINDOW = 1.0  # [s]: what changes more slowly is no noise


@dataclass(frozen=True, eq=False)
class ExternalTorque:
    """The maker's external torque, with the residual's sign, compared with the residual."""

    source: str  # topic or columns
    values: Array  # (T, n) [N m or N] at the samples of the run, in the sign of the residual
    sign: int  # by which the recorded torque is multiplied
    correlation: float  # with the residual, of all joints, before the sign: -1 to 1
    delay: float  # [s] by which it follows the residual; negative: it leads; NaN: not known
    noise: Array  # (2, n) [N m or N] standard deviation within a second: residual, maker's
    offset: Array  # (2, n) [N m or N] median without contact: residual, maker's
    both: int  # events found by both
    only_residual: tuple[Span, ...]  # [s]
    only_maker: tuple[Span, ...]  # [s], by the same thresholds

    @property
    def known(self) -> bool:
        """Whether the sign was found."""
        return abs(self.correlation) >= MIN_CORRELATION

    def sentences(self) -> list[str]:
        """Return sign, delay and events in words."""
        sign = "that of the residual" if self.sign > 0 else "minus that of the residual"
        text = f"sign: {sign} (correlation {self.correlation:+.2f})"
        if not self.known:
            text = f"sign: not known (correlation {self.correlation:+.2f}); taken as it is"
        late = "later" if self.delay >= 0.0 else "earlier"
        delay = "delay: not known"
        if self.known:
            delay = f"delay: the maker's is {1e3 * abs(self.delay):.0f} ms {late}"
        events = (
            f"events: {self.both} by both; only by the residual: {_times(self.only_residual)}; "
            f"only by the maker's at the same thresholds: {_times(self.only_maker)}"
        )
        return [text, delay, events]


def compared(found: Detection, run: Run, source: str, t: Array, torque: Array) -> ExternalTorque:
    """Return the comparison with an external torque (T', n) at times t (T',) [s]."""
    limits = found.settings.contact.thresholds(found.model)
    values = np.column_stack([np.interp(run.t, t, column) for column in torque.T])
    step = float(np.median(np.diff(run.t)))
    # What the observer has not settled to would count as disagreement
    settled = found.level != Level.UNKNOWN
    correlation, delay = _agreement(
        found.r[settled] / limits.base, values[settled] / limits.base, step
    )
    sign = -1 if correlation <= -MIN_CORRELATION else 1
    if abs(correlation) < MIN_CORRELATION:
        delay = np.nan
    values = sign * values
    ours = spans_of(run.t, found.level >= Level.CONTACT)
    free = free_of_contact(run.t, ours, float(np.min(found.settings.gain))) & settled
    free = free if free.sum() * step > NOISE_WINDOW else settled
    pair = np.stack([found.r[free], values[free]])
    offset = np.median(pair, axis=1)
    above = np.abs(values - offset[1]) > limits.at(run.qd)
    theirs = spans_of(run.t, above.any(axis=1) & settled)
    matched = [one for one in ours if any(_overlap(one, other) for other in theirs)]
    return ExternalTorque(
        source=source,
        values=values,
        sign=sign,
        correlation=correlation,
        delay=delay,
        noise=np.stack([_noise(x, step) for x in pair]),
        offset=offset,
        both=len(matched),
        only_residual=tuple(one for one in ours if one not in matched),
        only_maker=tuple(one for one in theirs if not any(_overlap(one, other) for other in ours)),
    )


def _agreement(r: Array, external: Array, step: float) -> tuple[float, float]:
    """Return the correlation of two signals (T, n) at the shift at which it is largest, and that
    shift [s].
    """
    r, external = r - r.mean(axis=0), external - external.mean(axis=0)
    size = np.sqrt((r * r).sum() * (external * external).sum())
    if not size > 0.0:
        return 0.0, np.nan
    most = min(int(MAX_DELAY / step), len(r) // 4)

    def correlation(shift: int) -> float:
        a, b = (r, external) if shift >= 0 else (external, r)
        rows = len(r) - abs(shift)
        return float((a[:rows] * b[abs(shift) :]).sum() / size)

    found = np.array([correlation(shift) for shift in range(-most, most + 1)])
    best = int(np.argmax(np.abs(found)))
    return float(found[best]), step * (best - most)


def _noise(x: Array, step: float) -> Array:
    """Return the standard deviation (n,) within parts of a second."""
    rows = max(int(NOISE_WINDOW / step), 2)
    parts = [x[k : k + rows] for k in range(0, max(len(x) - rows, 0) + 1, rows)]
    return np.asarray(np.sqrt(np.mean([part.var(axis=0) for part in parts], axis=0)))


def _overlap(one: Span, other: Span) -> bool:
    return one[0] <= other[1] + SAME_CONTACT and other[0] <= one[1] + SAME_CONTACT


def _times(spans: tuple[Span, ...]) -> str:
    if not spans:
        return "none"
    shown = ", ".join(f"{begin:.2f}" for begin, _ in spans[:5])
    return f"{len(spans)} (at {shown}{' …' if len(spans) > 5 else ''} s)"
