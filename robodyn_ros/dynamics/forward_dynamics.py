"""Direct dynamics: the acceleration that a torque causes.

By articulated bodies in O(N), [Khalil2019] 7.6.2, or through the mass matrix. An articulated body
is all that a joint carries, with the joints beyond it free to move: an acceleration takes the
wrench  (n, f) = (A wd + B a, B^T wd + D a) + bias.  Base's axes, about the joint's origin.
"""

from typing import Any

import numpy as np

from ..errors import one_of
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, evaluate, states_of
from .friction import drive_friction
from .joints import R_, WORLD_END, o_, place_base, place_body, row_of, set_positions, sizes
from .kinematics import external_torque
from .mass_matrix import _mass_matrix
from .newton_euler import _newton_euler
from .vector import *

# Work space of a body's row
w_, wd_, a_ = (WORLD_END + U(k) for k in (0, 3, 6))
gw_, ga_ = (WORLD_END + U(k) for k in (9, 12))  # gamma of (7.68): acceleration without qdd
n_, f_ = (WORLD_END + U(k) for k in (15, 18))  # -beta* of (7.70): the bias wrench
A_, B_, D_ = (WORLD_END + U(k) for k in (21, 27, 36))  # the articulated inertia, I* of (7.74)
Un_, Uf_ = (WORLD_END + U(k) for k in (42, 45))  # I* a_j
H_, u_ = (WORLD_END + U(k) for k in (48, 49))  # 1 / H_j of (7.71); the torque minus the bias


@inline
def _minus_square(S, a, b):
    """Return S - a a^T b for a symmetric S."""
    return (
        (S[0] - a[0] * a[0] * b, S[1] - a[0] * a[1] * b, S[2] - a[0] * a[2] * b)
        + (S[3] - a[1] * a[1] * b, S[4] - a[1] * a[2] * b)
        + (S[5] - a[2] * a[2] * b,)
    )


@inline
def _minus_product(B, a, c, b):
    x, y, z = scale(b, a)
    return (
        (B[0] - x * c[0], B[1] - x * c[1], B[2] - x * c[2])
        + (B[3] - y * c[0], B[4] - y * c[1], B[5] - y * c[2])
        + (B[6] - z * c[0], B[7] - z * c[1], B[8] - z * c[2])
    )


@inline
def _add_to_parent(block, p, A, B, D, r):
    """Add an articulated body, whose reference point is at r from the parent's, to the parent."""
    # B' = B + [r x] D
    c0 = cross(r, (D[0], D[1], D[2]))
    c1 = cross(r, (D[1], D[3], D[4]))
    c2 = cross(r, (D[2], D[4], D[5]))
    Bp = add9(B, (c0[0], c1[0], c2[0], c0[1], c1[1], c2[1], c0[2], c1[2], c2[2]))
    # A' = A - B [r x] + [r x] B'^T; row i of -B [r x] is r x (row i of B), as is column j of
    # [r x] B'^T with row j of B'.
    x0 = cross(r, (B[0], B[1], B[2]))
    x1 = cross(r, (B[3], B[4], B[5]))
    x2 = cross(r, (B[6], B[7], B[8]))
    y0 = cross(r, (Bp[0], Bp[1], Bp[2]))
    y1 = cross(r, (Bp[3], Bp[4], Bp[5]))
    y2 = cross(r, (Bp[6], Bp[7], Bp[8]))
    Ap = add6(add6(A, x0 + x1[1:] + x2[2:]), (y0[0], y1[0], y2[0], y1[1], y2[1], y2[2]))
    accumulate6(block, p + A_, Ap)
    accumulate9(block, p + B_, Bp)
    accumulate6(block, p + D_, D)


@kernel("int64(vector, vector, vector, vector, vector)")
def _articulated_bodies(block, q, qd, tau, qdd):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or tau.size != q.size or qdd.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    place_base(block)
    store3(block, base + w_, ZERO)
    store3(block, base + wd_, ZERO)
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        # i) forward: velocities, and accelerations and wrenches as if qdd were 0
        for i in range(bodies):
            b, p, k = row_of(block, i)
            R, o = place_body(block, b, p, i)
            zd = scale(qd[s + k], column_z(R))
            w = load3(block, p + w_)
            gamma_w, gamma_a = ZERO, cross(w, cross(w, sub(o, load3(block, p + o_))))
            if block[b + at.PRISMATIC] == 0.0:
                gamma_w = cross(w, zd)
                w = add(w, zd)
            else:
                gamma_a = add(gamma_a, scale(2.0, cross(w, zd)))
            m = block[b + at.MASS]
            h = matvec(R, load3(block, b + at.MOMENT))
            J = congruence(R, load6(block, b + at.INERTIA))
            store3(block, b + w_, w)
            store3(block, b + gw_, gamma_w)
            store3(block, b + ga_, gamma_a)
            store3(block, b + n_, cross(w, symvec(J, w)))
            store3(block, b + f_, cross(w, cross(w, h)))
            store6(block, b + A_, J)
            store9(block, b + B_, (0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0))
            store6(block, b + D_, (m, 0.0, 0.0, m, 0.0, m))

        # ii) backward: articulated inertias
        for j in range(bodies):
            b, p, k = row_of(block, bodies - U1 - j)
            A, B, D = load6(block, b + A_), load9(block, b + B_), load6(block, b + D_)
            z = column_z(load9(block, b + R_))
            bias_n, bias_f = load3(block, b + n_), load3(block, b + f_)
            if block[b + at.PRISMATIC] == 0.0:
                Un, Uf = symvec(A, z), matvec_t(B, z)
                H = dot(z, Un)
                u = tau[s + k] - dot(z, bias_n)
            else:
                Un, Uf = matvec(B, z), symvec(D, z)
                H = dot(z, Uf)
                u = tau[s + k] - dot(z, bias_f)
            H += block[rotors + k]  # (7.71)
            inverse = 1.0 / H
            store3(block, b + Un_, Un)
            store3(block, b + Uf_, Uf)
            block[b + H_] = inverse
            block[b + u_] = u
            if p != base:
                A = _minus_square(A, Un, inverse)  # (7.72)
                B = _minus_product(B, Un, Uf, inverse)
                D = _minus_square(D, Uf, inverse)
                gamma_w, gamma_a = load3(block, b + gw_), load3(block, b + ga_)
                share = u * inverse
                wrench_n = add(add(symvec(A, gamma_w), matvec(B, gamma_a)), scale(share, Un))
                wrench_f = add(add(matvec_t(B, gamma_w), symvec(D, gamma_a)), scale(share, Uf))
                bias_n, bias_f = add(bias_n, wrench_n), add(bias_f, wrench_f)  # (7.73)
                r = sub(load3(block, b + o_), load3(block, p + o_))
                accumulate3(block, p + n_, add(bias_n, cross(r, bias_f)))  # (7.75)
                accumulate3(block, p + f_, bias_f)
                _add_to_parent(block, p, A, B, D, r)  # (7.74)

        # iii) forward again: accelerations
        for i in range(bodies):
            b, p, k = row_of(block, i)
            r = sub(load3(block, b + o_), load3(block, p + o_))
            wd = load3(block, p + wd_)
            a = add(add(load3(block, p + a_), cross(wd, r)), load3(block, b + ga_))  # (7.76)
            wd = add(wd, load3(block, b + gw_))
            Un, Uf = load3(block, b + Un_), load3(block, b + Uf_)
            qdd[s + k] = (block[b + u_] - dot(Un, wd) - dot(Uf, a)) * block[b + H_]  # (7.77)
            bad += 0.0 * qdd[s + k]
            zdd = scale(qdd[s + k], column_z(load9(block, b + R_)))
            if block[b + at.PRISMATIC] == 0.0:
                wd = add(wd, zdd)  # (7.78)
            else:
                a = add(a, zdd)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)
    return 0 if bad == 0.0 else 1


@inline
def _solve(M, at_matrix, x, at_vector, n):
    """Solve x <- M^-1 x in place by Cholesky; M becomes its factor. NaN if it has none."""
    for i in range(n):
        for j in range(i + U1):
            total = M[at_matrix + i * n + j]
            for k in range(j):
                total -= M[at_matrix + i * n + k] * M[at_matrix + j * n + k]
            if i == j:
                M[at_matrix + i * n + i] = np.sqrt(total)
            else:
                M[at_matrix + i * n + j] = total / M[at_matrix + j * n + j]
    for i in range(n):
        total = x[at_vector + i]
        for k in range(i):
            total -= M[at_matrix + i * n + k] * x[at_vector + k]
        x[at_vector + i] = total / M[at_matrix + i * n + i]
    for step in range(n):
        i = n - U1 - step
        total = x[at_vector + i]
        for k in range(i + U1, n):
            total -= M[at_matrix + k * n + i] * x[at_vector + k]
        x[at_vector + i] = total / M[at_matrix + i * n + i]


@kernel("int64(vector, vector, vector, vector, vector)")
def _through_mass_matrix(block, q, qd, tau, qdd):
    """[Khalil2019] 7.6.1: M from `mass_matrix`, c + g from NE without acceleration."""
    n = index(block[at.COORDINATES])
    if tau.size != q.size or qdd.size != q.size:
        return 1
    M = np.empty(q.size * n)
    if _mass_matrix(block, q, M) != 0 or _newton_euler(block, q, qd, np.zeros(q.size), qdd) != 0:
        return 1
    bad = 0.0
    for t in range(samples(n, U(q.size))):
        for k in range(t * n, t * n + n):
            qdd[k] = tau[k] - qdd[k]
        _solve(M, t * n * n, qdd, t * n, n)
        for k in range(t * n, t * n + n):
            bad += 0.0 * qdd[k]
    return 0 if bad == 0.0 else 1


def forward_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    tau: ArrayLike,
    *,
    friction: bool = False,
    friction_width: float = 0.0,
    external: dict[str, Any] | None = None,
    method: str = "articulated",
    threads: int = 1,
) -> Array:
    """Return the joint acceleration M^-1 (tau - c - g), (n,) or (T, n) [rad/s^2 or m/s^2].

    `friction` subtracts the friction torque; `friction_width` smooths its step at rest, as in
    `friction_torque`. `external` is as in `inverse_dynamics`. `method` is 'articulated' (O(N),
    more accurate) or 'mass_matrix' (Cholesky), which is always used with mimic joints.
    """
    one_of("method", method, ("articulated", "mass_matrix"))
    if friction:
        tau = states_of(model, "tau", tau)
        tau = tau - drive_friction(model, qd, tau, width=friction_width)
    if external:
        tau = states_of(model, "tau", tau) + external_torque(model, q, external)
    if model.coupled or method == "mass_matrix":
        name, sweep = "forward_dynamics through M", _through_mass_matrix
    else:
        name, sweep = "forward_dynamics", _articulated_bodies
    try:
        qdd = model.bound[name](q, qd, tau)
    except KeyError:
        qdd = bind_to(model, name, sweep, 3, [(model.n,)])(q, qd, tau)
    if qdd is None:
        states = {"q": q, "qd": qd, "tau": tau}
        qdd = evaluate(sweep, model, states, [(model.n,)], threads=threads)[0]
    return qdd
