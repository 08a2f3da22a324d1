"""Fit: measured against predicted torque of one log, and the errors that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .dry_friction import AT_REST
from .log import Array

NEAR = 0.1  # [s] before and after a velocity reversal


@dataclass(frozen=True, eq=False)
class Fit:
    """One log, filtered, and what the identified model says it should be."""

    name: str
    held_out: bool  # not used for the identification
    t: Array  # (T,) [s]
    qd: Array  # (T, n)
    measured: Array  # (T, n) [N m or N]
    predicted: Array  # (T, n), of which
    friction: Array  # (T, n) is friction and offset

    @property
    def error(self) -> Array:
        return self.measured - self.predicted

    @property
    def rms(self) -> Array:
        """(n,) [N m or N]: root mean square error."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    @property
    def relative(self) -> Array:
        """(n,): that, as a share of the torque's root mean square."""
        size = np.sqrt(np.mean(self.measured**2, axis=0))
        return np.asarray(self.rms / np.where(size > 0.0, size, 1.0))

    @property
    def largest(self) -> Array:
        """(n,) [N m or N]."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def at_reversals(self) -> Array:
        """(n,) [N m or N]: root mean square error while a joint turns round; nan if none does."""
        return np.array([self._rms_of(j, near) for j, near in enumerate(self.reversing().T)])

    def reversing(self) -> Array:
        """(T, n), whether a joint turns round within NEAR of this sample."""
        width = max(1, round(NEAR / float(np.median(np.diff(self.t)))))
        return np.column_stack([_near_reversal(qd, width) for qd in self.qd.T])

    def _rms_of(self, j: int, which: Array) -> float:
        return float(np.sqrt(np.mean(self.error[which, j] ** 2))) if which.any() else np.nan


def _near_reversal(qd: Array, width: int) -> Array:
    """(T,), whether the velocity changes its sign within so many samples; rest is no reversal."""
    near = np.zeros(qd.size, dtype=bool)
    moving = np.flatnonzero(np.abs(qd) > AT_REST)
    turns = np.flatnonzero(np.diff(np.sign(qd[moving])) != 0)
    for before, after in zip(moving[turns], moving[turns + 1], strict=True):
        if after - before <= width:
            near[max(before - width, 0) : after + width] = True
    return near
