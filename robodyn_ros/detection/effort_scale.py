"""EffortScale: whether the effort is a torque at all, or a current, or one without its gear.

What the motion takes is known without asking whether something touches: F(tau) + r, with F the
observer's own filter. If the effort is s times that, on every joint that carries something, then

    r = (1 - s) (F(tau) + r)

No push does that for long: it would have to follow weight and motion on all joints alike.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

LASTS = 0.3  # [s] that it has to explain the residual
WINDOW = 0.2  # [s], of a fading memory
SHARE = 0.98  # of the residual that it has to explain
JOINTS = 2  # that have to agree, at least
LARGE = 2.0  # thresholds: a residual as large as that has to be explained
ALIKE = 0.1  # by how much the scales of the joints may differ
USUAL = (0.67, 1.5)  # scales that may be an error of the model

# Rows, n numbers each: gain, filtered torque, threshold; sums of r w, w^2, r^2, w = F(tau) + r
GAIN, TAU, LIMIT, RW, WW, RR, ROWS = (U(k) for k in range(7))


@kernel("float64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64)")
def _scale(own, seconds, r, tau, dt):
    """The scale that explains the residual; 1 if none does. seconds[0]: how long r is large."""
    n, fade, large = U(own.shape[1]), math.exp(-dt / WINDOW), False
    for k in range(n):
        own[TAU, k] -= math.expm1(-own[GAIN, k] * dt) * (tau[k] - own[TAU, k])
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
    if seconds[0] < LASTS or rw * rw < SHARE * ww * rr:
        return 1.0
    missing, alike = rw / ww, 0
    for k in range(n):
        if own[RR, k] > (LARGE * own[LIMIT, k]) ** 2 * WINDOW * (1.0 - math.exp(-LASTS / WINDOW)):
            if abs(own[RW, k] / own[WW, k] - missing) > ALIKE:
                return 1.0
            alike += 1
    return 1.0 - missing if alike >= JOINTS else 1.0


class EffortScale:
    """Watches residual and effort of one robot.

    gain: the observer's, per joint [1/s]; threshold: above which a residual needs an explanation,
    per joint [N m or N].
    """

    def __init__(self, model: RobotModel, gain: Array, threshold: Array) -> None:
        self._own = np.zeros((int(ROWS), model.n))
        self._own[int(GAIN)] = gain
        self._own[int(LIMIT)] = np.maximum(threshold, 1e-6)
        self._seconds = np.zeros(1)

    def fault(self, r: Array, tau: Array, dt: float) -> str:
        """What is wrong with the effort, after a residual and the effort of the dt [s] before."""
        scale = _scale(self._own, self._seconds, r, tau, dt)
        if USUAL[0] < scale < USUAL[1]:
            return ""
        return (
            f"effort-scale fault: effort is {scale:.3g} times what the motion takes, on all "
            "joints; is it a current, or without the gear ratio?"
        )

    def continue_from(self, other: EffortScale) -> None:
        """Go on where another one stands, that watched the same robot."""
        self._own[int(TAU)] = other._own[int(TAU)]

    def reset(self) -> None:
        """Forget everything, as the observer does."""
        self._own[int(TAU)], self._seconds[0] = 0.0, 0.0
