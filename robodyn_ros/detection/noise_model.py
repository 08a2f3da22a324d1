"""Noise of the momentum increments without contact: learnt from recordings.

`learn_noise` finds, for both windows of `noise`, the standard deviation of every joint as a
function of its speed and acceleration, the correlation between joints, and the thresholds.

The deviations have the shape of the bulk of the noise (`noise_shape`), but the size of its peaks
(`noise_peaks`), for joints that stand or creep and for joints that move apart: a joint with rare
spikes is trusted less than one with a steady hum of the same size.

In many recordings a few touches may hide that have no label; the loudest of them are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import per_joint
from ..dynamics.mass_matrix import mass_matrix
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .free_motion import PARTS, FreeMotion, MotionWindows
from .monitor_rows import monitor_rows
from .monitor_settings import BiasSettings, MonitorSettings
from .monitor_step import CONTACT, TARING
from .noise import LONGEST_TARE, spikes
from .noise_peaks import (
    MIN_MARGIN,
    PeakFit,
    debounced_fits,
    excesses,
    settings_of_fits,
    touched_recordings,
)
from .noise_shape import MIN_BIN, noise_shape

Array = npt.NDArray[np.float64]

POSTURES = 50  # of each recording, at which the joints' inertia is taken
HALVINGS = 10  # of the range of thresholds
FACTORS = (0.3, 30.0)  # that range
OFFSET_SHARE = 0.01  # of the effort limit: offset of a torque sensor
START_MARGIN = 1.5  # limits of the bias over the biases seen
DISAGREE = 2.0  # noise of a recording over that of all others: told to the user
USUAL_SPIKES = 0.99  # share of the samples
STUCK_SHARE = 0.2  # of the jolt of a start: torque that may be stuck in the other joints, too
BIAS_ROUNDS = 2  # in which noise and the monitor's bias are learnt from each other


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
    found, margins = settings_of_fits(fits, windows, settings)
    period = float(np.median([w.period for w in windows]))
    hours = sum(float(m.free.sum()) for m in motions) * period / 3600.0
    allowed = alarms_per_hour * hours
    if alarms_per_hour == 0.0:
        allowed = float(touched_recordings(len(motions)))
    factor = _lowest(lambda x: len(_alarms_at(model, motions, found, x)), allowed, progress)
    touched = _alarms_at(model, motions, found, factor)
    names = tuple(dict.fromkeys(motions[k].name for k in touched))
    if alarms_per_hour == 0.0:
        found, margins = settings_of_fits(fits, windows, settings, marginal=True)
    return LearntNoise(
        _scaled(found, factor), excesses(motions, fits), margins, hours, left_out=names
    )


def _fitted(
    model: RobotModel, motions: Sequence[FreeMotion], settings: MonitorSettings
) -> tuple[list[FreeMotion], list[MotionWindows], MonitorSettings, list[PeakFit]]:
    """Return the recordings that are long enough, their windows, the settings with bias limits and
    debounce, and the noise of both windows.
    """
    windows = [MotionWindows.of(motion, settings) for motion in motions]
    usable = [k for k, w in enumerate(windows) if len(w.speed) >= MIN_BIN]
    if not usable:
        raise ArgumentError("no recording has a free motion as long as a window")
    windows = [windows[k] for k in usable]
    period = float(np.median([w.period for w in windows]))
    settings = replace(settings, bias=_bias_limits(model, windows, settings.bias))
    motions = [motions[k] for k in usable]
    inertia = _inertia(model, motions)
    shapes = [
        noise_shape(windows, name, settings.noise.speed, inertia) for name in ("short", "long")
    ]
    fits, debounce = debounced_fits(windows, shapes, settings, period, _stuck(model, windows))
    return motions, windows, replace(settings, debounce=debounce), fits


def _inertia(model: RobotModel, motions: Sequence[FreeMotion]) -> Array:
    """Return the usual inertia of each joint (n,) [kg m^2 or kg] in the recordings' postures."""
    q = np.vstack([m.samples.q[:: max(1, m.free.size // POSTURES)] for m in motions])
    return np.asarray(np.median(np.diagonal(mass_matrix(model, q), axis1=1, axis2=2), axis=0))


def _stuck(model: RobotModel, windows: Sequence[MotionWindows]) -> Array:
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
        found, _ = settings_of_fits(fits, windows, changed, marginal=True)
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
    model: RobotModel, windows: Sequence[MotionWindows], bias: BiasSettings
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
