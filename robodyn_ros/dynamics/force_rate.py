"""tau and its time derivative in O(N): the algorithm of [GuarinoLoBianco2009].

NE with one more derivative: angular jerk and jerk of the origins forward, force rates and torque
rates backward. Misprints of the paper are corrected: (17) takes the force, not its rate, in its
third term, and (5), (8) take the third derivative of the joint's position. Written about the
joint origins instead of the centres of mass, which makes (7), (9) needless:

    U = [wd x] + [w x][w x]                       a point's acceleration is a + U r
    V = [wdd x] + 2 [wd x][w x] + [w x] U         its jerk is j + V r
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, evaluate, workspace
from .friction import friction_rate, friction_torque, steady_sign_slopes
from .joints import joint_frame, row_of, set_positions, sizes
from .kinematics import external_torque_rate
from .vector import *

# Work space of a body's row
R_ = at.WORK
r_, w_, wd_, wdd_, a_, j_ = (at.WORK + U(k) for k in (9, 12, 15, 18, 21, 24))
f_, n_, fd_, nd_, rd_ = (at.WORK + U(k) for k in (27, 30, 33, 36, 39))
U_, V_ = at.WORK + U(42), at.WORK + U(51)


@inline
def _jerk_matrix(wdd, wd, w, rates):
    """Return V = [wdd x] + 2 [wd x][w x] + [w x] U."""
    x = cross(w, (rates[0], rates[3], rates[6]))
    y = cross(w, (rates[1], rates[4], rates[7]))
    z = cross(w, (rates[2], rates[5], rates[8]))
    first = rate_matrix(wdd, scale(2.0, wd), w)
    return add9(first, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]))


@kernel("int64(vector, vector, vector, vector, vector, vector, vector)")
def _force_rate(block, q, qd, qdd, qddd, tau, tau_dot):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qdd.size != q.size or qddd.size != q.size:
        return 1
    if tau.size != q.size or tau_dot.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    store3(block, base + w_, ZERO)
    store3(block, base + wd_, ZERO)
    store3(block, base + wdd_, ZERO)
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))
    store3(block, base + j_, ZERO)
    for k in range(U(9)):
        block[base + U_ + k] = 0.0
        block[base + V_ + k] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for k in range(n):
            tau[s + k] = block[rotors + k] * qdd[s + k]
            tau_dot[s + k] = block[rotors + k] * qddd[s + k]

        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            xd, xdd, xddd = ratio * qd[s + k], ratio * qdd[s + k], ratio * qddd[s + k]
            R, r = joint_frame(block, b, i)
            revolute = block[b + at.PRISMATIC] == 0.0
            w_p = load3(block, p + w_)
            rd = cross(w_p, r)
            if not revolute:
                rd = add(rd, scale(xd, column_z(R)))  # (29)
            w = matvec_t(R, w_p)
            wd = matvec_t(R, load3(block, p + wd_))
            wdd = matvec_t(R, load3(block, p + wdd_))
            a = matvec_t(R, add(load3(block, p + a_), matvec(load9(block, p + U_), r)))
            j = matvec_t(R, add(load3(block, p + j_), matvec(load9(block, p + V_), r)))
            wz = cross_z(w, xd)
            if revolute:
                wdd = add(wdd, add(cross_z(wd, xd), cross(w, add_z(wz, 2.0 * xdd))))
                wdd = add_z(wdd, xddd)  # (5)
                wd = add_z(add(wd, wz), xdd)  # (4)
                w = add_z(w, xd)  # (3)
            else:
                a = add_z(add(a, scale(2.0, wz)), xdd)  # (6)
                turning = add(cross_z(wd, xd), cross(w, add_z(wz, xdd)))
                j = add_z(add(j, scale(3.0, turning)), xddd)  # (8)

            rates = rate_matrix(wd, w, w)
            jerks = _jerk_matrix(wdd, wd, w, rates)
            m, mc = block[b + at.MASS], load3(block, b + at.MOMENT)
            J = load6(block, b + at.INERTIA)
            f = add(scale(m, a), matvec(rates, mc))  # (10)
            fd = add(scale(m, j), matvec(jerks, mc))  # (12)
            Jw, Jwd = symvec(J, w), symvec(J, wd)
            euler = add(Jwd, cross(w, Jw))  # (11)
            euler_d = add(
                add(cross(w, add(Jwd, euler)), symvec(J, add(wdd, cross(wd, w)))), cross(wd, Jw)
            )  # (13)
            torque = add(euler, cross(mc, a))
            torque_d = add(euler_d, add(cross(cross(w, mc), a), cross(mc, j)))

            store9(block, b + R_, R)
            store3(block, b + r_, r)
            store3(block, b + rd_, rd)
            store3(block, b + w_, w)
            store3(block, b + wd_, wd)
            store3(block, b + wdd_, wdd)
            store3(block, b + a_, a)
            store3(block, b + j_, j)
            store3(block, b + f_, f)
            store3(block, b + n_, torque)
            store3(block, b + fd_, fd)
            store3(block, b + nd_, torque_d)
            store9(block, b + U_, rates)
            store9(block, b + V_, jerks)

        for i in range(bodies):
            b, p, k = row_of(block, bodies - U1 - i)
            ratio = block[b + at.RATIO]
            f, torque = load3(block, b + f_), load3(block, b + n_)
            fd, torque_d = load3(block, b + fd_), load3(block, b + nd_)
            w = load3(block, b + w_)
            if block[b + at.PRISMATIC] == 0.0:
                along = torque[2]  # (18)
                along_d = torque_d[2] + torque[0] * w[1] - torque[1] * w[0]  # (20)
            else:
                along = f[2]  # (19)
                along_d = fd[2] + f[0] * w[1] - f[1] * w[0]  # (21)
            tau[s + k] += ratio * along
            tau_dot[s + k] += ratio * along_d
            bad += 0.0 * (tau[s + k] + tau_dot[s + k])
            R, r, rd = load9(block, b + R_), load3(block, b + r_), load3(block, b + rd_)
            f, fd = matvec(R, f), matvec(R, fd)
            accumulate3(block, p + f_, f)  # (14)
            accumulate3(block, p + fd_, fd)  # (16)
            accumulate3(block, p + n_, add(matvec(R, torque), cross(r, f)))  # (15)
            moved = add(cross(rd, f), cross(r, fd))
            accumulate3(block, p + nd_, add(matvec(R, torque_d), moved))  # (17)
    return 0 if bad == 0.0 else 1


def force_rate(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    *,
    gravity: bool = True,
    friction: bool = False,
    external: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> tuple[Array, Array]:
    """Return tau [N m or N] and tau_dot [N m/s or N/s], (n,) or (T, n) each, rotors included.

    qddd [1/s^3] is the jerk. `friction` adds the friction torque and its rate; the step of Coulomb
    friction at a reversal has no rate and is left out of tau_dot. `external` maps links to pairs
    of external wrench and its rate, at the link's origin and in the base's axes, as section III-B
    of the paper has them for the tip.
    """
    name = "force_rate" if gravity else "force_rate without gravity"
    shapes = [(model.n,)] * 2
    try:
        rates = model.bound[name](q, qd, qdd, qddd)
    except KeyError:
        call = bind_to(model, name, _force_rate, 4, shapes, workspace(model, gravity))
        rates = call(q, qd, qdd, qddd)
    if rates is None:
        packed, states = workspace(model, gravity), {"q": q, "qd": qd, "qdd": qdd, "qddd": qddd}
        rates = evaluate(_force_rate, model, states, shapes, packed, threads=threads)
    tau, tau_dot = rates
    if external:
        torque, rate = external_torque_rate(model, q, qd, external)
        tau -= torque
        tau_dot -= rate
    if friction:
        s, s1, _ = steady_sign_slopes(model, np.asarray(qd, dtype=np.float64))
        loaded = np.sign(tau) * (s1 * np.asarray(qdd) * tau + s * tau_dot)
        tau += friction_torque(model, qd, load=tau)
        tau_dot += friction_rate(model, qd, qdd) + model.friction_load * loaded
    return tau, tau_dot
