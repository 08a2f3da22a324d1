"""Kernels of the task-space laws: pose error, damped inverse, and the two laws.

They stand in one file because the compiler's cache checks only this file for changes.

The error e (6,): position error, then axis times angle of the rotation R_d R^T; both in the axes
of the base, for angles up to pi. The distance from a singular posture is

    dexterity = 1 / sqrt(trace((J J^T)^-1)),

a little less than the smallest singular value of J. Below a minimum d0, the inverse is damped:
(J J^T + (d0^2 - dexterity^2) 1)^-1. It is continuous, and J^+ never exceeds 1 / d0.
"""

import math

import numpy as np

from ...dynamics.compile import inline, kernel
from ...dynamics.kinematics import _acceleration_bias, _jacobian, _pose
from ...dynamics.newton_euler import _gravity, _newton_euler
from ...dynamics.vector import matmul
from ...model.packed_model import U

ROTATION_TOLERANCE = 1e-3  # deviation of a quaternion's squared norm from 1

# Rows of 6 numbers; from L on a 6 x 6 matrix
KP, KD, KI, INTEGRAL, NEW_INTEGRAL, E, ED, X, L = (U(k) for k in range(9))
# Rows of n numbers
DAMPING, STIFFNESS, POSTURE, QDD = (U(k) for k in range(4))


@inline
def _quaternion(R):
    """Return w, x, y, z of a rotation, divided by the largest of them; w may be negative."""
    trace = R[0] + R[4] + R[8]
    if trace > 0.0:
        w = 0.5 * math.sqrt(1.0 + trace)
        f = 0.25 / w
        return w, f * (R[7] - R[5]), f * (R[2] - R[6]), f * (R[3] - R[1])
    if R[0] >= R[4] and R[0] >= R[8]:
        x = 0.5 * math.sqrt(1.0 + R[0] - R[4] - R[8])
        f = 0.25 / x
        return f * (R[7] - R[5]), x, f * (R[1] + R[3]), f * (R[2] + R[6])
    if R[4] >= R[8]:
        y = 0.5 * math.sqrt(1.0 - R[0] + R[4] - R[8])
        f = 0.25 / y
        return f * (R[2] - R[6]), f * (R[1] + R[3]), y, f * (R[5] + R[7])
    z = 0.5 * math.sqrt(1.0 - R[0] - R[4] + R[8])
    f = 0.25 / z
    return f * (R[3] - R[1]), f * (R[2] + R[6]), f * (R[5] + R[7]), z


@inline
def _rotation_vector(R):
    """Return axis times angle [rad], 0 to pi, of a rotation; NaN if R is not one."""
    w, x, y, z = _quaternion(R)
    sine = math.sqrt(x * x + y * y + z * z)
    if not abs(w * w + sine * sine - 1.0) < ROTATION_TOLERANCE:
        return np.nan, np.nan, np.nan
    angle = 2.0 * math.atan2(sine, abs(w))
    f = math.copysign(angle / sine if sine > 0.0 else 2.0, w)
    return f * x, f * y, f * z


@inline
def _rotation(T):
    return T[0, 0], T[0, 1], T[0, 2], T[1, 0], T[1, 1], T[1, 2], T[2, 0], T[2, 1], T[2, 2]


@inline
def _transposed(R):
    return R[0], R[3], R[6], R[1], R[4], R[7], R[2], R[5], R[8]


@kernel("int64(vector, matrix, vector, matrix, vector, vector, matrix, vector)")
def _pose_error(block, six, J, pose, q, qd, T, V):
    n = U(q.size)
    if qd.size != n or J.size != U(6) * n or T.shape != (4, 4) or V.size != 6:
        return 1
    if _pose(block, q, pose.reshape(16)) != 0 or _jacobian(block, q, J) != 0:
        return 1
    turn = _rotation_vector(matmul(_rotation(T), _transposed(_rotation(pose))))
    for i in range(3):
        six[E, i] = T[i, 3] - pose[i, 3]
        six[E, 3 + i] = turn[i]
    bad = 0.0
    for i in range(U(6)):
        v = 0.0
        for k in range(n):
            v += J[i * n + k] * qd[k]
        six[ED, i] = V[i] - v
        bad += 0.0 * six[E, i] + 0.0 * six[ED, i]
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, matrix, vector, matrix, vector, vector, matrix)")
def pose_at_rest(block, six, J, pose, q, qd, T):
    """Fill the error from a pose at rest, E and ED, the pose and J."""
    six[NEW_INTEGRAL, :] = 0.0
    return _pose_error(block, six, J, pose, q, qd, T, six[NEW_INTEGRAL])


@inline
def _gram(J, n, m, damping, S):
    """Fill the lower triangle of S = J J^T + damping 1 for the first m rows of J."""
    for i in range(m):
        for j in range(i + 1):
            S[i, j] = damping if i == j else 0.0
            for k in range(n):
                S[i, j] += J[U(i) * n + k] * J[U(j) * n + k]


@inline
def factor(S, m):
    """Factor S = L L^T in place; return False if S is not positive definite."""
    for j in range(m):
        d = S[j, j]
        for k in range(j):
            d -= S[j, k] * S[j, k]
        if not d > 1e-14 * S[j, j]:
            return False
        S[j, j] = math.sqrt(d)
        for i in range(j + 1, m):
            for k in range(j):
                S[i, j] -= S[i, k] * S[j, k]
            S[i, j] /= S[j, j]
    return True


@inline
def forward(S, x, m):
    """Solve L x = b in place of b."""
    for i in range(m):
        for k in range(i):
            x[i] -= S[i, k] * x[k]
        x[i] /= S[i, i]


@inline
def backward(S, x, m):
    """Solve L^T x = b in place of b."""
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            x[i] -= S[k, i] * x[k]
        x[i] /= S[i, i]


@inline
def _dexterity(S, x, m):
    """Return 1 / sqrt(trace((L L^T)^-1)), from the squared columns of L^-1."""
    trace = 0.0
    for j in range(m):
        for i in range(m):
            x[i] = 1.0 if i == j else 0.0
        forward(S, x, m)
        for i in range(m):
            trace += x[i] * x[i]
    return 1.0 / math.sqrt(trace)


@kernel("int64(vector, vector, vector, vector, vector, matrix, vector, vector)")
def pose_reference(block, J, q_d, qd_d, qdd_d, T, V, A):
    """Fill pose, velocity and acceleration of the hand for a motion of the joints."""
    n = U(q_d.size)
    if qd_d.size != n or qdd_d.size != n or J.size != U(6) * n:
        return 1
    if _pose(block, q_d, T.reshape(16)) != 0 or _jacobian(block, q_d, J) != 0:
        return 1
    if _acceleration_bias(block, q_d, qd_d, A) != 0:
        return 1
    for i in range(U(6)):
        V[i] = 0.0
        for k in range(n):
            V[i] += J[i * n + k] * qd_d[k]
            A[i] += J[i * n + k] * qdd_d[k]
    return 0


@kernel(
    "int64(vector, matrix, matrix, vector, matrix, vector, int64, vector, vector, matrix,"
    " vector, vector, vector)"
)
def resolved_acceleration(block, six, own, J, pose, dexterity, m, q, qd, T, V, A, tau):
    n = U(tau.size)
    if q.size != n or A.size != 6 or _pose_error(block, six, J, pose, q, qd, T, V) != 0:
        return 1
    S, x, qdd = six[L : L + U(6)], six[X], own[QDD]
    _gram(J, n, m, 0.0, S)
    dexterity[0] = _dexterity(S, x, m) if factor(S, m) else 0.0
    damping = dexterity[1] ** 2 - dexterity[0] ** 2
    if damping > 0.0:
        _gram(J, n, m, damping, S)
        factor(S, m)
    for k in range(n):
        qdd[k] = own[STIFFNESS, k] * (own[POSTURE, k] - q[k]) - own[DAMPING, k] * qd[k]
    # qdd = a + J^+ (w - Jdot qd - J a)
    if _acceleration_bias(block, q, qd, x) != 0:
        return 1
    for i in range(U(m)):
        x[i] = A[i] + six[KD, i] * six[ED, i] + six[KP, i] * six[E, i] - x[i]
        for k in range(n):
            x[i] -= J[i * n + k] * qdd[k]
    forward(S, x, m)
    backward(S, x, m)
    for i in range(U(m)):
        for k in range(n):
            qdd[k] += J[i * n + k] * x[i]
    return _newton_euler(block, q, qd, qdd, tau)


@kernel(
    "int64(vector, matrix, vector, matrix, int64, boolean, vector, vector, matrix, vector,"
    " vector, float64, vector)"
)
def task_pid(block, six, J, pose, m, gravity, q, qd, T, V, excess, dt, tau):
    n = U(tau.size)
    if q.size != n or _pose_error(block, six, J, pose, q, qd, T, V) != 0:
        return 1
    tau[:] = 0.0
    if gravity and _gravity(block, q, tau) != 0:
        return 1
    for i in range(U(m)):
        # Torque cut off by the limits, in this direction of the hand
        cut = 0.0
        for k in range(n):
            cut += J[i * n + k] * excess[k]
        e = six[E, i]
        six[NEW_INTEGRAL, i] = six[INTEGRAL, i]
        if not cut * e > 0.0:
            six[NEW_INTEGRAL, i] += six[KI, i] * e * dt
        f = six[KP, i] * e + six[KD, i] * six[ED, i] + six[NEW_INTEGRAL, i]
        for k in range(n):
            tau[k] += J[i * n + k] * f
    bad = 0.0
    for k in range(n):
        bad += 0.0 * tau[k]
    if bad != 0.0:
        return 1
    six[INTEGRAL] = six[NEW_INTEGRAL]
    return 0
