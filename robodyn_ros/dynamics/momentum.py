"""The terms p, C^T qd and g of the residual in one O(N) sweep; [DeLuca2009] takes N + 2 of NE*.

C^T qd = dT/dq is the same for every factorization with Mdot = C + C^T. It follows from the momenta
of the bodies that each joint carries, without any column of C:

                revolute                        prismatic
    p           z . L                           z . P
    C^T qd      (w x z) . L + (v x z) . P       (w x z) . P
    g           -z . (mc x a_g)                 -m z . a_g

with P, L the linear and angular momentum (about the joint's origin) of the body and all beyond
it, m and mc their mass and its first moment, w and v the angular velocity and the velocity of the
joint's origin, all in the body's own frame, where z = (0, 0, 1).

The kernel for batches runs sixteen states abreast, in lanes that the compiler vectorizes. Such a
loop must read and write different arrays.
"""

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, U2, U3, U6, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite, states_of
from .joints import joint_frame, joint_place, set_positions, set_sines, sizes
from .ne_star import ne_star
from .vector import *

# Work space of a body's row
R_ = at.WORK
w_, v_, a_, P_, L_, mc_ = (at.WORK + U(k) for k in (9, 12, 15, 18, 21, 24))


@inline
def _velocities(R, r, w, v, rate, revolute):
    v = matvec_t(R, add(v, cross(w, r)))
    w = matvec_t(R, w)
    if revolute:
        return add_z(w, rate), v
    return w, add_z(v, rate)


@inline
def _body_momenta(m, mc, J, w, v):
    return add(scale(m, v), cross(w, mc)), add(symvec(J, w), cross(mc, v))


@inline
def _joint_momenta(w, v, P, L, revolute):
    """Return p and C^T qd of a joint that moves at unit ratio to its coordinate."""
    if revolute:
        return L[2], w[1] * L[0] - w[0] * L[1] + v[1] * P[0] - v[0] * P[1]
    return P[2], w[1] * P[0] - w[0] * P[1]


@inline
def _in_parent(R, r, m, P, L, mc):
    """Return P, L and mc in the parent's frame, about its origin."""
    P = matvec(R, P)
    return P, add(matvec(R, L), cross(r, P)), add(matvec(R, mc), scale(m, r))


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _momentum_terms(block, q, qd, p, ctqd, g):
    bodies, n, T = sizes(block, q)
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
            w, v = _velocities(R, r, w, v, xd, revolute)
            a = matvec_t(R, a)
            store9(block, b + R_, R)
            store3(block, b + w_, w)
            store3(block, b + v_, v)
            store3(block, b + a_, a)
            if block[b + at.BRANCHES] != 0.0:
                store3(block, b + P_, ZERO)
                store3(block, b + L_, ZERO)
                store3(block, b + mc_, ZERO)

        # Momenta pass to the parent in P, L and mc if it is the row before, else in memory.
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
            own, J = load3(block, b + at.MOMENT), load6(block, b + at.INERTIA)
            own_P, own_L = _body_momenta(block[b + at.MASS], own, J, w, v)
            P, L, mc = add(P, own_P), add(L, own_L), add(mc, own)
            if block[b + at.PRISMATIC] == 0.0:
                joint_p, joint_ctqd = _joint_momenta(w, v, P, L, True)
                p[k] += ratio * joint_p
                ctqd[k] += ratio * joint_ctqd
                g[k] += ratio * (mc[0] * a[1] - mc[1] * a[0])
            else:
                joint_p, joint_ctqd = _joint_momenta(w, v, P, L, False)
                p[k] += ratio * joint_p
                ctqd[k] += ratio * joint_ctqd
                g[k] += ratio * m * a[2]
            bad += 0.0 * (p[k] + ctqd[k])
            R, r = load9(block, b + R_), joint_place(block, b, bodies - j - U1)
            P, L, mc = _in_parent(R, r, m, P, L, mc)
            if up + at.ROW != b:
                accumulate3(block, up + P_, P)
                accumulate3(block, up + L_, L)
                accumulate3(block, up + mc_, mc)
                P, L, mc = ZERO, ZERO, ZERO
    return 0 if bad == 0.0 else 1


LANE = U(16)  # states abreast
# Lanes of a body: rotation, place, velocities, gravity, and the momenta of all that it carries
R_lanes, r_lanes, w_lanes, v_lanes = (U(k) * LANE for k in (0, 9, 12, 15))
a_lanes, P_lanes, L_lanes, mc_lanes = (U(k) * LANE for k in (18, 21, 24, 27))
BODY_LANES = U(30) * LANE
NINE_LANES = U(9) * LANE


@inline
def load3_lanes(a, at):
    return a[at], a[at + LANE], a[at + U2 * LANE]


@inline
def store3_lanes(a, at, v):
    a[at], a[at + LANE], a[at + U2 * LANE] = v


@inline
def load9_lanes(a, at):
    x, y, z = load3_lanes(a, at), load3_lanes(a, at + U3 * LANE), load3_lanes(a, at + U6 * LANE)
    return x + y + z


@inline
def store9_lanes(a, at, v):
    store3_lanes(a, at, v[:3])
    store3_lanes(a, at + U3 * LANE, v[3:6])
    store3_lanes(a, at + U6 * LANE, v[6:])


@inline
def _lanes_of(parent):
    """Return the offset of a body's lanes, from the offset of its row."""
    return (index(parent) - at.HEADER) // at.ROW * BODY_LANES


@inline
def _forward(block, row, state, angle, x, bodies, rate, up, work, b, revolute):
    """Compute one body's velocities and own momenta, from its parent's velocities in `up`."""
    E, place = load9(block, row + at.ROTATION), load3(block, row + at.PLACE)
    m, mc = block[row + at.MASS], load3(block, row + at.MOMENT)
    J, ratio = load6(block, row + at.INERTIA), block[row + at.RATIO]
    for lane in range(LANE):
        R, r = E, place
        if revolute:
            sine = angle[x + bodies * LANE + lane]
            R = turn_z(E, sine, angle[x + U2 * bodies * LANE + lane])
        else:
            r = add(place, scale(angle[x + lane], column_z(E)))
        w, v = load3_lanes(up, lane), load3_lanes(up, U3 * LANE + lane)
        w, v = _velocities(R, r, w, v, ratio * state[rate + lane], revolute)
        P, L = _body_momenta(m, mc, J, w, v)
        store9_lanes(work, b + R_lanes + lane, R)
        store3_lanes(work, b + r_lanes + lane, r)
        store3_lanes(work, b + w_lanes + lane, w)
        store3_lanes(work, b + v_lanes + lane, v)
        store3_lanes(work, b + a_lanes + lane, matvec_t(R, load3_lanes(up, U6 * LANE + lane)))
        store3_lanes(work, b + P_lanes + lane, P)
        store3_lanes(work, b + L_lanes + lane, L)
        store3_lanes(work, b + mc_lanes + lane, mc)


@inline
def _backward(block, row, work, b, state, out, n, check, up, revolute):
    """Compute one joint's three terms, and in `up` its momenta in the parent's frame."""
    ratio, m = block[row + at.RATIO], block[row + at.MASS_BEYOND]
    for lane in range(LANE):
        w, v = load3_lanes(work, b + w_lanes + lane), load3_lanes(work, b + v_lanes + lane)
        a, mc = load3_lanes(work, b + a_lanes + lane), load3_lanes(work, b + mc_lanes + lane)
        P, L = load3_lanes(work, b + P_lanes + lane), load3_lanes(work, b + L_lanes + lane)
        p, ctqd = _joint_momenta(w, v, P, L, revolute)
        g = mc[0] * a[1] - mc[1] * a[0] if revolute else m * a[2]
        state[out + lane] += ratio * p
        state[out + n * LANE + lane] += ratio * ctqd
        state[out + U2 * n * LANE + lane] += ratio * g
        state[check + lane] += 0.0 * (p + ctqd)
        R, r = load9_lanes(work, b + R_lanes + lane), load3_lanes(work, b + r_lanes + lane)
        P, L, mc = _in_parent(R, r, m, P, L, mc)
        store3_lanes(up, lane, P)
        store3_lanes(up, U3 * LANE + lane, L)
        store3_lanes(up, U6 * LANE + lane, mc)


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _momentum_terms_batch(block, q, qd, p, ctqd, g):
    bodies, n, T = sizes(block, q)
    if T < LANE or qd.size != q.size:
        return 1
    if p.size != q.size or ctqd.size != q.size or g.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    work, up = np.zeros((bodies + U1) * BODY_LANES), np.zeros(NINE_LANES)
    angle = np.zeros(U3 * bodies * LANE)  # positions, sines, cosines
    state = np.zeros((U(4) * n + U1) * LANE)  # rates, the three terms, NaN for an invalid lane
    field = scale(-1.0, load3(block, at.GRAVITY))
    for lane in range(LANE):
        store3_lanes(work, a_lanes + lane, field)  # the base

    bad, check = 0.0, U(4) * n * LANE
    for t in range(U(0), T, LANE):
        s = min(t, T - LANE)  # the last sixteen overlap the ones before
        for i in range(bodies):
            row = at.HEADER + (i + U1) * at.ROW
            k, ratio = index(block[row + at.COORDINATE]), block[row + at.RATIO]
            offset = block[row + at.OFFSET]
            for lane in range(LANE):
                angle[i * LANE + lane] = ratio * q[(s + lane) * n + k] + offset
        bad += set_sines(angle, U(0), bodies * LANE)
        for k in range(n):
            for lane in range(LANE):
                state[k * LANE + lane] = qd[(s + lane) * n + k]
            for lane in range(LANE):
                state[(n + k) * LANE + lane] = block[rotors + k] * state[k * LANE + lane]
        for k in range(U2 * n * LANE):
            state[U2 * n * LANE + k] = 0.0

        for i in range(bodies):
            row = at.HEADER + (i + U1) * at.ROW
            b, parent = (i + U1) * BODY_LANES, _lanes_of(block[row + at.PARENT])
            for k in range(NINE_LANES):
                up[k] = work[parent + w_lanes + k]
            x, rate = i * LANE, index(block[row + at.COORDINATE]) * LANE
            if block[row + at.PRISMATIC] == 0.0:
                _forward(block, row, state, angle, x, bodies, rate, up, work, b, True)
            else:
                _forward(block, row, state, angle, x, bodies, rate, up, work, b, False)

        for j in range(bodies):
            i = bodies - j
            row = at.HEADER + i * at.ROW
            b, parent = i * BODY_LANES, _lanes_of(block[row + at.PARENT])
            out = (n + index(block[row + at.COORDINATE])) * LANE
            if block[row + at.PRISMATIC] == 0.0:
                _backward(block, row, work, b, state, out, n, check, up, True)
            else:
                _backward(block, row, work, b, state, out, n, check, up, False)
            for k in range(NINE_LANES):
                work[parent + P_lanes + k] += up[k]

        for lane in range(LANE):
            for k in range(n):
                p[(s + lane) * n + k] = state[(n + k) * LANE + lane]
                ctqd[(s + lane) * n + k] = state[(n + n + k) * LANE + lane]
                g[(s + lane) * n + k] = state[(n + n + n + k) * LANE + lane]
    for lane in range(LANE):
        bad += state[check + lane]
    return 0 if bad == 0.0 else 1


def momentum_terms(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, *, threads: int = 1
) -> tuple[Array, Array, Array]:
    """Return p = M qd [N m s or N s], C^T qd = dT/dq and g [N m or N], (n,) or (T, n) each."""
    try:
        terms = model.bound["momentum_terms"](q, qd)
    except KeyError:
        terms = bind_to(model, "momentum_terms", _momentum_terms, 2, [(model.n,)] * 3)(q, qd)
    if terms is None:
        q = states_of(model, "q", q)
        sweep, most = _momentum_terms, len(q) // (2 * int(LANE)) if q.ndim == 2 else 0
        if most > 0:  # however many threads: the two kernels may differ in the last bit
            sweep, threads = _momentum_terms_batch, min(threads, most)
        states, shapes = {"q": q, "qd": qd}, [(model.n,)] * 3
        terms = tuple(evaluate(sweep, model, states, shapes, threads=threads))
    return terms


def momentum_terms_by_sweeps(
    model: RobotModel, q: ArrayLike, qd: ArrayLike
) -> tuple[Array, Array, Array]:
    """Return the same as `momentum_terms` by N + 2 sweeps of NE*. [DeLuca2009] (26)-(28)."""
    q, qd = checked(model, q=q, qd=qd)
    still = np.zeros(model.n)
    p = ne_star(model, q, still, still, qd, gravity=False)
    g = ne_star(model, q, still, still, still)
    columns = np.array([ne_star(model, q, qd, e, still, gravity=False) for e in np.eye(model.n)])
    ctqd = np.einsum("j...i,...i->...j", columns, qd)
    return p, finite(model, ctqd, q=q, qd=qd), g
