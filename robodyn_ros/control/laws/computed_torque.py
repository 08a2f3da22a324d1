"""ComputedTorqueController: tracking by inverse dynamics, [Khalil2019] 9.4.

    tau = A(q) w + H(q, qd)                 [9.22]    then  qdd = w  [9.23] if the model is exact
    w = qdd_d + Kd (qd_d - qd) + Kp (q_d - q)         tracking,  [9.24]
    w = Kp (q_d - q) - Kd qd                          position,  [9.29]
    tau = A(q_d) w + H(q_d, qd_d)                     predictive, [9.31], w as for tracking

each by one sweep of Newton-Euler (9.4.2.5). The predictive form keeps measurement noise out of the
model; at rest, qd_d = qdd_d = 0, its w is that of [9.29]. A of Khalil is M here, H = C qd + g. For
friction add a `FrictionFeedForward`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.newton_euler import _newton_euler
from ...errors import one_of
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Controller, gains_of

TRACKING, POSITION, PREDICTIVE = 0, 1, 2
MODES = {"tracking": TRACKING, "position": POSITION, "predictive": PREDICTIVE}

# Rows of the law's own array, n numbers each
KP, KD, W = U(0), U(1), U(2)


@kernel("int64(vector, matrix, int64, vector, vector, vector, vector, vector, vector)")
def _computed_torque(block, own, mode, q, qd, q_d, qd_d, qdd_d, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or q_d.size != n or qd_d.size != n or qdd_d.size != n:
        return 1
    w, bad = own[W], 0.0
    for k in range(n):
        e = q_d[k] - q[k]
        if mode == POSITION:
            w[k] = own[KP, k] * e - own[KD, k] * qd[k]
        else:
            w[k] = qdd_d[k] + own[KD, k] * (qd_d[k] - qd[k]) + own[KP, k] * e
        bad += 0.0 * w[k]
    if bad != 0.0:
        return 1
    if mode == PREDICTIVE:
        return _newton_euler(block, q_d, qd_d, w, tau)
    return _newton_euler(block, q, qd, w, tau)


class ComputedTorqueController(Controller):
    """Computed torque: each joint's error obeys  edd + Kd ed + Kp e = 0  [9.25].

    kp [1/s^2], kd [1/s]: one for all joints or one each. mode: 'tracking'; 'position', which
    reads only q of the reference; or 'predictive'. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        *,
        mode: str = "tracking",
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.mode = one_of("mode", mode, MODES)
        self.kp, self.kd = gains_of(model, "kp", kp), gains_of(model, "kd", kd)
        self._own = np.zeros((3, model.n))
        self._own[: int(W)] = self.kp, self.kd
        self._mode = MODES[mode]

    @classmethod
    def with_frequency(
        cls,
        model: RobotModel,
        frequency: npt.ArrayLike,
        damping: npt.ArrayLike = 1.0,
        **options: Any,
    ) -> "ComputedTorqueController":
        """Return a controller with Kp = w^2, Kd = 2 xi w [9.26]; w [rad/s], damping xi."""
        w, xi = gains_of(model, "frequency", frequency), gains_of(model, "damping", damping)
        return cls(model, w**2, 2.0 * xi * w, **options)

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        r, numbers = reference, (self._packed, self._own, self._mode, state.q, state.qd)
        return _computed_torque(*numbers, r.q, r.qd, r.qdd, self._wanted)
