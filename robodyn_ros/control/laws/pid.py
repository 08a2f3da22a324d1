"""PidController: PID control of each joint, [Khalil2019] 9.3.1.

    tau = Kp (q_d - q) + Kd (qd_d - qd) + Ki integral of (q_d - q)      [9.5]

For a joint  a qdd + F_v qd = tau  [9.6] the gains of [9.10] make all three poles  -w  [9.9], the
fastest response to a disturbance without overshoot. Anti-windup: the integral stops while it would
only raise a torque that is limited already.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.dispatch import per_joint
from ...dynamics.mass_matrix import mass_matrix
from ...dynamics.posture import maximum_over_postures
from ...errors import ArgumentError
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Array, Controller, gains_of

# Rows of the law's own array, n numbers each
KP, KD, KI, INTEGRAL, NEW_INTEGRAL = U(0), U(1), U(2), U(3), U(4)


@kernel("int64(matrix, vector, vector, vector, vector, vector, float64, vector)")
def _pid(own, q, qd, q_d, qd_d, excess, dt, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or q_d.size != n or qd_d.size != n:
        return 1
    bad = 0.0
    for k in range(n):
        e = q_d[k] - q[k]
        own[NEW_INTEGRAL, k] = own[INTEGRAL, k]
        if not excess[k] * e > 0.0:
            own[NEW_INTEGRAL, k] += own[KI, k] * e * dt
        tau[k] = own[KP, k] * e + own[KD, k] * (qd_d[k] - qd[k]) + own[NEW_INTEGRAL, k]
        bad += 0.0 * tau[k]
    if bad != 0.0:
        return 1
    for k in range(n):  # an assignment of whole rows takes seconds to compile
        own[INTEGRAL, k] = own[NEW_INTEGRAL, k]
    return 0


class PidController(Controller):
    """PID tracking of the position and velocity of a `Motion`, without a model of the arm.

    kp [N m/rad or N/m], kd [N m s/rad or N s/m], ki [N m/(rad s) or N/(m s)]: one for all joints
    or one each; ki may be 0. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        ki: npt.ArrayLike,
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.kp, self.kd = gains_of(model, "kp", kp), gains_of(model, "kd", kd)
        self.ki = gains_of(model, "ki", ki, zero=True)
        self._own = np.zeros((5, model.n))
        self._own[: int(INTEGRAL)] = self.kp, self.kd, self.ki

    @classmethod
    def with_triple_pole(
        cls,
        model: RobotModel,
        frequency: npt.ArrayLike,
        inertia: npt.ArrayLike | None = None,
        viscous: npt.ArrayLike | None = None,
        **options: Any,
    ) -> "PidController":
        """Return a controller with Kp = 3 a w^2, Kd + F_v = 3 a w, Ki = a w^3 [9.10].

        frequency: w [rad/s], at most half of the lowest structural resonance. inertia: a, by
        default the `largest_inertia` of each joint; viscous: F_v, by default the model's.
        """
        w = gains_of(model, "frequency", frequency)
        a = gains_of(model, "inertia", largest_inertia(model) if inertia is None else inertia)
        friction = per_joint(model, "viscous", model.viscous if viscous is None else viscous)
        kd = 3.0 * a * w - friction
        for k in np.flatnonzero(kd <= 0.0):
            raise ArgumentError(
                f"joint '{model.joint_names[k]}' has more viscous friction, {friction[k]:g}, than "
                f"3 a w = {3.0 * a[k] * w[k]:g}: it needs a frequency above "
                f"{friction[k] / (3.0 * a[k]):g} rad/s"
            )
        return cls(model, 3.0 * a * w**2, kd, a * w**3, **options)

    @property
    def integral(self) -> Array:
        """Integral part of the torque (n,) [N m or N]; a copy."""
        return self._own[int(INTEGRAL)].copy()

    def reset(self, tau: npt.ArrayLike | None = None) -> None:
        """Reset integral and rate limit; the first torque of joints with a ki is `tau` (n,)."""
        super().reset(tau)
        self._own[int(INTEGRAL)] = 0.0

    def _taken_up(self, missing: Array) -> Array:
        share = np.where(self.ki > 0.0, missing, 0.0)  # without ki it would never decay
        self._own[int(INTEGRAL)] += share
        return share

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r = state, reference
        return _pid(self._own, x.q, x.qd, r.q, r.qd, self.excess, dt, self._wanted)


def largest_inertia(model: RobotModel) -> Array:
    """Return A_jj max of [9.6] (n,) [kg m^2 or kg]: the largest M_jj within the joint limits."""

    def largest(j: int) -> float:
        return maximum_over_postures(model, lambda q: mass_matrix(model, q)[:, j, j])[1]

    return np.array([largest(j) for j in range(model.n)])
