"""The residual's terms p, C^T qd and g in one O(N) sweep.

[DeLuca2009] takes N + 2 sweeps of NE* to get them. But C^T qd is the same for every factorization
with Mdot = C + C^T: it equals Mdot qd - c = dT/dq, the change of kinetic energy with posture. So
it follows from the momenta of what each joint carries, without any column of C:

                revolute                        prismatic
    p           z . L                           z . P
    C^T qd      (w x z) . L + (v x z) . P       (w x z) . P
    g           -z . (mc x a_g)                 -m z . a_g

with P, L the linear and angular momentum (about the joint's origin) of the body and all beyond
it, m and mc their mass and its first moment, w and v the angular velocity and the velocity of the
joint's origin. Everything is in the body's own frame, where z = (0, 0, 1).
"""

from __future__ import annotations

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite, states_of
from .joints import joint_frame, joint_place, set_positions
from .momentum_batch import LANE, _momentum_terms_in_lanes
from .ne_star import ne_star
from .vector import (
    ZERO,
    accumulate3,
    add,
    add_z,
    cross,
    load3,
    load6,
    load9,
    matvec,
    matvec_t,
    scale,
    store3,
    store9,
    symvec,
)

# Work space of a body's row
R_ = at.WORK
w_, v_, a_, P_, L_, mc_ = (at.WORK + U(k) for k in (9, 12, 15, 18, 21, 24))


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _momentum_terms(block, q, qd, p, ctqd, g):
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    if T == 0 or qd.size != q.size:
        return 1
    if p.size != q.size or ctqd.size != q.size or g.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    store3(block, base + w_, ZERO)
    store3(block, base + v_, ZERO)
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(s, s + n):
            p[k] = block[rotors + k - s] * qd[k]
            ctqd[k] = 0.0
            g[k] = 0.0

        w, v, a = ZERO, ZERO, scale(-1.0, load3(block, at.GRAVITY))
        for i in range(bodies):
            b = base + (i + U1) * at.ROW
            up = index(block[b + at.PARENT])
            if up + at.ROW != b:
                w, v, a = load3(block, up + w_), load3(block, up + v_), load3(block, up + a_)
            k = s + index(block[b + at.COORDINATE])
            xd = block[b + at.RATIO] * qd[k]
            R, r = joint_frame(block, b, i)
            revolute = block[b + at.PRISMATIC] == 0.0
            v = matvec_t(R, add(v, cross(w, r)))
            w = matvec_t(R, w)
            a = matvec_t(R, a)
            if revolute:
                w = add_z(w, xd)
            else:
                v = add_z(v, xd)
            store9(block, b + R_, R)
            store3(block, b + w_, w)
            store3(block, b + v_, v)
            store3(block, b + a_, a)
            if block[b + at.BRANCHES] != 0.0:
                store3(block, b + P_, ZERO)
                store3(block, b + L_, ZERO)
                store3(block, b + mc_, ZERO)

        # What the next row carries is handed on in P, L and mc; what other rows carry, in memory.
        P, L, mc = ZERO, ZERO, ZERO
        for j in range(bodies):
            b = base + (bodies - j) * at.ROW
            up = index(block[b + at.PARENT])
            k = s + index(block[b + at.COORDINATE])
            ratio, m = block[b + at.RATIO], block[b + at.MASS_BEYOND]
            w, v, a = load3(block, b + w_), load3(block, b + v_), load3(block, b + a_)
            if block[b + at.BRANCHES] != 0.0:
                P, L = add(P, load3(block, b + P_)), add(L, load3(block, b + L_))
                mc = add(mc, load3(block, b + mc_))
            own = load3(block, b + at.MOMENT)
            P = add(P, add(scale(block[b + at.MASS], v), cross(w, own)))
            L = add(L, add(symvec(load6(block, b + at.INERTIA), w), cross(own, v)))
            mc = add(mc, own)
            if block[b + at.PRISMATIC] == 0.0:
                p[k] += ratio * L[2]
                ctqd[k] += ratio * (w[1] * L[0] - w[0] * L[1] + v[1] * P[0] - v[0] * P[1])
                g[k] += ratio * (mc[0] * a[1] - mc[1] * a[0])
            else:
                p[k] += ratio * P[2]
                ctqd[k] += ratio * (w[1] * P[0] - w[0] * P[1])
                g[k] += ratio * m * a[2]
            bad += 0.0 * (p[k] + ctqd[k])
            # Hand the momenta on to the parent
            R, r = load9(block, b + R_), joint_place(block, b, bodies - j - U1)
            P = matvec(R, P)
            L = add(matvec(R, L), cross(r, P))
            mc = add(matvec(R, mc), scale(m, r))
            if up + at.ROW != b:
                accumulate3(block, up + P_, P)
                accumulate3(block, up + L_, L)
                accumulate3(block, up + mc_, mc)
                P, L, mc = ZERO, ZERO, ZERO
    return 0 if bad == 0.0 else 1


def momentum_terms(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, *, threads: int = 1
) -> tuple[Array, Array, Array]:
    """(p, C^T qd, g): generalized momentum [N m s], and two torques [N m], in one sweep."""
    try:
        call = model.bound["momentum_terms"]
    except KeyError:
        call = bind_to(model, "momentum_terms", _momentum_terms, 2, [(model.n,)] * 3)
    terms = call(q, qd)
    if terms is None:
        q = states_of(model, "q", q)
        arguments, shapes = {"q": q, "qd": qd}, [(model.n,)] * 3
        many = q.ndim == 2 and len(q) >= threads * 2 * int(LANE)
        sweep = _momentum_terms_in_lanes if many else _momentum_terms
        p, ctqd, g = evaluate(sweep, model, model.block, arguments, shapes, threads=threads)
        return p, ctqd, g
    return terms


def momentum_terms_by_sweeps(
    model: RobotModel, q: ArrayLike, qd: ArrayLike
) -> tuple[Array, Array, Array]:
    """The same by the N + 2 sweeps of [DeLuca2009] (26)-(28): the reference, O(N^2)."""
    q, qd = checked(model, q=q, qd=qd)
    still = np.zeros(model.n)
    p = ne_star(model, q, still, still, qd, gravity=False)
    g = ne_star(model, q, still, still, still)
    columns = np.array([ne_star(model, q, qd, e, still, gravity=False) for e in np.eye(model.n)])
    ctqd = np.einsum("j...i,...i->...j", columns, qd)
    return p, finite(model, ctqd, q=q, qd=qd), g
