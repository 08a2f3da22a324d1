"""Touches on a real Panda: recordings with labels, found again by their momentum.

The file is not part of the package: `panda/touches.npz` below ../shared/data, or below the folder
that ROBODYN_DATA names. Columns of a recording: time, positions, velocities, measured torques, the
maker's external torques, label.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

import robodyn_ros as rd

Array = np.ndarray
FOLDER = Path(os.environ.get("ROBODYN_DATA", Path(__file__).parents[2] / "shared" / "data"))
HAND = rd.Payload("panda_link7", 0.73, com=(-0.01, 0.0, 0.137))
SHORT, LONG = 0.03, 0.1  # [s], over which the momentum's rise is taken
ALARM, QUIET = 8.0, 4.0  # deviations of a joint: a touch begins above, the bias is learnt below
DEBOUNCE = 2  # samples above, against single outliers
RELEASE = 0.35  # a touch ends below this share of its peak
ECHO, ECHO_TIME = 0.15, 0.4  # share of the peak, [s]: what a release may leave behind
BIAS_RATE = 1.0  # [1/s]


@dataclass(frozen=True)
class Recording:
    """One file: the arm stands still in a posture and is touched at one point of a link."""

    link: int  # 1 to 7
    posture: str
    t: Array  # (T,) [s]
    q: Array  # (T, n)
    R: Array  # (T, n) [N m s], momentum less the integral of all known torques
    short: Array  # (T, n) [N m], its mean rise over SHORT
    long: Array  # (T, n) [N m], the same over LONG
    touches: list[tuple[float, float]]  # begin and end [s]

    @property
    def free(self) -> Array:
        """(T,) samples without a touch near."""
        near = np.zeros(self.t.size, dtype=bool)
        for begin, end in self.touches:
            near |= (self.t > begin - 0.25) & (self.t < end + 0.4)
        return ~near


def missing() -> str:
    """Why there is nothing to read; empty if there is."""
    paths = [FOLDER / "panda" / name for name in ("touches.npz", "panda_gaz.urdf")]
    return ", ".join(f"no {path.name} in {path.parent}" for path in paths if not path.exists())


def model() -> rd.RobotModel:
    """The Panda with its hand."""
    return rd.load_urdf(FOLDER / "panda" / "panda_gaz.urdf").replace(payload=HAND)


def recordings(robot: rd.RobotModel) -> list[Recording]:
    """All recordings in the file."""
    with NpzFile(FOLDER / "panda" / "touches.npz", allow_pickle=False) as file:
        return [_recording(robot, key, file[key]) for key in file.files]


def _recording(robot: rd.RobotModel, key: str, raw: Array) -> Recording:
    t, q, qd, tau = raw[0] * 1e-4, raw[1:8].T * 1e-6, raw[8:15].T * 1e-5, raw[15:22].T * 1e-3
    p, c, g = rd.momentum_terms(robot, q, qd)
    rate = tau + c - g
    step = np.diff(t, prepend=t[0])[:, None]
    R = p - np.cumsum(0.5 * (rate + np.vstack([rate[:1], rate[:-1]])) * step, axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], raw[29] > 0, [0]])))
    touches = [(t[a], t[min(b, t.size - 1)]) for a, b in edges.reshape(-1, 2)]
    return Recording(
        int(key[4]), key.split("_")[2], t, q, R, _rise(t, R, SHORT), _rise(t, R, LONG), touches
    )


def _rise(t: Array, R: Array, window: float) -> Array:
    before = np.searchsorted(t, t - 1.1 * window)
    seconds = t - t[before]
    seconds[seconds < 0.5 * window] = np.inf
    return (R - R[before]) / seconds[:, None]


def noise(files: list[Recording]) -> tuple[Array, Array]:
    """(n,) each [N m]: deviation of `short` and `long` without touches, by its median."""
    found = []
    for name in ("short", "long"):
        rises = [getattr(file, name)[file.free] for file in files]
        off = np.abs(np.vstack([rise - np.median(rise, axis=0) for rise in rises]))
        found.append(1.48 * np.median(off, axis=0))
    return found[0], found[1]


def followed(file: Recording, deviation: tuple[Array, Array]) -> tuple[Array, Array]:
    """(T,) whether the arm is touched, and (T, n) [N m] the bias, from what came before alone."""
    begun = file.t > file.t[0] + 1.5 * LONG
    bias = np.median(file.long[begun & (file.t < file.t[0] + 0.35)], axis=0)
    touched, biases = np.zeros(file.t.size, dtype=bool), np.zeros_like(file.long)
    above, peak, calm, last_peak, ended, valley = 0, 0.0, 0.0, 0.0, -np.inf, 0.0
    for k in range(1, file.t.size):
        dt = file.t[k] - file.t[k - 1]
        levels = np.abs([file.short[k] - bias, file.long[k] - bias]) / deviation
        level = float(levels.max()) if begun[k] else 0.0
        valley = min(valley, level)
        echo = ECHO * last_peak * np.exp((ended - file.t[k]) / ECHO_TIME)
        above = above + 1 if level > max(ALARM, valley) + echo else 0
        if peak == 0.0 and above >= DEBOUNCE:
            peak = level
        elif peak > 0.0:
            peak = max(peak, level)
            if level < max(0.6 * ALARM, RELEASE * peak):
                last_peak, ended, valley, peak = peak, file.t[k], level, 0.0
        touched[k], biases[k] = peak > 0.0, bias
        calm = calm + dt if level < QUIET else 0.0
        if calm > 0.05:
            bias = bias - np.expm1(-BIAS_RATE * dt) * (file.long[k] - bias)
    return touched, biases
