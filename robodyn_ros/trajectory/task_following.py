"""follow: the joint trajectory along which a robot's frame follows a move in task space.

    dq/dr = J^+ X' + k (1 - J^+ J)(rest - q)

This path of least joint velocities is integrated from sample to sample, and inverse kinematics
removes the drift. With the time law, qd = q' rd, qdd = q'' rd^2 + q' rdd. Quintics interpolate
between the samples; their deviation from the move is checked.
"""

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..dynamics import inverse_kinematics as ik
from ..dynamics.kinematics import ORIGIN
from ..errors import positive
from ..model.robot import RobotModel
from .piecewise import PiecewisePolynomial, hermite
from .task_space import TaskMove
from .trajectory import Array

REST_GAIN = 3.0  # per move: the null-space distance to `rest` shrinks to e^-3
SAMPLE_TOLERANCE = 1e-11  # [m, rad], of the pose at the samples
MAX_REFINEMENTS = 6  # of the sampling step
CHECK_POINTS = np.array([0.0, 0.25, 0.5, 0.75])  # of a step, at which the result is checked
RANGE_TOLERANCE = 1e-9  # [rad or m] beyond a joint limit; relative beyond a velocity limit


def follow(
    model: RobotModel,
    move: TaskMove,
    q0: npt.ArrayLike,
    *,
    link: str | None = None,
    point: npt.ArrayLike = ORIGIN,
    orientation: bool = True,
    rest: npt.ArrayLike | None = None,
    dt: float = 0.02,
    tolerance: float = 1e-6,
    singular: float = 1e-2,
) -> PiecewisePolynomial:
    """Return the joint trajectory along which a link's frame follows the move.

    The pose is met within `tolerance` [m, rad]. The trajectory starts at the posture nearest to q0
    (n,) that has the move's first pose. link, point and orientation are those of
    `inverse_kinematics`. A redundant arm moves towards the posture `rest` (n,) if it is given. dt
    [s] is the longest time between samples; it is shortened until the tolerance holds.

    Raises SingularityError if the smallest singular value falls below `singular`, OutOfReachError
    if the arm is too short, and JointLimitError if a joint would exceed its range or velocity; all
    name the time.
    """
    dt = positive("dt", dt, "s")
    tip = ik.Tip(model, link, point, orientation)
    goal = None if rest is None else ik.one_state(model, "rest", rest)
    start = ik.inverse_kinematics(
        model,
        move.at(0.0).T,
        q0,
        link=link,
        point=point,
        orientation=orientation,
        tolerance=SAMPLE_TOLERANCE,
    )
    for _ in range(MAX_REFINEMENTS):
        trajectory = _Follower(tip, move, goal, singular).trajectory(start, dt)
        times = _check_times(trajectory)
        error = np.abs(tip.error(move.at(times).T, trajectory.at(times).q)).max(axis=-1)
        worst = int(np.argmax(error))
        if error[worst] <= tolerance:
            _check(tip, move, trajectory, times, singular)
            return trajectory
        dt *= min(0.5, 0.8 * (tolerance / error[worst]) ** (1.0 / 6.0))  # sixth order
    raise ik.OutOfReachError(
        f"at t = {times[worst]:.4g} s link '{tip.link}' deviates from the move by "
        f"{error[worst]:.1e} (m or rad), more than {tolerance:g}, even with the shortest step: "
        "the arm cannot follow without a jump; move elsewhere or start from another posture",
        trajectory.at(float(times[worst])).q,
    )


class _Follower:
    """Joint path along a move."""

    def __init__(self, tip: ik.Tip, move: TaskMove, rest: Array | None, singular: float) -> None:
        self.tip, self.move, self.rest, self.singular = tip, move, rest, singular

    def trajectory(self, q: Array, dt: float) -> PiecewisePolynomial:
        """Return quintics through samples, for each piece of the law: between, qdd may jump."""
        breaks, pieces = [np.zeros(1)], []
        for a, b in pairwise(self.move.law.breaks):
            t = np.linspace(a, b, max(1, math.ceil((b - a) / dt)) + 1)
            # At a break the next piece applies; this piece ends just before.
            r, rd, rdd, _ = self.move.law.at(np.append(t[:-1], np.nextafter(b, a)))
            samples = np.empty((t.size, 3, q.size))
            for k in range(t.size):
                try:
                    q = self._advance(q, r[k - 1, 0], r[k, 0]) if k else q
                    q1, q2 = self._derivatives(q, r[k, 0])
                except ik.InverseKinematicsError as error:
                    raise type(error)(f"at t = {t[k]:.4g} s: {error}", error.q) from None
                samples[k] = q, q1 * rd[k], q2 * rd[k] ** 2 + q1 * rdd[k]
            breaks.append(t[1:])
            pieces.append(hermite(t, samples))
        return PiecewisePolynomial(np.concatenate(breaks), np.concatenate(pieces))

    def _advance(self, q: Array, r: float, r_next: float) -> Array:
        """Integrate q from r to r_next by a Runge-Kutta step, then correct it to the pose."""
        h = r_next - r
        _, X, _ = self.move.path.at(np.array([r, r + 0.5 * h, r_next]))
        k1 = self._slope(q, X[0])
        k2 = self._slope(q + 0.5 * h * k1, X[1])
        k3 = self._slope(q + 0.5 * h * k2, X[1])
        k4 = self._slope(q + h * k3, X[2])
        target = self.move.path.at(np.array([r_next]))[0][0]
        unlimited = np.full(q.size, np.inf)
        q = q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        q, e = ik.approach(self.tip, target, q, -unlimited, unlimited, SAMPLE_TOLERANCE)
        if not ik.within(e, SAMPLE_TOLERANCE):
            raise ik.failure(self.tip, target, q, -unlimited, unlimited, SAMPLE_TOLERANCE)
        return q

    def _slope(self, q: Array, X: Array) -> Array:
        """Return dq/dr (n,) for the twist X (6,) per unit of r."""
        U, s, Vt = np.linalg.svd(self.tip.jacobian(q), full_matrices=False)
        m = self.tip.rank
        if s[m - 1] < self.singular:
            self.tip.check_singularity(q, self.singular)
        slope = Vt[:m].T @ (U[:, :m].T @ X[: self.tip.size] / s[:m])
        if self.rest is None:
            return np.asarray(slope)
        pull = REST_GAIN * (self.rest - q)
        return np.asarray(slope + pull - Vt[:m].T @ (Vt[:m] @ pull))

    def _derivatives(self, q: Array, r: float) -> tuple[Array, Array]:
        """Return dq/dr and d2q/dr2 (n,): from the change of dq/dr with q, and of the twist."""
        _, X, X1 = (x[0] for x in self.move.path.at(np.array([r])))
        q1 = self._slope(q, X)
        h = 1e-5 / max(float(np.abs(q1).max()), 1e-9)
        q2 = (self._slope(q + h * q1, X) - self._slope(q - h * q1, X)) / (2.0 * h)
        return q1, q2 + np.linalg.pinv(self.tip.jacobian(q), rcond=1e-9) @ X1[: self.tip.size]


def _check_times(trajectory: PiecewisePolynomial) -> Array:
    """Return the times [s] of the samples and of points between them."""
    t = trajectory.breaks
    return np.append((t[:-1, None] + np.diff(t)[:, None] * CHECK_POINTS).ravel(), t[-1])


def _check(
    tip: ik.Tip, move: TaskMove, trajectory: PiecewisePolynomial, times: Array, singular: float
) -> None:
    """Reject singularities between the samples, and joints beyond their range or velocity."""
    model, motion = tip.model, trajectory.at(times)
    weakest = int(np.argmin(tip.smallest_singular_value(motion.q)))
    tip.check_singularity(motion.q[weakest], singular, f"at t = {times[weakest]:.4g} s: ")
    outside = np.maximum(model.q_min - motion.q, motion.q - model.q_max)
    if outside.max() > RANGE_TOLERANCE:
        i, k = np.unravel_index(int(np.argmax(outside > RANGE_TOLERANCE)), outside.shape)
        raise ik.JointLimitError(
            f"at t = {times[i]:.4g} s joint '{model.joint_names[k]}' would be at "
            f"{motion.q[i, k]:.4g}, beyond its range {model.q_min[k]:.4g} to "
            f"{model.q_max[k]:.4g}; start from another posture or move elsewhere",
            motion.q[i],
        )
    share = np.abs(motion.qd) / model.qd_max
    if share.max() > 1.0 + RANGE_TOLERANCE:
        i, k = np.unravel_index(int(np.argmax(share)), share.shape)
        raise ik.JointLimitError(
            f"at t = {times[i]:.4g} s joint '{model.joint_names[k]}' would move at "
            f"{motion.qd[i, k]:.4g} 1/s, its limit is {model.qd_max[k]:.4g}; "
            f"give the move {share.max() * move.duration:.4g} s instead of {move.duration:.4g} s",
            motion.q[i],
        )
