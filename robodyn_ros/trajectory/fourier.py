"""Fourier: sums of harmonics, for excitation and periodic motion as in [LuMeng1993].

q(t) = centre + sum_h a_h sin(h w t) + b_h cos(h w t),     w = 2 pi base_frequency
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.motion import Motion
from ..errors import ArgumentError, positive
from .trajectory import Array, Trajectory, names_of, postures


@kernel("void(float64, vector, matrix, matrix, vector, matrix, matrix, matrix, matrix)")
def _series(w, centre, a, b, times, q, qd, qdd, qddd):
    n, harmonics = a.shape
    for i in range(times.size):
        for j in range(n):
            q[i, j] = centre[j]
            qd[i, j] = qdd[i, j] = qddd[i, j] = 0.0
        for h in range(harmonics):
            wh = w * (h + 1)
            s, c = math.sin(wh * times[i]), math.cos(wh * times[i])
            for j in range(n):
                value = a[j, h] * s + b[j, h] * c
                rate = wh * (a[j, h] * c - b[j, h] * s)
                q[i, j] += value
                qd[i, j] += rate
                qdd[i, j] -= wh * wh * value
                qddd[i, j] -= wh * wh * rate


class Fourier(Trajectory):
    """Harmonics: centre (n,), a and b (n, H) [rad or m], base_frequency [Hz], duration [s]."""

    def __init__(
        self,
        centre: npt.ArrayLike,
        a: npt.ArrayLike,
        b: npt.ArrayLike,
        base_frequency: float,
        duration: float,
    ) -> None:
        names = names_of(np.size(centre))
        self.n = len(names)
        self.centre = postures("centre", centre, names, 1)
        self.a, self.b = _amplitudes("a", a, names), _amplitudes("b", b, names)
        if self.a.shape != self.b.shape or self.a.shape[1] == 0:
            raise ArgumentError(
                f"a and b must both be ({self.n}, H), got {self.a.shape} and {self.b.shape}"
            )
        self.base_frequency = positive("base_frequency", base_frequency, "Hz")
        self.duration = positive("duration", duration, "s")

    def _during(self, times: Array) -> Motion:
        motion = Motion(*(np.empty((times.size, self.n)) for _ in Motion._fields))
        w = 2.0 * math.pi * self.base_frequency
        _series(w, self.centre, self.a, self.b, times, *motion)
        return motion

    def at_rest(self) -> "Fourier":
        """Return the nearest motion at rest at its ends: sum h a_h = 0, sum h^2 b_h = 0."""
        periods = self.duration * self.base_frequency
        if abs(periods - round(periods)) > 1e-9 * periods:
            raise ArgumentError(
                f"to rest at both ends, the duration must be whole periods of "
                f"{1.0 / self.base_frequency:g} s; it is {self.duration:g} s"
            )
        h = np.arange(1.0, self.a.shape[1] + 1.0)
        if h.size < 2:
            raise ArgumentError("one harmonic alone never rests: give two at least")
        a, b = _without(self.a, h), _without(self.b, h**2)
        return Fourier(self.centre, a, b, self.base_frequency, self.duration)


def _without(amplitudes: Array, weights: Array) -> Array:
    """Return the nearest amplitudes (n, H) whose weighted sums are 0."""
    return np.asarray(amplitudes - np.outer(amplitudes @ weights, weights) / (weights @ weights))


def _amplitudes(name: str, value: npt.ArrayLike, names: tuple[str, ...]) -> Array:
    return np.ascontiguousarray(postures(name, np.transpose(value), names, 2).T)
