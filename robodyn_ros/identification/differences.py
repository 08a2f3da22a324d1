"""Zero-phase filtering of evenly sampled signals."""

from functools import lru_cache

import numpy as np
from scipy.signal import butter, sosfiltfilt

from ..sensing.log import Array

ORDER = 4  # of the Butterworth filter; filtering forward and backward doubles it


def low_pass(x: Array, cutoff: float, rate: float) -> Array:
    """Return x (T, ...) low-passed at cutoff [Hz] without delay; rate: samples per second."""
    return np.asarray(sosfiltfilt(_sections(cutoff, rate), x, axis=0))


@lru_cache(maxsize=8)
def _sections(cutoff: float, rate: float) -> Array:
    return np.asarray(butter(ORDER, cutoff, fs=rate, output="sos"))
