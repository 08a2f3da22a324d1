"""LostSamples: what acted while samples were lost, and what nobody can know of it.

The torque that a sample tells acted since the one before. Where samples between them were lost,
it acted for the last period only. Before that the torque was somewhere between the old and the new
one: their mean is taken, and by half their difference it may be wrong. The residual follows such
an error as it follows a push, and forgets it as fast; that much of it is doubtful.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import U1, kernel
from ..model.packed_model import U

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.int64]

LONGER = 1.5  # periods from one sample to the next: one was lost
LEAST = 1e-6  # [N m or N]: less doubt than that is none
RISE = 1.05  # by how much a period may be longer than the one before: the rate may have fallen

# Rows of what is kept of each joint, n numbers each
GAIN, LAST, DOUBT, ROWS = (U(k) for k in range(4))
# What all joints have in common: whether there was a sample before, and [s] between two of them
STARTED, PERIOD = U(0), U(1)


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64, float64[::1])")
def _fill(own, common, tau, dt, mean):
    """The mean torque of the last dt [s]; 1 if it is doubtful, or was so of late."""
    n = U(own.shape[1])
    bad = 0.0
    for k in range(n):
        mean[k] = tau[k]
        bad += 0.0 * tau[k]
    if bad != 0.0:
        return 0  # not a sample: nothing is kept of it
    unknown = 0.0  # share of dt
    if common[STARTED] != 0.0:
        usual = common[PERIOD]
        common[PERIOD] = min(dt, RISE * usual) if usual > 0.0 else dt
        if dt > LONGER * common[PERIOD]:
            unknown = 1.0 - common[PERIOD] / dt
    common[STARTED] = 1.0
    largest = 0.0
    for k in range(n):
        wrong = 0.5 * unknown * (tau[k] - own[LAST, k])
        mean[k] -= wrong
        own[DOUBT, k] -= math.expm1(-own[GAIN, k] * dt) * (abs(wrong) - own[DOUBT, k])
        if own[DOUBT, k] < LEAST:
            own[DOUBT, k] = 0.0
        own[LAST, k] = tau[k]
        largest = max(largest, own[DOUBT, k])
    return 1 if largest > 0.0 else 0


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1])"
)
def _fill_all(own, common, t, tau, begins, mean, doubt):
    """The same for many samples; begins: 2 where the observer starts anew."""
    found = 0
    for k in range(U(t.size)):
        if k == 0 or begins[k] == 2:
            common[STARTED] = 0.0
            for j in range(U(own.shape[1])):
                own[DOUBT, j] = 0.0
        found |= _fill(own, common, tau[k], t[k] - t[k - U1] if k else 1.0, mean[k])
        for j in range(U(own.shape[1])):
            doubt[k, j] = own[DOUBT, j]
    return found


class LostSamples:
    """Follows the torque of one robot; gain: the observer's, [1/s] (n,)."""

    def __init__(self, gain: Array) -> None:
        self._own = np.zeros((int(ROWS), gain.size))
        self._common = np.zeros(2)
        self._mean = np.zeros(gain.size)
        self._doubtful = False
        self.follow(gain)

    def follow(self, gain: Array) -> None:
        """From now on with this gain."""
        self._own[int(GAIN)] = gain

    def reset(self) -> None:
        """The observer starts anew."""
        self._common[int(STARTED)] = 0.0
        self._own[int(DOUBT)] = 0.0

    def fill(self, tau: Array, dt: float) -> Array:
        """(n,): the mean torque [N m or N] of the dt [s] that end with this sample."""
        if tau.shape != self._mean.shape:
            return tau  # for the observer to refuse
        self._doubtful = _fill(self._own, self._common, tau, dt, self._mean) != 0
        return self._mean

    def felt(self, r: Array) -> Array:
        """What is left of a residual if the doubt about it is taken off."""
        return without_doubt(r, self._own[int(DOUBT)]) if self._doubtful else r


def fill_all(t: Array, tau: Array, gain: Array, begins: Flags) -> tuple[Array, Array]:
    """(T, n): the mean torque before each sample, and the doubt about the residual."""
    lost = LostSamples(gain)
    mean, doubt = np.zeros_like(tau), np.zeros_like(tau)
    _fill_all(lost._own, lost._common, t, tau, begins, mean, doubt)
    return mean, doubt


def without_doubt(r: Array, doubt: Array) -> Array:
    """The residual, nearer to 0 by what is doubtful of it."""
    return r - np.clip(r, -doubt, doubt)
