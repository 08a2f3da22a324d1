"""What a joint sees of a moving body, for each of its ten parameters: a row of a regressor.

A body that moves with angular velocity w and acceleration wd, its origin accelerating with a,
needs the force m a + A mc and the torque J wd + w x J w + mc x a, A = [wd x] + [w x][w x]: both
are linear in m, mc and J, [Khalil2019] (7.38)-(7.39), [LuMeng1993] (66)-(75). A joint below it
carries the part of both along its own motion: z and v, the rates at which it turns the body and
moves the body's origin. So a row of the body's ten columns is

    m: v . a      mc: A^T v + a x z      J: z . J wd + (z x w) . J w

Momenta are the same with w for wd, the velocity for a, and no products of velocities.

Velocities and places are found in the base's axes; z, v and the motion are then turned into the
body's own axes as the model gives them, so that nothing has to be mapped back.
"""

from __future__ import annotations

from ..model import packed_model as at
from ..model.packed_model import U, aligned_copy, frame_with_axis_z
from ..model.robot import RobotModel
from .base_axes import R_
from .compile import U1, inline
from .dispatch import Array
from .vector import accumulate9, add, cross, dot, load9, matmul, matvec_t

TEN = U(10)

# The regressors need no masses. In their place stands the turn (9) from a body's own axes to the
# frame whose z is the joint's axis.
TURN = at.MASS

NO_PRODUCTS = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def block_of_turns(model: RobotModel, gravity: bool = True) -> Array:
    """The model's block with the turns in the place of the masses, made once."""
    name = "block of turns" if gravity else "block of turns without gravity"
    if name not in model.bound:
        block = aligned_copy(model.block if gravity else model.block_without_gravity)
        for i, axis in enumerate(model.axis):
            start = int(at.HEADER) + int(at.ROW) * (i + 1) + int(TURN)
            block[start : start + 9] = frame_with_axis_z(axis).T.ravel()
        model.bound[name] = block
    return model.bound[name]


@inline
def own_axes(block, b):
    """The body's axes as the model gives them, seen from the base."""
    return matmul(load9(block, b + R_), load9(block, b + TURN))


@inline
def velocity_products(w, wa):
    """(w wa^T + wa w^T) / 2 of two angular velocities: xx, xy, xz, yy, yz, zz."""
    return (
        w[0] * wa[0],
        0.5 * (w[0] * wa[1] + w[1] * wa[0]),
        0.5 * (w[0] * wa[2] + w[2] * wa[0]),
        w[1] * wa[1],
        0.5 * (w[1] * wa[2] + w[2] * wa[1]),
        w[2] * wa[2],
    )


@inline
def rates_by_place(wd, products):
    """A = [wd x] + ([w x][wa x] + [wa x][w x]) / 2."""
    xx, xy, xz, yy, yz, zz = products
    return (
        -yy - zz,
        xy - wd[2],
        xz + wd[1],
        xy + wd[2],
        -xx - zz,
        yz - wd[0],
        xz - wd[1],
        yz + wd[0],
        -xx - yy,
    )


@inline
def inertia_columns(wd, products):
    """The torque J wd + (w x J wa + wa x J w) / 2 for a unit of xx, xy, xz, yy, yz, zz."""
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
