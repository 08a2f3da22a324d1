"""excitation(): a motion that tells a robot's parameters apart.

    q(t) = centre + sum_h a_h sin(h w t) + b_h cos(h w t),     w = 2 pi / period

Harmonics repeat, need no filter to differentiate, and keep within a band. Of all such motions
within the limits one is looked for whose base regressor has a small condition number
[Swevers1997]: noise then moves no combination of parameters much more than the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ..dynamics.base_parameters import BaseParameters, base_parameters
from ..dynamics.dispatch import per_joint
from ..dynamics.kinematics import forward_kinematics
from ..dynamics.motion import Motion
from ..dynamics.regressor import regressor, rotor_columns
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .log import Array

Workspace = Callable[[Array], float]  # of postures (T, n): > 0 is how far outside, <= 0 is fine

SAMPLES = 240  # of a period, for the limits
EVERY = 4  # of them, for the condition number and the workspace
FULL_TURN = math.pi  # [rad or m], how far from 0 a joint without limits goes
MARGIN = 0.98  # of each limit, for what lies between samples


@dataclass(frozen=True, eq=False)
class Excitation:
    """A repeated motion from rest to rest: `Fourier(x.centre, x.a, x.b, 1 / x.period, x.duration)`
    is it as a Trajectory.
    """

    centre: Array  # (n,) [rad or m]
    a: Array  # (n, H)
    b: Array  # (n, H)
    period: float  # [s]
    duration: float  # [s], a whole number of periods
    condition: float  # of the base regressor, columns scaled to length 1

    def at(self, t: npt.ArrayLike) -> Motion:
        """Position and derivatives at times (T,) [s]: (T, n) each."""
        return _series(self.centre, self.a, self.b, self.period, np.asarray(t, dtype=np.float64))


def excitation(
    model: RobotModel,
    *,
    duration: float = 30.0,
    period: float = 10.0,
    harmonics: int = 5,
    qd_max: npt.ArrayLike | None = None,
    qdd_max: npt.ArrayLike = math.inf,
    range_share: float = 0.9,
    workspace: Workspace | float | None = None,
    rotors: bool = True,
    tries: int = 20,
    seed: int = 0,
) -> Excitation:
    """The best of `tries` random motions, improved; the same seed gives the same one.

    Positions stay within `range_share` of the model's ranges; speeds within qd_max [rad/s or
    m/s], the model's by default; accelerations within qdd_max. workspace: the height [m] above
    which all link origins stay, or a function of postures (T, n) that is positive outside.
    """
    search = _Search(model, period, harmonics, rotors)
    periods = duration / period
    if not (periods > 0.5 and abs(periods - round(periods)) < 1e-9):
        raise ArgumentError(
            f"duration must be whole periods of {period:g} s, so that the motion ends at rest; "
            f"got {duration!r}"
        )
    search.limit(qd_max, qdd_max, range_share, workspace)
    random = np.random.default_rng(seed)
    starts = [found for found in (search.random(random) for _ in range(tries)) if found[0]]
    if not starts:
        raise ArgumentError(
            f"none of {tries} motions stays within the workspace; widen it, lower range_share, or "
            "give more tries"
        )
    best = min((x for _, x in starts), key=search.condition)
    best = search.improved(best)
    centre, a, b = search.unpacked(best)
    return Excitation(centre, a, b, period, duration, search.condition(best))


class _Search:
    """Motions of one robot as vectors, their condition number, and how to keep limits."""

    def __init__(self, model: RobotModel, period: float, harmonics: int, rotors: bool) -> None:
        if harmonics < 2 or not 0.0 < period < math.inf:
            raise ArgumentError(
                f"it takes 2 harmonics or more and a positive period, got {harmonics}, {period!r}"
            )
        self.model, self.period, self.H, self.rotors = model, period, harmonics, rotors
        self.t = np.linspace(0.0, period, SAMPLES, endpoint=False)
        self.base: BaseParameters = base_parameters(model, rotors=rotors)
        h = np.arange(1.0, harmonics + 1.0)
        self.rest_a, self.rest_b = h / np.linalg.norm(h), h**2 / np.linalg.norm(h**2)

    def limit(
        self,
        qd_max: npt.ArrayLike | None,
        qdd_max: npt.ArrayLike,
        range_share: float,
        workspace: Workspace | float | None,
    ) -> None:
        model = self.model
        if not 0.0 < range_share <= 1.0:
            raise ArgumentError(f"range_share must be above 0 and at most 1, got {range_share!r}")
        low = np.where(np.isfinite(model.q_min), model.q_min, -FULL_TURN)
        high = np.where(np.isfinite(model.q_max), model.q_max, FULL_TURN)
        self.middle, self.reach = 0.5 * (low + high), 0.5 * range_share * (high - low)
        speed = model.qd_max if qd_max is None else _limits(model, "qd_max", qd_max)
        self.qd_max = MARGIN * np.where(np.isfinite(speed), speed, FULL_TURN)
        self.qdd_max = MARGIN * _limits(model, "qdd_max", qdd_max)
        self.workspace: Workspace | None
        if workspace is None or callable(workspace):
            self.workspace = workspace
        else:
            self.workspace = _above(model, float(workspace))

    def unpacked(self, x: Array) -> tuple[Array, Array, Array]:
        """Centre and amplitudes: at rest at the ends, and shrunk into the limits."""
        n, H = self.model.n, self.H
        shift, a, b = x[:n], x[n : n + n * H].reshape(n, H), x[n + n * H :].reshape(n, H)
        # sum h a_h = 0 and sum h^2 b_h = 0: no velocity and no acceleration at t = 0
        a = a - np.outer(a @ self.rest_a, self.rest_a)
        b = b - np.outer(b @ self.rest_b, self.rest_b)
        motion = _series(np.zeros(n), a, b, self.period, self.t)
        top = [np.abs(values).max(axis=0) + 1e-12 for values in motion[:3]]
        room = self.reach / MARGIN - np.abs(np.tanh(shift)) * 0.5 * self.reach
        scale = np.min(
            [MARGIN * room / top[0], self.qd_max / top[1], self.qdd_max / top[2]], axis=0
        )
        scale = np.minimum(scale, 1.0)[:, None]
        return self.middle + 0.5 * self.reach * np.tanh(shift), scale * a, scale * b

    def motion(self, x: Array) -> Motion:
        return _series(*self.unpacked(x), self.period, self.t)

    def condition(self, x: Array) -> float:
        q, qd, qdd, _ = (values[::EVERY] for values in self.motion(x))
        Y = regressor(self.model, q, qd, qdd)
        if self.rotors:
            Y = np.concatenate([Y, rotor_columns(self.model, qdd)], axis=-1)
        A = self.base.regressor(Y).reshape(-1, self.base.rank)
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-12)
        values = np.linalg.eigvalsh(A.T @ A)
        return math.sqrt(values[-1] / max(values[0], 1e-14))

    def outside(self, x: Array) -> float:
        """How far outside the workspace the motion goes, at most."""
        if self.workspace is None:
            return 0.0
        return max(0.0, float(self.workspace(self.motion(x).q[::EVERY])))

    def random(self, random: np.random.Generator) -> tuple[bool, Array]:
        """A motion that fills the limits, and whether it stays within the workspace."""
        n, H = self.model.n, self.H
        x = random.normal(0.0, 1.0, n + 2 * n * H)
        x[:n] *= 0.5
        for _ in range(8):  # a smaller motion about the same posture may do
            if self.outside(x) == 0.0:
                return True, x
            x[n:] *= 0.6
        return False, x

    def improved(self, x: Array) -> Array:
        """A better motion nearby, by a direct search: the condition number has kinks."""

        def cost(candidate: Array) -> float:
            out = self.outside(candidate)
            return math.log(self.condition(candidate)) + (10.0 + out if out > 0.0 else 0.0)

        found = minimize(cost, x, method="Powell", options={"maxiter": 1, "xtol": 0.1})
        return found.x if cost(found.x) < cost(x) else x


def _above(model: RobotModel, floor: float) -> Workspace:
    """Outside is where the origin of a link that can rise and fall is below the floor [m]."""

    def depth(q: Array) -> float:
        height = forward_kinematics(model, q)[..., 2, 3]
        moves = np.ptp(height, axis=0) > 1e-9
        return floor - float(height[:, moves].min(initial=np.inf))

    return depth


def _series(centre: Array, a: Array, b: Array, period: float, t: Array) -> Motion:
    h = np.arange(1.0, a.shape[1] + 1.0)
    w = 2.0 * math.pi / period * h
    s, c = np.sin(np.multiply.outer(t, w)), np.cos(np.multiply.outer(t, w))
    aw, bw = a * w, b * w
    return Motion(
        centre + s @ a.T + c @ b.T,
        c @ aw.T - s @ bw.T,
        -(s @ (aw * w).T + c @ (bw * w).T),
        -(c @ (aw * w * w).T - s @ (bw * w * w).T),
    )


def _limits(model: RobotModel, name: str, value: npt.ArrayLike) -> Array:
    """(n,): positive, infinite where nothing limits it."""
    given = np.asarray(value, dtype=np.float64)
    found = per_joint(model, name, np.where(np.isposinf(given), 1e12, given))
    if not (found > 0.0).all():
        joint = model.joint_names[int(np.argmin(found))]
        raise ArgumentError(f"{name} of joint '{joint}' must be positive, got {found.min():g}")
    return found
