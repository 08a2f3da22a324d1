"""Peaks of the noise over its shape: debounce, margins, correlations, and the settings from them.

A peak is what the detector would see, which asks an increment to last for its debounce; single
outliers do not count. Every recording is compared with the others: the largest factor by which
one of them exceeds the rest is the joint's margin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .free_motion import REST, RESTED, SLOW, FreeMotion, MotionWindows
from .monitor_settings import MonitorSettings, NoiseWindow
from .noise import whitening
from .noise_shape import NoiseShape

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SHRINKAGE = 0.2  # of correlations: few independent samples
TRIMMED = 0.95  # share of samples that correlations are learnt from
RARE = 0.05  # share of the samples below which a class is not known
UNLABELLED, MANY = 0.05, 20  # share of so many recordings that may hold a touch without a label
LOWEST_PEAK = 0.3  # of the joints' usual peak: the peak of a joint that hardly moved
MIN_MARGIN = 1.2  # deviations over the largest peaks, for other motions
FEW_MARGIN = 9.0  # added to it, over the cube of the number of recordings: few tell little
LASTING = (0, 1, 2)  # further samples for which an increment may have to last
DELAY_WORTH = 0.02  # [s] of debounce must halve the peaks of a joint,
WORTHWHILE = 1.5  # and by this factor more


@dataclass(frozen=True, eq=False)
class PeakFit:
    """Noise of one window: shape of the bulk, and peaks of every recording over it."""

    shape: NoiseShape
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
        kept = ordered[touched_recordings(len(ordered)) :]
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


def touched_recordings(recordings: int) -> int:
    """Return how many of so many recordings may hold a touch without a label."""
    return math.ceil(UNLABELLED * recordings) if recordings >= MANY else 0


def debounced_fits(
    windows: Sequence[MotionWindows],
    shapes: Sequence[NoiseShape],
    settings: MonitorSettings,
    period: float,
    stuck: Array,
) -> tuple[list[PeakFit], float]:
    """Return both fits, and the debounce that makes a joint most sensitive for its delay; a
    debounce that the settings have stays.
    """
    classes = [w.classes(settings.noise.speed).sum(axis=1) for w in windows]
    shares = np.sum(classes, axis=0) / sum(len(w.speed) for w in windows)
    tried: list[tuple[float, float, list[PeakFit], Array]] = []
    for samples in LASTING:
        debounce = settings.debounce or (samples + 0.5) * period * (samples > 0)
        lasting = int(debounce / period)
        fits = [
            PeakFit(
                shape, _peaks(windows, name, shape, lasting, settings.noise.speed), shares, stuck
            )
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
    windows: Sequence[MotionWindows], name: str, shape: NoiseShape, lasting: int, onset: float
) -> Array:
    """Return the largest deviations (R, 3, n) of each class; 0: none seen."""
    found = []
    for w in windows:
        share = w.lasting(getattr(w, name), lasting) / shape.at(w, onset)
        found.append((share * w.classes(onset)).max(axis=1))
    return np.array(found)


def settings_of_fits(
    fits: Sequence[PeakFit],
    windows: Sequence[MotionWindows],
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
    windows: Sequence[MotionWindows],
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
    rest, other = ordered[touched_recordings(len(ordered))]
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


def excesses(motions: Sequence[FreeMotion], fits: Sequence[PeakFit]) -> dict[str, float]:
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
