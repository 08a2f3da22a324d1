"""Noise of the momentum increments without contact: learnt from recordings.

`learn_noise` finds, for both windows of `noise`, the standard deviation of every joint as a
function of its speed and acceleration, the correlation between joints, and the thresholds.

The deviations have the shape of the bulk of the noise (a robust quantile at each speed), but the
size of its peaks, for joints that stand or creep and for joints that move apart: a joint with
rare spikes is trusted less than one with a steady hum of the same size. A peak is what the
detector would see, which asks an increment to last for its debounce; single outliers do not
count. Every recording is compared with the others: the largest factor by which one of them
exceeds the rest is the joint's margin.

In many recordings a few touches may hide that have no label; the loudest of them are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.sampler import Samples
from .monitor import monitor_rows
from .monitor_settings import MIN_SIGMA, BiasSettings, MonitorSettings, NoiseSettings, NoiseWindow
from .monitor_step import CONTACT, TARING
from .noise import (
    LONGEST_TARE,
    acceleration_of,
    followed_bias,
    moving_share,
    spikes,
    unrest_of,
    whitening,
    windowed_means,
)

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SPEED_BINS = 10  # of equal numbers of samples, in which deviations are measured
ACCELERATIONS = (0.0, 0.5, 0.8, 0.95, 1.0)  # quantiles at which each of them is cut
INERTIA_SHARE = 0.1  # of a joint's inertia: largest deviation per acceleration
POSTURES = 50  # of each recording, at which that inertia is taken
MIN_BIN = 20  # samples
ROBUST = 0.75  # quantile of deviations that stands for all: touches may be among the larger ones
NORMAL_QUANTILE = 1.150  # 75 % of a normal distribution lie within this many standard deviations
FLOOR = 0.7  # of the lowest deviation of all bins: least deviation
SHRINKAGE = 0.2  # of correlations: few independent samples
TRIMMED = 0.95  # share of samples that correlations are learnt from
RARE = 0.05  # share of the samples below which a class is not known
UNLABELLED, MANY = 0.05, 20  # share of so many recordings that may hold a touch without a label
LOWEST_PEAK = 0.3  # of the joints' usual peak: the peak of a joint that hardly moved
HALVINGS = 10  # of the range of thresholds
FACTORS = (0.3, 30.0)  # that range
PARTS = 3  # of a single recording, which take the place of several ones
OFFSET_SHARE = 0.01  # of the effort limit: offset of a torque sensor
START_MARGIN = 1.5  # limits of the bias over the biases seen
DISAGREE = 2.0  # noise of a recording over that of all others: told to the user
MIN_MARGIN = 1.2  # deviations over the largest peaks, for other motions
FEW_MARGIN = 9.0  # added to it, over the cube of the number of recordings: few tell little
USUAL_SPIKES = 0.99  # share of the samples
LASTING = (0, 1, 2)  # further samples for which an increment may have to last
DELAY_WORTH = 0.02  # [s] of debounce must halve the peaks of a joint,
WORTHWHILE = 1.5  # and by this factor more
STUCK_SHARE = 0.2  # of the jolt of a start: torque that may be stuck in the other joints, too
BIAS_ROUNDS = 2  # in which noise and the monitor's bias are learnt from each other
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


@dataclass(frozen=True, eq=False)
class LearntNoise:
    """What `learn_noise` found."""

    settings: MonitorSettings
    needs: dict[str, float]  # how far each recording's largest peak exceeds those of all others
    margins: Array  # (n,) of each joint: the largest such excess, at least MIN_MARGIN
    hours: float  # [h] of all recordings
    left_out: tuple[str, ...] = ()  # recordings with an alarm, taken for touches

    def warnings(self, joints: Sequence[str]) -> list[str]:
        """Return which recordings disagree with the others, and which raise an alarm."""
        found = []
        loud = {name: x for name, x in self.needs.items() if x > DISAGREE}
        if loud:
            names = ", ".join(f"{name} ({x:.1f} times)" for name, x in loud.items())
            worst = joints[int(np.argmax(self.margins))]
            found.append(
                f"the recordings disagree: {names} the largest noise of all others; joint "
                f"'{worst}' gets a margin of {self.margins.max():.1f}. Were they touched? Record "
                "more of such motion"
            )
        if self.left_out:
            found.append(f"an alarm, taken for a touch: {', '.join(self.left_out)}")
        return found


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
class _Windows:
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
    def of(cls, motion: FreeMotion, settings: MonitorSettings) -> _Windows:
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


@dataclass(frozen=True, eq=False)
class _Shape:
    """Deviation of each joint of an arm that has rested, of one that stands or creeps, of one
    that moves, per speed and per acceleration; (n,) each.
    """

    rest: Array
    creeping: Array
    moving: Array
    per_velocity: Array
    per_acceleration: Array

    def at(self, windows: _Windows, onset: float) -> Array:
        share, unrest = moving_share(windows.speed, onset), windows.unrest
        slow = self.rest * (1.0 - unrest) + self.creeping * unrest
        slow_or_fast = slow * (1.0 - share) + self.moving * share
        rise = self.per_velocity * windows.speed + self.per_acceleration * windows.acceleration
        return slow_or_fast + rise

    def scaled(self, factors: Array) -> _Shape:
        """Return the shape times factors (3, n), by class."""
        rest, creeping, fast = factors
        return _Shape(
            rest * self.rest,
            creeping * self.creeping,
            fast * self.moving,
            fast * self.per_velocity,
            fast * self.per_acceleration,
        )

    def ordered(self, known: Flags) -> _Shape:
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


@dataclass(frozen=True, eq=False)
class _Fit:
    """Noise of one window: shape of the bulk, and peaks of every recording over it."""

    shape: _Shape
    peaks: Array  # (R, 3, n)
    shares: Array  # (3, n) of all samples
    stuck: Array  # (n,) [N m or N], least peak of a joint that stands or creeps

    @property
    def known(self) -> Flags:
        """(3, n): whether there are enough samples of a class."""
        return self.shares >= RARE

    @property
    def usual(self) -> Flags:
        """(3, n): the class of each joint with most samples."""
        return np.asarray(self.shares == self.shares.max(axis=0))

    def sizes(self) -> Array:
        """Return the largest peaks with their margins (3, n) [N m or N]; rare classes: inf."""
        (peak, margin), own = self.largest(), self.shape
        sizes = peak * margin * np.array([own.rest, own.creeping, own.moving])
        return np.where(self.known, sizes, np.inf)

    def largest(self) -> tuple[Array, Array]:
        """Return the largest peaks (3, n), but those of touches, and their margins."""
        ordered = -np.sort(-self.peaks, axis=0)
        kept = ordered[_touched(len(ordered)) :]
        peak, second = kept[0], kept[min(1, len(kept) - 1)]
        seen = (kept > 0.0).sum(axis=0) > 1
        margin = np.where(seen, peak / np.where(second > 0.0, second, 1.0), 1.0)
        usual = np.median(peak[peak > 0.0]) if (peak > 0.0).any() else 1.0
        peak = np.maximum(peak, LOWEST_PEAK * usual)
        stuck = np.zeros_like(peak)
        stuck[REST], stuck[SLOW] = self.stuck / self.shape.rest, self.stuck / self.shape.creeping
        least = MIN_MARGIN + FEW_MARGIN / len(self.peaks) ** 3
        return np.maximum(peak, stuck), np.maximum(margin, least)

    def seen(self) -> Array:
        """Return the share (n,) of a joint's largest peak that was seen, not stuck."""
        seen = replace(self, stuck=np.zeros_like(self.stuck)).largest()[0] / self.largest()[0]
        return np.asarray(np.max(np.where(self.usual, seen, 0.0), axis=0))


def long_means(motion: FreeMotion, settings: MonitorSettings) -> Array:
    """Return the means over the long window (K, n) [N m or N] in free motion, without bias."""
    return _Windows.of(motion, settings).long


def _touched(recordings: int) -> int:
    """Return how many of so many recordings may hold a touch without a label."""
    return math.ceil(UNLABELLED * recordings) if recordings >= MANY else 0


def learn_noise(
    model: RobotModel,
    motions: Sequence[FreeMotion],
    settings: MonitorSettings,
    *,
    alarms_per_hour: float = 0.0,
    progress: Callable[[float], None] = lambda share: None,
) -> LearntNoise:
    """Return the settings with noise, bias limits and debounce from motion without contact.

    alarms_per_hour: false alarms that the monitor may raise on these recordings. With 0 every
    joint gets its margin.
    """
    if len(motions) == 1:
        motions = motions[0].parts(PARTS)
    settings = replace(settings, noise=replace(settings.noise, spike=_usual_spikes(motions)))
    if settings.bias.rate > 0.0:
        motions = _with_bias(model, motions, settings)
    motions, windows, settings, fits = _fitted(model, motions, settings)
    found, margins = _with_peaks(fits, windows, settings)
    period = float(np.median([w.period for w in windows]))
    hours = sum(float(m.free.sum()) for m in motions) * period / 3600.0
    allowed = alarms_per_hour * hours
    if alarms_per_hour == 0.0:
        allowed = float(_touched(len(motions)))
    factor = _lowest(lambda x: len(_alarms_at(model, motions, found, x)), allowed, progress)
    touched = _alarms_at(model, motions, found, factor)
    names = tuple(dict.fromkeys(motions[k].name for k in touched))
    if alarms_per_hour == 0.0:
        found, margins = _with_peaks(fits, windows, settings, marginal=True)
    return LearntNoise(
        _scaled(found, factor), _needs(motions, fits), margins, hours, left_out=names
    )


def _fitted(
    model: RobotModel, motions: Sequence[FreeMotion], settings: MonitorSettings
) -> tuple[list[FreeMotion], list[_Windows], MonitorSettings, list[_Fit]]:
    """Return the recordings that are long enough, their windows, the settings with bias limits and
    debounce, and the noise of both windows.
    """
    windows = [_Windows.of(motion, settings) for motion in motions]
    usable = [k for k, w in enumerate(windows) if len(w.speed) >= MIN_BIN]
    if not usable:
        raise ArgumentError("no recording has a free motion as long as a window")
    windows = [windows[k] for k in usable]
    period = float(np.median([w.period for w in windows]))
    settings = replace(settings, bias=_bias_limits(model, windows, settings.bias))
    motions = [motions[k] for k in usable]
    inertia = _inertia(model, motions)
    shapes = [_shape(windows, name, settings.noise.speed, inertia) for name in ("short", "long")]
    fits, debounce = _debounced(windows, shapes, settings, period, _stuck(model, windows))
    return motions, windows, replace(settings, debounce=debounce), fits


def _inertia(model: RobotModel, motions: Sequence[FreeMotion]) -> Array:
    """Return the usual inertia of each joint (n,) [kg m^2 or kg] in the recordings' postures."""
    q = np.vstack([m.samples.q[:: max(1, m.free.size // POSTURES)] for m in motions])
    return np.asarray(np.median(np.diagonal(mass_matrix(model, q), axis1=1, axis2=2), axis=0))


def _stuck(model: RobotModel, windows: Sequence[_Windows]) -> Array:
    """Return the torque (n,) [N m or N] that dry friction may hold in a standing joint, and let
    go of, where neither model nor sensors see it.

    A joint that breaks away at the start of a recording shows it. As a share of their effort
    limits the gears of one arm are alike.
    """
    limit = np.where(np.isfinite(model.tau_max), model.tau_max, 0.0)
    share = [float(np.max(w.jolt / np.where(limit > 0.0, limit, np.inf))) for w in windows]
    return STUCK_SHARE * float(np.median(share)) * limit


def _with_bias(
    model: RobotModel, motions: Sequence[FreeMotion], settings: MonitorSettings
) -> list[FreeMotion]:
    """Return the recordings with the bias that the monitor has, and when it knows it.

    Both depend on the noise, as the bias is frozen in doubt. The noise is learnt here from a bias
    that is never frozen, and without the longest tare that may be.
    """
    longest = LONGEST_TARE * settings.bias.start_time
    known = [replace(m, tared=float(m.samples.t[0]) + longest) for m in motions]
    for _ in range(BIAS_ROUNDS):
        try:
            _, windows, changed, fits = _fitted(model, known, settings)
        except ArgumentError:  # all are too short for that
            return list(motions)
        found, _ = _with_peaks(fits, windows, changed, marginal=True)
        known = []
        for motion in motions:
            t, rows = motion.samples.t, monitor_rows(model, motion.samples, found)
            taring = np.flatnonzero(rows.found == TARING)
            # A monitor that starts anew later keeps its bias
            last = min(int(taring[-1]) + 1, t.size - 1) if taring.size else 0
            known.append(replace(motion, tared=float(t[last]), bias=motion.r - rows.r))
    return known


def _usual_spikes(motions: Sequence[FreeMotion]) -> tuple[float, ...]:
    """Return the usual height of spikes of each joint's torque in free motion."""
    heights = np.vstack([spikes(m.samples.tau)[m.free] for m in motions])
    usual = np.quantile(heights, USUAL_SPIKES, axis=0) if len(heights) else np.array([1e6])
    return tuple(float(f"{x:.3g}") for x in usual)


def _shape(windows: Sequence[_Windows], name: str, onset: float, inertia: Array) -> _Shape:
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
    return _Shape(*np.array(columns).T)


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


def _debounced(
    windows: Sequence[_Windows],
    shapes: Sequence[_Shape],
    settings: MonitorSettings,
    period: float,
    stuck: Array,
) -> tuple[list[_Fit], float]:
    """Return both fits, and the debounce that makes a joint most sensitive for its delay; a
    debounce that the settings have stays.
    """
    classes = [w.classes(settings.noise.speed).sum(axis=1) for w in windows]
    shares = np.sum(classes, axis=0) / sum(len(w.speed) for w in windows)
    tried: list[tuple[float, float, list[_Fit], Array]] = []
    for samples in LASTING:
        debounce = settings.debounce or (samples + 0.5) * period * (samples > 0)
        lasting = int(debounce / period)
        fits = [
            _Fit(shape, _peaks(windows, name, shape, lasting, settings.noise.speed), shares, stuck)
            for name, shape in zip(("short", "long"), shapes, strict=True)
        ]
        sizes = np.min([fit.sizes() for fit in fits], axis=0)
        known = np.isfinite(sizes)
        first = tried[0][3] if tried else sizes
        gain = (first[known] / sizes[known]).max() / (1.0 + debounce / DELAY_WORTH)
        tried.append((float(gain), debounce, fits, sizes))
        if settings.debounce:
            break
    gain, debounce, fits, _ = max(tried, key=lambda row: row[0])
    if gain < WORTHWHILE:
        _, debounce, fits, _ = tried[0]
    return fits, float(f"{debounce:.3g}")


def _peaks(
    windows: Sequence[_Windows], name: str, shape: _Shape, lasting: int, onset: float
) -> Array:
    """Return the largest deviations (R, 3, n) of each class; 0: none seen."""
    found = []
    for w in windows:
        share = w.lasting(getattr(w, name), lasting) / shape.at(w, onset)
        found.append((share * w.classes(onset)).max(axis=1))
    return np.array(found)


def _with_peaks(
    fits: Sequence[_Fit],
    windows: Sequence[_Windows],
    settings: MonitorSettings,
    marginal: bool = False,
) -> tuple[MonitorSettings, Array]:
    """Return settings whose deviations are in proportion to the peaks, marginal: with margins;
    and the margins (n,).
    """
    noise = settings.noise
    period = float(np.median([w.period for w in windows]))
    lasting = int(settings.debounce / period)
    done: dict[str, NoiseWindow] = {}
    margins = []
    for name, fit in zip(("short", "long"), fits, strict=True):
        peak, margin = fit.largest()
        margins.append(margin.max(axis=0))
        shape = fit.shape.scaled(peak)
        z = [getattr(w, name) / shape.at(w, noise.speed) for w in windows]
        correlation = _correlation(np.vstack(z), fit.seen())
        together = _together(z, windows, correlation, lasting)
        # Deviations of the usual class are those of the bulk, the threshold does the rest
        typical = float(np.median(np.max(np.where(fit.usual, peak * together[:, None], 0.0), 0)))
        shape = shape.scaled(together[:, None] * (margin if marginal else np.ones_like(margin)))
        window = shape.ordered(fit.known).of(getattr(noise, name), typical)
        done[name] = replace(window, correlation=correlation, threshold=typical)
    noise = replace(noise, short=done["short"], long=done["long"])
    return replace(settings, noise=noise), np.max(margins, axis=0)


def _together(
    z: Sequence[Array],
    windows: Sequence[_Windows],
    correlation: tuple[float, ...],
    lasting: int,
) -> Array:
    """Return factors (3,) of the classes, with which the peaks of all joints together are alike
    in an arm that has rested and in one that has not.
    """
    W, peaks = whitening(correlation, z[0].shape[1]), []
    for one, w in zip(z, windows, strict=True):
        d = w.lasting(np.linalg.norm(one @ W.T, axis=1)[:, None], lasting)
        rested = w.unrest < RESTED
        peaks.append([np.where(part, d, 0.0).max() for part in (rested, ~rested)])
    ordered = -np.sort(-np.array(peaks), axis=0)
    rest, other = ordered[_touched(len(ordered))]
    return np.array([rest or other, other or rest, other or rest])


def _correlation(z: Array, seen: Array) -> tuple[float, ...]:
    """Return the correlations of z (K, n), trimmed, shrunk, row by row below the diagonal.

    seen: share (n,) of each deviation that z shows; the rest is of each joint alone.
    """
    n = z.shape[1]
    correlation: tuple[float, ...] = (0.0,)
    for _ in range(3):  # each round leaves out what is far from the last one
        d = np.linalg.norm(z @ whitening(correlation, n).T, axis=1)
        kept = z[d <= np.quantile(d, TRIMMED)]
        C = kept.T @ kept
        C /= np.sqrt(np.outer(np.diag(C), np.diag(C)))
        C *= (1.0 - SHRINKAGE) * np.outer(seen, seen)
        correlation = tuple(C[np.tril_indices(n, -1)].tolist()) or (0.0,)  # a single joint
    return correlation


def _needs(motions: Sequence[FreeMotion], fits: Sequence[_Fit]) -> dict[str, float]:
    """Return how far the largest peak of each recording exceeds those of all others."""
    needs = {}
    for k, motion in enumerate(motions):
        excess = [0.0]
        for fit in fits:
            others = np.delete(fit.peaks, k, axis=0)
            if len(others):
                most = others.max(axis=0)
                excess.append(float((fit.peaks[k] / np.where(most > 0.0, most, np.inf)).max()))
        needs[motion.name] = max(excess)
    return needs


def _lowest(
    alarms: Callable[[float], float], allowed: float, progress: Callable[[float], None]
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
    model: RobotModel, motions: Sequence[FreeMotion], settings: MonitorSettings, factor: float
) -> list[int]:
    """Return the recording of every contact that the monitor finds in free motion."""
    scaled, found = _scaled(settings, factor), []
    # What is steady and quiet enough for the bias stays the same
    doubt = min(settings.bias.doubt * MIN_MARGIN / factor, 1.0)
    scaled = replace(scaled, bias=replace(settings.bias, doubt=doubt))
    for k, motion in enumerate(motions):
        touched = monitor_rows(model, motion.samples, scaled).level >= CONTACT
        found += [k] * int((touched & motion.free & ~np.roll(touched, 1)).sum())
    return found


def _scaled(settings: MonitorSettings, factor: float) -> MonitorSettings:
    noise = settings.noise
    short = replace(noise.short, threshold=factor * noise.short.threshold)
    long = replace(noise.long, threshold=factor * noise.long.threshold)
    return replace(settings, noise=replace(noise, short=short, long=long))


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
