"""The regressor: the torque as a matrix of the motion times the parameters of the bodies.

    tau = Y(q, qd, qdd) pi,   pi = model.inertial_parameters(): ten numbers per body

A body needs the force m a + A mc and the torque J wd + w x J w + mc x a, A = [wd x] + [w x][w x]:
both are linear in m, mc and J, [Khalil2019] (7.38)-(7.39), [LuMeng1993] (66)-(75). A joint below
carries the part of both along z and v, the rates at which it turns and moves the body. So a row is

    m: v . a      mc: A^T v + a x z      J: z . J wd + (z x w) . J w

Momenta are the same with w for wd, the velocity for a, and no products of velocities. They are
computed in the base axes, then rotated into the body's own axes as the model gives them.

With two velocities, as in adaptive control, each product is shared between them: the mean of
the valid variants of NE*, the Christoffel matrix. NE* itself is not linear in ten parameters: the
torque of its variant 0001 has m |c|^2 (w x wa) beyond them.
"""

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U, aligned_copy, frame_with_axis_z
from ..model.robot import RobotModel
from .compile import U1, index, inline, kernel
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, workspace
from .joints import *
from .vector import *

PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
TEN = U(10)

# The regressors need no masses. In their place stands the rotation (9) from a body's own axes to
# the frame whose z is the joint's axis.
TURN = at.MASS

NO_PRODUCTS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

# Work space of a body's row
w_, wa_, wd_, a_ = (WORLD_END + U(k) for k in (0, 3, 6, 9))


def regressor_workspace(model: RobotModel, gravity: bool = True) -> Array:
    """Return the packed model with rotations in the place of the masses, made once per model."""
    key = "regressor workspace" if gravity else "regressor workspace without gravity"
    if key not in model.bound:
        packed = aligned_copy(workspace(model, gravity))
        for i, axis in enumerate(model.axis):
            start = int(at.HEADER) + int(at.ROW) * (i + 1) + int(TURN)
            packed[start : start + 9] = frame_with_axis_z(axis).T.ravel()
        model.bound[key] = packed
    return model.bound[key]


@inline
def own_axes(block, b):
    """Return the rotation of the body's axes, as the model gives them, in the base's axes."""
    return matmul(load9(block, b + R_), load9(block, b + TURN))


@inline
def velocity_products(w, wa):
    """Return (w wa^T + wa w^T) / 2 of two angular velocities: xx, xy, xz, yy, yz, zz."""
    xy, xz = 0.5 * (w[0] * wa[1] + w[1] * wa[0]), 0.5 * (w[0] * wa[2] + w[2] * wa[0])
    return w[0] * wa[0], xy, xz, w[1] * wa[1], 0.5 * (w[1] * wa[2] + w[2] * wa[1]), w[2] * wa[2]


@inline
def rates_by_place(wd, products):
    """Return A = [wd x] + ([w x][wa x] + [wa x][w x]) / 2."""
    xx, xy, xz, yy, yz, zz = products
    return (
        (-yy - zz, xy - wd[2], xz + wd[1])
        + (xy + wd[2], -xx - zz, yz - wd[0])
        + (xz - wd[1], yz + wd[0], -xx - yy)
    )


@inline
def inertia_columns(wd, products):
    """Return J wd + (w x J wa + wa x J w) / 2 for a unit of xx, xy, xz, yy, yz, zz of J."""
    xx, xy, xz, yy, yz, zz = products
    return (
        (wd[0], xz, -xy),
        (wd[1] - xz, wd[0] + yz, xx - yy),
        (wd[2] + xy, zz - xx, wd[0] - yz),
        (-yz, wd[1], xy),
        (yy - zz, wd[2] - xy, wd[1] + xz),
        (yz, -xz, wd[2]),
    )


@inline
def add_row(Y, y, v, z, a, A, N):
    """Add a joint's row of a body's ten columns at Y[y]; return 0, or NaN if one is not finite.

    The body needs the force a m + A mc and the torque mc x a + N J.
    """
    y0 = dot(v, a)
    y1, y2, y3 = add(matvec_t(A, v), cross(a, z))
    y4, y5, y6 = dot(z, N[0]), dot(z, N[1]), dot(z, N[2])
    y7, y8, y9 = dot(z, N[3]), dot(z, N[4]), dot(z, N[5])
    Y[y] += y0
    accumulate9(Y, y + U1, (y1, y2, y3, y4, y5, y6, y7, y8, y9))
    return 0.0 * ((y0 + y1) + (y2 + y3) + ((y4 + y5) + (y6 + y7)) + (y8 + y9))


@inline
def _sweep(block, q, qd, qd_a, qdd, Y):
    bodies, n, T = sizes(block, q)
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

            # The body's motion in its own axes, and the rows of all joints that carry it
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


@kernel("int64(vector, vector, vector, vector, vector)")
def _regressor(block, q, qd, qdd, Y):
    return _sweep(block, q, qd, qd, qdd, Y)


@kernel("int64(vector, vector, vector, vector, vector, vector)")
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
    """Return Y (n, 10 N) or (T, n, 10 N): Y @ inertial_parameters() [N m or N], no rotors."""
    name = "regressor" if gravity else "regressor without gravity"
    shapes = [(model.n, 10 * len(model.link_names))]
    try:
        Y = model.bound[name](q, qd, qdd)
    except KeyError:
        packed = regressor_workspace(model, gravity)
        Y = bind_to(model, name, _regressor, 3, shapes, packed)(q, qd, qdd)
    if Y is None:
        packed, states = regressor_workspace(model, gravity), {"q": q, "qd": qd, "qdd": qdd}
        Y = evaluate(_regressor, model, states, shapes, packed, threads=threads)[0]
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
    """Return Y (n, 10 N), or (T, n, 10 N), with Y pi = M qdd_r + C(q, qd) qd_r + g, no rotors.

    C is the Christoffel matrix, the mean of NE*'s variants 0001 and 1110: Mdot - 2 C is
    skew-symmetric, and C, unlike C* of NE*, is linear in the ten standard parameters.
    """
    name, shapes = "slotine_li_regressor", [(model.n, 10 * len(model.link_names))]
    try:
        Y = model.bound[name](q, qd, qd_r, qdd_r)
    except KeyError:
        call = bind_to(model, name, _slotine_li, 4, shapes, regressor_workspace(model))
        Y = call(q, qd, qd_r, qdd_r)
    if Y is None:
        states = {"q": q, "qd": qd, "qd_r": qd_r, "qdd_r": qdd_r}
        packed = regressor_workspace(model)
        Y = evaluate(_slotine_li, model, states, shapes, packed, threads=threads)[0]
    return Y


def rotor_columns(model: RobotModel, qdd: ArrayLike) -> Array:
    """Return diag(qdd) (n, n), or (T, n, n): the columns of `model.rotor_inertia`."""
    (qdd,) = checked(model, qdd=qdd)
    return qdd[..., None] * np.eye(model.n)


def friction_columns(model: RobotModel, qd: ArrayLike, *, width: float = 0.0) -> Array:
    """Return (n, 3 n), or (T, n, 3 n): columns of viscous and Coulomb friction and offset.

    Three columns per joint. The Coulomb column is sign(qd), or tanh(qd / width) with a `width`
    [rad/s or m/s].
    """
    (qd,) = checked(model, qd=qd)
    if not (isinstance(width, (int, float)) and 0.0 <= width < np.inf):
        raise ArgumentError(f"width must be finite and not negative, got {width!r}")
    sign = np.tanh(qd / width) if width > 0.0 else np.sign(qd)
    laws = np.stack([qd, sign, np.ones_like(qd)], axis=-1)
    return (np.eye(model.n)[:, :, None] * laws[..., None, :, :]).reshape(*qd.shape, 3 * model.n)
