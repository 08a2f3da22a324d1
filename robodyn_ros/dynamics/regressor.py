"""The regressor: the torque as a matrix of the motion times the parameters of the bodies.

    tau = Y(q, qd, qdd) pi,   pi = model.inertial_parameters(): ten numbers per body

`body_columns` says how a joint sees them. Rotors and friction have columns of their own.

With two velocities, as for adaptive control, each product of velocities is shared evenly between
them, which is the mean of the two valid variants of NE*: the Christoffel matrix. NE* itself is not
linear in ten parameters, because the torque of its variant 0001 has m |c|^2 (w x wa) beyond them.
"""

from __future__ import annotations

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from .base_axes import WORLD_END, axis_of, o_, place_base, place_body, unit_motion
from .body_columns import (
    TEN,
    add_row,
    block_of_turns,
    inertia_columns,
    own_axes,
    rates_by_place,
    velocity_products,
)
from .compile import index, inline, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate
from .joints import row_of, set_positions
from .vector import ZERO, add, cross, load3, matvec, matvec_t, scale, store3, sub

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")

# Work space of a body's row
w_, wa_, wd_, a_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))


@inline
def _sweep(block, q, qd, qd_a, qdd, Y):
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
            b, p, k = row_of(block, i)
            _, o = place_body(block, b, p, i)
            z = axis_of(block, b)
            zd, zd_a, zdd = scale(qd[s + k], z), scale(qd_a[s + k], z), scale(qdd[s + k], z)
            w, wa, wd = load3(block, p + w_), load3(block, p + wa_), load3(block, p + wd_)
            rates = rates_by_place(wd, velocity_products(w, wa))
            a = add(load3(block, p + a_), matvec(rates, sub(o, load3(block, p + o_))))
            turning = add(cross(w, zd_a), cross(wa, zd))
            if block[b + at.PRISMATIC] == 0.0:
                wd = add(wd, add(scale(0.5, turning), zdd))
                w, wa = add(w, zd), add(wa, zd_a)
            else:
                a = add(a, add(turning, zdd))
            store3(block, b + w_, w)
            store3(block, b + wa_, wa)
            store3(block, b + wd_, wd)
            store3(block, b + a_, a)

            # The body's motion in its own axes, and what it asks of each joint that carries it
            R = own_axes(block, b)
            wd, a = matvec_t(R, wd), matvec_t(R, a)
            products = velocity_products(matvec_t(R, w), matvec_t(R, wa))
            A, N = rates_by_place(wd, products), inertia_columns(wd, products)
            j = b
            while j != base:
                v, z = unit_motion(block, j, o)
                y = (s + index(block[j + at.COORDINATE])) * width + TEN * i
                bad += add_row(Y, y, matvec_t(R, v), matvec_t(R, z), a, A, N)
                j = index(block[j + at.PARENT])
    return 0 if bad == 0.0 else 1


@kernel("int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])")
def _regressor(block, q, qd, qdd, Y):
    return _sweep(block, q, qd, qd, qdd, Y)


@kernel(
    "int64(float64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])"
)
def _slotine_li(block, q, qd, qd_a, qdd, Y):
    return _sweep(block, q, qd, qd_a, qdd, Y)


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
        call = bind_to(model, name, _regressor, 3, shapes, block_of_turns(model, gravity))
    Y = call(q, qd, qdd)
    if Y is None:
        arguments, block = {"q": q, "qd": qd, "qdd": qdd}, block_of_turns(model, gravity)
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
        call = bind_to(model, name, _slotine_li, 4, shapes, block_of_turns(model))
    Y = call(q, qd, qd_r, qdd_r)
    if Y is None:
        arguments = {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r}
        Y = evaluate(
            _slotine_li, model, block_of_turns(model), arguments, shapes, threads=threads
        )[0]
    return Y


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
