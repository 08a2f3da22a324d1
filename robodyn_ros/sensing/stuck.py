"""StuckCheck: joints whose reading stays the same although they should move.

One check for every source of expected motion: the measured velocity, the travel of a reference,
or the change of the commanded torque. The caller says how far the joint was expected to move since
the previous sample and how much of it a true reading may ignore.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U

Array = npt.NDArray[np.float64]

# [s], with which expected motion is forgotten: noise must not add up while the arm rests
FADE_TIME = 10.0
# Rows, n numbers each: the reading, for how long [s] and how many samples it is the same, and the
# motion expected since then
READING, SECONDS, SAMPLES, EXPECTED, ROWS = (U(k) for k in range(5))


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64, float64, float64)"
)
def find_stuck(own, q, motion, limit, dt, min_time, min_samples):
    """Return the joint whose reading is stuck, -1 if none is.

    motion: expected since the previous sample (n,); limit: accumulated motion, in the same unit,
    beyond which an unchanged reading is stuck (n,).
    """
    found, fade = -1, math.exp(-dt / FADE_TIME)
    for k in range(U(own.shape[1])):
        if q[k] != own[READING, k]:
            own[READING, k] = q[k]
            own[SECONDS, k] = own[SAMPLES, k] = own[EXPECTED, k] = 0.0
            continue
        own[SECONDS, k] += dt
        own[SAMPLES, k] += 1.0
        own[EXPECTED, k] = fade * own[EXPECTED, k] + motion[k]
        if (
            own[SECONDS, k] >= min_time
            and own[SAMPLES, k] >= min_samples
            and abs(own[EXPECTED, k]) > limit[k]
        ):
            found = k
    return found


@kernel("int64(float64[:, ::1])")
def forget_readings(own):
    """Forget all readings."""
    for k in range(U(own.shape[1])):
        own[READING, k] = math.nan
        own[SECONDS, k] = own[SAMPLES, k] = own[EXPECTED, k] = 0.0
    return 0


class StuckCheck:
    """Follows the readings of n joints; a joint found stuck stays so until its reading changes."""

    def __init__(self, n: int, min_time: float, min_samples: float) -> None:
        self.min_time, self.min_samples = min_time, min_samples
        self.own = np.zeros((int(ROWS), n))
        self.reset()

    def reset(self) -> None:
        """Forget all readings, and that a joint was stuck."""
        forget_readings(self.own)
        self.joint = -1  # the stuck joint's index

    def update(self, q: Array, motion: Array, limit: Array, dt: float) -> int:
        """Take a sample, dt [s] after the previous one; return the stuck joint's index or -1."""
        found = find_stuck(self.own, q, motion, limit, dt, self.min_time, self.min_samples)
        if self.joint < 0:
            self.joint = found
        return self.joint

    def mark(self, joint: int, q: Array) -> None:
        """Latch a joint that was found stuck elsewhere, at its present reading."""
        self.joint = joint
        self.own[int(READING), joint] = q[joint]

    def clear(self) -> None:
        """Clear the latch: the joint may be at rest."""
        self.joint = -1

    def still_stuck(self, q: Array) -> bool:
        """Whether the latched joint still reads the same; clears the latch if not."""
        if self.joint >= 0 and q[self.joint] == self.own[int(READING), self.joint]:
            return True
        self.joint = -1
        return False

    def changed(self, q: Array) -> npt.NDArray[np.bool_]:
        """Return which joints read differently than at the last update, (n,)."""
        return np.asarray(q != self.own[int(READING)])

    def seconds(self, joint: int) -> float:
        """Return for how long the joint has read the same [s]."""
        return float(self.own[int(SECONDS), joint])
