"""Profiles: the interpolation functions r of  q(t) = q0 + r(t / T) D,  [Khalil2019] (8.1).

    linear            r = x                                   (8.4)    velocity jumps
    cubic             r = 3 x^2 - 2 x^3                       (8.7)    acceleration jumps
    quintic           r = 10 x^3 - 15 x^4 + 6 x^5             (8.11)   at rest, no acceleration
    septic            r = 35 x^4 - 84 x^5 + 70 x^6 - 20 x^7            nor jerk at the ends
    bang_bang         r = 2 x^2, then -1 + 4 x - 2 x^2        (8.15)   acceleration jumps
    trapezoid         constant acceleration, velocity, deceleration    (8.19): acceleration jumps
    smooth_trapezoid  the same with parabolas of acceleration (8.37) to (8.43)

x = t / T runs from 0 to 1. The first five have one shape; that of the last two depends on the
share tau / T of the time which they take to speed up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from .trajectory import Array, MotionLimits

NAMES = ("linear", "cubic", "quintic", "septic", "bang_bang", "trapezoid", "smooth_trapezoid")
RAMPED = ("trapezoid", "smooth_trapezoid")  # those with a tau
# Without a limit on acceleration a trapezoid speeds up for a third of the time: of all the shares
# that one has the least mean square of acceleration.
DEFAULT_SHARE = 1.0 / 3.0


@dataclass(frozen=True)
class Profile:
    """An interpolation function as polynomials between breaks, and its derivatives' peaks."""

    name: str
    breaks: tuple[float, ...]  # of x: 0, …, 1
    coefficients: tuple[tuple[float, ...], ...]  # per piece, of x since its beginning
    velocity: float  # largest |r'|
    acceleration: float  # largest |r''|, infinite if the velocity jumps
    jerk: float  # largest |r'''|, infinite if the acceleration jumps

    def minimum_times(self, distance: Array, limits: MotionLimits) -> Array:
        """(n,): the shortest times [s] in which joints go these distances: table 8.1, (8.22).

        A finite limit on something that jumps cannot hold and is refused.
        """
        times = np.zeros(distance.shape)
        peaks = (self.velocity, self.acceleration, self.jerk)
        bounds = (limits.qd_max, limits.qdd_max, limits.qddd_max)
        for order, (peak, bound) in enumerate(zip(peaks, bounds, strict=True), start=1):
            if math.isfinite(peak):  # |D| peak / T^order <= bound
                times = np.maximum(times, (np.abs(distance) * peak / bound) ** (1.0 / order))
            elif np.isfinite(bound).any():
                raise ArgumentError(_no_limit_holds(self.name, order))
        return times


def _no_limit_holds(name: str, order: int) -> str:
    jumps, limit, remedy = {
        2: ("velocity", "qdd_max", "cubic"),
        3: ("acceleration", "qddd_max", "quintic"),
    }[order]
    return (
        f"the {jumps} of profile '{name}' jumps: no {limit} can hold; "
        f"leave it out or take '{remedy}'"
    )


LINEAR = Profile("linear", (0.0, 1.0), ((0.0, 1.0),), 1.0, math.inf, math.inf)
CUBIC = Profile("cubic", (0.0, 1.0), ((0.0, 0.0, 3.0, -2.0),), 1.5, 6.0, math.inf)
QUINTIC = Profile(
    "quintic",
    (0.0, 1.0),
    ((0.0, 0.0, 0.0, 10.0, -15.0, 6.0),),
    15.0 / 8.0,  # (8.12)
    10.0 / math.sqrt(3.0),  # (8.13)
    60.0,
)
SEPTIC = Profile(
    "septic",
    (0.0, 1.0),
    ((0.0, 0.0, 0.0, 0.0, 35.0, -84.0, 70.0, -20.0),),
    35.0 / 16.0,
    84.0 * math.sqrt(5.0) / 25.0,
    105.0 / 2.0,
)
BANG_BANG = Profile(
    "bang_bang", (0.0, 0.5, 1.0), ((0.0, 0.0, 2.0), (0.5, 2.0, -2.0)), 2.0, 4.0, math.inf
)
POLYNOMIAL = {profile.name: profile for profile in (LINEAR, CUBIC, QUINTIC, SEPTIC, BANG_BANG)}


def trapezoid(share: float) -> Profile:
    """Velocity in the shape of a trapezoid: (8.19), with tau = share T, at most half of T."""
    v = 1.0 / (1.0 - share)
    rise, fall = (0.0, 0.0, 0.5 * v / share), (1.0 - 0.5 * v * share, v, -0.5 * v / share)
    return _ramped("trapezoid", share, rise, fall, v / share, math.inf)


def smooth_trapezoid(share: float) -> Profile:
    """The same with continuous acceleration: (8.37) to (8.43), tau = share T."""
    v = 1.0 / (1.0 - share)
    cubed, fourth = v / share**2, 0.5 * v / share**3
    rise = (0.0, 0.0, 0.0, cubed, -fourth)
    fall = (1.0 - 0.5 * v * share, v, 0.0, -cubed, fourth)
    return _ramped("smooth_trapezoid", share, rise, fall, 1.5 * v / share, 6.0 * v / share**2)


def _ramped(
    name: str,
    share: float,
    rise: tuple[float, ...],
    fall: tuple[float, ...],
    acceleration: float,
    jerk: float,
) -> Profile:
    """Rise, steady velocity (8.42) unless there is no time for it, fall."""
    v = 1.0 / (1.0 - share)
    if share < 1.0 - share:
        steady = (0.5 * v * share, v) + (0.0,) * (len(rise) - 2)
        breaks, pieces = (0.0, share, 1.0 - share, 1.0), (rise, steady, fall)
        return Profile(name, breaks, pieces, v, acceleration, jerk)
    return Profile(name, (0.0, 0.5, 1.0), (rise, fall), v, acceleration, jerk)


def ramp_share(name: str, distance: Array, limits: MotionLimits) -> float:
    """tau / T of the fastest homothetic trapezoids: (8.23) to (8.35), smooth (8.41) to (8.47).

    With s = T - tau the joints' peaks are |D| / s and c |D| / (s tau), c = 1 or 3/2, and (8.34) is

        s = max_j |D_j| / k_vj,      tau = c max_j (|D_j| / k_aj) / s,      T = s + tau.

    The achievable velocity of short moves in place of k_vj, (8.35) and (8.47), makes it
    s >= sqrt(c |D_j| / k_aj) for all joints, so that s >= tau, the least for T = 2 tau, comes out
    by itself, however short and long moves are mixed. A limit on jerk, 6 |D| / (s tau^2), adds
    s >= cbrt(6 |D_j| / k_jj) in the same way.
    """
    way, smooth = np.abs(distance), name == "smooth_trapezoid"
    a = np.max((1.5 if smooth else 1.0) * way / limits.qdd_max)  # least s tau
    j = np.max(6.0 * way / limits.qddd_max) if smooth else 0.0  # least s tau^2
    if a == 0.0 and j == 0.0:
        return DEFAULT_SHARE
    s = max(np.max(way / limits.qd_max), math.sqrt(a), j ** (1.0 / 3.0))
    tau = max(a / s, math.sqrt(j / s))
    return min(float(tau / (s + tau)), 0.5)


def fastest_profile(name: str, distance: Array, limits: MotionLimits) -> Profile:
    """The profile of that name; a trapezoid in the shape that is fastest for these joints."""
    if name in POLYNOMIAL:
        return POLYNOMIAL[name]
    if name not in RAMPED:
        raise ArgumentError(f"profile must be one of {', '.join(NAMES)}, got {name!r}")
    share = ramp_share(name, distance, limits)
    return trapezoid(share) if name == "trapezoid" else smooth_trapezoid(share)
