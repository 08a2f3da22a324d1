"""Noise of the momentum increments without contact: learnt from recordings.

`learn_noise` finds, for both windows of `noise`, the standard deviation of every joint as a
function of its speed, the correlation between joints, and the thresholds: as low as an allowed
rate of false alarms permits. Alarms are counted by the monitor itself, on recordings that were
left out of the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.sampler import Samples
from .monitor import monitor_rows
from .monitor_settings import MIN_SIGMA, BiasSettings, MonitorSettings, NoiseSettings, NoiseWindow
from .monitor_step import CONTACT
from .noise import deviations, followed_bias, whitening, windowed_means

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SPEED_BINS = 10  # of equal numbers of samples, in which deviations are measured
MIN_BIN = 20  # samples
ROBUST = 0.75  # quantile of deviations that stands for all: touches may be among the larger ones
NORMAL_QUANTILE = 1.150  # 75 % of a normal distribution lie within this many standard deviations
FLOOR = 0.7  # of the lowest deviation of all bins: deviation at rest
SHRINKAGE = 0.2  # of correlations: few independent samples
TRIMMED = 0.95  # share of samples that correlations are learnt from
TYPICAL = 0.9  # quantile of the distance that thresholds are multiples of
FACTORS = (0.5, 50.0)  # range of these multiples
HALVINGS = 12  # of that range
FOLDS = 6  # parts that are left out in turn
OFFSET_SHARE = 0.01  # of the effort limit: offset of a torque sensor
START_MARGIN = 1.5  # limits of the bias over the biases seen
MIN_MARGIN = 1.2  # thresholds over the lowest ones without an alarm, for other motions


@dataclass(frozen=True, eq=False)
class FreeMotion:
    """A recording and where it is free of contact."""

    name: str
    samples: Samples
    external: Array  # (T, n) [N m or N], mean external torque since the previous sample
    free: Flags  # (T,) usable, and no known contact

    def parts(self, count: int) -> list[FreeMotion]:
        """Return the recording several times, each time with another part of it free."""
        edges = np.linspace(0, self.free.size, count + 1).astype(int)
        inside = np.arange(self.free.size)
        return [
            replace(self, free=self.free & (inside >= a) & (inside < b))
            for a, b in zip(edges[:-1], edges[1:], strict=True)
        ]


@dataclass(frozen=True, eq=False)
class LearntNoise:
    """What `learn_noise` found."""

    settings: MonitorSettings
    needs: dict[str, float]  # thresholds at which each recording is quiet, over those of all
    hours: float  # [h] of all recordings


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
    return FreeMotion(name, samples, rows.external, free)


@dataclass(frozen=True, eq=False)
class _Windows:
    """Windowed means without bias (K, n), where both windows are filled with free motion."""

    qd: Array
    short: Array
    long: Array
    bias: Array

    @classmethod
    def of(cls, motion: FreeMotion, settings: MonitorSettings) -> _Windows:
        t, filled = motion.samples.t, np.ones(motion.samples.t.size, dtype=np.bool_)
        external = np.where(motion.free[:, None], motion.external, 0.0)
        means = []
        for window in (settings.noise.short, settings.noise.long):
            y, full = np.zeros_like(external), np.zeros(t.size, dtype=np.bool_)
            windowed_means(t, external, motion.free, window.window, y, full)
            means.append(y)
            filled &= full
        bias = np.zeros_like(external)
        if settings.bias.rate > 0.0:
            followed_bias(t, means[1], filled, settings.bias.rate, bias)
        short, long = ((y - bias)[filled] for y in means)
        return cls(motion.samples.qd[filled], short, long, bias[filled])


def learn_noise(
    model: RobotModel,
    motions: Sequence[FreeMotion],
    settings: MonitorSettings,
    *,
    alarms_per_hour: float = 0.0,
    progress: Callable[[float], None] = lambda share: None,
) -> LearntNoise:
    """Return the settings with noise and bias limits from recordings without contact.

    alarms_per_hour: false alarms that the monitor may raise on recordings left out. With 0 the
    thresholds are MIN_MARGIN above the lowest ones without an alarm.
    """
    windows = [_Windows.of(motion, settings) for motion in motions]
    usable = [k for k, w in enumerate(windows) if w.qd.shape[0] >= MIN_BIN]
    if not usable:
        raise ArgumentError("no recording has a free motion as long as a window")
    motions, windows = [motions[k] for k in usable], [windows[k] for k in usable]
    hours = sum(float(np.ptp(m.samples.t)) for m in motions) / 3600.0
    settings = replace(settings, bias=_bias_limits(model, windows, settings.bias))
    if len(motions) == 1:
        tried = motions[0].parts(FOLDS // 2)
        pieces = [_Windows.of(part, settings) for part in tried]
        folds = [[k] for k, piece in enumerate(pieces) if piece.qd.shape[0] >= MIN_BIN]
    else:
        tried, pieces, count = motions, windows, min(FOLDS, len(motions))
        folds = [list(range(k, len(motions), count)) for k in range(count)]
    fitted = [
        _fit(
            [pieces[k] for other in folds if other is not fold for k in other] or pieces, settings
        )
        for fold in folds
    ]
    allowed = alarms_per_hour * hours

    def alarms(factor: float) -> float:
        return sum(
            _alarms_at(model, tried[k], own, factor)
            for fold, own in zip(folds, fitted, strict=True)
            for k in fold
        )

    factor = _lowest(alarms, allowed, progress)
    needs = {}
    for fold, own in zip(folds, fitted, strict=True) if len(tried) <= FOLDS else ():
        for k in fold:
            quiet = partial(_alarms_at, model, tried[k], own)
            needs[tried[k].name] = _lowest(quiet, 0.0) / factor
    if alarms_per_hour == 0.0:
        factor *= MIN_MARGIN
    return LearntNoise(_scaled(_fit(windows, settings), factor), needs, hours)


def _lowest(
    alarms: Callable[[float], float],
    allowed: float,
    progress: Callable[[float], None] = lambda share: None,
) -> float:
    """Return the lowest factor with at most `allowed` alarms, to a few percent."""
    low, high = np.log(FACTORS)
    for k in range(HALVINGS):
        progress(k / HALVINGS)
        middle = 0.5 * (low + high)
        if alarms(float(np.exp(middle))) > allowed:
            low = middle
        else:
            high = middle
    return float(np.exp(high))


def _alarms_at(
    model: RobotModel, motion: FreeMotion, settings: MonitorSettings, factor: float
) -> int:
    """Return how many contacts that begin in free motion the monitor finds at these thresholds."""
    rows = monitor_rows(model, motion.samples, _scaled(settings, factor))
    touched = rows.level >= CONTACT
    return int((touched & motion.free & ~np.roll(touched, 1)).sum())


def _scaled(settings: MonitorSettings, factor: float) -> MonitorSettings:
    noise = settings.noise
    short = replace(noise.short, threshold=factor * noise.short.threshold)
    long = replace(noise.long, threshold=factor * noise.long.threshold)
    return replace(settings, noise=replace(noise, short=short, long=long))


def _fit(windows: Sequence[_Windows], settings: MonitorSettings) -> MonitorSettings:
    """Return the noise of these recordings; thresholds: the TYPICAL quantile of the distance."""
    noise, speed = settings.noise, np.abs(np.vstack([w.qd for w in windows]))
    short, long = (
        _fit_window(window, np.vstack(means), speed, noise.speed)
        for window, means in (
            (noise.short, [w.short for w in windows]),
            (noise.long, [w.long for w in windows]),
        )
    )
    return replace(settings, noise=replace(noise, short=short, long=long))


def _fit_window(window: NoiseWindow, y: Array, speed: Array, onset: float) -> NoiseWindow:
    columns = [_deviation(y[:, j], speed[:, j], onset) for j in range(y.shape[1])]
    base, in_motion, per_velocity = (tuple(map(float, row)) for row in np.array(columns).T)
    fitted = replace(window, base=base, in_motion=in_motion, per_velocity=per_velocity)
    z = y / deviations(fitted, speed, onset)
    n = y.shape[1]
    correlation: tuple[float, ...] = (0.0,)
    for _ in range(3):  # trimmed: each round leaves out what is far from the last one
        d = _norm(z, whitening(correlation, n))
        kept = z[d <= np.quantile(d, TRIMMED)]
        C = kept.T @ kept
        C /= np.sqrt(np.outer(np.diag(C), np.diag(C)))
        correlation = tuple(float(x) for x in (1.0 - SHRINKAGE) * C[np.tril_indices(n, -1)])
        correlation = correlation or (0.0,)  # a single joint
    fitted = replace(fitted, correlation=correlation)
    typical = float(np.quantile(_norm(z, whitening(correlation, n)), TYPICAL))
    return replace(fitted, threshold=typical)


def _deviation(y: Array, speed: Array, onset: float) -> tuple[float, float, float]:
    """Return the deviation at rest, its rise in motion and per speed, of one joint."""
    from scipy.optimize import nnls  # slow to import

    edges = np.unique(np.quantile(speed, np.linspace(0.0, 1.0, SPEED_BINS + 1)))
    centres, sizes = [], []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        size = np.abs(y[(speed >= low) & (speed <= high)])
        if size.size >= MIN_BIN:
            centres.append(0.5 * (low + high))
            sizes.append(np.quantile(size, ROBUST) / NORMAL_QUANTILE)
    if not centres:
        centres = [float(speed.mean())]
        sizes = [float(np.quantile(np.abs(y), ROBUST)) / NORMAL_QUANTILE]
    v, s = np.array(centres), np.maximum(sizes, MIN_SIGMA)
    rest = FLOOR * s.min()
    F = np.column_stack([np.ones_like(v), np.tanh(v / onset), v])
    weights, _ = nnls(F / s[:, None], (s - rest) / s)
    return max(rest + weights[0], MIN_SIGMA), float(weights[1]), float(weights[2])


def _norm(z: Array, W: Array) -> Array:
    return np.asarray(np.linalg.norm(z @ W.T, axis=1))


def _bias_limits(
    model: RobotModel, windows: Sequence[_Windows], bias: BiasSettings
) -> BiasSettings:
    """Return the settings with limits that cover the biases of all recordings, and more.

    Sensors drift from day to day: at the start a share of the effort limit is allowed, later what
    the settings allow.
    """
    if bias.rate == 0.0:
        return bias
    seen = np.abs(np.vstack([w.bias for w in windows])).max(axis=0)
    usual = OFFSET_SHARE * np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)
    start = np.maximum(START_MARGIN * seen, usual)
    limit = np.maximum(START_MARGIN * start, per_joint(model, "bias.limit", bias.limit))
    return replace(bias, start_limit=tuple(start.tolist()), limit=tuple(limit.tolist()))
