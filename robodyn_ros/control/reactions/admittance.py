"""Admittance: retract with a velocity that the push drives.

qdd_r = G r / M_jj - d qd_r
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.mass_matrix import mass_matrix
from ...errors import positive
from ...model.packed_model import U
from ..controller import Array, Controller, gains_of, joint_array
from ..laws.momentum_damping import Push
from ..reference import speed_limits
from .reaction import REST_SPEED, Reaction, largest_speed

SPEED_SHARE = 0.5  # of the joints' speed limits

# Rows of the numbers of an admittance, n each: qd_r, G / M_jj, and its limits
QD, MOBILITY, SPEED, Q_MIN, Q_MAX = (U(k) for k in range(5))


@kernel("float64(matrix, vector, vector, float64, float64)")
def _retract(own, q, r, damping, dt):
    """Integrate QD over dt; return its largest speed, or NaN, unchanged, if q or r is bad."""
    n, qd, bad = U(own.shape[1]), own[QD], 0.0
    if q.size != n or r.size != n:
        return np.nan
    for j in range(n):
        bad += 0.0 * q[j] + 0.0 * r[j]
    if bad != 0.0:
        return np.nan
    fade = math.exp(-damping * dt)
    for j in range(n):
        qd[j] = fade * qd[j] + (1.0 - fade) / damping * own[MOBILITY, j] * r[j]
        lowest = 0.0 if q[j] <= own[Q_MIN, j] else -own[SPEED, j]
        highest = 0.0 if q[j] >= own[Q_MAX, j] else own[SPEED, j]
        qd[j] = min(max(qd[j], lowest), highest)
    return largest_speed(qd)


class Admittance(Reaction):
    """Retracts along the push with a velocity qd_r that the push drives, then holds.

    gain: G, inertia of the arm over the apparent one. damping: d [1/s], decay rate of qd_r.
    braking [1/s]: rate at which the arm takes on qd_r. qd_r stays below half of the speed limits
    and does not lead out of the joint limits.
    """

    uses_residual = True

    def __init__(
        self,
        law: Controller,
        gain: npt.ArrayLike = 5.0,
        damping: float = 10.0,
        braking: float = 30.0,
    ) -> None:
        super().__init__(law, 0.0, braking)
        model = law.model
        self.gain = gains_of(model, "gain", gain)
        self.damping = positive("damping", damping, "1/s")
        speed, zeros = SPEED_SHARE * speed_limits(model), np.zeros(model.n)
        self._own = np.array([zeros, zeros, speed, model.q_min, model.q_max])

    def begin(self, state: Any) -> None:
        """Start from this state with qd_r = 0."""
        super().begin(state)
        inertia = np.diag(mass_matrix(self.law.model, state.q))
        self._own[int(QD)], self._own[int(MOBILITY)] = 0.0, self.gain / inertia

    def continue_from(self, other: Reaction) -> None:
        """Take over the progress and qd_r of another admittance, after `begin`."""
        super().continue_from(other)
        if isinstance(other, Admittance):
            self._own[int(QD)] = other._own[int(QD)]

    def push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        """Return what the arm follows: the velocity qd_r."""
        zeros = self.yielding.no_push.r
        push = zeros if r is None else r
        try:
            speed = _retract(self._own, state.q, push, self.damping, dt)
        except TypeError:
            speed = math.nan
        if math.isnan(speed):  # lists and the like, or numbers that are not finite
            q, push = (
                joint_array(self.law.model, name, x) for name, x in (("q", state.q), ("r", push))
            )
            speed = _retract(self._own, q, push, self.damping, dt)
        if r is None and speed < REST_SPEED:
            return None
        return Push(zeros, self._own[int(QD)])
