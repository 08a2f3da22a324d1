"""Friction that the model lacks, from motion without contact.

Without contact the external torque of a joint should be zero. What follows its velocity instead,

    -(dry tanh(qd / speed) + viscous qd) + an offset of the recording,

is friction that the model lacks, or has too much of: behind joint torque sensors it is that of
bearings and cables, before them friction of another temperature. It is fitted joint by joint,
robustly, and kept where it explains recordings that were left out of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .monitor_settings import DragSettings, MonitorSettings
from .noise import windowed_means
from .noise_model import PARTS, FreeMotion

Array = npt.NDArray[np.float64]

MOVING = 0.02  # [rad/s or m/s]: a slower joint tells nothing
MIN_MOVING = 200  # samples in motion
KEPT = 0.9  # share of the samples that each round of the fit keeps
ROUNDS = 3
WORTH = 0.95  # of the error on recordings left out: a fit that leaves more is dropped


def learn_drag(motions: Sequence[FreeMotion], settings: MonitorSettings) -> DragSettings:
    """Return the friction that the model lacks; speed and window: those of the settings."""
    parts = list(motions) if len(motions) > 1 else motions[0].parts(PARTS)
    speed, window = settings.drag.speed, settings.noise.long.window
    tables = [_columns(motion, speed, window) for motion in parts]
    found = np.zeros((2, motions[0].external.shape[1]))
    for j in range(found.shape[1]):
        pieces = [_moving(table[:, :, j]) for table in tables]
        pieces = [piece for piece in pieces if len(piece) >= MIN_MOVING]
        before = after = 0.0
        for k, piece in enumerate(pieces if len(pieces) > 1 else ()):
            law = _fit([other for i, other in enumerate(pieces) if i != k])
            off = piece[:, 2] - piece[:, :2] @ law
            before += float(np.abs(piece[:, 2]).sum())
            after += float(np.abs(off - np.median(off)).sum())
        if after < WORTH * before:
            found[:, j] = -_fit(pieces)
    dry, viscous = (tuple(float(f"{x:.4g}") for x in row) for row in found)
    return DragSettings(dry, viscous, speed)


def _columns(motion: FreeMotion, speed: float, window: float) -> Array:
    """Return means over a window of the shape of dry friction, velocity and external torque
    (K, 3, n).
    """
    t, qd = motion.samples.t, motion.samples.qd
    v = 0.5 * (qd + np.vstack([qd[:1], qd[:-1]]))
    means = []
    for x in (np.tanh(v / speed), v, np.where(motion.free[:, None], motion.external, 0.0)):
        y, filled = np.zeros_like(x), np.zeros(t.size, dtype=np.bool_)
        windowed_means(t, np.ascontiguousarray(x), motion.free, window, y, filled)
        means.append(y)
    return np.stack(means, axis=1)[filled]


def _moving(table: Array) -> Array:
    """Return the rows (K, 3) of one joint in which it moves, about their means."""
    table = table[np.abs(table[:, 1]) > MOVING]
    if len(table):
        table = table - table.mean(axis=0)
        table[:, 2] -= np.median(table[:, 2])
    return np.asarray(table)


def _fit(pieces: Sequence[Array]) -> Array:
    """Return the coefficients (2,) by least squares, trimmed."""
    table = np.vstack(pieces)
    law: Array = np.zeros(2)
    for _ in range(ROUNDS):
        law = np.asarray(
            np.linalg.lstsq(table[:, :2], table[:, 2], rcond=1e-6)[0], dtype=np.float64
        )
        off = np.abs(np.vstack(pieces) @ np.array([*law, -1.0]))
        table = np.vstack(pieces)[off <= np.quantile(off, KEPT)]
    return np.asarray(law)
