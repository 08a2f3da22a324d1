"""Zero-phase filtering and central differences of evenly sampled signals."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.signal import butter, sosfiltfilt

from .log import Array

ORDER = 4  # of the Butterworth filter; run forth and back it counts twice


def low_pass(x: Array, cutoff: float, rate: float) -> Array:
    """x (T, …) without what is faster than cutoff [Hz], and without delay; rate [Hz]."""
    return np.asarray(sosfiltfilt(_sections(cutoff, rate), x, axis=0))


@lru_cache(maxsize=8)
def _sections(cutoff: float, rate: float) -> Array:
    return np.asarray(butter(ORDER, cutoff, fs=rate, output="sos"))


def derivative(t: Array, x: Array) -> Array:
    """Central differences of x (T, …) over the times t (T,), one-sided at the ends."""
    return np.asarray(np.gradient(x, t, axis=0))
