"""Joint positions and body frames, the first step of every sweep.

Sines and cosines are polynomials, for all joints in one loop that the compiler vectorizes, within
1.6 units in the last place up to 1000 rad and 2.5 up to 1e5; larger angles use the library.
`joint_frame` is in the parent's axes, `place_body` in the base's axes.
"""

import math

import numpy as np

from ..model import packed_model as at
from ..model.packed_model import U
from .compile import U1, index, inline, samples
from .vector import *

# pi/2 in three parts; the first two have so few digits that their product with k is exact.
PI_2_HIGH = float.fromhex("0x1.921fb54400000p+0")
PI_2_MIDDLE = float.fromhex("0x1.0b4611a600000p-34")
PI_2_LOW = float.fromhex("0x1.3198a2e037073p-69")
LARGE_ANGLE = 1e5  # [rad]

# Minimax coefficients on [-pi/4, pi/4]: those of the freely distributable maths library, fdlibm
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


# Work space of a body's row, for all kernels that compute in the base's axes
R_ = at.WORK  # rotation of the body
o_ = at.WORK + U(9)  # its origin [m]
WORLD_END = at.WORK + U(12)  # start of each kernel's own work space


@inline
def sine_cosine(x):
    """Return the sine and cosine of an angle of at most LARGE_ANGLE."""
    k = np.floor(x * (2.0 / math.pi) + 0.5)
    y = ((x - k * PI_2_HIGH) - k * PI_2_MIDDLE) - k * PI_2_LOW
    z = y * y
    s = y + y * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    c = 1.0 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))
    # Quarter turn k: sine and cosine change places for odd k, and signs with k // 2
    half = np.floor(0.5 * k)
    sign = 1.0 - 2.0 * (half - 2.0 * np.floor(0.5 * half))
    odd = k != 2.0 * half
    return sign * (c if odd else s), sign * (-s if odd else c)


@inline
def set_sines(a, x, count):
    """Store sines and cosines of `count` angles a[x] behind them; return 0, NaN if not finite."""
    large, infinite = 0, 0
    for i in range(count):
        angle = a[x + i]
        large += not abs(angle) <= LARGE_ANGLE
        infinite += not abs(angle) < np.inf
        s, c = sine_cosine(angle)
        a[x + count + i] = s
        a[x + count + count + i] = c
    if large > 0:
        for i in range(count):
            a[x + count + i] = math.sin(a[x + i])
            a[x + count + count + i] = math.cos(a[x + i])
    return 0.0 if infinite == 0 else np.nan


@inline
def set_positions(block, q, start):
    """Set the joint positions from the state at q[start]; return 0, or NaN if not finite."""
    bodies, x = index(block[at.BODIES]), index(block[at.POSITIONS])
    for i in range(bodies):
        b = at.HEADER + (i + U1) * at.ROW
        k = start + index(block[b + at.COORDINATE])
        block[x + i] = block[b + at.RATIO] * q[k] + block[b + at.OFFSET]
    return set_sines(block, x, index(block[at.PADDED]))


@inline
def sizes(block, q):
    """Return the numbers of bodies, of coordinates, and of states in q (0 if they do not fit)."""
    n = index(block[at.COORDINATES])
    return index(block[at.BODIES]), n, samples(n, U(q.size))


@inline
def row_of(block, i):
    """Return the offsets of body i's row and of its parent's row, and its coordinate."""
    b = at.HEADER + (i + U1) * at.ROW
    return b, index(block[b + at.PARENT]), index(block[b + at.COORDINATE])


@inline
def joint_frame(block, b, i):
    """Return rotation and place of body i (row b) in its parent's frame, at its position."""
    x, padded = index(block[at.POSITIONS]) + i, index(block[at.PADDED])
    E, r = load9(block, b + at.ROTATION), load3(block, b + at.PLACE)
    if block[b + at.PRISMATIC] == 0.0:
        return turn_z(E, block[x + padded], block[x + padded + padded]), r
    return E, add(r, scale(block[x], column_z(E)))


@inline
def joint_place(block, b, i):
    """Return only the place of `joint_frame`: cheaper to recompute than to store."""
    r = load3(block, b + at.PLACE)
    if block[b + at.PRISMATIC] == 0.0:
        return r
    x = index(block[at.POSITIONS]) + i
    return add(r, scale(block[x], column_z(load9(block, b + at.ROTATION))))


@inline
def place_base(block):
    """Set the base's frame to the identity."""
    store9(block, at.HEADER + R_, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    store3(block, at.HEADER + o_, ZERO)


@inline
def place_body(block, b, p, i):
    """Compute, store and return rotation and origin of body i (row b) in the base's axes."""
    R_p = load9(block, p + R_)
    R, r = joint_frame(block, b, i)
    R = matmul(R_p, R)
    o = add(load3(block, p + o_), matvec(R_p, r))
    store9(block, b + R_, R)
    store3(block, b + o_, o)
    return R, o


@inline
def place_bodies(block, q, s):
    """Place all bodies for the state at q[s]; return 0, or NaN if a position is not finite."""
    bad = set_positions(block, q, s)
    for i in range(index(block[at.BODIES])):
        b, p, _ = row_of(block, i)
        place_body(block, b, p, i)
    return bad


@inline
def axis_of(block, b):
    """Return the axis of the joint in row b, times its ratio to the coordinate."""
    return scale(block[b + at.RATIO], column_z(load9(block, b + R_)))


@inline
def unit_motion(block, b, point):
    """Return velocity and angular velocity of a point that joint b carries, per unit rate."""
    z = axis_of(block, b)
    if block[b + at.PRISMATIC] == 0.0:
        return cross(z, sub(point, load3(block, b + o_))), z
    return z, ZERO


@inline
def move_joint(block, b, rate, w, v):
    """Return the angular velocity and velocity at the origin of the body in row b, from those that
    it inherits, and the rate of the joint's unit motion, angular and linear.
    """
    z = axis_of(block, b)
    if block[b + at.PRISMATIC] == 0.0:
        return add(w, scale(rate, z)), v, cross(w, z), cross(v, z)
    return w, add(v, scale(rate, z)), ZERO, cross(w, z)
