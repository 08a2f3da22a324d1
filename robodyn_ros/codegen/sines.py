"""Sines and cosines for the customized kernels: below one unit in the last place, in vectors.

As in `dynamics/joints.py`, but what the reduction to a quarter turn loses is kept in a tail and
added at the end. Angles beyond LARGE_ANGLE go to the library.
"""

import math

import numpy as np

from ..dynamics.compile import inline
from ..dynamics.joints import (
    C1,
    C2,
    C3,
    C4,
    C5,
    C6,
    LARGE_ANGLE,
    PI_2_HIGH,
    PI_2_LOW,
    PI_2_MIDDLE,
    S1,
    S2,
    S3,
    S4,
    S5,
    S6,
)


@inline
def sine_cosine(x):
    k = np.floor(x * (2.0 / math.pi) + 0.5)
    high = x - k * PI_2_HIGH  # exact
    middle = high - k * PI_2_MIDDLE
    lost = k * PI_2_LOW - ((high - middle) - k * PI_2_MIDDLE)
    y = middle - lost
    tail = (middle - y) - lost  # the angle left is y + tail
    z = y * y
    rest = y * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    s = y + (rest + tail * (1.0 - 0.5 * z))
    rest = z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))))
    most = 1.0 - 0.5 * z
    c = most + (((1.0 - most) - 0.5 * z) + (rest - y * tail))
    # Quarter turn k: sine and cosine change places for odd k, and signs with k // 2
    half = np.floor(0.5 * k)
    sign = 1.0 - 2.0 * (half - 2.0 * np.floor(0.5 * half))
    odd = k != 2.0 * half
    return sign * (c if odd else s), sign * (-s if odd else c)


@inline
def set_sines(a, count):
    """Sines and cosines of the first `count` angles of a, stored behind them. 0, or NaN."""
    large, endless = 0, 0
    for i in range(count):
        large += not abs(a[i]) <= LARGE_ANGLE
        endless += not abs(a[i]) < np.inf
        s, c = sine_cosine(a[i])
        a[count + i] = s
        a[count + count + i] = c
    if large > 0:
        for i in range(count):
            a[count + i] = math.sin(a[i])
            a[count + count + i] = math.cos(a[i])
    return 0.0 if endless == 0 else np.nan


@inline
def filled(a, size):
    """`size` numbers: those of a, over and over."""
    out = np.empty(size)
    for i in range(size):
        out[i] = a[i % a.size]
    return out
