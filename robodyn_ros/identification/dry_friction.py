"""How much of its dry friction a joint shows: the smooth sign of its motion, with a memory.

When a joint turns round, its friction does not jump: the teeth and rollers first bend, over a way
of a few hundredths of a degree, and at rest they stay bent. A state s between -1 and 1 follows

    ds/dt = |qd| / presliding (tanh(qd / width) - s)      in motion,
    ds/dt = -s / RELAXATION                               at rest,

the law of Dahl with a smooth end value. With presliding = 0 it is tanh(qd / width) itself.
"""

from __future__ import annotations

import math

import numpy as np

from ..dynamics.compile import kernel
from .log import Array

AT_REST = 1e-3  # [rad/s or m/s]: below it a filtered velocity is noise
RELAXATION = 1.0  # [s], in which a joint at rest lets go of what bends it


@kernel("void(float64, float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])")
def _follow(dt, qd, width, presliding, s):
    for j in range(qd.shape[1]):
        s[0, j] = 0.0
        for i in range(1, qd.shape[0]):
            v = 0.5 * (qd[i, j] + qd[i - 1, j])
            if abs(v) > AT_REST:
                end = math.tanh(v / width[j])
                s[i, j] = end + (s[i - 1, j] - end) * math.exp(-abs(v) * dt / presliding[j])
            else:
                s[i, j] = s[i - 1, j] * math.exp(-dt / RELAXATION)


def smooth_sign(dt: float, qd: Array, width: Array, presliding: Array) -> Array:
    """(T, n): s of velocities qd (T, n) every dt [s]; width [rad/s], presliding [rad], (n,)."""
    s = np.tanh(qd / width)
    bends = np.flatnonzero(presliding > 0.0)
    if bends.size:
        state = np.empty((len(qd), bends.size))
        _follow(dt, np.ascontiguousarray(qd[:, bends]), width[bends], presliding[bends], state)
        s[:, bends] = state
    return np.asarray(s)
