"""Shape of the noise: the deviation of each joint over its speed and acceleration.

It follows the bulk of the noise, a robust quantile at each speed; its size is a matter of peaks
(`noise_peaks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .free_motion import FAST, REST, RESTED, SLOW, MotionWindows
from .monitor_settings import MIN_SIGMA, NoiseWindow
from .noise import moving_share

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SPEED_BINS = 10  # of equal numbers of samples, in which deviations are measured
ACCELERATIONS = (0.0, 0.5, 0.8, 0.95, 1.0)  # quantiles at which each of them is cut
INERTIA_SHARE = 0.1  # of a joint's inertia: largest deviation per acceleration
MIN_BIN = 20  # samples
ROBUST = 0.75  # quantile of deviations that stands for all: touches may be among the larger ones
NORMAL_QUANTILE = 1.150  # 75 % of a normal distribution lie within this many standard deviations
FLOOR = 0.7  # of the lowest deviation of all bins: least deviation


@dataclass(frozen=True, eq=False)
class NoiseShape:
    """Deviation of each joint of an arm that has rested, of one that stands or creeps, of one
    that moves, per speed and per acceleration; (n,) each.
    """

    rest: Array
    creeping: Array
    moving: Array
    per_velocity: Array
    per_acceleration: Array

    def at(self, windows: MotionWindows, onset: float) -> Array:
        share, unrest = moving_share(windows.speed, onset), windows.unrest
        slow = self.rest * (1.0 - unrest) + self.creeping * unrest
        slow_or_fast = slow * (1.0 - share) + self.moving * share
        rise = self.per_velocity * windows.speed + self.per_acceleration * windows.acceleration
        return slow_or_fast + rise

    def scaled(self, factors: Array) -> NoiseShape:
        """Return the shape times factors (3, n), by class."""
        rest, creeping, fast = factors
        return NoiseShape(
            rest * self.rest,
            creeping * self.creeping,
            fast * self.moving,
            fast * self.per_velocity,
            fast * self.per_acceleration,
        )

    def ordered(self, known: Flags) -> NoiseShape:
        """Return the shape with a creeping joint no quieter than a resting arm; moving joints that
        are not known (3, n) are as loud as creeping ones.
        """
        rest = np.where(known[REST], self.rest, self.creeping)
        creeping = np.where(known[SLOW], np.maximum(self.creeping, rest), rest)
        moving = np.where(known[FAST], self.moving, np.maximum(self.moving, creeping))
        return replace(self, rest=rest, creeping=creeping, moving=moving)

    def of(self, window: NoiseWindow, scale: float) -> NoiseWindow:
        """Return the window with these deviations over a scale."""
        rest, creeping, moving = (
            np.maximum(x / scale, MIN_SIGMA) for x in (self.rest, self.creeping, self.moving)
        )
        base, in_motion, per_velocity, per_acceleration, at_rest = (
            tuple(float(f"{x:.4g}") for x in row)
            for row in (
                creeping,
                moving - creeping,
                self.per_velocity / scale,
                self.per_acceleration / scale,
                rest,
            )
        )
        return replace(
            window,
            base=base,
            in_motion=in_motion,
            per_velocity=per_velocity,
            per_acceleration=per_acceleration,
            at_rest=at_rest,
        )


def noise_shape(
    windows: Sequence[MotionWindows], name: str, onset: float, inertia: Array
) -> NoiseShape:
    """Return the shape of one window's noise, by its robust size at each speed."""
    y, speed, acceleration = (
        np.vstack([getattr(w, x) for w in windows]) for x in (name, "speed", "acceleration")
    )
    rested = np.vstack([w.unrest for w in windows])[:, 0] < RESTED
    columns = []
    for j in range(y.shape[1]):
        own = (y[~rested, j], speed[~rested, j], acceleration[~rested, j])
        law = _deviation(*own, onset, inertia[j]) if (~rested).any() else None
        rest = _robust(y[rested, j]) if rested.sum() >= MIN_BIN else law[0] if law else 0.0
        columns.append((rest, *(law or (rest, rest, 0.0, 0.0))))
    return NoiseShape(*np.array(columns).T)


def _robust(y: Array) -> float:
    """Return the standard deviation of the bulk of y."""
    return max(float(np.quantile(np.abs(y), ROBUST)) / NORMAL_QUANTILE, MIN_SIGMA)


def _deviation(
    y: Array, speed: Array, acceleration: Array, onset: float, inertia: float
) -> tuple[float, float, float, float]:
    """Return the deviation of one joint that creeps, that moves, per speed and acceleration.

    What grows faster with the acceleration than a model with wrong inertias may explain is taken
    for something else: a joint that hardly accelerates would get deaf where it does.
    """
    from scipy.optimize import lsq_linear  # slow to import

    alike = _bins(speed)
    least = FLOOR * min(_robust(y[rows]) for rows in alike)
    cells = [cell for rows in alike for cell in _cut(rows, acceleration)]
    v = np.array([speed[rows].mean() for rows in cells])
    a = np.array([acceleration[rows].mean() for rows in cells])
    s = np.array([_robust(y[rows]) for rows in cells])
    share = moving_share(v, onset)
    F = np.column_stack([1.0 - share, share, v, a])
    highest = (np.inf, np.inf, np.inf, max(INERTIA_SHARE * inertia, MIN_SIGMA))
    weights = lsq_linear(F / s[:, None], (s - least) / s, (0.0, highest), method="bvls").x
    rest, moving = (max(least + x, MIN_SIGMA) for x in weights[:2])
    # A class that was never seen is like the other one
    if not (share < 0.5).any():
        rest = moving
    if not (share >= 0.5).any():
        moving = rest
    return rest, moving, *(max(float(x), 0.0) for x in weights[2:])  # 0 to rounding


def _bins(speed: Array) -> list[npt.NDArray[np.int64]]:
    """Return the samples of like speed, at least MIN_BIN each; all, if there are fewer."""
    edges = np.unique(np.quantile(speed, np.linspace(0.0, 1.0, SPEED_BINS + 1)))
    found = [
        np.flatnonzero((speed >= low) & (speed <= high))
        for low, high in zip(edges[:-1], edges[1:], strict=True)
    ]
    return [x for x in found if x.size >= MIN_BIN] or [np.arange(speed.size)]


def _cut(rows: npt.NDArray[np.int64], acceleration: Array) -> list[npt.NDArray[np.int64]]:
    """Return samples in parts of like acceleration, at least MIN_BIN each; or all of them."""
    ordered = rows[np.argsort(acceleration[rows], kind="stable")]
    cuts = (np.array(ACCELERATIONS) * rows.size).astype(int)
    parts = [ordered[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    return [x for x in parts if x.size >= MIN_BIN] or [rows]
