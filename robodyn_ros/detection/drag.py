"""Friction that the model lacks, from motion without contact.

Without contact the external torque of a joint should be zero. What follows its velocity instead,

    -(dry s + viscous qd) + an offset of the recording,

is friction that the model lacks, or has too much of: behind joint torque sensors it is that of
bearings and cables, before them friction of another temperature. s is tanh(qd / speed), or follows
it over some travel (presliding, see `dynamics/friction.py`). It is fitted joint by joint,
robustly, and kept where it explains recordings that were left out of the fit; these decide about
speed and travel, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.friction import slide
from ..model.packed_model import U
from .free_motion import PARTS, FreeMotion
from .monitor_settings import DragSettings, MonitorSettings
from .noise import windowed_means

Array = npt.NDArray[np.float64]

MOVING = 0.02  # [rad/s or m/s]: slower joints are left out
MIN_MOVING = 200  # samples in motion
KEPT = 0.9  # share of the samples that each round of the fit keeps
FIT_ROUNDS = 3  # each without the worst samples of the one before
WORTH = 0.95  # of the error on recordings left out: what leaves more is not worth another term
FOLDS = 10  # groups of recordings, each left out once
SPEEDS = (0.05, 0.02, 0.01)  # [rad/s or m/s] within which dry friction changes sign,
TRAVELS = (0.0, 0.001, 0.002, 0.004, 0.008)  # [rad or m] and of presliding, that are tried


def learn_drag(motions: Sequence[FreeMotion], settings: MonitorSettings) -> DragSettings:
    """Return the friction that the model lacks; window: the long one of the settings."""
    parts = list(motions) if len(motions) > 1 else motions[0].parts(PARTS)
    window = settings.noise.long.window
    tried = [_learn_at(parts, speed, window) for speed in SPEEDS]
    return min(tried, key=lambda row: row[0])[1]


def _learn_at(
    parts: Sequence[FreeMotion], speed: float, window: float
) -> tuple[float, DragSettings]:
    """Return the mean log of the error left out, over that without friction, and the friction."""
    found = np.zeros((3, parts[0].external.shape[1]))
    before, least = np.ones(found.shape[1]), np.ones(found.shape[1])
    for travel in TRAVELS:
        tables = [_columns(part, speed, travel, window) for part in parts]
        for j in range(found.shape[1]):
            pieces = [_moving(table[:, :, j]) for table in tables]
            pieces = [piece for piece in pieces if len(piece) >= MIN_MOVING]
            if len(pieces) < 2:
                continue
            if travel == TRAVELS[0]:
                before[j] = sum(float(np.abs(piece[:, 2]).sum()) for piece in pieces) or 1.0
                least[j] = before[j]
            left = _left_out(pieces)
            if left < WORTH * least[j]:
                least[j] = left
                found[:, j] = *-_fit(pieces), travel
    dry, viscous, presliding = (tuple(float(f"{x:.4g}") for x in row) for row in found)
    error = float(np.mean(np.log(np.maximum(least / before, 1e-9))))
    return error, DragSettings(dry, viscous, speed, presliding)


def _left_out(pieces: Sequence[Array]) -> float:
    """Return the error of pieces that were left out of the fit, summed up."""
    error = 0.0
    for k in range(min(len(pieces), FOLDS)):
        law = _fit([piece for i, piece in enumerate(pieces) if i % FOLDS != k])
        for piece in pieces[k::FOLDS]:
            off = piece[:, 2] - piece[:, :2] @ law
            error += float(np.abs(off - np.median(off)).sum())
    return error


@kernel("int64(vector, matrix, float64, float64, matrix)")
def _slide_along(t, v, speed, travel, s):
    """Write the state of dry friction at each sample, as the monitor follows it."""
    for j in range(U(v.shape[1])):
        s[0, j] = slide(0.0, v[0, j], speed, 0.0, 0.0)
        for k in range(U(1), U(t.size)):
            s[k, j] = slide(s[k - U(1), j], v[k, j], speed, travel, t[k] - t[k - U(1)])
    return 0


def _columns(motion: FreeMotion, speed: float, travel: float, window: float) -> Array:
    """Return means over a window of the shape of dry friction, velocity and external torque
    (K, 3, n).
    """
    t, qd = motion.samples.t, motion.samples.qd
    v = 0.5 * (qd + np.vstack([qd[:1], qd[:-1]]))
    s = np.empty_like(v)
    _slide_along(t, v, speed, travel, s)
    means = []
    for x in (s, v, np.where(motion.free[:, None], motion.external, 0.0)):
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
    for _ in range(FIT_ROUNDS):
        law = np.asarray(
            np.linalg.lstsq(table[:, :2], table[:, 2], rcond=1e-6)[0], dtype=np.float64
        )
        off = np.abs(np.vstack(pieces) @ np.array([*law, -1.0]))
        table = np.vstack(pieces)[off <= np.quantile(off, KEPT)]
    return np.asarray(law)
