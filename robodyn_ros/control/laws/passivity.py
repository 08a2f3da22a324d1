"""PassivityController: passivity-based tracking by a single sweep of NE*, [DeLuca2009] (25).

    tau = M(q) qdd_r + C*(q, qd) qd_r + g(q) + Kp e + Kd ed
    e = q_d - q,   qd_r = qd_d + Lambda e,   qdd_r = qdd_d + Lambda ed

With s = qd_r - qd, an exact model and diagonal gains, as Mdot - 2 C* is skew-symmetric,

    V = 1/2 s^T M s + 1/2 e^T (Kp + Lambda Kd) e,    Vdot = -ed^T Kd ed - e^T Lambda Kp e  <= 0

With Kp = Lambda Kd, the default, the feedback is Kd s, as in [SlotineLi1987].
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.mass_matrix import mass_matrix
from ...dynamics.momentum import momentum_terms
from ...dynamics.ne_star import _ne_star_0001
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Controller, gains_of

# Rows of the law's own array, n numbers each
KP, KD, RATE, QD_R, QDD_R = U(0), U(1), U(2), U(3), U(4)


@kernel("int64(vector, matrix, vector, vector, vector, vector, vector, vector)")
def _passivity(block, own, q, qd, q_d, qd_d, qdd_d, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or q_d.size != n or qd_d.size != n or qdd_d.size != n:
        return 1
    qd_r, qdd_r = own[QD_R], own[QDD_R]
    for k in range(n):
        qd_r[k] = qd_d[k] + own[RATE, k] * (q_d[k] - q[k])
        qdd_r[k] = qdd_d[k] + own[RATE, k] * (qd_d[k] - qd[k])
    if _ne_star_0001(block, q, qd, qd_r, qdd_r, tau) != 0:
        return 1
    for k in range(n):
        tau[k] += own[KP, k] * (q_d[k] - q[k]) + own[KD, k] * (qd_d[k] - qd[k])
    return 0


class PassivityController(Controller):
    """Passivity-based tracking of a `Motion`.

    kd [N m s/rad or N s/m], rate: Lambda [1/s], kp [N m/rad or N/m], by default rate * kd; one for
    all joints or one each. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        kd: npt.ArrayLike,
        rate: npt.ArrayLike,
        kp: npt.ArrayLike | None = None,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.kd = gains_of(model, "kd", kd)
        self.rate = gains_of(model, "rate", rate)
        with np.errstate(over="ignore", under="ignore"):  # such a product is rejected
            self.kp = gains_of(model, "kp", self.rate * self.kd if kp is None else kp)
        self._own = np.zeros((5, model.n))
        self._own[: int(QD_R)] = self.kp, self.kd, self.rate

    @classmethod
    def with_frequency(
        cls,
        model: RobotModel,
        frequency: npt.ArrayLike,
        q: npt.ArrayLike | None = None,
        **options: Any,
    ) -> "PassivityController":
        """Return a controller that is critically damped at the posture q (n,), by default 0.

        frequency: w [rad/s]. Lambda = w and Kd = w M_jj make  M_jj (edd + 2 w ed + w^2 e) = 0,
        apart from the coupling of the joints.
        """
        w = gains_of(model, "frequency", frequency)
        inertia = np.diag(mass_matrix(model, np.zeros(model.n) if q is None else q))
        return cls(model, w * inertia, w, **options)

    def lyapunov(self, state: Any, reference: Any) -> float:
        """Return V [J], which never rises if the model is exact and no limit is reached."""
        state, reference = self._checked(state, reference)
        e, ed = reference.q - state.q, reference.qd - state.qd
        s = ed + self.rate * e
        Ms = momentum_terms(self.model, state.q, s)[0]
        return float(0.5 * s @ Ms + 0.5 * e @ ((self.kp + self.rate * self.kd) * e))

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r = state, reference
        return _passivity(self._packed, self._own, x.q, x.qd, r.q, r.qd, r.qdd, self._wanted)
