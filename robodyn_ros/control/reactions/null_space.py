"""NullSpace: give way where the arm is touched, and keep the hand, [DeLuca2008].

An arm with more joints than its task has motions that leave the hand where it is. The push moves
only these: with the residual r, the amplification K_r, and the hand's feedback w,

    tau = M qdd + C qd + g - r
    qdd = x + M^-1 J^T (J M^-1 J^T)^-1 (w - Jdot qd - J x),    x = M^-1 (1 + K_r) r - k qd

The hand's acceleration is w, whatever x is; among all such qdd this one is nearest to x, measured
by the kinetic energy. In x, r is amplified further, up to MAX_BOOST times, the less of it the null
space takes, so that the arm is as easy to push as by reflex. w = -b V brakes a hand that moves,
then w = Kp e - Kd V holds it. A push of which the null space takes less than MIN_SHARE is followed
as by `Reflex`; so is every push on an arm without redundancy or near a singular posture.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.kinematics import ORIGIN, _acceleration_bias, jacobian
from ...dynamics.mass_matrix import _mass_matrix
from ...dynamics.newton_euler import _newton_euler
from ...model.packed_model import U, aligned_copy, pack_frame
from ...model.rigid_body import as_vector
from ..controller import Array, Controller, gains_of, joint_array, part
from ..laws import task_kernels as at
from ..laws.momentum_damping import RATE_SHARE, RELEASE_TIME, Push
from ..laws.task_space import DEXTERITY_MIN
from .reaction import Reaction

HAND_FREQUENCY = 25.0  # [rad/s], of the feedback that holds the hand
HAND_BRAKING = 15.0  # [1/s], decay rate of the velocity of a hand that moves
HAND_AT_REST = 0.02  # [m/s, rad/s]
MAX_BOOST = 3.0  # by which a push is amplified more, as only a part of it moves the arm
MIN_SHARE = 0.3  # of a push in the null space, by the speed that it causes
DECISION_TIME = 0.02  # [s] of contact, then it is decided whether the null space takes the push

# Rows of the reaction's own array, n numbers each; from MASS on an n x n matrix, then six rows
GAIN, RATE_MAX, DESIRED, SMOOTH, MASS = (U(k) for k in range(5))


@kernel(
    "float64(vector, matrix, matrix, vector, matrix, int64, float64, boolean, vector, vector,"
    " matrix, vector, vector, vector)"
)
def _keep_hand(block, own, six, J, pose, m, damping, holds, q, qd, T, r, mean, tau):
    """Fill the torque; return the null space's share of the mean push, or NaN if that is bad."""
    n = U(tau.size)
    if q.size != n or qd.size != n or r.size != n or mean.size != n:
        return np.nan
    if at.pose_at_rest(block, six, J, pose, q, qd, T) != 0:
        return np.nan
    bad = 0.0
    for k in range(n):
        bad += 0.0 * r[k] + 0.0 * mean[k]
    if bad != 0.0:
        return np.nan
    mass, solved = own[MASS : MASS + n], own[MASS + n : MASS + n + U(6)]
    if _mass_matrix(block, q, mass.reshape(n * n)) != 0 or not at.factor(mass, n):
        return np.nan
    # M^-1 J^T, and the inverse of the hand's inertia
    for i in range(U(m)):
        for k in range(n):
            solved[i, k] = J[i * n + k]
        at.forward(mass, solved[i], n)
        at.backward(mass, solved[i], n)
    S, x = six[at.L : at.L + U(6)], six[at.X]
    for i in range(U(m)):
        for j in range(i + U(1)):
            S[i, j] = 0.0
            for k in range(n):
                S[i, j] += J[i * n + k] * solved[j, k]
    if not at.factor(S, m):
        return 0.0
    # How much of the mean push is left in the null space
    want = own[SMOOTH]
    for k in range(n):
        want[k] = mean[k]
    at.forward(mass, want, n)
    at.backward(mass, want, n)
    total = 0.0
    for k in range(n):
        total += want[k] * mean[k]
    for i in range(U(m)):
        x[i] = 0.0
        for k in range(n):
            x[i] += J[i * n + k] * want[k]
    at.forward(S, x, m)
    lost = 0.0
    for i in range(m):
        lost += x[i] * x[i]
    share = math.sqrt(max(1.0 - lost / total, 0.0)) if total > 0.0 else 1.0
    # The torque
    scale = 1.0
    for k in range(n):
        most, size = RATE_SHARE * own[RATE_MAX, k] * RELEASE_TIME, own[GAIN, k] * abs(r[k])
        if size * scale > most:
            scale = most / size
    qdd = own[DESIRED]
    boost = min(1.0 / max(share * share, 1e-3), MAX_BOOST)
    for k in range(n):
        qdd[k] = boost * (1.0 + scale * own[GAIN, k]) * r[k]
    at.forward(mass, qdd, n)
    at.backward(mass, qdd, n)
    for k in range(n):
        qdd[k] -= damping * qd[k]
    if _acceleration_bias(block, q, qd, x) != 0:
        return np.nan
    for i in range(U(m)):
        w = HAND_BRAKING * six[at.ED, i]
        if holds:
            w = HAND_FREQUENCY * (HAND_FREQUENCY * six[at.E, i] + 2.0 * six[at.ED, i])
        x[i] = w - x[i]
        for k in range(n):
            x[i] -= J[i * n + k] * qdd[k]
    at.forward(S, x, m)
    at.backward(S, x, m)
    for i in range(U(m)):
        for k in range(n):
            qdd[k] += solved[i, k] * x[i]
    if _newton_euler(block, q, qd, qdd, tau) != 0:
        return np.nan
    for k in range(n):
        tau[k] -= r[k]
    return share


class _HandKeeper(Controller):
    """The torque above for a `Push`, at the limiter of another law; `begin` at a state."""

    def __init__(
        self, law: Controller, gain: npt.ArrayLike, damping: float, link: str, point: Any, m: int
    ) -> None:
        super().__init__(law.model, limits=law.limits)
        self.share_limits(law)
        model, self.damping, self._rows = law.model, float(damping), m
        self._packed = aligned_copy(model.packed, pack_frame(model, link), point)
        self._own = np.zeros((int(MASS) + model.n + 6, model.n))
        self._own[int(GAIN)] = gains_of(model, "gain", gain, zero=True)
        self._own[int(RATE_MAX)] = np.minimum(self.limits.tau_rate_max, 1e9)
        self._six, self._J = np.zeros((int(at.L) + 6, 6)), np.zeros(6 * model.n)
        self._now, self._hold = np.zeros((4, 4)), np.zeros((4, 4))
        self.no_push = Push(np.zeros(model.n), np.zeros(model.n))
        self.begin()

    def begin(self) -> None:
        """Brake the hand, then hold it."""
        self._held = self._begun = False
        self.push_mean, self.share = np.zeros(self.model.n), 1.0

    @property
    def error(self) -> Array:
        """Distance of the hand from where it is held (6,), [m] then [rad]; a copy."""
        return self._six[int(at.E)].copy()

    def _law(self, state: Any, reference: Any, dt: float) -> int:
        if not self._begun:
            self._hold[:] = np.eye(4)
        share = self._torque(state, reference.r)
        if math.isnan(share):
            return 1
        if not self._held:
            speed = np.abs(self._six[int(at.ED), : self._rows]).max()
            self._hold[:], self._begun = self._now, True
            if speed < HAND_AT_REST:
                self._held = True
                self._torque(state, reference.r)
        self.share = share
        return 0

    def _torque(self, state: Any, r: Array) -> float:
        return float(
            _keep_hand(
                self._packed, self._own, self._six, self._J, self._now, self._rows, self.damping,
                self._held, state.q, state.qd, self._hold, r, self.push_mean, self._wanted,
            )
        )  # fmt: skip

    def _checked_reference(self, reference: Any) -> Push:
        r = joint_array(self.model, "r", part(reference, "push", "r"))
        return Push(r, np.zeros(self.model.n))


class NullSpace(Reaction):
    """Follows the push with motions that leave the hand where it is, and holds after it.

    gain: K_r, damping: k [1/s], as for `Reflex`. link, point [m] and orientation: the hand.
    helps: whether the null space follows the present push; if not, the reaction is that of
    `Reflex`.
    """

    uses_residual = True

    def __init__(
        self,
        law: Controller,
        gain: npt.ArrayLike = 2.0,
        damping: float = 3.0,
        *,
        link: str,
        point: npt.ArrayLike = ORIGIN,
        orientation: bool = True,
    ) -> None:
        super().__init__(law, gain, damping)
        self._reflex = self.yielding
        model, place = law.model, as_vector("point", point)
        rows = 6 if orientation else 3
        q = np.random.default_rng(0).uniform(-1.0, 1.0, model.n)
        rank = np.linalg.matrix_rank(jacobian(model, q, link, place)[:rows])
        self.redundant = model.n > rows == rank
        self._frame = link, place, rows
        self._keeper = _HandKeeper(law, gain, damping, link, place, rows)

    def begin(self, state: Any) -> None:
        """Start from this state."""
        super().begin(state)
        link, place, rows = self._frame
        self._keeper.begin()
        self._pushed, self._sum = 0.0, np.zeros(self.law.model.n)
        J = jacobian(self.law.model, state.q, link, place)[:rows]
        singular = np.linalg.svd(J, compute_uv=False)[-1] < DEXTERITY_MIN
        self._use(self.redundant and not singular)

    def continue_from(self, other: Reaction) -> None:
        """Take over the progress of another one, after `begin`."""
        super().continue_from(other)
        if isinstance(other, NullSpace):
            self._pushed, self._sum = other._pushed, other._sum
            self._use(self.redundant and other.helps)

    @property
    def hand_error(self) -> Array:
        """Distance of the hand from where it is held (6,), [m] then [rad]; a copy."""
        return self._keeper.error

    def _use(self, helps: bool) -> None:
        self.helps = helps
        self.yielding = self._keeper if helps else self._reflex  # type: ignore[assignment]

    def push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        """Return what the arm follows: the residual; decide whether the null space takes it."""
        if r is None:
            return None
        if self.helps and self._pushed < DECISION_TIME:
            self._pushed += dt
            self._sum = self._sum + dt * np.asarray(r)
            self._keeper.push_mean = self._sum / self._pushed
            if self._pushed >= DECISION_TIME and self._keeper.share < MIN_SHARE:
                self._use(False)
        return Push(np.ascontiguousarray(r), self.yielding.no_push.qd)
