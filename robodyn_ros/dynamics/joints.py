"""Joint positions with their sines and cosines, and the frames they lead to: where sweeps begin.

Sines and cosines are computed by polynomials for all joints in one loop without branches, which
the compiler turns into vector instructions. The result is within 1.6 units in the last place up to
1000 rad and within 2.5 up to 1e5; angles beyond that, whose reduction to a quarter turn would lose
digits, go to the library.
"""

import math

import numpy as np

from ..model import packed_model as at
from .compile import U1, index, inline
from .vector import add, column_z, load3, load9, scale, turn_z

# pi/2 in three parts; the first two have so few digits that their product with k is exact.
PI_2_HIGH = float.fromhex("0x1.921fb54400000p+0")
PI_2_MIDDLE = float.fromhex("0x1.0b4611a600000p-34")
PI_2_LOW = float.fromhex("0x1.3198a2e037073p-69")
LARGE_ANGLE = 1e5

# Minimax coefficients on [-pi/4, pi/4]: those of the freely distributable maths library, fdlibm
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@inline
def sine_cosine(x):
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
    """Sines and cosines of the `count` angles at a[x], stored behind them. Returns 0, or NaN."""
    large, endless = 0, 0
    for i in range(count):
        angle = a[x + i]
        large += not abs(angle) <= LARGE_ANGLE
        endless += not abs(angle) < np.inf
        s, c = sine_cosine(angle)
        a[x + count + i] = s
        a[x + count + count + i] = c
    if large > 0:
        for i in range(count):
            a[x + count + i] = math.sin(a[x + i])
            a[x + count + count + i] = math.cos(a[x + i])
    return 0.0 if endless == 0 else np.nan


@inline
def set_positions(block, q, start):
    """Take over the joint positions of the state at q[start]; NaN if one is not finite, else 0."""
    bodies, x = index(block[at.BODIES]), index(block[at.POSITIONS])
    for i in range(bodies):
        b = at.HEADER + (i + U1) * at.ROW
        k = start + index(block[b + at.COORDINATE])
        block[x + i] = block[b + at.RATIO] * q[k] + block[b + at.OFFSET]
    return set_sines(block, x, index(block[at.PADDED]))


@inline
def row_of(block, i):
    """Where the row of body i begins, where its parent's, and which coordinate moves it."""
    b = at.HEADER + (i + U1) * at.ROW
    return b, index(block[b + at.PARENT]), index(block[b + at.COORDINATE])


@inline
def joint_frame(block, b, i):
    """Rotation and place, seen from its parent, of body i in row b, at the position taken over."""
    x, padded = index(block[at.POSITIONS]) + i, index(block[at.PADDED])
    E, r = load9(block, b + at.ROTATION), load3(block, b + at.PLACE)
    if block[b + at.PRISMATIC] == 0.0:
        return turn_z(E, block[x + padded], block[x + padded + padded]), r
    return E, add(r, scale(block[x], column_z(E)))


@inline
def joint_place(block, b, i):
    """The place alone: cheaper to have again than to keep."""
    r = load3(block, b + at.PLACE)
    if block[b + at.PRISMATIC] == 0.0:
        return r
    x = index(block[at.POSITIONS]) + i
    return add(r, scale(block[x], column_z(load9(block, b + at.ROTATION))))
