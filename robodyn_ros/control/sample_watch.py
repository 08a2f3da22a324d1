"""SampleWatch: which samples of an arm's state can be trusted, and when they fail to come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..errors import ArgumentError, RobodynError
from ..model.packed_model import U
from ..model.robot import RobotModel
from .controller import PERIOD, Array, JointState, sample

ABSURD = 1e6  # [rad, m, rad/s or m/s]: no joint is there or moves so fast
FROZEN, TRAVEL = 0.05, 0.02  # [s], [rad or m]: the same sample for so long, so far on the way
GAP = 0.025  # [s], what a longer gap between two samples counts for: it takes three to be frozen
STRIDE = 0.05  # [s] that a motion goes on at once, however long the gap
BLEND = 0.1  # share of the last gap between samples in their mean


@kernel("float64(float64[::1], float64[::1])")
def _size(q, qd):
    """How large they are, the sum of the squares; not finite if any of them is not."""
    total = 0.0
    for k in range(q.size):
        total += q[k] * q[k] + qd[k] * qd[k]
    return total


# Rows of what is kept of each joint, n numbers each
Q, SAME, WAY, ROWS = (U(k) for k in range(4))


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64)")
def _frozen(own, q, qd_wanted, dt):
    """The joint that has read the same for too long on its way; -1 if none has. Its velocity may
    be noise.
    """
    found = -1
    for k in range(U(own.shape[1])):
        if q[k] == own[Q, k]:
            own[SAME, k] += dt
            own[WAY, k] += dt * abs(qd_wanted[k])
            if own[SAME, k] > FROZEN and own[WAY, k] > TRAVEL:
                found = k
        else:
            own[Q, k] = q[k]
            own[SAME, k] = own[WAY, k] = 0.0
    return found


class SampleWatch:
    """Looks at the samples of one arm. t: the time of the last good one [s]."""

    def __init__(self, model: RobotModel) -> None:
        self.model = model
        self.t = -math.inf
        self.period = PERIOD  # [s] between samples, in the mean
        self.longest_step = 2.0 * PERIOD  # [s] for which torque may change at its rate at once
        self._own = np.full((int(ROWS), model.n), math.nan)
        self._stuck = -1  # the joint whose values are frozen

    def patience(self, timeout: float) -> float:
        """[s] without a good sample that are no reason to worry: `timeout` after one was due, or
        three periods where samples are rare.
        """
        return max(timeout + self.period, 3.0 * self.period)

    @property
    def longest_stride(self) -> float:
        """[s], what a gap counts for in a motion: it is late from then on, but does not leap."""
        return max(STRIDE, 3.0 * self.period)

    def checked(self, t: float, q: Any, qd: Any) -> JointState:
        """A copy of a sample, or the error that says what is wrong with it."""
        if not math.isfinite(t):
            raise ArgumentError(f"the time of a sample is {t!r}")
        try:
            state = JointState(np.array(q, dtype=np.float64), np.array(qd, dtype=np.float64))
        except (TypeError, ValueError):
            raise ArgumentError(f"a sample is q and qd, numbers each: {q!r}, {qd!r}") from None
        fits = state.q.shape == (self.model.n,) == state.qd.shape
        if fits and _size(state.q, state.qd) < ABSURD**2:
            return state
        sample(self.model, "q", state.q)
        sample(self.model, "qd", state.qd)
        raise ArgumentError(f"a joint of '{self.model.name}' is absurdly far away or fast")

    def take(self, t: float, longest: float) -> None:
        """A good sample has come; a gap counts as no longer than `longest` [s] in the mean, nor
        than three periods. The torque may change at its rate for two of the periods before it.
        """
        self.longest_step = 2.0 * self.period
        self.period += BLEND * (min(t - self.t, longest, 3.0 * self.period) - self.period)
        self.t = t

    def follow(self, state: JointState, qd_wanted: Array, dt: float) -> None:
        """Refuse samples in which a joint stays the same although it is to move."""
        joint = _frozen(self._own, state.q, qd_wanted, min(dt, GAP))
        if joint >= 0:
            self._stuck = joint
            raise RobodynError(
                f"joint '{self.model.joint_names[joint]}' has read the same for "
                f"{self._own[int(SAME), joint]:.3g} s on its way"
            )

    def changed(self, state: JointState) -> npt.NDArray[np.bool_]:
        """(n,): which joints read something else than when they were looked at last."""
        return state.q != self._own[int(Q)]

    def distrust(self, joint: int, state: JointState) -> None:
        """Somebody else has found this joint frozen."""
        self._stuck = joint
        self._own[int(Q), joint] = state.q[joint]

    def trust(self) -> None:
        """Somebody has looked: what was found frozen may be at rest."""
        self._stuck = -1

    def still_frozen(self, state: JointState) -> bool:
        """Whether the joint that was found frozen is so yet."""
        k = self._stuck
        if k >= 0 and state.q[k] == self._own[int(Q), k]:
            return True
        self.trust()
        return False
