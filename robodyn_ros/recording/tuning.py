"""Thresholds from a run: as low as an allowed rate of false alarms permits.

`calibrate` fits thresholds that depend on the motion to the part of the run without contact. Then
the detector runs over the recording with these thresholds at many scales, which gives the
trade-off between false alarms and sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..detection.monitor_rows import compare_rows
from ..detection.monitor_settings import MonitorSettings, ThresholdSettings
from ..detection.monitor_step import CONTACT, UNKNOWN
from ..detection.thresholds import Thresholds, calibrate
from ..errors import ArgumentError
from .bags import Progress, quiet
from .events import detects, free_of_contact, spans_of
from .offline import Detection
from .run import Array, Run, Span

RATES = (0, 1, 10)  # [1/h], offered rates of false alarms
MARGIN = 1.2  # factor for motions that were not recorded
COLLISION_FACTOR = 2.0  # collision thresholds over contact thresholds
SCALES = np.unique(np.concatenate([np.geomspace(0.2, 2.0, 31), [1.0, MARGIN]]))
MIN_THRESHOLD = 1e-3  # share of the effort limit: the resolution of sensors
BUCKETS = 4000  # parts of the run; the largest residuals of each are calibrated on


@dataclass(frozen=True, eq=False)
class Tuning:
    """Thresholds that raise no alarm on the run (scale 1), and the effect of other scales."""

    settings: MonitorSettings  # in use, whose thresholds are replaced
    shape: Thresholds  # at scale 1
    floor: Array  # (n,) [N m or N], lowest thresholds
    hours: float  # [h], free of contact
    contacts: int  # known contacts
    alarms: Array  # (S,) false alarms an hour at each of SCALES
    found: npt.NDArray[np.int64]  # (S,) known contacts that are detected

    def scale(self, rate: float) -> float:
        """Return the lowest scale with at most `rate` false alarms per hour; 0 gets a margin."""
        if rate == 0:
            return MARGIN
        return float(SCALES[np.flatnonzero(self.alarms <= rate)[0]])

    def measurable(self, rate: float) -> bool:
        """Return whether the run is long enough to measure this rate."""
        return rate == 0 or rate * self.hours >= 1.0

    def at(self, scale: float) -> MonitorSettings:
        """Return the settings with the thresholds of this scale."""
        scaled = self.shape.scaled(scale)
        limit = replace(scaled, base=np.maximum(scaled.base, self.floor))
        contact, collision = as_settings(limit), as_settings(limit.scaled(COLLISION_FACTOR))
        return replace(self.settings, contact=contact, collision=collision)


def tune(
    run: Run,
    found: Detection,
    spans: Sequence[Span] = (),
    early: float = 0.0,
    progress: Progress = quiet,
) -> Tuning:
    """Return thresholds from the part of a run without contact.

    found: of the usable samples; spans: known contacts [s]; early: as for `events`.
    """
    settings, model = found.settings, found.model
    wide = [(begin - early, end) for begin, end in spans]
    free = free_of_contact(run.t, wide, min(settings.gain)) & (found.level != UNKNOWN)
    steps = np.diff(run.t, prepend=run.t[0])
    longest = 1.0 / max(settings.gain)
    hours = float(steps[free & (steps > 0.0) & (steps <= longest)].sum()) / 3600.0
    if not free.any():
        raise ArgumentError(f"no part of '{run.name}' is free of contact: record a longer run")
    limit = model.tau_max
    floor = np.where(np.isfinite(limit), MIN_THRESHOLD * limit, MIN_THRESHOLD)
    shape = threshold_shape(found.certain[free], run.qd[free], floor)
    none = np.zeros(0, np.int64)
    untried = Tuning(settings, shape, floor, hours, len(spans), np.zeros(0), none)
    alarms, detected = [], []
    for k, scale in enumerate(SCALES):
        progress(k / SCALES.size, "trying thresholds")
        level = compare_rows(model, found.samples, found.rows, untried.at(scale))
        alerts = spans_of(run.t, level >= CONTACT)
        matches = np.array([[detects(s, span, early) for span in spans] for s in alerts], bool)
        matches = matches.reshape(len(alerts), len(spans))
        begun = np.searchsorted(run.t, [s[0] for s in alerts])
        alarms.append(int((free[begun] & ~matches.any(axis=1)).sum()))
        detected.append(int(matches.any(axis=0).sum()))
    # An alarm that never ends counts once; lower thresholds must not appear quieter for that
    counted = np.maximum.accumulate(np.array(alarms, dtype=float)[::-1])[::-1]
    return replace(untried, alarms=counted / hours, found=np.array(detected))


def threshold_shape(r: Array, qd: Array, floor: Array) -> Thresholds:
    """Return the lowest thresholds without an alarm on residuals (T, n) of free motion: a floor
    (n,) [N m or N] and a part that depends on velocities (T, n).
    """
    over = np.maximum(np.abs(r) - floor, 0.0)
    peak = np.maximum(over.max(axis=0), 1e-9)  # scale of each joint
    rows = _largest(over)
    found = calibrate([over[rows] / peak], [qd[rows]], margin=1.0)
    # Cover the other rows, too
    peak *= np.maximum((over / peak / np.maximum(found.at(qd), 1e-12)).max(axis=0), 1.0)
    base, in_motion = floor + peak * found.base, peak * found.in_motion
    return Thresholds(base, in_motion, peak * found.per_velocity, speed=found.speed)


def _largest(r: Array) -> npt.NDArray[np.int64]:
    """Return the rows with the largest residual of each joint in each bucket."""
    size = -(-len(r) // BUCKETS)
    whole = len(r) // size * size
    parts = r[:whole].reshape(-1, size, r.shape[1])
    rows = parts.argmax(axis=1) + size * np.arange(len(parts))[:, None]
    return np.unique(np.concatenate([rows.ravel(), np.arange(whole, len(r))]))


def as_settings(limit: Thresholds) -> ThresholdSettings:
    """Return thresholds as parameters, rounded up to three digits."""
    base, in_motion, per_velocity = (
        tuple(_rounded_up(float(x)) for x in values) if values.any() else (0.0,)
        for values in (limit.base, limit.in_motion, limit.per_velocity)
    )
    return ThresholdSettings(base, in_motion, per_velocity, per_acceleration=(0.0,))


def _rounded_up(value: float) -> float:
    if value < 1e-9:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.6g}")
