"""Path: the geometric path of a trajectory, without its time law.

q(u) for u from 0 to 1 is three times differentiable and behaves like u^3 at both ends, so that
every u(t) of constant rate starts and stops at rest, without a torque step. Time becomes

    t = duration * I_u(a, b)        I: the regularized incomplete beta function, ~ u^a at 0

which turns a start ~ t into u^3 by a = 3, one ~ t^2 by a = 3/2, and leaves one ~ t^3 unchanged.
Only a trajectory whose acceleration jumps inside is fitted, by a spline over its chord length.
"""

from typing import Protocol

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline
from scipy.special import beta, betainc, betaincinv

from ..errors import ArgumentError
from .piecewise import PiecewisePolynomial
from .trajectory import Array, Trajectory

Derivatives = tuple[Array, Array, Array, Array]  # q, dq/du, d2q/du2, d3q/du3, (U, n) each

EDGE = 1e-6  # distance in u from an end within which the chain rule is 0 times infinity
SAMPLES = 2001  # of a trajectory, by which it is classified
BISECTIONS = 30  # when a jump of the jerk is located
STRAIGHT = 1e-9  # [rad or m], largest distance of a straight path from its chord
FIT_POINTS = 801  # of a fitted path
MAX_FIT_ERROR = 1e-6  # [rad or m], between these points


class Path(Protocol):
    """q(u), and the u at which its third derivative may jump."""

    n: int
    breaks: Array  # (B,)

    def at(self, u: Array) -> Derivatives:
        """Return position and three derivatives with respect to u (U, n) each, at u (U,)."""


def path_of(trajectory: Trajectory) -> Path:
    """Return the path of a trajectory; reject one with corners."""
    t = np.linspace(0.0, trajectory.duration, SAMPLES)
    q, qd, qdd, qddd = trajectory.at(t)
    if not np.abs(q - q[0]).max() > STRAIGHT:
        raise ArgumentError("the trajectory does not move: it cannot be scaled")
    if _is_straight(q):
        line = np.stack([q[0], q[-1] - q[0]], axis=-1)
        return Warped(PiecewisePolynomial([0.0, 1.0], line[None]))
    corner = _jump(t, qd, qdd)
    if corner is not None:
        raise ArgumentError(
            f"the trajectory's velocity jumps near t = {corner:.3g} s: a corner needs a stop; "
            "round it off, or scale the parts one by one"
        )
    return Warped(trajectory) if _jump(t, qdd, qddd) is None else Fitted(trajectory)


def _is_straight(q: Array) -> bool:
    """Return whether positions (T, n) lie on a line and never turn back."""
    chord = q[-1] - q[0]
    length2 = float(chord @ chord)
    if length2 <= STRAIGHT**2:
        return False
    done = (q - q[0]) @ chord / length2
    distance = np.abs(q - q[0] - np.outer(done, chord)).max()
    return bool(distance < STRAIGHT and np.diff(done).min() >= -STRAIGHT)


def _jump(t: Array, x: Array, rate: Array) -> float | None:
    """Return the approximate time [s] of the first step in x that its rate does not explain."""
    by_rate = (t[1] - t[0]) * np.maximum(np.abs(rate[1:]), np.abs(rate[:-1]))
    steps = (np.abs(np.diff(x, axis=0)) > 3.0 * by_rate + 1e-3 * np.abs(x).max()).any(axis=1)
    return float(t[np.argmax(steps) + 1]) if steps.any() else None


class Warped:
    """Path of a trajectory with continuous acceleration, by a warped time."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.n = trajectory.n
        self.trajectory = trajectory
        self.a, self.b = (3.0 / order for order in _orders(trajectory))
        self.breaks: Array = betaincinv(self.a, self.b, _breaks(trajectory) / trajectory.duration)

    def at(self, u: Array) -> Derivatives:
        """Return position and three derivatives with respect to u (U, n) each, at u (U,)."""
        a, b, T = self.a - 1.0, self.b - 1.0, self.trajectory.duration
        x = np.clip(u, EDGE, 1.0 - EDGE)[:, None]
        t1 = T * x**a * (1.0 - x) ** b / beta(self.a, self.b)
        slope = a / x - b / (1.0 - x)  # of log t1
        t2 = t1 * slope
        t3 = t1 * (slope**2 - a / x**2 - b / (1.0 - x) ** 2)
        _, qd, qdd, qddd = self.trajectory.at(T * betainc(self.a, self.b, x[:, 0]))
        q = self.trajectory.at(T * betainc(self.a, self.b, u)).q
        end = np.clip(np.minimum(u, 1.0 - u) / EDGE, 0.0, 1.0)[:, None]  # ~ u^3 within EDGE
        return (
            q,
            qd * t1 * end**2,
            (qdd * t1**2 + qd * t2) * end,
            qddd * t1**3 + 3.0 * qdd * t1 * t2 + qd * t3,
        )


def _orders(trajectory: Trajectory) -> tuple[int, int]:
    """Return the powers of time, 1 to 3, of a start and an end; flatter ends count as 3."""
    derivatives = trajectory.at(np.linspace(0.0, trajectory.duration, SAMPLES))[1:3]
    found = [
        next((k for k, x in enumerate(derivatives, 1) if _nonzero(x, end)), 3) for end in (0, -1)
    ]
    return found[0], found[1]


def _nonzero(x: Array, end: int) -> bool:
    """Return whether a derivative (T, n) differs from 0 at an end."""
    return bool(np.abs(x[end]).max() > 1e-6 * np.abs(x).max())


def _breaks(trajectory: Trajectory) -> Array:
    """Return the times (B,) [s] of jerk jumps: changes far larger than their neighbours."""
    t = np.linspace(0.0, trajectory.duration, SAMPLES)
    jerk = trajectory.at(t).qddd
    steps = np.abs(np.diff(jerk, axis=0)).max(axis=1)
    beside = np.pad(steps, 1)
    found = steps > 3.0 * np.maximum(beside[:-2], beside[2:]) + 1e-3 * np.abs(jerk).max()
    low, high = t[:-1][found], t[1:][found]
    for _ in range(BISECTIONS if found.any() else 0):
        middle = 0.5 * (low + high)
        first, half, last = (trajectory.at(x).qddd for x in (low, middle, high))
        left = np.abs(half - first).max(axis=1) > np.abs(last - half).max(axis=1)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    return 0.5 * (low + high)


class Fitted:
    """Path of a trajectory whose acceleration jumps: a quintic spline over chord length."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.n = trajectory.n
        self.breaks: Array = np.empty(0)
        q = _sample_evenly(trajectory)
        chords = np.linalg.norm(np.diff(q, axis=0), axis=1)
        done = np.append(0.0, np.cumsum(chords))
        left = np.append(np.cumsum(chords[::-1])[::-1], 0.0)
        length = done + left
        u = np.where(
            done < left,
            betaincinv(3.0, 3.0, done / length),
            1.0 - betaincinv(3.0, 3.0, left / length),
        )
        self.spline = _spline(u, q)
        error = np.abs(_spline(u[::2], q[::2])(u) - q).max()
        if error > MAX_FIT_ERROR:
            raise ArgumentError(
                f"the trajectory's acceleration jumps, and a smooth path deviates from it by "
                f"{error:.1e} rad or m: it stops or turns too sharply; "
                f"give it a profile with continuous acceleration"
            )

    def at(self, u: Array) -> Derivatives:
        """Return position and three derivatives with respect to u (U, n) each, at u (U,)."""
        q, q1, q2, q3 = (self.spline(u, nu) for nu in range(4))
        return q, q1, q2, q3


def _sample_evenly(trajectory: Trajectory) -> Array:
    """Return positions (FIT_POINTS, n), about evenly spaced in u."""
    t = np.linspace(0.0, trajectory.duration, 10 * SAMPLES)
    length = np.cumsum(np.linalg.norm(np.diff(trajectory.at(t).q, axis=0), axis=1))
    done = np.append(0.0, length) / length[-1]
    return trajectory.at(np.interp(betainc(3.0, 3.0, np.linspace(0, 1, FIT_POINTS)), done, t)).q


def _spline(u: Array, q: Array) -> BSpline:
    """Return the quintic spline through all points that behaves like u^3 at its ends."""
    rest = [(1, np.zeros(q.shape[1])), (2, np.zeros(q.shape[1]))]
    return make_interp_spline(u, q, k=5, bc_type=(rest, rest))
