"""Plausibility: whether a measured state can be true, and can follow the one before it."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

FAR = 1e5  # [rad or m]: no joint is there
FAST = 1e3  # [rad/s or m/s]: or moves so fast
LEAP = 0.02  # [rad or m] beyond what its speed allows: no joint jumps so far between samples
FROZEN = 0.05  # [s] for which a reading may stay the same
GAP = 0.025  # [s], what a longer gap between two samples counts for: it takes three to be frozen
TRAVEL = 0.005  # [rad or m] that a joint says it went in that time
USUAL_SPEED = 10.0  # [rad/s or m/s], of a joint whose limit nobody knows
TURN = 2.0 * math.pi

# Rows of the numbers kept, n each: last position, fastest speed, whether it turns without end,
# for how long the reading is the same [s], how far it says it went meanwhile, and how far it may
# jump; all alike
LAST, SPEED, ENDLESS, SAME, WENT, JUMP, ROWS = (U(k) for k in range(7))
FINE, NO_POSITION, NO_VELOCITY, JUMPED, STUCK = (U(k) for k in range(5))


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64)")
def _judge(own, q, qd, dt):
    """What is wrong, times n, plus the joint it is wrong with; FINE if nothing is.

    Joints that turn without end are brought to the turn they were in. dt: since the last state
    [s]; 0 if there is none.
    """
    n = U(own.shape[1])
    for k in range(n):
        if not abs(q[k]) < FAR:
            return NO_POSITION * n + k
        if not abs(qd[k]) < FAST:
            return NO_VELOCITY * n + k
    if not dt > 0.0:
        return FINE
    found = FINE
    farthest = own[JUMP, 0]
    for k in range(n):
        step = q[k] - own[LAST, k]
        if own[ENDLESS, k] != 0.0:
            turns = round(step / TURN)
            q[k] -= TURN * turns
            step -= TURN * turns
        beyond = abs(step) - 2.0 * own[SPEED, k] * dt
        if beyond > farthest:
            farthest = beyond
            found = JUMPED * n + k
        if step == 0.0 and qd[k] != 0.0:
            own[SAME, k] += min(dt, GAP)
            own[WENT, k] += min(dt, GAP) * qd[k]
            if own[SAME, k] > FROZEN and abs(own[WENT, k]) > TRAVEL and found == FINE:
                found = STUCK * n + k
        else:
            own[SAME, k] = own[WENT, k] = 0.0
    return found


class Plausibility:
    """Looks at the samples of one robot: each joint's numbers, and how it came where it is.

    leap: [rad or m] that a joint may be from where it can be; more where times are not exact.
    """

    def __init__(self, model: RobotModel, leap: float = LEAP) -> None:
        self.joints = model.joint_names
        self._own = np.zeros((int(ROWS), model.n))
        self._own[int(SPEED)] = np.where(np.isfinite(model.qd_max), model.qd_max, USUAL_SPEED)
        self._own[int(ENDLESS)] = model.continuous
        self._own[int(JUMP)] = leap
        self.last = self._own[int(LAST)]  # (n,) [rad or m]: where the arm was believed to be last
        self.jumped = False  # whether the last doubt was about a jump

    def doubt(self, q: Array, qd: Array, dt: float) -> str:
        """Why q, qd, dt [s] after what was believed last, cannot be; empty if it can. dt of 0:
        nothing is known of before. q may be changed: a joint that turns without end does not jump.
        """
        found = _judge(self._own, q, qd, dt)
        self.jumped = False
        if found == FINE:
            return ""
        kind, k = divmod(found, q.size)
        joint = f"joint '{self.joints[k]}'"
        if kind == NO_POSITION:
            return f"position of {joint} is {q[k]:g}"
        if kind == NO_VELOCITY:
            return f"velocity of {joint} is {qd[k]:g}"
        if kind == STUCK:
            same = self._own[int(SAME), k]
            return f"{joint} reads the same for {same:.3g} s and says it moves at {qd[k]:+.3g}"
        self.jumped = True
        return f"{joint} jumped by {q[k] - self.last[k]:+.3g} in {dt:.3g} s"

    def believe(self, q: Array) -> None:
        """The arm is here."""
        self.last[:] = q
