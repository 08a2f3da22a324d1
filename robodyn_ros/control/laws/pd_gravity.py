"""PdGravityController: proportional and derivative action with gravity compensation.

    tau = Kp e + Kd (qd_d - qd) + g(q)      [Khalil2019] (9.12), where q_d is at rest

For a reference at rest it is stable by  V = 1/2 qd^T M qd + 1/2 e^T Kp e  (9.11), as
Vdot = -qd^T Kd qd  (9.16), and e = 0 is the only equilibrium, for any positive gains.

With g(q_d) instead of g(q) this V can rise: Vdot = -qd^T Kd qd + qd^T (g(q_d) - g(q)). What falls
then is, with the potential energy U,

    V = 1/2 qd^T M qd + 1/2 e^T Kp e + U(q) - U(q_d) + e^T g(q_d),     Vdot = -qd^T Kd qd

Its second derivative by q is Kp + dg/dq. It is positive, and e = 0 the only equilibrium, if Kp
exceeds the norm of dg/dq in all postures, for which `gravity_stiffness` gives a bound.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.energy import kinetic_energy, potential_energy
from ...dynamics.gravity_stiffness import gravity_stiffness
from ...dynamics.newton_euler import _gravity, gravity_torque
from ...errors import one_of
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Array, Controller, gains_of

POSTURES = ("measured", "desired")

# Rows of the law's own array, n numbers each
KP, KD = U(0), U(1)


@kernel("int64(vector, matrix, boolean, vector, vector, vector, vector, vector)")
def _pd_gravity(block, own, at_desired, q, qd, q_d, qd_d, tau):
    n = U(tau.size)
    if q.size != n or qd.size != n or q_d.size != n or qd_d.size != n:
        return 1
    if _gravity(block, q_d if at_desired else q, tau) != 0:
        return 1
    for k in range(n):
        tau[k] += own[KP, k] * (q_d[k] - q[k]) + own[KD, k] * (qd_d[k] - qd[k])
    return 0


class PdGravityController(Controller):
    """A spring and a damper at each joint, with gravity compensation.

    kp [N m/rad or N/m], kd [N m s/rad or N s/m]: one for all joints or one each. gravity_at: the
    posture at which gravity is computed, 'measured' or 'desired'. Gains may be 0: with kp = 0 the
    arm floats. options: those of `Controller`.
    """

    def __init__(
        self,
        model: RobotModel,
        kp: npt.ArrayLike,
        kd: npt.ArrayLike,
        *,
        gravity_at: str = "measured",
        **options: Any,
    ) -> None:
        super().__init__(model, **options)
        self.gravity_at = one_of("gravity_at", gravity_at, POSTURES)
        self.kp = gains_of(model, "kp", kp, zero=True)
        self.kd = gains_of(model, "kd", kd, zero=True)
        self._own = np.array([self.kp, self.kd])
        self._at_desired = gravity_at == "desired"

    @property
    def min_kp(self) -> Array:
        """Gains kp (n,) above which the arm comes to rest at the reference, if kd > 0."""
        return gravity_stiffness(self.model) if self._at_desired else np.zeros(self.model.n)

    def lyapunov(self, state: Any, reference: Any) -> float:
        """Return V [J], which never rises while the reference rests, whatever the gains.

        It is positive but for e = qd = 0 if kp exceeds `min_kp`: any kp > 0 with gravity at the
        measured posture, where V is that of (9.11); with gravity at the desired one kp above the
        norm of dg/dq, else V may fall below 0, towards another equilibrium.
        """
        state, reference = self._checked(state, reference)
        e = reference.q - state.q
        V = kinetic_energy(self.model, state.q, state.qd) + 0.5 * e @ (self.kp * e)
        if self._at_desired:
            lifted = potential_energy(self.model, state.q)
            lifted -= potential_energy(self.model, reference.q)
            V += lifted + e @ gravity_torque(self.model, reference.q)
        return float(V)

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        x, r, own = state, reference, self._own
        return _pd_gravity(self._packed, own, self._at_desired, x.q, x.qd, r.q, r.qd, self._wanted)
