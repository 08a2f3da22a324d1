"""Thresholds from a run: as low as a wanted number of false alarms an hour allows.

`calibrate` finds how the thresholds follow the motion, on the part of the run without contact.
Then all of them are scaled up and down, and for each scale the detector runs over the recording:
that gives the trade-off between alarms and sensitivity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..detection.monitor import compare_rows
from ..detection.monitor_settings import MonitorSettings, ThresholdSettings
from ..detection.monitor_step import CONTACT, UNKNOWN
from ..detection.thresholds import Thresholds, calibrate
from ..errors import ArgumentError
from .bag_reader import Progress, quiet
from .events import detects, free_of_contact, spans_of
from .offline import Detection
from .run import Array, Run, Span

RATES = (0, 1, 10)  # false alarms an hour
MARGIN = 1.2  # factor for motions that were not recorded
COLLISION = 2.0  # collision thresholds over contact thresholds
SCALES = np.unique(np.concatenate([np.geomspace(0.2, 2.0, 31), [1.0, MARGIN]]))
MIN_THRESHOLD = 1e-3  # of the effort limit: the resolution of sensors
BUCKETS = 4000  # of samples, from each of which the largest residuals are covered


@dataclass(frozen=True, eq=False)
class Tuning:
    """Thresholds at scale 1, just quiet on the run, and the effect of other scales."""

    settings: MonitorSettings  # in use; their thresholds are replaced
    shape: Thresholds
    floor: Array  # (n,) [N m or N], lowest thresholds
    hours: float  # [h], free of contact
    contacts: int  # known contacts
    alarms: Array  # (S,) false alarms an hour at each of SCALES
    found: npt.NDArray[np.int64]  # (S,) known contacts that are detected

    def scale(self, rate: float) -> float:
        """Return the lowest scale with at most `rate` false alarms an hour; 0 gets a margin."""
        if rate == 0:
            return MARGIN
        return float(SCALES[np.flatnonzero(self.alarms <= rate)[0]])

    def told_apart(self, rate: float) -> bool:
        """Return whether the run is long enough to show such a rate."""
        return rate == 0 or rate * self.hours >= 1.0

    def at(self, scale: float) -> MonitorSettings:
        """Return the settings with the thresholds of this scale."""
        scaled = self.shape.scaled(scale)
        quiet_at_rest = replace(scaled, base=np.maximum(scaled.base, self.floor))
        contact, collision = (
            _as_settings(quiet_at_rest.scaled(times)) for times in (1.0, COLLISION)
        )
        return replace(self.settings, contact=contact, collision=collision)


def tune(
    run: Run,
    found: Detection,
    spans: Sequence[Span] = (),
    early: float = 0.0,
    progress: Progress = quiet,
) -> Tuning:
    """Return thresholds from the part of a run without contact; spans [s]: the contacts.

    found: of the run's usable samples. early: as for `events`.
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
    shape = _shape(found.certain, run.qd, free, floor)
    nothing = np.zeros(0, np.int64)
    untried = Tuning(settings, shape, floor, hours, len(spans), np.zeros(0), nothing)
    alarms, detected = [], []
    for k, scale in enumerate(SCALES):
        progress(k / SCALES.size, "trying thresholds")
        level = compare_rows(
            model, found.rows.found, run.t, found.certain, run.qd, untried.at(scale)
        )
        told = spans_of(run.t, level >= CONTACT)
        about = np.array([[detects(s, span, early) for span in spans] for s in told], bool)
        about = about.reshape(len(told), len(spans))
        begun = np.searchsorted(run.t, [s[0] for s in told])
        alarms.append(int((free[begun] & ~about.any(axis=1)).sum()))
        detected.append(int(about.any(axis=0).sum()))
    # An alarm that never ends counts as one: lower thresholds must not seem quieter for that
    counted = np.maximum.accumulate(np.array(alarms, dtype=float)[::-1])[::-1]
    return replace(untried, alarms=counted / hours, found=np.array(detected))


def _shape(r: Array, qd: Array, free: npt.NDArray[np.bool_], floor: Array) -> Thresholds:
    """Return thresholds that are just quiet wherever the run is free of contact: a floor, and
    above it a part that follows the motion.
    """
    over = np.maximum(np.abs(r[free]) - floor, 0.0)
    peak = np.maximum(over.max(axis=0), 1e-9)  # scale of each joint
    qd, rows = qd[free], _largest(over)
    found = calibrate([over[rows] / peak], [qd[rows]], margin=1.0)
    # Cover the other rows, too
    peak *= np.maximum((over / peak / np.maximum(found.at(qd), 1e-12)).max(axis=0), 1.0)
    return Thresholds(
        floor + peak * found.base,
        peak * found.in_motion,
        peak * found.per_velocity,
        speed=found.speed,
    )


def _largest(r: Array) -> npt.NDArray[np.int64]:
    """Return the rows with the largest residual of each joint in each of many short times."""
    size = -(-len(r) // BUCKETS)
    whole = len(r) // size * size
    parts = r[:whole].reshape(-1, size, r.shape[1])
    rows = parts.argmax(axis=1) + size * np.arange(len(parts))[:, None]
    return np.unique(np.concatenate([rows.ravel(), np.arange(whole, len(r))]))


def _as_settings(limit: Thresholds) -> ThresholdSettings:
    """Return thresholds rounded up to three digits."""

    def numbers(values: Array) -> tuple[float, ...]:
        return tuple(_rounded_up(float(x)) for x in values) if values.any() else (0.0,)

    return ThresholdSettings(
        base=numbers(limit.base),
        in_motion=numbers(limit.in_motion),
        per_velocity=numbers(limit.per_velocity),
        per_acceleration=(0.0,),
    )


def _rounded_up(value: float) -> float:
    """Return the value rounded up to three digits."""
    if value < 1e-9:
        return 0.0
    unit = 10.0 ** (np.floor(np.log10(value)) - 2)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.6g}")
