"""The sweep of `momentum` for many states, sixteen abreast.

In a batch the same steps are taken for every state, so each number of a sweep becomes a lane of
sixteen, next to each other in memory: the compiler turns the loop over a lane into vector
instructions. What a loop reads and what it writes are in different arrays, or it would not dare.
"""

from __future__ import annotations

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from .compile import U1, U2, U3, U6, index, inline, kernel, samples
from .joints import set_sines
from .vector import (
    add,
    add_z,
    column_z,
    cross,
    load3,
    load6,
    load9,
    matvec,
    matvec_t,
    scale,
    symvec,
    turn_z,
)

LANE = U(16)
# Lanes of a body: rotation, place, velocities, field, and the momenta of what it carries
R_, r_, w_, v_, a_, P_, L_, mc_ = (U(k) * LANE for k in (0, 9, 12, 15, 18, 21, 24, 27))
BODY = U(30) * LANE
NINE = U(9) * LANE


@inline
def lanes3(a, at):
    return a[at], a[at + LANE], a[at + U2 * LANE]


@inline
def put3(a, at, v):
    a[at], a[at + LANE], a[at + U2 * LANE] = v


@inline
def lanes9(a, at):
    x, y, z = lanes3(a, at), lanes3(a, at + U3 * LANE), lanes3(a, at + U6 * LANE)
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@inline
def put9(a, at, v):
    put3(a, at, (v[0], v[1], v[2]))
    put3(a, at + U3 * LANE, (v[3], v[4], v[5]))
    put3(a, at + U6 * LANE, (v[6], v[7], v[8]))


@inline
def _lanes_of(parent):
    """Where the lanes of a body begin, from where its row does."""
    return (index(parent) - at.HEADER) // at.ROW * BODY


@inline
def _forward(block, row, state, angle, x, bodies, rate, up, work, b, revolute):
    """One body's velocities and own momenta, from its parent's velocities in `up`."""
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
        w = lanes3(up, lane)
        v = matvec_t(R, add(lanes3(up, U3 * LANE + lane), cross(w, r)))
        w = matvec_t(R, w)
        xd = ratio * state[rate + lane]
        if revolute:
            w = add_z(w, xd)
        else:
            v = add_z(v, xd)
        put9(work, b + R_ + lane, R)
        put3(work, b + r_ + lane, r)
        put3(work, b + w_ + lane, w)
        put3(work, b + v_ + lane, v)
        put3(work, b + a_ + lane, matvec_t(R, lanes3(up, U6 * LANE + lane)))
        put3(work, b + P_ + lane, add(scale(m, v), cross(w, mc)))
        put3(work, b + L_ + lane, add(symvec(J, w), cross(mc, v)))
        put3(work, b + mc_ + lane, mc)


@inline
def _backward(block, row, work, b, state, out, n, check, up, revolute):
    """One joint's three terms, and in `up` what its parent carries with it."""
    ratio, m = block[row + at.RATIO], block[row + at.MASS_BEYOND]
    for lane in range(LANE):
        w, v = lanes3(work, b + w_ + lane), lanes3(work, b + v_ + lane)
        a, mc = lanes3(work, b + a_ + lane), lanes3(work, b + mc_ + lane)
        P, L = lanes3(work, b + P_ + lane), lanes3(work, b + L_ + lane)
        if revolute:
            p, g = L[2], mc[0] * a[1] - mc[1] * a[0]
            ctqd = w[1] * L[0] - w[0] * L[1] + v[1] * P[0] - v[0] * P[1]
        else:
            p, g = P[2], m * a[2]
            ctqd = w[1] * P[0] - w[0] * P[1]
        state[out + lane] += ratio * p
        state[out + n * LANE + lane] += ratio * ctqd
        state[out + U2 * n * LANE + lane] += ratio * g
        state[check + lane] += 0.0 * (p + ctqd)
        R, r = lanes9(work, b + R_ + lane), lanes3(work, b + r_ + lane)
        P = matvec(R, P)
        put3(up, lane, P)
        put3(up, U3 * LANE + lane, add(matvec(R, L), cross(r, P)))
        put3(up, U6 * LANE + lane, add(matvec(R, mc), scale(m, r)))


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _momentum_terms_in_lanes(block, q, qd, p, ctqd, g):
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    if T < LANE or qd.size != q.size:
        return 1
    if p.size != q.size or ctqd.size != q.size or g.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    work, up = np.zeros((bodies + U1) * BODY), np.zeros(NINE)
    angle = np.zeros(U3 * bodies * LANE)  # positions, sines, cosines
    state = np.zeros((U(4) * n + U1) * LANE)  # rates, the three terms, NaN for a bad lane
    field = scale(-1.0, load3(block, at.GRAVITY))
    for lane in range(LANE):
        put3(work, a_ + lane, field)  # the base

    bad, check = 0.0, U(4) * n * LANE
    for t in range(U(0), T, LANE):
        s = min(t, T - LANE)  # the last lane reaches back to be full
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
            b, parent = (i + U1) * BODY, _lanes_of(block[row + at.PARENT])
            for k in range(NINE):
                up[k] = work[parent + w_ + k]
            x, rate = i * LANE, index(block[row + at.COORDINATE]) * LANE
            if block[row + at.PRISMATIC] == 0.0:
                _forward(block, row, state, angle, x, bodies, rate, up, work, b, True)
            else:
                _forward(block, row, state, angle, x, bodies, rate, up, work, b, False)

        for j in range(bodies):
            i = bodies - j
            row = at.HEADER + i * at.ROW
            b, parent = i * BODY, _lanes_of(block[row + at.PARENT])
            out = (n + index(block[row + at.COORDINATE])) * LANE
            if block[row + at.PRISMATIC] == 0.0:
                _backward(block, row, work, b, state, out, n, check, up, True)
            else:
                _backward(block, row, work, b, state, out, n, check, up, False)
            for k in range(NINE):
                work[parent + P_ + k] += up[k]

        for lane in range(LANE):
            for k in range(n):
                p[(s + lane) * n + k] = state[(n + k) * LANE + lane]
                ctqd[(s + lane) * n + k] = state[(n + n + k) * LANE + lane]
                g[(s + lane) * n + k] = state[(n + n + n + k) * LANE + lane]
    for lane in range(LANE):
        bad += state[check + lane]
    return 0 if bad == 0.0 else 1
