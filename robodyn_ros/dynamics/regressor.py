"""Regressors: the torque as a matrix of the motion times the parameters of the bodies.

    tau = Y(q, qd, qdd) pi,   pi = model.inertial_parameters(): ten numbers per body

A body that moves with angular velocity w and acceleration wd, its origin accelerating with a,
needs the force m a + A mc and the torque J wd + w x J w + mc x a, A = [wd x] + [w x][w x]: both
are linear in m, mc and J, [Khalil2019] (7.38)-(7.39), [LuMeng1993] (66)-(75). A joint below it
carries the part of both along its own motion: z and v, the rates at which it turns the body and
moves the body's origin. So a row of the body's ten columns is

    m: v . a      mc: A^T v + a x z      J: z . J wd + (z x w) . J w

Velocities and places are found in the base's axes; z, v and the motion are then turned into the
body's own axes as the model gives them, so that nothing has to be mapped back.

With two velocities, as for adaptive control, each product of velocities is shared evenly between
them, which is the mean of the two valid variants of NE*: the Christoffel matrix. NE* itself is not
linear in ten parameters, because the torque of its variant 0001 has m |c|^2 (w x wa) beyond them.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..model import block as at
from ..model.block import U, aligned_copy, frame_with_axis_z
from ..model.robot import RobotModel
from .call import Array, ArrayLike, bind_to, checked, evaluate
from .joints import set_positions
from .kinematics import R_, WORLD_END, o_, place_base, place_body
from .vector import (
    U1,
    ZERO,
    accumulate9,
    add,
    column_z,
    cross,
    dot,
    index,
    inline,
    kernel,
    load3,
    load9,
    matmul,
    matvec_t,
    samples,
    scale,
    store3,
    sub,
)

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
TEN = U(10)

# The regressors need no masses. In their place stands the turn (9) from a body's own axes to the
# frame whose z is the joint's axis.
TURN = at.MASS
# Work space of a body's row
w_, wa_, wd_, a_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))
v_ = wa_  # the momentum has no second velocity

ZERO9 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def _block(model: RobotModel, gravity: bool = True) -> Array:
    """The model's block with the turns in the place of the masses, made once."""
    name = "regressor block" if gravity else "regressor block without gravity"
    if name not in model.bound:
        block = aligned_copy(model.block if gravity else model.block_without_gravity)
        for i, axis in enumerate(model.axis):
            start = int(at.HEADER) + int(at.ROW) * (i + 1) + int(TURN)
            block[start : start + 9] = frame_with_axis_z(axis).T.ravel()
        model.bound[name] = block
    return model.bound[name]


@inline
def _own_axes(block, b):
    """The body's axes as the model gives them, seen from the base."""
    return matmul(load9(block, b + R_), load9(block, b + TURN))


@inline
def _rates_by_place(wd, w, wa):
    """A = [wd x] + ([w x][wa x] + [wa x][w x]) / 2."""
    d = dot(w, wa)
    xy = 0.5 * (w[0] * wa[1] + w[1] * wa[0])
    xz = 0.5 * (w[0] * wa[2] + w[2] * wa[0])
    yz = 0.5 * (w[1] * wa[2] + w[2] * wa[1])
    return (
        w[0] * wa[0] - d,
        xy - wd[2],
        xz + wd[1],
        xy + wd[2],
        w[1] * wa[1] - d,
        yz - wd[0],
        xz - wd[1],
        yz + wd[0],
        w[2] * wa[2] - d,
    )


@inline
def _inertia_columns(wd, w, wa):
    """The torque J wd + (w x J wa + wa x J w) / 2 for a unit of xx, xy, xz, yy, yz, zz."""
    xx, yy, zz = w[0] * wa[0], w[1] * wa[1], w[2] * wa[2]
    xy = 0.5 * (w[0] * wa[1] + w[1] * wa[0])
    xz = 0.5 * (w[0] * wa[2] + w[2] * wa[0])
    yz = 0.5 * (w[1] * wa[2] + w[2] * wa[1])
    return (
        (wd[0], xz, -xy),
        (wd[1] - xz, wd[0] + yz, xx - yy),
        (wd[2] + xy, zz - xx, wd[0] - yz),
        (-yz, wd[1], xy),
        (yy - zz, wd[2] - xy, wd[1] + xz),
        (yz, -xz, wd[2]),
    )


@inline
def _add_row(Y, y, v, z, a, A, N):
    """Add a joint's share of a body's ten columns at Y[y]; returns 0, or NaN if one is not finite.

    The body's wrench is a m + A mc in force, mc x a + N J in torque.
    """
    y0 = dot(v, a)
    y1, y2, y3 = add(matvec_t(A, v), cross(a, z))
    y4, y5, y6 = dot(z, N[0]), dot(z, N[1]), dot(z, N[2])
    y7, y8, y9 = dot(z, N[3]), dot(z, N[4]), dot(z, N[5])
    Y[y] += y0
    accumulate9(Y, y + U1, (y1, y2, y3, y4, y5, y6, y7, y8, y9))
    return 0.0 * ((y0 + y1) + (y2 + y3) + ((y4 + y5) + (y6 + y7)) + (y8 + y9))


@inline
def _unit_motion(block, j, o, z):
    """How joint j, along or about z, moves a body with its origin at o: velocity and turn."""
    if block[j + at.PRISMATIC] == 0.0:
        return cross(z, sub(o, load3(block, j + o_))), z
    return z, ZERO


@inline
def _sweep(block, q, qd, qd_a, qdd, Y, two):
    """One sweep; `two` says whether qd_a is another velocity than qd."""
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    width = TEN * bodies
    if T == 0 or qd.size != q.size or qd_a.size != q.size or qdd.size != q.size:
        return 1
    if Y.size != q.size * width:
        return 1
    base = at.HEADER
    place_base(block)
    store3(block, base + w_, ZERO)
    store3(block, base + wa_, ZERO)
    store3(block, base + wd_, ZERO)
    store3(block, base + a_, scale(-1.0, load3(block, at.GRAVITY)))
    Y[:] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for i in range(bodies):
            b = base + (i + U1) * at.ROW
            p = index(block[b + at.PARENT])
            k = s + index(block[b + at.COORDINATE])
            R, o = place_body(block, b, p, i)
            z, r = column_z(R), sub(o, load3(block, p + o_))
            ratio = block[b + at.RATIO]
            zd, zd_a = scale(ratio * qd[k], z), scale(ratio * qd_a[k], z)
            zdd = scale(ratio * qdd[k], z)
            w, wd = load3(block, p + w_), load3(block, p + wd_)
            wa = load3(block, p + wa_) if two else w
            turning = add(cross(w, zd_a), cross(wa, zd)) if two else scale(2.0, cross(w, zd))
            centripetal = cross(w, cross(wa, r))
            if two:
                centripetal = scale(0.5, add(centripetal, cross(wa, cross(w, r))))
            a = add(load3(block, p + a_), add(cross(wd, r), centripetal))
            if block[b + at.PRISMATIC] == 0.0:
                wd = add(wd, add(scale(0.5, turning), zdd))
                w = add(w, zd)
                wa = add(wa, zd_a)
            else:
                a = add(a, add(turning, zdd))
            store3(block, b + w_, w)
            store3(block, b + wa_, wa)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)

            # The body's motion in its own axes, and what it asks of each joint that carries it
            R = _own_axes(block, b)
            w, wd, a = matvec_t(R, w), matvec_t(R, wd), matvec_t(R, a)
            wa = matvec_t(R, wa) if two else w
            A, N = _rates_by_place(wd, w, wa), _inertia_columns(wd, w, wa)
            j = b
            while j != base:
                z = scale(block[j + at.RATIO], column_z(load9(block, j + R_)))
                v, z = _unit_motion(block, j, o, z)
                y = (s + index(block[j + at.COORDINATE])) * width + TEN * i
                bad += _add_row(Y, y, matvec_t(R, v), matvec_t(R, z), a, A, N)
                j = index(block[j + at.PARENT])
    return 0 if bad == 0.0 else 1


@kernel("int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def _regressor(block, q, qd, qdd, Y):
    return _sweep(block, q, qd, qd, qdd, Y, False)


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _slotine_li(block, q, qd, qd_a, qdd, Y):
    return _sweep(block, q, qd, qd_a, qdd, Y, True)


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _momentum(block, q, qd, Yp, Yc, Yg):
    """The same for p, C^T qd and g: see `momentum.py` for what a joint sees of the momenta."""
    bodies, n = index(block[at.BODIES]), index(block[at.COORDINATES])
    T = samples(n, U(q.size))
    width = TEN * bodies
    if T == 0 or qd.size != q.size or Yp.size != q.size * width:
        return 1
    if Yc.size != Yp.size or Yg.size != Yp.size:
        return 1
    base = at.HEADER
    place_base(block)
    store3(block, base + w_, ZERO)
    store3(block, base + v_, ZERO)
    field = scale(-1.0, load3(block, at.GRAVITY))
    no_columns = (ZERO, ZERO, ZERO, ZERO, ZERO, ZERO)
    Yp[:] = 0.0
    Yc[:] = 0.0
    Yg[:] = 0.0

    bad = 0.0
    for t in range(T):
        s = t * n
        bad += set_positions(block, q, s)
        for i in range(bodies):
            b = base + (i + U1) * at.ROW
            p = index(block[b + at.PARENT])
            k = s + index(block[b + at.COORDINATE])
            R, o = place_body(block, b, p, i)
            zd = scale(block[b + at.RATIO] * qd[k], column_z(R))
            w = load3(block, p + w_)
            v = add(load3(block, p + v_), cross(w, sub(o, load3(block, p + o_))))
            if block[b + at.PRISMATIC] == 0.0:
                w = add(w, zd)
            else:
                v = add(v, zd)
            store3(block, b + w_, w)
            store3(block, b + v_, v)

            # Momenta m v + w x mc and J w + mc x v, in the body's own axes
            R = _own_axes(block, b)
            w, v, a = matvec_t(R, w), matvec_t(R, v), matvec_t(R, field)
            A, N = _rates_by_place(w, ZERO, ZERO), _inertia_columns(w, ZERO, ZERO)
            j = b
            while j != base:
                z = scale(block[j + at.RATIO], column_z(load9(block, j + R_)))
                # What a small move of joint j changes in the body's motion, as the body sees it
                w_j, v_j = load3(block, j + w_), load3(block, j + v_)
                turn, move = cross(w_j, z), cross(w_j, z)
                if block[j + at.PRISMATIC] == 0.0:
                    move = add(cross(v_j, z), cross(turn, sub(o, load3(block, j + o_))))
                else:
                    turn = ZERO
                turn, move = matvec_t(R, turn), matvec_t(R, move)
                u, z = _unit_motion(block, j, o, z)
                u, z = matvec_t(R, u), matvec_t(R, z)
                y = (s + index(block[j + at.COORDINATE])) * width + TEN * i
                bad += _add_row(Yp, y, u, z, v, A, N)
                bad += _add_row(Yc, y, move, turn, v, A, N)
                bad += _add_row(Yg, y, u, z, a, ZERO9, no_columns)
                j = index(block[j + at.PARENT])
    return 0 if bad == 0.0 else 1


def regressor(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    *,
    gravity: bool = True,
    threads: int = 1,
) -> Array:
    """Y(q, qd, qdd), (n, 10 N): Y @ model.inertial_parameters() is the torque without rotors."""
    name = "regressor" if gravity else "regressor without gravity"
    shapes = [(model.n, 10 * len(model.link_names))]
    try:
        call = model.bound[name]
    except KeyError:
        call = bind_to(model, name, _regressor, 3, shapes, _block(model, gravity))
    Y = call(q, qd, qdd)
    if Y is None:
        arguments, block = {"q": q, "qd": qd, "qdd": qdd}, _block(model, gravity)
        Y = evaluate(_regressor, model, block, arguments, shapes, threads=threads)[0]
    return Y


def slotine_li_regressor(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qd_r: ArrayLike,
    qdd_r: ArrayLike,
    *,
    threads: int = 1,
) -> Array:
    """Y(q, qd, qd_r, qdd_r), (n, 10 N): Y pi = M qdd_r + C(q, qd) qd_r + g without rotors.

    C is the Christoffel matrix, the mean of NE*'s variants 0001 and 1110: Mdot - 2 C is
    skew-symmetric, and C is linear in the ten standard parameters, as NE* alone is not.
    """
    name, shapes = "slotine_li_regressor", [(model.n, 10 * len(model.link_names))]
    try:
        call = model.bound[name]
    except KeyError:
        call = bind_to(model, name, _slotine_li, 4, shapes, _block(model))
    Y = call(q, qd, qd_r, qdd_r)
    if Y is None:
        arguments = {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r}
        Y = evaluate(_slotine_li, model, _block(model), arguments, shapes, threads=threads)[0]
    return Y


def momentum_regressor(
    model: RobotModel, q: ArrayLike, qd: ArrayLike, *, threads: int = 1
) -> tuple[Array, Array, Array]:
    """(Y_p, Y_c, Y_g), (n, 10 N) each: times the parameters they are p = M qd, C^T qd and g.

    No acceleration is needed: tau = d/dt(Y_p pi) + (Y_g - Y_c) pi.
    """
    name, shapes = "momentum_regressor", [(model.n, 10 * len(model.link_names))] * 3
    try:
        call = model.bound[name]
    except KeyError:
        call = bind_to(model, name, _momentum, 2, shapes, _block(model))
    parts = call(q, qd)
    if parts is None:
        arguments, block = {"q": q, "qd": qd}, _block(model)
        Y_p, Y_c, Y_g = evaluate(_momentum, model, block, arguments, shapes, threads=threads)
        return Y_p, Y_c, Y_g
    return parts


def rotor_columns(model: RobotModel, qdd: ArrayLike) -> Array:
    """diag(qdd), (n, n): times `model.rotor_inertia` it is the rotors' share of the torque."""
    (qdd,) = checked(model, qdd=qdd)
    return qdd[..., None] * np.eye(model.n)


def friction_columns(model: RobotModel, qd: ArrayLike, *, width: float = 0.0) -> Array:
    """(n, 3 n): columns of viscous friction, Coulomb friction and offset, joint by joint.

    Coulomb friction goes by sign(qd), or by tanh(qd / width) with a `width` [rad/s or m/s].
    """
    (qd,) = checked(model, qd=qd)
    if not (isinstance(width, (int, float)) and 0.0 <= width < np.inf):
        raise ArgumentError(f"width must be finite and not negative, got {width!r}")
    sign = np.tanh(qd / width) if width > 0.0 else np.sign(qd)
    laws = np.stack([qd, sign, np.ones_like(qd)], axis=-1)
    return (np.eye(model.n)[:, :, None] * laws[..., None, :, :]).reshape(*qd.shape, 3 * model.n)


def low_pass(t: ArrayLike, x: ArrayLike, cutoff: float, *, start: ArrayLike = 0.0) -> Array:
    """What a first-order low-pass filter of that cut-off [Hz] makes of the samples x, (T, …).

    Between the times t [s] the samples are joined by straight lines, for which the answer is
    exact, however unevenly they lie. The filter's state begins with `start`.
    """
    x = np.asarray(x, dtype=np.float64)
    steps = _rate(cutoff) * np.diff(_times(t, len(x) if x.ndim else 0))
    fading = np.exp(-steps)
    mean = -np.expm1(-steps) / steps
    y = np.empty_like(x)
    y[0] = start
    for k in range(len(steps)):
        y[k + 1] = fading[k] * y[k] + (mean[k] - fading[k]) * x[k] + (1.0 - mean[k]) * x[k + 1]
    return y


def filtered_regressor(
    model: RobotModel, t: ArrayLike, q: ArrayLike, qd: ArrayLike, cutoff: float
) -> Array:
    """Y_f, (T, n, 10 N), of a log: Y_f pi = low_pass(t, tau, cutoff), the filtered torque.

    The acceleration is not needed, because low-passing a rate is high-passing what it is the rate
    of: [LuMeng1993] remark 2, with tau = pdot - C^T qd + g.
    """
    q, qd = checked(model, q=q, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(q) if q.ndim == 2 else 0)
    Y_p, Y_c, Y_g = momentum_regressor(model, q, qd)
    Y_p *= rate
    Y_g -= Y_c
    Y_g -= Y_p
    Y_p += low_pass(t, Y_g, cutoff, start=-Y_p[0])
    return Y_p


def filtered_rotor_columns(model: RobotModel, t: ArrayLike, qd: ArrayLike, cutoff: float) -> Array:
    """(T, n, n): the rotors' columns of the filtered torque, without the acceleration."""
    (qd,) = checked(model, qd=qd)
    rate, t = _rate(cutoff), _times(t, len(qd) if qd.ndim == 2 else 0)
    columns = rate * qd + low_pass(t, -rate * qd, cutoff, start=-rate * qd[0])
    return columns[..., None] * np.eye(model.n)


def _rate(cutoff: float) -> float:
    """[rad/s] from [Hz]."""
    if not (isinstance(cutoff, (int, float)) and 0.0 < cutoff < np.inf):
        raise ArgumentError(f"cutoff must be a positive frequency [Hz], got {cutoff!r}")
    return 2.0 * np.pi * cutoff


def _times(t: ArrayLike, count: int) -> Array:
    t = np.asarray(t, dtype=np.float64)
    if t.shape != (count,) or count == 0:
        raise ArgumentError(
            f"t must have one time per sample, and there must be samples: got shape {t.shape} "
            f"for {count} samples"
        )
    if not (np.isfinite(t).all() and (np.diff(t) > 0.0).all()):
        raise ArgumentError("t must be finite and increase from sample to sample")
    return t
