"""joint_move: from one posture to another, all joints in proportion, as fast as limits allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.motion import Motion
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .piecewise import PiecewisePolynomial
from .profiles import RAMPED, Profile, fastest_profile
from .trajectory import Array, MotionLimits, check_range, names_of, positive, postures


class JointMove(PiecewisePolynomial):
    """q(t) = q0 + r(t / duration) (q1 - q0), [Khalil2019] (8.1): a straight line in joint space.

    profile: the name of r. tau [s]: how long a trapezoid speeds up; None for other profiles.
    """

    def __init__(self, q0: Array, q1: Array, r: Profile, duration: float) -> None:
        powers = np.arange(len(r.coefficients[0]))
        unit = np.array(r.coefficients) / duration**powers  # (P, powers), of seconds
        coefficients = unit[:, None, :] * (q1 - q0)[:, None]
        coefficients[:, :, 0] += q0
        super().__init__(np.array(r.breaks) * duration, coefficients)
        self.q0, self.q1 = q0, q1
        self.profile = r.name
        self.tau = float(self.breaks[1]) if r.name in RAMPED else None

    def towards(self, t: npt.ArrayLike, target: Motion) -> Motion:
        """The same move onto a target that has moved on from q1: (8.3), with derivatives.

        target: where it is at the time t. The arm leaves q0 and is with the target from
        `duration` on.
        """
        q, qd, qdd, qddd = self.at(t)
        return Motion(
            target.q - (self.q1 - q), target.qd + qd, target.qdd + qdd, target.qddd + qddd
        )


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
    """The move from start to end (n,) in the shortest time that the limits allow, (8.14).

    profile: 'linear', 'cubic', 'quintic', 'septic', 'bang_bang', 'trapezoid' or
    'smooth_trapezoid'. A linear move starts and stops with infinite acceleration; cubic,
    bang-bang and trapezoid with infinite jerk: such a limit is refused with them.
    Limits [1/s, 1/s^2, 1/s^3] are one number or one per joint; velocities come from the model if
    they are not given, and an end outside its joint limits is refused. A longer duration [s] slows
    the whole move down.
    """
    names = names_of(np.size(start), model)
    q0, q1 = postures("start", start, names, 1), postures("end", end, names, 1)
    check_range("end", q1, model, q0)
    limits = MotionLimits.of(len(names), qd_max, qdd_max, qddd_max, model)
    r = fastest_profile(profile, q1 - q0, limits)
    times = r.minimum_times(q1 - q0, limits)
    return JointMove(q0, q1, r, _duration(times, duration, names))


def _duration(times: Array, wanted: Any, names: tuple[str, ...]) -> float:
    """The shortest time in common, or the one that is wanted if it is long enough."""
    slowest = int(np.argmax(times))
    least = float(times[slowest])
    if wanted is None:
        if least == 0.0:
            raise ArgumentError(
                "nothing tells how long to take: start and end are the same, or no qd_max and "
                "qdd_max are given; give a duration"
            )
        return least
    seconds = positive("duration", wanted)
    if seconds < least * (1.0 - 1e-12):
        raise ArgumentError(
            f"duration {seconds:g} s is too short: joint '{names[slowest]}' needs {least:.6g} s "
            "within its limits"
        )
    return seconds
