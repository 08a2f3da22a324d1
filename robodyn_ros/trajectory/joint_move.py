"""joint_move: synchronized point-to-point motion, and the profiles that it can have.

A profile is the interpolation function r of  q(t) = q0 + r(t / T) D,  [Khalil2019] (8.1):

    linear            r = x                                   (8.4)    velocity jumps
    cubic             r = 3 x^2 - 2 x^3                       (8.7)    acceleration jumps
    quintic           r = 10 x^3 - 15 x^4 + 6 x^5             (8.11)   no acceleration at the ends
    septic            r = 35 x^4 - 84 x^5 + 70 x^6 - 20 x^7            and no jerk at the ends
    bang_bang         r = 2 x^2, then -1 + 4 x - 2 x^2        (8.15)   acceleration jumps
    trapezoid         constant acceleration, velocity, deceleration    (8.19): acceleration jumps
    smooth_trapezoid  the same with parabolas of acceleration (8.37) to (8.43)

x = t / T runs from 0 to 1. The trapezoids accelerate during the share tau / T of the time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..errors import ArgumentError, one_of, positive
from ..model.robot import RobotModel
from .piecewise import PiecewisePolynomial
from .trajectory import Array, MotionLimits, check_range, names_of, postures

PROFILES = ("linear", "cubic", "quintic", "septic", "bang_bang", "trapezoid", "smooth_trapezoid")
TRAPEZOIDS = ("trapezoid", "smooth_trapezoid")
# Without an acceleration limit a trapezoid accelerates for a third of the time: that share has the
# least mean square acceleration.
DEFAULT_RAMP_SHARE = 1.0 / 3.0


@dataclass(frozen=True)
class Profile:
    """Interpolation function as polynomials between breaks, with the peaks of its derivatives."""

    name: str
    breaks: tuple[float, ...]  # of x: 0, ..., 1
    coefficients: tuple[tuple[float, ...], ...]  # per piece, of x since the piece began
    velocity: float  # largest |r'|
    acceleration: float  # largest |r''|, infinite if the velocity jumps
    jerk: float  # largest |r'''|, infinite if the acceleration jumps

    def minimum_times(self, distance: Array, limits: MotionLimits) -> Array:
        """Return the shortest times (n,) [s], table 8.1, (8.22); reject limits on jumps."""
        times = np.zeros(distance.shape)
        peaks = (self.velocity, self.acceleration, self.jerk)
        bounds = (limits.qd_max, limits.qdd_max, limits.qddd_max)
        for order, (peak, bound) in enumerate(zip(peaks, bounds, strict=True), start=1):
            if math.isfinite(peak):  # |D| peak / T^order <= bound
                times = np.maximum(times, (np.abs(distance) * peak / bound) ** (1.0 / order))
            elif np.isfinite(bound).any():
                jumps, limit, remedy = {
                    2: ("velocity", "qdd_max", "cubic"),
                    3: ("acceleration", "qddd_max", "quintic"),
                }[order]
                raise ArgumentError(
                    f"the {jumps} of profile '{self.name}' jumps: no {limit} can hold; "
                    f"leave it out or take '{remedy}'"
                )
        return times


UNIT = (0.0, 1.0)
POLYNOMIALS = {
    profile.name: profile
    for profile in (
        Profile("linear", UNIT, ((0, 1),), 1.0, math.inf, math.inf),
        Profile("cubic", UNIT, ((0, 0, 3, -2),), 1.5, 6.0, math.inf),
        # Peaks (8.12), (8.13)
        Profile("quintic", UNIT, ((0, 0, 0, 10, -15, 6),), 15 / 8, 10 / math.sqrt(3.0), 60.0),
        Profile(
            "septic",
            UNIT,
            ((0, 0, 0, 0, 35, -84, 70, -20),),
            35 / 16,
            84 * math.sqrt(5.0) / 25,
            52.5,
        ),
        Profile("bang_bang", (0.0, 0.5, 1.0), ((0, 0, 2), (0.5, 2, -2)), 2.0, 4.0, math.inf),
    )
}


def trapezoid(share: float) -> Profile:
    """Return the profile with a trapezoid of velocity, (8.19): tau = share T, up to T / 2."""
    v = 1.0 / (1.0 - share)
    rise, fall = (0.0, 0.0, 0.5 * v / share), (1.0 - 0.5 * v * share, v, -0.5 * v / share)
    return _ramped("trapezoid", share, rise, fall, v / share, math.inf)


def smooth_trapezoid(share: float) -> Profile:
    """Return the trapezoid with continuous acceleration: (8.37) to (8.43), tau = share T."""
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
    """Return rise, constant velocity (8.42) if there is time for it, and fall."""
    v = 1.0 / (1.0 - share)
    if share < 1.0 - share:
        steady = (0.5 * v * share, v) + (0.0,) * (len(rise) - 2)
        breaks, pieces = (0.0, share, 1.0 - share, 1.0), (rise, steady, fall)
        return Profile(name, breaks, pieces, v, acceleration, jerk)
    return Profile(name, (0.0, 0.5, 1.0), (rise, fall), v, acceleration, jerk)


def ramp_share(name: str, distance: Array, limits: MotionLimits) -> float:
    """Return tau / T of the fastest homothetic trapezoids: (8.23) to (8.35), (8.41) to (8.47).

    With s = T - tau the joints' peaks are |D| / s and c |D| / (s tau), c = 1 or 3/2, and (8.34) is

        s = max_j |D_j| / k_vj,      tau = c max_j (|D_j| / k_aj) / s,      T = s + tau.

    The achievable velocity of short moves in place of k_vj, (8.35) and (8.47), makes it
    s >= sqrt(c |D_j| / k_aj) for all joints. That implies s >= tau, for any mixture of short and
    long moves. A limit on jerk, 6 |D| / (s tau^2), adds s >= cbrt(6 |D_j| / k_jj) in the same way.
    """
    travel, smooth = np.abs(distance), name == "smooth_trapezoid"
    a = np.max((1.5 if smooth else 1.0) * travel / limits.qdd_max)  # least s tau
    j = np.max(6.0 * travel / limits.qddd_max) if smooth else 0.0  # least s tau^2
    if a == 0.0 and j == 0.0:
        return DEFAULT_RAMP_SHARE
    s = max(np.max(travel / limits.qd_max), math.sqrt(a), j ** (1.0 / 3.0))
    tau = max(a / s, math.sqrt(j / s))
    return min(float(tau / (s + tau)), 0.5)


def fastest_profile(name: str, distance: Array, limits: MotionLimits) -> Profile:
    """Return the profile of that name; a trapezoid with the fastest ramps for these joints."""
    if name in POLYNOMIALS:
        return POLYNOMIALS[name]
    one_of("profile", name, PROFILES)
    share = ramp_share(name, distance, limits)
    return trapezoid(share) if name == "trapezoid" else smooth_trapezoid(share)


class JointMove(PiecewisePolynomial):
    """q(t) = q0 + r(t / duration) (q1 - q0), [Khalil2019] (8.1): a straight line in joint space.

    profile: the name of r. tau [s]: ramp time of a trapezoid; None for other profiles.
    """

    def __init__(self, q0: Array, q1: Array, r: Profile, duration: float) -> None:
        powers = np.arange(len(r.coefficients[0]))
        unit = np.array(r.coefficients) / duration**powers  # (P, powers), of seconds
        coefficients = unit[:, None, :] * (q1 - q0)[:, None]
        coefficients[:, :, 0] += q0
        super().__init__(np.array(r.breaks) * duration, coefficients)
        self.q0, self.q1 = q0, q1
        self.profile = r.name
        self.tau = float(self.breaks[1]) if r.name in TRAPEZOIDS else None

    def towards(self, t: npt.ArrayLike, target: Motion) -> Motion:
        """Return the motion from q0 onto a target that starts at q1, (8.3), at t [s]."""
        q, *derivatives = self.at(t)
        rates = (x + y for x, y in zip(target[1:], derivatives, strict=True))
        return Motion(target.q - (self.q1 - q), *rates)


def joint_move(
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    profile: str = "quintic",
    qd_max: npt.ArrayLike | None = None,
    qdd_max: npt.ArrayLike | None = None,
    qddd_max: npt.ArrayLike | None = None,
    duration: float | None = None,
    model: RobotModel | None = None,
) -> JointMove:
    """Return the fastest move from start to end (n,) [rad or m] within the limits, (8.14).

    profile: 'linear', 'cubic', 'quintic', 'septic', 'bang_bang', 'trapezoid' or
    'smooth_trapezoid'. A linear move has infinite acceleration at its ends; cubic, bang-bang and
    trapezoid have infinite jerk: a limit on it is rejected.
    Limits (velocity, acceleration, jerk; rad or m) are one number or one per joint. Velocity
    limits default to the model's, and an end outside the model's joint limits is rejected. A
    longer duration [s] slows the whole move down.
    """
    names = names_of(np.size(start), model)
    q0, q1 = postures("start", start, names, 1), postures("end", end, names, 1)
    check_range("end", q1, model, q0)
    limits = MotionLimits.of(len(names), qd_max, qdd_max, qddd_max, model)
    r = fastest_profile(profile, q1 - q0, limits)
    times = r.minimum_times(q1 - q0, limits)
    missing = "start and end are the same, or limits are missing: give qd_max or qdd_max"
    parts = [f"joint '{name}'" for name in names]
    return JointMove(q0, q1, r, choose_duration(times, duration, parts, missing))


def choose_duration(times: Array, wanted: Any, parts: Sequence[str], missing: str) -> float:
    """Return the wanted duration [s], or the longest minimum time; parts, missing: for errors."""
    slowest = int(np.argmax(times))
    shortest = float(times[slowest])
    if wanted is None:
        if shortest == 0.0:
            raise ArgumentError(f"the duration is not determined: {missing}, or give a duration")
        return shortest
    seconds = positive("duration", wanted, "s")
    if seconds < shortest * (1.0 - 1e-12):
        raise ArgumentError(
            f"duration {seconds:g} s is too short: {parts[slowest]} needs {shortest:.6g} s within "
            "its limits; take longer or raise them"
        )
    return seconds
