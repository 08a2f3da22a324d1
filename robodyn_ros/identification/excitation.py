"""excitation(): a motion that excites all of a robot's parameters, and files of it.

    q(t) = centre + sum_h a_h sin(h w t) + b_h cos(h w t),     w = 2 pi / period

Such a motion is periodic and band-limited, and has exact derivatives. Among those within the
limits the search minimizes the condition number of the base regressor [Swevers1997], so that
noise affects all combinations of parameters alike.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from ..dynamics.base_parameters import base_parameters
from ..dynamics.dispatch import per_joint
from ..dynamics.kinematics import forward_kinematics
from ..dynamics.motion import Motion
from ..dynamics.regressor import regressor, rotor_columns
from ..errors import ArgumentError, positive
from ..model.robot import RobotModel
from ..sensing.log import Array

Workspace = Callable[[Array], float]  # of postures (T, n): positive if one lies outside

LIMIT_SAMPLES = 240  # per period, at which the limits are checked
CONDITION_STEP = 4  # every this many of them count for the condition number and the workspace
UNLIMITED_RANGE = math.pi  # [rad or m] or [rad/s or m/s], where the model has no limit
MARGIN = 0.98  # share of each limit that is used: the motion may peak between samples
SHRINK_STEPS, SHRINK_FACTOR = 8, 0.6  # attempts to fit a motion into the workspace


@dataclass(frozen=True, eq=False)
class Excitation:
    """Periodic motion from rest to rest: `Fourier(centre, a, b, 1 / period, duration)`."""

    centre: Array  # (n,) [rad or m]
    a: Array  # (n, H) [rad or m]
    b: Array  # (n, H) [rad or m]
    period: float  # [s]
    duration: float  # [s], a whole number of periods
    condition: float  # condition number of the base regressor, columns of length 1

    def at(self, t: npt.ArrayLike) -> Motion:
        """Return position and derivatives (T, n) each at times t (T,) [s]."""
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
    """Return the best of `tries` random motions, improved by a local search.

    duration and period [s]. Positions stay within `range_share` of the model's joint ranges,
    velocities within qd_max [rad/s or m/s] (default: the model's), accelerations within qdd_max
    [rad/s^2 or m/s^2]. workspace: the height [m] above which all link origins stay, or a function
    of postures (T, n) that is positive outside. rotors: whether rotor inertias count as unknowns.
    seed: random seed.
    """
    if harmonics < 2 or not 0.0 < period < math.inf:
        raise ArgumentError(
            f"excitation needs at least 2 harmonics and a positive period, got {harmonics}, "
            f"{period!r}"
        )
    periods = duration / period
    if not (periods > 0.5 and abs(periods - round(periods)) < 1e-9):
        raise ArgumentError(
            f"duration must be whole periods of {period:g} s, so that the motion ends at rest; "
            f"got {duration!r}"
        )
    if not 0.0 < range_share <= 1.0:
        raise ArgumentError(f"range_share must be above 0 and at most 1, got {range_share!r}")
    if workspace is not None and not callable(workspace):
        workspace = _above_floor(model, float(workspace))
    speed = model.qd_max if qd_max is None else _limits(model, "qd_max", qd_max)
    search = _Search(
        model,
        period,
        harmonics,
        rotors,
        range_share,
        MARGIN * np.where(np.isfinite(speed), speed, UNLIMITED_RANGE),
        MARGIN * _limits(model, "qdd_max", qdd_max),
        workspace,
    )
    random = np.random.default_rng(seed)
    starts = [x for x in (search.random(random) for _ in range(tries)) if x is not None]
    if not starts:
        raise ArgumentError(
            f"none of {tries} motions stays within the workspace; widen it, lower range_share, or "
            "give more tries"
        )
    best = search.improve(min(starts, key=search.condition))
    centre, a, b = search.unpack(best)
    return Excitation(centre, a, b, period, duration, search.condition(best))


@dataclass(eq=False)
class _Search:
    """Motions of one robot as vectors x, with their limits and condition numbers."""

    model: RobotModel
    period: float  # [s]
    H: int
    rotors: bool
    range_share: float
    qd_max: Array  # (n,) [rad/s or m/s]
    qdd_max: Array  # (n,) [rad/s^2 or m/s^2]
    workspace: Workspace | None

    def __post_init__(self) -> None:
        model = self.model
        self.t = np.linspace(0.0, self.period, LIMIT_SAMPLES, endpoint=False)
        self.base = base_parameters(model, rotors=self.rotors)
        h = np.arange(1.0, self.H + 1.0)
        self.rest_a, self.rest_b = h / np.linalg.norm(h), h**2 / np.linalg.norm(h**2)
        low = np.where(np.isfinite(model.q_min), model.q_min, -UNLIMITED_RANGE)
        high = np.where(np.isfinite(model.q_max), model.q_max, UNLIMITED_RANGE)
        self.middle, self.reach = 0.5 * (low + high), 0.5 * self.range_share * (high - low)

    def unpack(self, x: Array) -> tuple[Array, Array, Array]:
        """Return centre and amplitudes: at rest at the ends, scaled into the limits."""
        n, H = self.model.n, self.H
        shift, a, b = x[:n], x[n : n + n * H].reshape(n, H), x[n + n * H :].reshape(n, H)
        # sum h a_h = 0 and sum h^2 b_h = 0: no velocity and no acceleration at t = 0
        a = a - np.outer(a @ self.rest_a, self.rest_a)
        b = b - np.outer(b @ self.rest_b, self.rest_b)
        motion = _series(np.zeros(n), a, b, self.period, self.t)
        peak = [np.abs(values).max(axis=0) + 1e-12 for values in motion[:3]]
        room = self.reach / MARGIN - np.abs(np.tanh(shift)) * 0.5 * self.reach
        scale = np.min(
            [MARGIN * room / peak[0], self.qd_max / peak[1], self.qdd_max / peak[2]], axis=0
        )
        scale = np.minimum(scale, 1.0)[:, None]
        return self.middle + 0.5 * self.reach * np.tanh(shift), scale * a, scale * b

    def motion(self, x: Array) -> Motion:
        return _series(*self.unpack(x), self.period, self.t)

    def condition(self, x: Array) -> float:
        """Return the condition number of the base regressor, columns of length 1."""
        q, qd, qdd, _ = (values[::CONDITION_STEP] for values in self.motion(x))
        Y = regressor(self.model, q, qd, qdd)
        if self.rotors:
            Y = np.concatenate([Y, rotor_columns(self.model, qdd)], axis=-1)
        A = self.base.regressor(Y).reshape(-1, self.base.rank)
        A = A / np.maximum(np.linalg.norm(A, axis=0), 1e-12)
        values = np.linalg.eigvalsh(A.T @ A)
        return math.sqrt(values[-1] / max(values[0], 1e-14))

    def outside(self, x: Array) -> float:
        """Return the largest excursion from the workspace; 0 if the motion stays inside."""
        if self.workspace is None:
            return 0.0
        return max(0.0, float(self.workspace(self.motion(x).q[::CONDITION_STEP])))

    def random(self, random: np.random.Generator) -> Array | None:
        """Return a random motion that uses the limits, or None if it leaves the workspace."""
        n, H = self.model.n, self.H
        x = random.normal(0.0, 1.0, n + 2 * n * H)
        x[:n] *= 0.5
        for _ in range(SHRINK_STEPS):
            if self.outside(x) == 0.0:
                return x
            x[n:] *= SHRINK_FACTOR
        return None

    def improve(self, x: Array) -> Array:
        """Return a better motion nearby, by a direct search: the condition number has kinks."""

        def cost(candidate: Array) -> float:
            out = self.outside(candidate)
            return math.log(self.condition(candidate)) + (10.0 + out if out > 0.0 else 0.0)

        found = minimize(cost, x, method="Powell", options={"maxiter": 1, "xtol": 0.1})
        return found.x if cost(found.x) < cost(x) else x


def _above_floor(model: RobotModel, floor: float) -> Workspace:
    """Return a workspace that keeps link origins which can change height above the floor [m]."""

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
    given = np.asarray(value, dtype=np.float64)
    found = per_joint(model, name, np.where(np.isposinf(given), 1e12, given))
    if not (found > 0.0).all():
        joint = model.joint_names[int(np.argmin(found))]
        raise ArgumentError(f"{name} of joint '{joint}' must be positive, got {found.min():g}")
    return found


def write_motion(
    motion: Excitation, joint_names: Sequence[str], path: str | PathLike[str], rate: float = 100.0
) -> None:
    """Write the motion at `rate` [Hz]: .csv a table, .yaml or .yml a JointTrajectory."""
    positive("rate", rate, "Hz")
    target = Path(path)
    writers = {".csv": _csv, ".yaml": _yaml, ".yml": _yaml}
    if target.suffix not in writers:
        raise ArgumentError(f"'{target}' must end in .csv or .yaml, which sets the format")
    t = np.linspace(0.0, motion.duration, round(motion.duration * rate) + 1)
    try:
        target.write_text(writers[target.suffix](motion, joint_names, t), encoding="utf-8")
    except OSError as reason:
        raise ArgumentError(f"cannot write '{target}': {reason.strerror}") from None


def _csv(motion: Excitation, joint_names: Sequence[str], t: np.ndarray) -> str:
    q, qd, qdd, _ = motion.at(t)
    names = ["t", *(f"{symbol}_{joint}" for symbol in ("q", "qd", "qdd") for joint in joint_names)]
    table = np.round(np.column_stack([t, q, qd, qdd]), 9) + 0.0  # no -0
    rows = (",".join(f"{x:.9g}" for x in row) for row in table)
    return "\n".join([",".join(names), *rows]) + "\n"


def _yaml(motion: Excitation, joint_names: Sequence[str], t: np.ndarray) -> str:
    lines = [f"joint_names: {json.dumps(list(joint_names))}", "points:"]
    for time, q, qd, qdd in zip(t, *motion.at(t)[:3], strict=True):
        sec, nanosec = divmod(round(1e9 * time), 10**9)
        lines += [
            f"- positions: {_numbers(q)}",
            f"  velocities: {_numbers(qd)}",
            f"  accelerations: {_numbers(qdd)}",
            f"  time_from_start: {{sec: {sec}, nanosec: {nanosec}}}",
        ]
    return "\n".join(lines) + "\n"


def _numbers(values: np.ndarray) -> str:
    return "[" + ", ".join(f"{x:.9f}" for x in np.round(values, 9) + 0.0) + "]"
