"""`tune`: settings of the monitor from recordings without contact.

It learns the bias limits, the noise of all joints with its thresholds (`learn_noise`), and joint
thresholds that stay quiet beside it. `smallest_forces` says which forces the settings detect.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ..detection.drag import learn_drag
from ..detection.force_thresholds import raised
from ..detection.free_motion import FreeMotion, free_motion, long_means
from ..detection.monitor_rows import monitor_rows
from ..detection.monitor_settings import (
    BiasSettings,
    DragSettings,
    MonitorSettings,
    ThresholdSettings,
)
from ..detection.monitor_step import UNKNOWN
from ..detection.noise import deviations, whitening
from ..detection.noise_model import LearntNoise, learn_noise
from ..dynamics.kinematics import jacobian
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.log import Log
from ..sensing.sampler import Samples
from ..sensing.settings import SensingSettings
from .bags import Progress, quiet
from .offline import samples_of
from .run import Array, Span
from .tuning import COLLISION_FACTOR, MIN_THRESHOLD, as_settings, threshold_shape

BIAS_RATE = 1.0  # [1/s], unless the settings have another one
NO_THRESHOLD = 1e6  # [N m or N]
WIDE_MARGIN = 2.5  # joint thresholds over all that was seen: the noise test is the fine one
USUAL_GAPS, GAP_MARGIN = 0.999, 1.1  # share of the gaps, and more, that the observer bridges
POSTURES, DIRECTIONS = 200, 24  # over which the smallest force is taken
MAX_FORCE = 1e6  # [N]: a larger one is taken as never detected: its torque is a rounding error
FOUND = 0.95  # share of postures and directions in which it is found


def tune(
    model: RobotModel,
    logs: Sequence[Log | Samples],
    settings: MonitorSettings | None = None,
    *,
    contacts: Sequence[Sequence[Span]] = (),
    alarms_per_hour: float = 0.0,
    sensing: SensingSettings | None = None,
    progress: Progress = quiet,
) -> MonitorSettings:
    """Return settings with bias limits, noise and thresholds from recordings without contact.

    contacts: known ones of each log, from and to [s]. alarms_per_hour: accepted false alarms, on
    recordings left out. settings: those to start from, such as the observer gain.
    """
    learnt = learn(
        model,
        logs,
        settings,
        contacts=contacts,
        alarms_per_hour=alarms_per_hour,
        sensing=sensing,
        progress=progress,
    )
    return learnt.settings


def learn(
    model: RobotModel,
    logs: Sequence[Log | Samples],
    settings: MonitorSettings | None = None,
    *,
    names: Sequence[str] = (),
    contacts: Sequence[Sequence[Span]] = (),
    alarms_per_hour: float = 0.0,
    sensing: SensingSettings | None = None,
    progress: Progress = quiet,
) -> LearntNoise:
    """As `tune`, with how far the recordings disagree; names: of the recordings."""
    if not logs:
        raise ArgumentError("tune needs at least one recording without contact")
    if contacts and len(contacts) != len(logs):
        raise ArgumentError(f"contacts must be given for each of the {len(logs)} logs")
    settings = settings or MonitorSettings()
    if settings.bias.rate == 0.0:
        settings = replace(settings, bias=BiasSettings(rate=BIAS_RATE))
    all_samples = [samples_of(model, log, sensing) for log in logs]
    settings = replace(settings, gain=_gain(settings.gain, all_samples))
    off = ThresholdSettings(base=(NO_THRESHOLD,))
    plain = replace(settings, contact=off, collision=off)

    def motions_with(changed: MonitorSettings) -> list[FreeMotion]:
        found = []
        for k, samples in enumerate(all_samples):
            spans = contacts[k] if contacts else ()
            name = names[k] if names else f"recording {k + 1}"
            found.append(free_motion(model, name, samples, changed, spans))
        return found

    progress(0.0, "friction")
    plain, motions = _with_friction(model, plain, motions_with)
    learnt = learn_noise(
        model,
        motions,
        plain,
        alarms_per_hour=alarms_per_hour,
        progress=lambda share: progress(share, "trying thresholds"),
    )
    limit = np.where(np.isfinite(model.tau_max), model.tau_max, 1.0)
    floor = np.where(limit > 0.0, MIN_THRESHOLD * limit, MIN_THRESHOLD)
    long = learnt.settings.noise.long  # the joints' own thresholds are not finer
    floor = np.maximum(floor, long.threshold * np.array(long.base))
    r, qd = [], []
    for motion in motions:
        rows = monitor_rows(model, motion.samples, learnt.settings)
        free = motion.free & (rows.level != UNKNOWN)
        r.append(rows.r[free])
        qd.append(motion.samples.qd[free])
    shape = threshold_shape(np.vstack(r), np.vstack(qd), floor)
    contact = as_settings(shape.scaled(WIDE_MARGIN))
    collision = as_settings(shape.scaled(WIDE_MARGIN * COLLISION_FACTOR))
    return replace(learnt, settings=replace(learnt.settings, contact=contact, collision=collision))


def _gain(gain: tuple[float, ...], samples: Sequence[Samples]) -> tuple[float, ...]:
    """Return the observer gain, lower where samples are further apart than it allows.

    K dt must not exceed 1: at a gap the observer starts anew, and contacts are cut in two.
    """
    steps = np.concatenate([np.diff(x.t[x.valid]) for x in samples])
    usual = float(np.quantile(steps, USUAL_GAPS))
    highest = float(f"{1.0 / (GAP_MARGIN * max(usual, 1e-6)):.2g}")
    return tuple(min(x, highest) for x in gain)


def _with_friction(
    model: RobotModel,
    settings: MonitorSettings,
    motions_with: Callable[[MonitorSettings], list[FreeMotion]],
) -> tuple[MonitorSettings, list[FreeMotion]]:
    """Return settings and increments with the friction that leaves least: the model's or none,
    and what either of them lacks.
    """
    tried = []
    for friction in (False, True) if has_friction(model) else (settings.friction,):
        plain = replace(settings, friction=friction, drag=DragSettings())
        drag = learn_drag(motions_with(plain), settings)
        plain = replace(plain, drag=drag)
        motions = motions_with(plain)
        tried.append((_size(motions, plain), plain, motions))
    _, plain, motions = min(tried, key=lambda row: row[0])
    return plain, motions


def has_friction(model: RobotModel) -> bool:
    """Return whether the model has friction."""
    return bool(model.viscous.any() or model.coulomb.any() or model.friction_load.any())


def _size(motions: Sequence[FreeMotion], settings: MonitorSettings) -> float:
    """Return the mean log size of the external torque of all joints in free motion."""
    sizes = []
    for motion in motions:
        means = long_means(motion, settings)
        if len(means):
            sizes.append(np.log(np.maximum(np.sqrt(np.mean(means**2, axis=0)), 1e-9)))
    return float(np.mean(sizes))


def smallest_forces(
    model: RobotModel, settings: MonitorSettings, q: npt.ArrayLike, qd: npt.ArrayLike
) -> dict[str, float]:
    """Return for each link the smallest lasting force [N] that is found in most directions.

    In 95 % of postures and directions, inf: in fewer at any force; q, qd: positions and steady
    velocities (T, n), e.g. of a recording. The force acts at the link's centre of mass, for as
    long as the long window.
    """
    postures, velocities = np.atleast_2d(q), np.atleast_2d(qd)
    chosen = np.unique(np.linspace(0, len(postures) - 1, POSTURES).astype(int))
    forces: dict[str, float] = {}
    for row, link in enumerate(model.link_names):
        needed = []
        for k in chosen:
            J = jacobian(model, postures[k], link, model.com[row])[:3]
            limit = _thresholds(model, settings, postures[k], velocities[k])
            torques = J.T @ _directions().T
            needed.append(_needed_force(settings, torques, velocities[k], limit))
        # One of the values: nothing lies between a finite force and an infinite one
        forces[link] = float(np.quantile(np.concatenate(needed), FOUND, method="higher"))
    return forces


def _thresholds(model: RobotModel, settings: MonitorSettings, q: Array, qd: Array) -> Array:
    """Return the contact thresholds (n,) [N m or N] in a posture, as the detector has them."""
    own = settings.contact.thresholds(model).at(np.abs(qd))
    limit = raised(own, model, settings.force, q)
    return np.where(np.isin(model.joint_names, settings.masked), np.inf, limit)


def _needed_force(settings: MonitorSettings, tau: Array, qd: Array, limit: Array) -> Array:
    """Return the force [N] at which the first test answers, for torques (n, D) of unit forces;
    limit: contact thresholds of the joints (n,).
    """
    noise, speed = settings.noise, np.abs(qd)
    shares = [(np.abs(tau) / limit[:, None]).max(axis=0)]
    for window in (noise.short, noise.long):
        if window.threshold > 0.0:
            z = tau / deviations(window, speed, noise.speed)[:, None]
            W = whitening(window.correlation, len(tau))
            shares.append(np.linalg.norm(W @ z, axis=0) / window.threshold)
    largest = np.max(shares, axis=0)
    detected = largest > 1.0 / MAX_FORCE
    return np.where(detected, 1.0 / np.where(detected, largest, 1.0), np.inf)


def _directions() -> Array:
    """Return unit vectors (DIRECTIONS, 3), evenly over the sphere: a Fibonacci lattice."""
    k = np.arange(DIRECTIONS) + 0.5
    z, angle = 1.0 - 2.0 * k / DIRECTIONS, np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
