"""tau, tau_dot and tau_ddot in O(N): [GuarinoLoBianco2009] with one derivative more.

What a motor behind a spring needs, cf. [Buondonno2015]: its torque holds the second derivative of
the torque of the links. `r', r''` are time derivatives of a vector in the base's axes, written in
the axes of the body. Vectors that are fixed to a body of angular velocity w change by

    r' = w x r,   r'' = U r,   r''' = V r
    U = [wd x] + [w x][w x],   V = [wdd x] + 2 [wd x][w x] + [w x] U

`ne_star_jerk` is the same for variant 1110 of NE*, whose accelerations are the derivatives of the
velocities that qd_a gives the bodies while qd moves them. Of a point r of the body they are

    a + Ua r,   Ua = [wa' x] + [wa x][w x]
    j + Va r,   Va = [wa'' x] + 2 [wa' x][w x] + [wa x] U
    s + Wa r,   Wa = [wa''' x] + 3 [wa'' x][w x] + 3 [wa' x] U + [wa x] V

Both are one sweep; with wa = w, star = False, the compiler leaves out what vanishes.
"""

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, workspace
from .friction import friction_slopes, friction_torque, steady_sign_slopes
from .joints import joint_frame, row_of, set_positions, sizes
from .vector import *

# Work space of a body's row
R_ = at.WORK
r_, rd_, rdd_, a_, j_, s_ = (at.WORK + U(k) for k in range(9, 27, 3))
f_, fd_, fdd_, n_, nd_, ndd_ = (at.WORK + U(k) for k in range(27, 45, 3))
wa_, wa1_, wa2_, wa3_ = (at.WORK + U(k) for k in range(45, 57, 3))  # w and its rates if not star
Ua_, Va_, Wa_ = (at.WORK + U(k) for k in range(57, 84, 9))
w_, wd_, wdd_ = (at.WORK + U(k) for k in range(84, 93, 3))


@inline
def _skew_times(a, A):
    """Return [a x] A."""
    x, y, z = (A[0], A[3], A[6]), (A[1], A[4], A[7]), (A[2], A[5], A[8])
    x, y, z = cross(a, x), cross(a, y), cross(a, z)
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]


@inline
def _axis_rates(w, wd):
    """Return z' and z'' of the axis z of a body."""
    return (w[1], -w[0], 0.0), (
        wd[1] + w[2] * w[0],
        w[2] * w[1] - wd[0],
        -w[0] * w[0] - w[1] * w[1],
    )


@inline
def _along(x0, v0, x1, v1, x2, v2, x3):
    """Return x0 v0 + x1 v1 + x2 v2 + x3 z."""
    return add_z(add(add(scale(x0, v0), scale(x1, v1)), scale(x2, v2)), x3)


@inline
def _sweep(block, q, qd, qdd, qddd, qd_a, qdd_a, qddd_a, qdddd_a, tau, tau_dot, tau_ddot, star):
    bodies, n, T = sizes(block, q)
    if T == 0 or qd.size != q.size or qdd.size != q.size or qddd.size != q.size:
        return 1
    if qd_a.size != q.size or qdd_a.size != q.size or qddd_a.size != q.size:
        return 1
    if qdddd_a.size != q.size or tau.size != q.size:
        return 1
    if tau_dot.size != q.size or tau_ddot.size != q.size:
        return 1
    rotors = index(block[at.ROTORS])
    base = at.HEADER
    for k in range(U(84)):
        block[base + rdd_ + k] = 0.0
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))

    bad = 0.0
    for t in range(T):
        first = t * n
        bad += set_positions(block, q, first)
        for k in range(n):
            i = first + k
            tau[i] = block[rotors + k] * qdd_a[i]
            tau_dot[i] = block[rotors + k] * qddd_a[i]
            tau_ddot[i] = block[rotors + k] * qdddd_a[i]

        for i in range(bodies):
            b, p, k = row_of(block, i)
            ratio = block[b + at.RATIO]
            k += first
            x1, x2, x3, x4 = qd_a[k], qdd_a[k], qddd_a[k], qdddd_a[k]
            x1, x2, x3, x4 = ratio * x1, ratio * x2, ratio * x3, ratio * x4
            R, r = joint_frame(block, b, i)
            # Angular velocity and its rates as inherited; the joint adds its own below
            wa, wa1 = matvec_t(R, load3(block, p + wa_)), matvec_t(R, load3(block, p + wa1_))
            wa2, wa3 = matvec_t(R, load3(block, p + wa2_)), matvec_t(R, load3(block, p + wa3_))
            Ur = matvec(load9(block, p + Ua_), r)
            a = matvec_t(R, add(load3(block, p + a_), Ur))
            j = matvec_t(R, add(load3(block, p + j_), matvec(load9(block, p + Va_), r)))
            s = matvec_t(R, add(load3(block, p + s_), matvec(load9(block, p + Wa_), r)))
            w_p = load3(block, p + w_) if star else load3(block, p + wa_)
            rd = cross(w_p, r)
            if star:
                Ur = add(cross(load3(block, p + wd_), r), cross(w_p, rd))
                w = matvec_t(R, w_p)
                wd = matvec_t(R, load3(block, p + wd_))
                wdd = matvec_t(R, load3(block, p + wdd_))
            else:
                w, wd, wdd = wa, wa1, wa2
            z1, z2 = _axis_rates(w, wd)
            z3 = add(add((wdd[1], -wdd[0], 0.0), scale(2.0, cross(wd, z1))), cross(w, z2))
            if block[b + at.PRISMATIC] == 0.0:
                if star:
                    xd, xdd, xddd = ratio * qd[k], ratio * qdd[k], ratio * qddd[k]
                    wdd = add_z(add(wdd, add(scale(2.0 * xdd, z1), scale(xd, z2))), xddd)
                    wd = add_z(add(wd, scale(xd, z1)), xdd)
                    w = add_z(w, xd)
                wa3 = add(wa3, _along(x1, z3, 3.0 * x2, z2, 3.0 * x3, z1, x4))
                wa2 = add_z(add(wa2, add(scale(2.0 * x2, z1), scale(x1, z2))), x3)
                wa1 = add_z(add(wa1, scale(x1, z1)), x2)
                wa = add_z(wa, x1)
                if not star:
                    w, wd, wdd = wa, wa1, wa2
            else:
                # r slides along z, which adds e1, e2, e3 to r', r'', r'''
                xd, xdd, xddd = ratio * qd[k], ratio * qdd[k], ratio * qddd[k]
                e1 = (0.0, 0.0, xd)
                e2 = add_z(scale(2.0 * xd, z1), xdd)
                e3 = add_z(add(scale(3.0 * xd, z2), scale(3.0 * xdd, z1)), xddd)
                s = add(s, _along(x1, z3, 3.0 * x2, z2, 3.0 * x3, z1, x4))
                s = add(s, scale(3.0, add(cross(wa2, e1), cross(wa1, e2))))
                s = add(s, cross(wa, e3))
                j = add_z(add(j, add(scale(2.0 * x2, z1), scale(x1, z2))), x3)
                j = add(j, add(scale(2.0, cross(wa1, e1)), cross(wa, e2)))
                a = add_z(add(a, add(scale(x1, z1), cross(wa, e1))), x2)
                rd, Ur = add(rd, matvec(R, e1)), add(Ur, matvec(R, e2))

            Ua = rate_matrix(wa1, wa, w)
            A = rate_matrix(wd, w, w) if star else Ua
            Va = add9(rate_matrix(wa2, scale(2.0, wa1), w), _skew_times(wa, A))
            V = add9(rate_matrix(wdd, scale(2.0, wd), w), _skew_times(w, A)) if star else Va
            Wa = add9(rate_matrix(wa3, scale(3.0, wa2), w), _skew_times(scale(3.0, wa1), A))
            Wa = add9(Wa, _skew_times(wa, V))

            m, c = block[b + at.MASS], load3(block, b + at.CENTRE)
            inertia = load6(block, b + at.INERTIA_C)
            Uc = matvec(Ua, c)
            f = scale(m, add(a, Uc))
            fd = scale(m, add(j, matvec(Va, c)))
            fdd = scale(m, add(s, matvec(Wa, c)))
            # N = I wa' + w x I wa about the centre of mass, and (I x)' = I (x' - w x x) + w x I x
            h, y = symvec(inertia, wa), symvec(inertia, wa1)
            c1 = cross(w, wa1)
            x = symvec(inertia, sub(wa2, c1))
            y1 = add(x, cross(w, y))
            hd = add(y, cross(w, h))
            if star:
                d = cross(w, wa)
                hd = sub(hd, symvec(inertia, d))
            hdd = add(y1, add(cross(wd, h), cross(w, hd)))
            turning = sub(cross(w, c1), scale(2.0, cross(w, wa2)))
            if star:
                d1 = add(cross(wd, wa), c1)
                Id = symvec(inertia, d)
                hdd = sub(hdd, add(symvec(inertia, sub(d1, cross(w, d))), cross(w, Id)))
                turning = sub(turning, cross(wd, wa1))
            N = add(y, cross(w, h))
            Nd = add(y1, add(cross(wd, h), cross(w, hd)))
            y2 = add(symvec(inertia, add(wa3, turning)), cross(w, add(x, y1)))
            y2 = add(y2, cross(wd, y))
            Ndd = add(y2, add(cross(wdd, h), scale(2.0, cross(wd, hd))))
            Ndd = add(Ndd, cross(w, hdd))
            cd = cross(w, c)
            cdd = matvec(A, c) if star else Uc
            torque = add(N, cross(c, f))
            torque_d = add(Nd, add(cross(cd, f), cross(c, fd)))
            torque_dd = add(Ndd, add(cross(cdd, f), cross(c, fdd)))
            torque_dd = add(torque_dd, scale(2.0, cross(cd, fd)))

            store9(block, b + R_, R)
            store3(block, b + r_, r)
            store3(block, b + rd_, rd)
            store3(block, b + rdd_, Ur)
            store3(block, b + wa_, wa)
            store3(block, b + wa1_, wa1)
            store3(block, b + wa2_, wa2)
            store3(block, b + wa3_, wa3)
            store3(block, b + a_, a)
            store3(block, b + j_, j)
            store3(block, b + s_, s)
            store3(block, b + f_, f)
            store3(block, b + fd_, fd)
            store3(block, b + fdd_, fdd)
            store3(block, b + n_, torque)
            store3(block, b + nd_, torque_d)
            store3(block, b + ndd_, torque_dd)
            store9(block, b + Ua_, Ua)
            store9(block, b + Va_, Va)
            store9(block, b + Wa_, Wa)
            if star:
                store3(block, b + w_, w)
                store3(block, b + wd_, wd)
                store3(block, b + wdd_, wdd)

        for i in range(bodies):
            b, p, k = row_of(block, bodies - U1 - i)
            ratio = block[b + at.RATIO]
            k += first
            f, fd, fdd = load3(block, b + f_), load3(block, b + fd_), load3(block, b + fdd_)
            torque, torque_d = load3(block, b + n_), load3(block, b + nd_)
            torque_dd = load3(block, b + ndd_)
            w = load3(block, b + w_) if star else load3(block, b + wa_)
            z1, z2 = _axis_rates(w, load3(block, b + wd_) if star else load3(block, b + wa1_))
            if block[b + at.PRISMATIC] == 0.0:
                y, y1, y2 = torque, torque_d, torque_dd
            else:
                y, y1, y2 = f, fd, fdd
            tau[k] += ratio * y[2]
            tau_dot[k] += ratio * (y1[2] + dot(y, z1))
            tau_ddot[k] += ratio * (y2[2] + 2.0 * dot(y1, z1) + dot(y, z2))
            bad += 0.0 * (tau[k] + tau_dot[k] + tau_ddot[k])
            R, r = load9(block, b + R_), load3(block, b + r_)
            rd, rdd = load3(block, b + rd_), load3(block, b + rdd_)
            f, fd, fdd = matvec(R, f), matvec(R, fd), matvec(R, fdd)
            accumulate3(block, p + f_, f)
            accumulate3(block, p + fd_, fd)
            accumulate3(block, p + fdd_, fdd)
            accumulate3(block, p + n_, add(matvec(R, torque), cross(r, f)))
            moved = add(cross(rd, f), cross(r, fd))
            accumulate3(block, p + nd_, add(matvec(R, torque_d), moved))
            moved = add(add(cross(rdd, f), scale(2.0, cross(rd, fd))), cross(r, fdd))
            accumulate3(block, p + ndd_, add(matvec(R, torque_dd), moved))
    return 0 if bad == 0.0 else 1


@kernel("int64(vector, vector, vector, vector, vector, vector, vector, vector, vector)")
def _force_jerk(block, q, qd, qdd, qddd, qdddd, tau, tau_dot, tau_ddot):
    rates = (tau, tau_dot, tau_ddot)
    return _sweep(block, q, qd, qdd, qddd, qd, qdd, qddd, qdddd, *rates, False)


@kernel(
    "int64(vector, vector, vector, vector, vector, vector, vector, vector, vector, vector, vector,"
    " vector)"
)
def _ne_star_jerk(
    block, q, qd, qdd, qddd, qd_a, qdd_a, qddd_a, qdddd_a, tau, tau_dot, tau_ddot
):  # fmt: skip
    rates = (tau, tau_dot, tau_ddot)
    return _sweep(block, q, qd, qdd, qddd, qd_a, qdd_a, qddd_a, qdddd_a, *rates, True)


def force_jerk(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    qdddd: ArrayLike,
    *,
    gravity: bool = True,
    friction: bool = False,
    threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Return tau [N m or N], tau_dot [1/s] and tau_ddot [1/s^2], (n,) or (T, n), with rotors.

    qddd [1/s^3] is the jerk, qdddd [1/s^4] the snap. `friction` adds the friction torque with its
    derivatives; steps, of Coulomb friction at a reversal, are left out of these.
    """
    name = "force_jerk" if gravity else "force_jerk without gravity"
    shapes = [(model.n,)] * 3
    try:
        rates = model.bound[name](q, qd, qdd, qddd, qdddd)
    except KeyError:
        call = bind_to(model, name, _force_jerk, 5, shapes, workspace(model, gravity))
        rates = call(q, qd, qdd, qddd, qdddd)
    if rates is None:
        states = {"q": q, "qd": qd, "qdd": qdd, "qddd": qddd, "qdddd": qdddd}
        packed = workspace(model, gravity)
        rates = evaluate(_force_jerk, model, states, shapes, packed, threads=threads)
    tau, tau_dot, tau_ddot = rates
    if friction:
        qd, qdd, qddd = checked(model, qd=qd, qdd=qdd, qddd=qddd)
        slope, bend = friction_slopes(model, qd)
        s, s1, s2 = steady_sign_slopes(model, qd)
        sd, sdd = s1 * qdd, s1 * qddd + s2 * qdd**2
        share = model.friction_load * np.sign(tau)
        loaded = share * (sd * tau + s * tau_dot)
        loaded_d = share * (sdd * tau + 2.0 * sd * tau_dot + s * tau_ddot)
        tau = tau + friction_torque(model, qd, load=tau)
        tau_dot = tau_dot + slope * qdd + loaded
        tau_ddot = tau_ddot + slope * qddd + bend * qdd**2 + loaded_d
    return tau, tau_dot, tau_ddot


def ne_star_jerk(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    qd_a: ArrayLike,
    qdd_a: ArrayLike,
    qddd_a: ArrayLike,
    qdddd_a: ArrayLike,
    *,
    gravity: bool = True,
    threads: int = 1,
) -> tuple[Array, Array, Array]:
    """Return M(q) qdd_a + C*(q, qd) qd_a + g(q) and two derivatives of it, (n,) or (T, n) each.

    C* is that of variant 1110, so that Mdot - 2 C* is skew-symmetric. The arm moves with qd, qdd,
    qddd; qd_a changes with qdd_a, qddd_a, qdddd_a. Where both are the same this is `force_jerk`.
    """
    states = {
        "q": q,
        "qd": qd,
        "qdd": qdd,
        "qddd": qddd,
        "qd_a": qd_a,
        "qdd_a": qdd_a,
        "qddd_a": qddd_a,
        "qdddd_a": qdddd_a,
    }
    shapes, packed = [(model.n,)] * 3, workspace(model, gravity)
    tau, tau_dot, tau_ddot = evaluate(
        _ne_star_jerk, model, states, shapes, packed, threads=threads
    )
    return tau, tau_dot, tau_ddot
