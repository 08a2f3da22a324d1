"""follow: the joint trajectory that leads a robot's frame along a move in task space.

The joints' way is that of the shortest joint velocities, per unit of the move's r,

    dq/dr = J^+ X' + k (1 - J^+ J)(rest - q)

integrated from sample to sample and then put onto the pose by inverse kinematics, so that nothing
drifts. The time law enters by the chain rule: qd = q' rd, qdd = q'' rd^2 + q' rdd. Quintics
through these go along the move between the samples, too, which is checked.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..dynamics.inverse_kinematics import (
    InverseKinematicsError,
    JointLimitError,
    OutOfReachError,
    Tip,
    approach,
    failure,
    inverse_kinematics,
    one_state,
    within,
)
from ..dynamics.kinematics import ORIGIN
from ..model.robot import RobotModel
from .piecewise import PiecewisePolynomial, hermite
from .task_space import TaskMove
from .trajectory import Array, positive

PULL = 3.0  # per move: a redundant arm does e^-3 of its way to `rest`, as far as the task lets it
EXACT = 1e-11  # [m, rad], at the samples
REFINEMENTS = 6
BESIDE = np.array([0.0, 0.25, 0.5, 0.75])  # of a step, where the result is checked


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
    """Joint trajectory along which a link's frame follows the move to within `tolerance` [m, rad].

    It begins at the posture for the move's start that is nearest to q0. link, point and
    orientation are those of `inverse_kinematics`; a redundant arm is drawn to the posture `rest`
    on its way if one is given. dt [s] is the longest time between samples; it is shortened until
    the tolerance holds.

    Raises SingularityError where the smallest singular value falls below `singular`,
    OutOfReachError where the arm is too short, and JointLimitError where a joint would leave its
    range or exceed its velocity: all name the time.
    """
    dt = positive("dt", dt)
    tip = Tip(model, link, point, orientation)
    goal = None if rest is None else one_state(model, "rest", rest)
    start = inverse_kinematics(
        model,
        move.at(0.0).T,
        q0,
        link=link,
        point=point,
        orientation=orientation,
        tolerance=EXACT,
    )
    for _ in range(REFINEMENTS):
        trajectory = _Follower(tip, move, goal, singular).trajectory(start, dt)
        times = _instants(trajectory)
        beside = np.abs(tip.error(move.at(times).T, trajectory.at(times).q)).max(axis=-1)
        worst = int(np.argmax(beside))
        if beside[worst] <= tolerance:
            _check(tip, move, trajectory, times, singular)
            return trajectory
        dt *= min(0.5, 0.8 * (tolerance / beside[worst]) ** (1.0 / 6.0))  # sixth order
    raise OutOfReachError(
        f"at t = {times[worst]:.4g} s link '{tip.link}' leaves the move by {beside[worst]:.1e} "
        f"(m or rad), more than {tolerance:g}, however short the step: the arm cannot follow "
        "without a jump; move elsewhere or begin from another posture",
        trajectory.at(float(times[worst])).q,
    )


class _Follower:
    """The joints' way along a move."""

    def __init__(self, tip: Tip, move: TaskMove, rest: Array | None, singular: float) -> None:
        self.tip, self.move, self.rest, self.singular = tip, move, rest, singular

    def trajectory(self, q: Array, dt: float) -> PiecewisePolynomial:
        """Quintics through samples, piece by piece of the law: its acceleration may jump."""
        breaks, pieces = [np.zeros(1)], []
        for a, b in pairwise(self.move.law.breaks):
            t = np.linspace(a, b, max(1, math.ceil((b - a) / dt)) + 1)
            # At a break the next piece counts; this one's end is just before.
            r, rd, rdd, _ = self.move.law.at(np.append(t[:-1], np.nextafter(b, a)))
            samples = np.empty((t.size, 3, q.size))
            for k in range(t.size):
                try:
                    q = self._advance(q, r[k - 1, 0], r[k, 0]) if k else q
                    q1, q2 = self._derivatives(q, r[k, 0])
                except InverseKinematicsError as error:
                    raise type(error)(f"at t = {t[k]:.4g} s: {error}", error.q) from None
                samples[k] = q, q1 * rd[k], q2 * rd[k] ** 2 + q1 * rdd[k]
            breaks.append(t[1:])
            pieces.append(hermite(t, samples))
        return PiecewisePolynomial(np.concatenate(breaks), np.concatenate(pieces))

    def _advance(self, q: Array, r: float, r_next: float) -> Array:
        """From r to r_next: a step after Runge and Kutta, then onto the pose."""
        h = r_next - r
        _, X, _ = self.move.way.at(np.array([r, r + 0.5 * h, r_next]))
        k1 = self._slope(q, X[0])
        k2 = self._slope(q + 0.5 * h * k1, X[1])
        k3 = self._slope(q + 0.5 * h * k2, X[1])
        k4 = self._slope(q + h * k3, X[2])
        target = self.move.way.at(np.array([r_next]))[0][0]
        endless = np.full(q.size, np.inf)
        q = q + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        q, e = approach(self.tip, target, q, -endless, endless, EXACT)
        if not within(e, EXACT):
            raise failure(self.tip, target, q, -endless, endless, EXACT)
        return q

    def _slope(self, q: Array, X: Array) -> Array:
        """dq/dr for the twist X per unit of r."""
        U, s, Vt = np.linalg.svd(self.tip.jacobian(q), full_matrices=False)
        m = self.tip.rank
        if s[m - 1] < self.singular:
            self.tip.check_singularity(q, self.singular)
        slope = Vt[:m].T @ (U[:, :m].T @ X[: self.tip.size] / s[:m])
        if self.rest is None:
            return np.asarray(slope)
        pull = PULL * (self.rest - q)
        return np.asarray(slope + pull - Vt[:m].T @ (Vt[:m] @ pull))

    def _derivatives(self, q: Array, r: float) -> tuple[Array, Array]:
        """dq/dr and d2q/dr2: the twist's own change, and how dq/dr changes as q moves on."""
        _, X, X1 = (x[0] for x in self.move.way.at(np.array([r])))
        q1 = self._slope(q, X)
        h = 1e-5 / max(float(np.abs(q1).max()), 1e-9)
        q2 = (self._slope(q + h * q1, X) - self._slope(q - h * q1, X)) / (2.0 * h)
        return q1, q2 + np.linalg.pinv(self.tip.jacobian(q), rcond=1e-9) @ X1[: self.tip.size]


def _instants(trajectory: PiecewisePolynomial) -> Array:
    """The samples and times between them."""
    t = trajectory.breaks
    return np.append((t[:-1, None] + np.diff(t)[:, None] * BESIDE).ravel(), t[-1])


def _check(
    tip: Tip,
    move: TaskMove,
    trajectory: PiecewisePolynomial,
    times: Array,
    singular: float,
) -> None:
    """Singularities between the samples, ranges and velocities of the joints."""
    model, motion = tip.model, trajectory.at(times)
    weakest = int(np.argmin(tip.smallest_singular_value(motion.q)))
    tip.check_singularity(motion.q[weakest], singular, f"at t = {times[weakest]:.4g} s: ")
    outside = np.maximum(model.q_min - motion.q, motion.q - model.q_max)
    if outside.max() > 1e-9:
        i, k = np.unravel_index(int(np.argmax(outside > 1e-9)), outside.shape)
        raise JointLimitError(
            f"at t = {times[i]:.4g} s joint '{model.joint_names[k]}' would be at "
            f"{motion.q[i, k]:.4g}, beyond its range {model.q_min[k]:.4g} to "
            f"{model.q_max[k]:.4g}; begin from another posture or move elsewhere",
            motion.q[i],
        )
    share = np.abs(motion.qd) / model.qd_max
    if share.max() > 1.0 + 1e-9:
        i, k = np.unravel_index(int(np.argmax(share)), share.shape)
        raise JointLimitError(
            f"at t = {times[i]:.4g} s joint '{model.joint_names[k]}' would move at "
            f"{motion.qd[i, k]:.4g} 1/s, its limit is {model.qd_max[k]:.4g}; "
            f"give the move {share.max() * move.duration:.4g} s instead of {move.duration:.4g} s",
            motion.q[i],
        )
