"""GapCompensation: the torque that acted while samples were lost, and the error that may remain.

The torque of a sample acted since the previous one. Where samples in between were lost, it acted
for the last period only. Before that the torque was between the old and the new one: their mean is
taken, and half their difference bounds its error. The residual follows such an error as it follows
a push and forgets it as fast; that part of the residual is not counted.
"""

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U

Array = npt.NDArray[np.float64]

LOST_AFTER = 1.5  # periods between two samples: at least one was lost
MIN_ERROR = 1e-6  # [N m or N]: a smaller error is none
PERIOD_RISE = 1.05  # a period may be longer than the previous one by this factor

# Rows, n numbers each: observer gain [1/s], previous torque, error bound of the residual
GAIN, LAST, ERROR, ROWS = (U(k) for k in range(4))
# Common to all joints: whether there was a sample, and the period [s]
STARTED, PERIOD = U(0), U(1)


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64, float64[::1], float64[::1])")
def fill_gap(own, common, tau, dt, blend, mean):
    """Write the mean torque of the last dt [s]; return 1 if the residual has an error bound.

    blend (n,): share of the step in the residual, 1 - exp(-gain dt).
    """
    unknown = 0.0  # share of dt
    if common[STARTED] != 0.0:
        usual = common[PERIOD]
        common[PERIOD] = min(dt, PERIOD_RISE * usual) if usual > 0.0 else dt
        if dt > LOST_AFTER * common[PERIOD]:
            unknown = 1.0 - common[PERIOD] / dt
    common[STARTED] = 1.0
    largest = 0.0
    for k in range(U(own.shape[1])):
        wrong = 0.5 * unknown * (tau[k] - own[LAST, k])
        mean[k] = tau[k] - wrong
        own[ERROR, k] += blend[k] * (abs(wrong) - own[ERROR, k])
        if own[ERROR, k] < MIN_ERROR:
            own[ERROR, k] = 0.0
        own[LAST, k] = tau[k]
        largest = max(largest, own[ERROR, k])
    return 1 if largest > 0.0 else 0


@kernel("int64(float64[:, ::1], float64[::1], float64[::1])")
def shrink(own, r, certain):
    """Write the residual moved towards 0 by its error bound, but not beyond."""
    for k in range(U(own.shape[1])):
        certain[k] = r[k] - min(max(r[k], -own[ERROR, k]), own[ERROR, k])
    return 0


@kernel("int64(float64[:, ::1], float64[::1])")
def restart_gap(own, common):
    """Forget the previous sample."""
    common[STARTED] = 0.0
    for k in range(U(own.shape[1])):
        own[ERROR, k] = 0.0
    return 0


class GapCompensation:
    """Memory of the torque of one robot; gain: the observer's (n,) [1/s]."""

    def __init__(self, gain: Array) -> None:
        self.own = np.zeros((int(ROWS), gain.size))
        self.common = np.zeros(2)
        self.own[int(GAIN)] = gain

    def fill(self, tau: Array, dt: float) -> Array:
        """Return the mean torque (n,) [N m or N] of the dt [s] that end with this sample."""
        mean = np.zeros(tau.size)
        blend = -np.expm1(-self.own[int(GAIN)] * dt)
        fill_gap(self.own, self.common, tau, dt, blend, mean)
        return mean

    def certain(self, r: Array) -> Array:
        """Return the residual (n,) [N m or N] without the part that gaps may have caused."""
        certain = np.zeros(r.size)
        shrink(self.own, r, certain)
        return certain

    def reset(self) -> None:
        """Forget the previous sample."""
        restart_gap(self.own, self.common)

    def continue_from(self, other: "GapCompensation") -> None:
        """Continue where another one stands, with this one's gain."""
        self.own[int(LAST) :] = other.own[int(LAST) :]
        self.common[:] = other.common
