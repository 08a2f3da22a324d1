"""EffortScale: whether the effort is a torque, or a multiple of it such as a current.

The torque that the motion takes is known without knowing about contacts: F(tau) + r, with F the
observer's own filter. If the effort is s times that on every loaded joint, then

    r = (1 - s) (F(tau) + r)

No push does that for long: it would have to follow weight and motion on all joints alike.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

MIN_TIME = 0.3  # [s] for which a scale must explain the residual
WINDOW = 0.2  # [s], time constant of the fading memory
MIN_EXPLAINED = 0.98  # share of the residual's energy that a scale must explain
MIN_JOINTS = 2  # that must agree
LARGE = 2.0  # thresholds: a joint with a larger residual must agree
MAX_SPREAD = 0.1  # by which the scales of the joints may differ
USUAL_SCALES = (0.67, 1.5)  # within these, a scale may be a model error

# Rows, n numbers each: gain, filtered torque, threshold; sums of r w, w^2, r^2, w = F(tau) + r
GAIN, TAU, LIMIT, RW, WW, RR, ROWS = (U(k) for k in range(7))


@kernel("float64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64)")
def find_scale(own, seconds, r, tau, dt):
    """Return the scale that explains the residual, 1 if none does. seconds[0]: for how long the
    residual has been large.
    """
    n, fade, large = U(own.shape[1]), math.exp(-dt / WINDOW), False
    gain, blend = -1.0, 0.0
    for k in range(n):
        if own[GAIN, k] != gain:  # most arms have one gain for all joints
            gain = own[GAIN, k]
            blend = -math.expm1(-gain * dt)
        own[TAU, k] += blend * (tau[k] - own[TAU, k])
        large = large or abs(r[k]) > own[LIMIT, k]
    seconds[0] = seconds[0] + dt if large else 0.0
    rw, ww, rr = 0.0, 0.0, 0.0
    for k in range(n):
        if not large:
            own[RW, k] = own[WW, k] = own[RR, k] = 0.0
            continue
        w = own[TAU, k] + r[k]
        own[RW, k] = fade * own[RW, k] + r[k] * w * dt
        own[WW, k] = fade * own[WW, k] + w * w * dt
        own[RR, k] = fade * own[RR, k] + r[k] * r[k] * dt
        weight = 1.0 / own[LIMIT, k] ** 2
        rw += weight * own[RW, k]
        ww += weight * own[WW, k]
        rr += weight * own[RR, k]
    if seconds[0] < MIN_TIME or rw * rw < MIN_EXPLAINED * ww * rr:
        return 1.0
    missing, alike = rw / ww, 0
    energy = WINDOW * (1.0 - math.exp(-MIN_TIME / WINDOW))
    for k in range(n):
        if own[RR, k] > (LARGE * own[LIMIT, k]) ** 2 * energy:
            if abs(own[RW, k] / own[WW, k] - missing) > MAX_SPREAD:
                return 1.0
            alike += 1
    return 1.0 - missing if alike >= MIN_JOINTS else 1.0


@kernel("int64(float64[:, ::1], float64[::1])")
def restart_scale(own, seconds):
    """Forget the filtered torque, as the observer forgets its residual."""
    seconds[0] = 0.0
    for k in range(U(own.shape[1])):
        own[TAU, k] = 0.0
    return 0


class EffortScale:
    """Memory of residual and effort of one robot.

    gain: the observer's (n,) [1/s]; threshold: residuals above it need an explanation (n,)
    [N m or N].
    """

    def __init__(self, model: RobotModel, gain: Array, threshold: Array) -> None:
        self.own = np.zeros((int(ROWS), model.n))
        self.own[int(GAIN)] = gain
        self.own[int(LIMIT)] = np.maximum(threshold, 1e-6)
        self.seconds = np.zeros(1)

    def continue_from(self, other: "EffortScale") -> None:
        """Continue with the filtered torque of another one that watched the same robot."""
        self.own[int(TAU)] = other.own[int(TAU)]


def scale_text(scale: float) -> str:
    """Return what is wrong with an effort of this scale, and what to check."""
    return (
        f"effort-scale fault: effort is {scale:.3g} times what the motion takes, on all joints; "
        "is it a current, or without the gear ratio?"
    )
