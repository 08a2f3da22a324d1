"""PiecewisePolynomial: a chain of polynomials in time, the form of most trajectories.

The joints of piece p follow  q(t) = sum_k c[p, :, k] (t - breaks[p])^k  until breaks[p + 1].
"""

from functools import cache
from math import perm
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel
from ..dynamics.motion import Motion
from ..errors import ArgumentError
from .trajectory import Array, Trajectory, times_of

BISECTIONS = 45  # of an interval that holds a root: enough for the extremum there


@inline
def _motion_at(breaks, c, t, row, q, qd, qdd, qddd):
    """Evaluate one instant into elements row, row + 1, ... of the outputs."""
    pieces, n, powers = c.shape
    resting = t < 0.0 or t > breaks[pieces]
    t = min(max(t, 0.0), breaks[pieces])
    low, high = 0, pieces - 1
    while low < high:  # the last piece that has begun
        middle = (low + high + 1) // 2
        if t >= breaks[middle]:
            low = middle
        else:
            high = middle - 1
    x = t - breaks[low]
    for j in range(n):
        p0 = p1 = p2 = p3 = 0.0
        for k in range(powers - 1, -1, -1):  # Horner's rule for a polynomial and its derivatives
            p3 = p3 * x + p2
            p2 = p2 * x + p1
            p1 = p1 * x + p0
            p0 = p0 * x + c[low, j, k]
        if resting:
            p1 = p2 = p3 = 0.0
        q[row + j], qd[row + j], qdd[row + j], qddd[row + j] = p0, p1, 2.0 * p2, 6.0 * p3


@kernel("void(vector, float64[:, :, ::1], float64, vector, vector, vector, vector)")
def _instant(breaks, c, t, q, qd, qdd, qddd):
    _motion_at(breaks, c, t, 0, q, qd, qdd, qddd)


@kernel("void(vector, float64[:, :, ::1], vector, vector, vector, vector, vector)")
def _instants(breaks, c, times, q, qd, qdd, qddd):
    for i in range(times.size):
        _motion_at(breaks, c, times[i], i * c.shape[1], q, qd, qdd, qddd)


@inline
def _derivative(c, p, j, order, x):
    """Return the derivative of that order of joint j in piece p, at x."""
    value = 0.0
    for k in range(c.shape[2] - 1, order - 1, -1):
        factor = 1.0
        for i in range(order):
            factor *= k - i
        value = value * x + factor * c[p, j, k]
    return value


@kernel("void(vector, float64[:, :, ::1], int64, matrix)")
def _peaks(breaks, c, order, peak):
    """Find the peak magnitudes of a derivative, by bisection between extrema of the next one."""
    pieces, n, powers = c.shape
    stations, roots = np.empty(powers + 2), np.empty(powers + 2)
    for p in range(pieces):
        for j in range(n):
            count = 2
            stations[0], stations[1] = 0.0, breaks[p + 1] - breaks[p]
            for d in range(powers - 2, order, -1):
                for i in range(count - 1):
                    low, high = stations[i], stations[i + 1]
                    rising = _derivative(c, p, j, d, high) > _derivative(c, p, j, d, low)
                    for _ in range(BISECTIONS):
                        middle = 0.5 * (low + high)
                        if (_derivative(c, p, j, d, middle) < 0.0) == rising:
                            low = middle
                        else:
                            high = middle
                    roots[i] = 0.5 * (low + high)  # an end if there is no root
                stations[count] = stations[count - 1]
                for i in range(count - 1):
                    stations[i + 1] = roots[i]
                count += 1
            peak[p, j] = 0.0
            for i in range(count):
                peak[p, j] = max(peak[p, j], abs(_derivative(c, p, j, order, stations[i])))


class PiecewisePolynomial(Trajectory):
    """Pieces between the times `breaks` (P + 1,) [s], which start with 0.

    coefficients: (P, n, degree + 1), lowest power first, of the time since the piece began. At a
    break the later piece applies, at the end the last.
    """

    def __init__(self, breaks: npt.ArrayLike, coefficients: npt.ArrayLike) -> None:
        self._breaks = np.array(breaks, dtype=np.float64)
        self._coefficients = np.array(coefficients, dtype=np.float64, order="C")
        _check(self._breaks, self._coefficients)
        self.n: int = self._coefficients.shape[1]
        self.duration = float(self._breaks[-1])

    @property
    def breaks(self) -> Array:
        """Ends of the pieces (P + 1,) [s], read-only."""
        return _read_only(self._breaks)

    @property
    def coefficients(self) -> Array:
        """Coefficients (P, n, degree + 1), lowest power first, read-only."""
        return _read_only(self._coefficients)

    def at(self, t: float | npt.ArrayLike) -> Motion:
        """Return q, qd, qdd, qddd at time t [s]: (n,) each, or (T, n) for times (T,)."""
        if not (isinstance(t, float) and t == t):
            times = times_of(t)
            if times.ndim:
                return self._during(times)
            t = float(times)
        n, empty = self.n, np.empty
        q, qd, qdd, qddd = empty(n), empty(n), empty(n), empty(n)
        _instant(self._breaks, self._coefficients, t, q, qd, qdd, qddd)
        return Motion(q, qd, qdd, qddd)

    def _during(self, times: Array) -> Motion:
        """Return the motion at any times (T,): the kernel handles those before and after, too."""
        motion = Motion(*(np.empty((times.size, self.n)) for _ in Motion._fields))
        writable = np.require(times, requirements=["C", "W", "A"])
        flat = (x.reshape(-1) for x in motion)
        _instants(self._breaks, self._coefficients, writable, *flat)
        return motion

    def peaks(self, order: int) -> Array:
        """Return the exact peak magnitude (P, n) of a derivative (order 0 to 3) in each piece."""
        if order not in (0, 1, 2, 3):
            raise ArgumentError(f"order must be 0 (position) to 3 (jerk), got {order!r}")
        peak = np.empty((self._breaks.size - 1, self.n))
        _peaks(self._breaks, self._coefficients, order, peak)
        return peak


@cache
def _hermite_matrix(r: int) -> Array:
    """Return the matrix (2 r, 2 r) from r <= 3 derivatives at 0 and 1 to coefficients."""
    rows = [
        [perm(k, order) * x ** max(k - order, 0) for k in range(2 * r)]
        for x in (0.0, 1.0)
        for order in range(r)
    ]
    return np.rint(2.0 * np.linalg.inv(rows)) / 2.0  # for r up to 3 exactly multiples of 1/2


def hermite(breaks: Array, values: Array) -> Array:
    """Return coefficients (P, n, 2 r) from r <= 3 derivatives (P + 1, r, n) at breaks [s]."""
    r = values.shape[1]
    h = np.diff(breaks)[:, None] ** np.arange(2 * r)  # (P, 2 r): powers of each piece's length
    scale = h[:, :r, None]
    ends = np.concatenate([scale * values[:-1], scale * values[1:]], axis=1)  # scaled to unit time
    pieces = np.einsum("kd,pdn->pnk", _hermite_matrix(r), ends)
    return np.asarray(pieces / h[:, None, :])


def _check(breaks: Array, coefficients: Array) -> None:
    if breaks.ndim != 1 or breaks.size < 2 or coefficients.ndim != 3:
        raise ArgumentError(
            f"breaks must be (P + 1,) and coefficients (P, n, degree + 1), "
            f"got {breaks.shape} and {coefficients.shape}"
        )
    if coefficients.shape[0] != breaks.size - 1 or 0 in coefficients.shape:
        raise ArgumentError(
            f"{breaks.size} breaks make {breaks.size - 1} pieces, "
            f"coefficients are {coefficients.shape}"
        )
    if not (np.isfinite(breaks).all() and np.isfinite(coefficients).all()):
        raise ArgumentError("breaks and coefficients must be finite")
    if breaks[0] != 0.0 or not (np.diff(breaks) > 0.0).all():
        raise ArgumentError(f"breaks must start with 0 and increase [s], got {breaks}")


def _read_only(array: Array) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
