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

from .monitor_settings import DragSettings
from .noise_model import PARTS, FreeMotion

Array = npt.NDArray[np.float64]

MOVING = 0.02  # [rad/s or m/s]: a slower joint tells nothing
MIN_MOVING = 200  # samples in motion
KEPT = 0.9  # share of the samples that each round of the fit keeps
ROUNDS = 3
GAIN = 0.97  # of the error on recordings left out: a fit that leaves more is not worth it


def learn_drag(motions: Sequence[FreeMotion], drag: DragSettings) -> DragSettings:
    """Return the friction that the model lacks; drag: its speed, other values are replaced."""
    parts = list(motions) if len(motions) > 1 else motions[0].parts(PARTS)
    n = motions[0].external.shape[1]
    found = np.zeros((2, n))
    for j in range(n):
        pieces = [_columns(motion, j, drag.speed) for motion in parts]
        pieces = [piece for piece in pieces if len(piece) >= MIN_MOVING]
        if not pieces:
            continue
        before = after = 0.0
        for k, piece in enumerate(pieces if len(pieces) > 1 else ()):
            law = _fit([other for i, other in enumerate(pieces) if i != k])
            off = piece[:, 2] - piece[:, :2] @ law
            before += float(np.abs(piece[:, 2]).sum())
            after += float(np.abs(off - np.median(off)).sum())
        if after < GAIN * before:
            found[:, j] = -_fit(pieces)
    dry, viscous = (tuple(float(f"{x:.4g}") for x in row) for row in found)
    return DragSettings(dry, viscous, drag.speed)


def _columns(motion: FreeMotion, j: int, speed: float) -> Array:
    """Return shape of dry friction, velocity and external torque (K, 3) of a moving joint, about
    their means in this recording.
    """
    qd = motion.samples.qd[:, j]
    v = 0.5 * (qd + np.concatenate([qd[:1], qd[:-1]]))
    rows = motion.free & (np.abs(v) > MOVING)
    table = np.column_stack([np.tanh(v / speed), v, motion.external[:, j]])[rows]
    if len(table):
        table = table - table.mean(axis=0)
        table[:, 2] -= np.median(table[:, 2])
    return np.asarray(table)


def _fit(pieces: Sequence[Array]) -> Array:
    """Return the coefficients (2,) by least squares, trimmed."""
    table = np.vstack(pieces)
    law = np.zeros(2)
    for _ in range(ROUNDS):
        law = np.linalg.lstsq(table[:, :2], table[:, 2], rcond=1e-6)[0]
        off = np.abs(np.vstack(pieces) @ np.array([*law, -1.0]))
        table = np.vstack(pieces)[off <= np.quantile(off, KEPT)]
    return np.asarray(law)
