"""Motion without contact in a recording, and its means over the windows of the noise test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from ..sensing.sampler import Samples
from .monitor_rows import monitor_rows
from .monitor_settings import BiasSettings, MonitorSettings, NoiseSettings
from .noise import (
    acceleration_of,
    followed_bias,
    moving_share,
    spikes,
    unrest_of,
    windowed_means,
)

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

PARTS = 3  # of a single recording, which take the place of several ones
RESTED = 0.2  # share of its unrest below which an arm has rested
REST, SLOW, FAST = 0, 1, 2  # classes: arm has rested; joint stands or creeps; joint moves


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """A recording and where it is free of contact."""

    name: str
    samples: Samples
    external: Array  # (T, n) [N m or N], mean external torque since the previous sample
    free: Flags  # (T,) usable, and no known contact
    r: Array  # (T, n) [N m or N], residual with its bias
    tared: float = -math.inf  # [s], when the monitor knows its bias at the start
    bias: Array | None = None  # (T, n) [N m or N], the monitor's, where it is known

    def parts(self, count: int) -> list[FreeMotion]:
        """Return the recording several times, each time with another part of it free."""
        edges = np.linspace(0, self.free.size, count + 1).astype(int)
        inside = np.arange(self.free.size)
        return [
            replace(
                self,
                name=f"{self.name}, part {k + 1}",
                free=self.free & (inside >= a) & (inside < b),
            )
            for k, (a, b) in enumerate(zip(edges[:-1], edges[1:], strict=True))
        ]


def free_motion(
    model: RobotModel,
    name: str,
    samples: Samples,
    settings: MonitorSettings,
    contacts: Sequence[tuple[float, float]] = (),
) -> FreeMotion:
    """Return the increments of a recording; contacts: known ones, from and to [s]."""
    plain = replace(settings, bias=BiasSettings(), noise=NoiseSettings())
    rows = monitor_rows(model, samples, plain, certain=True)
    free = np.isfinite(rows.external).all(axis=1) & samples.valid
    for begin, end in contacts:
        free &= ~((samples.t >= begin) & (samples.t <= end))
    return FreeMotion(name, samples, rows.external, free, rows.r)


@dataclass(frozen=True, eq=False)
class MotionWindows:
    """Windowed means (K, n) without bias and what spikes may have caused, where both windows are
    filled with free motion.
    """

    speed: Array
    acceleration: Array  # its size
    unrest: Array  # (K, 1)
    short: Array
    long: Array
    bias: Array
    jolt: Array  # (n,) by how much the mean of the long window changes before the bias is known
    runs: npt.NDArray[np.int64]  # (K,): for how many samples both windows have been filled
    period: float  # [s]

    @classmethod
    def of(cls, motion: FreeMotion, settings: MonitorSettings) -> MotionWindows:
        t, filled = motion.samples.t, np.ones(motion.samples.t.size, dtype=np.bool_)
        external = np.where(motion.free[:, None], motion.external, 0.0)
        error = np.maximum(spikes(motion.samples.tau) - np.array(settings.noise.spike), 0.0)
        error = np.where(motion.free[:, None], error, 0.0)
        means, errors = [], []
        for window in (settings.noise.short, settings.noise.long):
            y, wrong = np.zeros_like(external), np.zeros_like(external)
            full = np.zeros(t.size, dtype=np.bool_)
            windowed_means(t, external, motion.free, window.window, y, full)
            windowed_means(t, error, motion.free, window.window, wrong, full)
            means.append(y)
            errors.append(wrong)
            filled &= full
        bias, start = np.zeros_like(external), means[1][filled & (t <= motion.tared)]
        if settings.bias.rate > 0.0:
            filled &= t >= max(t[0] + settings.bias.start_time, motion.tared)
            if motion.bias is None:
                followed_bias(t, means[1], filled, settings.bias.rate, bias)
            else:
                bias = motion.bias
        short, long = (
            ((y - bias) - np.clip(y - bias, -wrong, wrong))[filled]
            for y, wrong in zip(means, errors, strict=True)
        )
        place = np.arange(t.size)
        runs = place - np.maximum.accumulate(np.where(filled, -1, place))
        qd, noise, unrest = motion.samples.qd, settings.noise, np.zeros(t.size)
        unrest_of(t, np.ascontiguousarray(qd), noise.speed, noise.rest_time, unrest)
        acceleration = np.zeros_like(qd)
        acceleration_of(t, np.ascontiguousarray(qd), noise.long.window, acceleration)
        kept = np.abs(qd)[filled], acceleration[filled], unrest[filled, None]
        period = float(np.median(np.diff(t)))
        jolt = np.ptp(start, axis=0) if len(start) else np.zeros(external.shape[1])
        return cls(*kept, short, long, bias[filled], jolt, runs[filled], period)

    def classes(self, onset: float) -> Array:
        """Return in which class each joint is at each sample (3, K, n)."""
        rested = np.broadcast_to(self.unrest < RESTED, self.speed.shape)
        moving = moving_share(self.speed, onset) >= 0.5
        return np.array([rested, ~rested & ~moving, ~rested & moving])

    def lasting(self, y: Array, samples: int) -> Array:
        """Return what of |y| lasts for so many further samples (K, n)."""
        size = np.abs(y)
        least = size.copy()
        for k in range(1, samples + 1):
            before = np.zeros_like(size)
            before[k:] = size[:-k]
            least = np.minimum(least, np.where(self.runs[:, None] > k, before, 0.0))
        return least


def long_means(motion: FreeMotion, settings: MonitorSettings) -> Array:
    """Return the means over the long window (K, n) [N m or N] in free motion, without bias."""
    return MotionWindows.of(motion, settings).long
