"""What the sweeps know of every link: its velocity, acceleration and jerk, and the wrench at its
joint. All vectors are in the base's axes; moments are about the joint's origin.
"""

from typing import NamedTuple

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, U3, U6, inline, kernel
from .dispatch import Array, ArrayLike, evaluate, workspace
from .joints import *
from .vector import *

# Work space of a body's row, behind its frame in the base's axes
w_, wd_, wdd_, v_, a_, j_, f_, n_ = (WORLD_END + U(k) for k in range(0, 24, 3))
NUMBERS = U(18)  # of a body: velocity, acceleration and jerk, each linear, then angular


class LinkMotion(NamedTuple):
    """Motion of the moving links, (N, 6) or (T, N, 6) each: of the link's origin, then angular."""

    velocity: Array  # [m/s, rad/s]
    acceleration: Array  # [m/s^2, rad/s^2]
    jerk: Array | None  # [m/s^3, rad/s^3]; None without qddd


@inline
def _fixed_rates(w, wd, wdd, r):
    """Return three derivatives of a vector fixed to a body that turns so."""
    r1 = cross(w, r)
    r2 = add(cross(wd, r), cross(w, r1))
    return r1, r2, add(add(cross(wdd, r), scale(2.0, cross(wd, r1))), cross(w, r2))


@inline
def _move_body(block, b, p, i, xd, xdd, xddd):
    """Place body i (row b) and set its motion from that of its parent (row p)."""
    R, o = place_body(block, b, p, i)
    z = column_z(R)
    w, wd, wdd = load3(block, p + w_), load3(block, p + wd_), load3(block, p + wdd_)
    r1, r2, r3 = _fixed_rates(w, wd, wdd, sub(o, load3(block, p + o_)))
    z1, z2, _ = _fixed_rates(w, wd, wdd, z)
    v = add(load3(block, p + v_), r1)
    a = add(load3(block, p + a_), r2)
    j = add(load3(block, p + j_), r3)
    once = add(scale(xdd, z), scale(xd, z1))
    twice = add(add(scale(xddd, z), scale(2.0 * xdd, z1)), scale(xd, z2))
    if block[b + at.PRISMATIC] == 0.0:
        wdd = add(wdd, twice)
        wd = add(wd, once)
        w = add(w, scale(xd, z))
    else:  # [GuarinoLoBianco2009] (6), (8)
        v = add(v, scale(xd, z))
        a = add(a, add(once, scale(xd, z1)))
        j = add(j, add(twice, add(scale(xdd, z1), scale(2.0 * xd, z2))))
    store3(block, b + w_, w)
    store3(block, b + wd_, wd)
    store3(block, b + wdd_, wdd)
    store3(block, b + v_, v)
    store3(block, b + a_, a)
    store3(block, b + j_, j)


@inline
def _rest_at_base(block, a):
    """Set the base at rest, with the acceleration a."""
    place_base(block)
    for k in range(U(24)):
        block[at.HEADER + w_ + k] = 0.0
    store3(block, at.HEADER + a_, a)


@kernel("int64(vector, vector, vector, vector, vector, vector)")
def _link_motion(block, q, qd, qdd, qddd, out):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qdd.size != q.size or qddd.size != q.size:
        return 1
    if out.size != T * bodies * NUMBERS:
        return 1
    _rest_at_base(block, ZERO)
    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            k += s
            _move_body(block, b, p, i, ratio * qd[k], ratio * qdd[k], ratio * qddd[k])
            row = (t * bodies + i) * NUMBERS
            store3(out, row, load3(block, b + v_))
            store3(out, row + U3, load3(block, b + w_))
            store3(out, row + U6, load3(block, b + a_))
            store3(out, row + U(9), load3(block, b + wd_))
            store3(out, row + U(12), load3(block, b + j_))
            store3(out, row + U(15), load3(block, b + wdd_))
            for x in range(NUMBERS):
                bad += 0.0 * out[row + x]
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector, vector)")
def _joint_wrenches(block, q, qd, qdd, out):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qdd.size != q.size or out.size != T * bodies * U6:
        return 1
    _rest_at_base(block, scale(-1.0, load3(block, at.GRAVITY)))
    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            _move_body(block, b, p, i, ratio * qd[s + k], ratio * qdd[s + k], 0.0)
            R = load9(block, b + R_)
            w, wd, a = load3(block, b + w_), load3(block, b + wd_), load3(block, b + a_)
            mc = matvec(R, load3(block, b + at.MOMENT))
            J = congruence(R, load6(block, b + at.INERTIA))
            f = add(scale(block[b + at.MASS], a), matvec(rate_matrix(wd, w, w), mc))
            torque = add(symvec(J, wd), cross(w, symvec(J, w)))
            store3(block, b + f_, f)
            store3(block, b + n_, add(torque, cross(mc, a)))
        for i in range(bodies):
            i = bodies - U1 - i
            b, p, _ = row_of(block, i)
            f, torque = load3(block, b + f_), load3(block, b + n_)
            row = (t * bodies + i) * U6
            store3(out, row, f)
            store3(out, row + U3, torque)
            for x in range(U6):
                bad += 0.0 * out[row + x]
            r = sub(load3(block, b + o_), load3(block, p + o_))
            accumulate3(block, p + f_, f)
            accumulate3(block, p + n_, add(torque, cross(r, f)))
    return 0 if bad == 0.0 else 1


def link_motion(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike | None = None,
    *,
    threads: int = 1,
) -> LinkMotion:
    """Return velocity, acceleration and, with qddd, jerk of all moving links, in the base's axes.

    The acceleration is that of the motion, without gravity. [GuarinoLoBianco2009] (3)-(8).
    """
    jerk = np.zeros(model.n) if qddd is None else qddd
    states = {"q": q, "qd": qd, "qdd": qdd, "qddd": jerk}
    shape = (len(model.link_names), 3, 6)
    found = evaluate(_link_motion, model, states, [shape], threads=threads)[0]
    v, a, j = np.moveaxis(found, -2, 0)
    return LinkMotion(v, a, None if qddd is None else j)


def joint_wrenches(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: bool = True,
    threads: int = 1,
) -> Array:
    """Return force [N] and torque [N m] (N, 6) or (T, N, 6) on each moving link at its joint.

    They are what the parent exerts: five components load the bearings, one is the torque of the
    drive without its rotor. In the base's axes, about the joint's origin.
    """
    states = {"q": q, "qd": qd, "qdd": qdd}
    shape = (len(model.link_names), 6)
    packed = workspace(model, gravity)
    return evaluate(_joint_wrenches, model, states, [shape], packed, threads=threads)[0]
