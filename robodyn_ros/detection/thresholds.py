"""Thresholds of the residual that follow the motion.

    threshold = base + in_motion tanh(|qd| / speed) + per_velocity |qd| + per_acceleration |qdd|

per joint. Model errors set in with motion (dry friction) and grow with speed (viscous friction)
and acceleration (inertia), so a threshold that follows them can be far lower at rest than a fixed
one that stays quiet in motion.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError

Array = npt.NDArray[np.float64]

SPEED = 0.02  # [rad/s or m/s], above which a joint counts as moving


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Thresholds (n,) [N m or N] and their growth with motion."""

    base: Any
    in_motion: Any = 0.0  # [N m or N], added once a joint moves faster than `speed`
    per_velocity: Any = 0.0  # [N m s/rad or N s/m]
    per_acceleration: Any = 0.0  # [kg m^2 or kg]
    speed: float = SPEED  # [rad/s or m/s]
    moving: bool = field(init=False)  # whether velocity or acceleration matter

    def __post_init__(self) -> None:
        base = _numbers("base", self.base)
        object.__setattr__(self, "base", base)
        if not 0.0 < self.speed < np.inf:
            raise ArgumentError(f"speed must be positive and finite, got {self.speed!r}")
        for name in ("in_motion", "per_velocity", "per_acceleration"):
            value = _numbers(name, getattr(self, name))
            if value.size not in (1, base.size):
                raise ArgumentError(f"{name} must be one number or {base.size}, got {value.size}")
            object.__setattr__(self, name, np.broadcast_to(value, base.shape).copy())
        moves = self.in_motion.any() or self.per_velocity.any() or self.per_acceleration.any()
        object.__setattr__(self, "moving", bool(moves))

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.base.size)

    def at(self, qd: npt.ArrayLike | None = None, qdd: npt.ArrayLike | None = None) -> Array:
        """Return the thresholds at these velocities and accelerations, (n,) or (T, n)."""
        limit = self.base
        if qd is not None and self.moving:
            rate = np.abs(qd)
            limit = limit + self.in_motion * np.tanh(rate / self.speed) + self.per_velocity * rate
        if qdd is not None and self.moving:
            limit = limit + self.per_acceleration * np.abs(qdd)
        return np.asarray(limit)

    def scaled(self, factor: float) -> "Thresholds":
        """Return all thresholds times a factor."""
        return Thresholds(
            factor * self.base,
            factor * self.in_motion,
            factor * self.per_velocity,
            factor * self.per_acceleration,
            self.speed,
        )

    def above(self, noise: Array) -> "Thresholds":
        """Return thresholds that also cover an independent noise with these peaks (n,)."""
        return replace(self, base=np.hypot(self.base, noise)) if noise.any() else self


def as_thresholds(name: str, value: Any, n: int) -> Thresholds:
    """Return `Thresholds` from one number for all joints, one each, or `Thresholds`."""
    if not isinstance(value, Thresholds):
        base = _numbers(name, value)
        if base.size not in (1, n):
            raise ArgumentError(f"{name} must be one number or {n}, got {base.size}")
        value = Thresholds(np.broadcast_to(base, (n,)).copy())
    if value.n != n:
        raise ArgumentError(f"{name} has thresholds of {value.n} joints, not {n}")
    return value


def calibrate(
    residuals: Sequence[npt.ArrayLike],
    velocities: Sequence[npt.ArrayLike],
    accelerations: Sequence[npt.ArrayLike] | None = None,
    *,
    times: Sequence[npt.ArrayLike] | None = None,
    alarms_per_hour: float = 0.0,
    margin: float = 1.2,
    speed: float = SPEED,
) -> Thresholds:
    """Return the lowest thresholds that stay quiet on motion without contact.

    Each log gives residuals (T, n) [N m or N], velocities (T, n), and accelerations if thresholds
    should follow them. `alarms_per_hour`: accepted false alarms; needs `times` [s]. `margin`:
    factor for motions that were not recorded.
    """
    if not margin >= 1.0:
        raise ArgumentError(f"margin must be at least 1, got {margin!r}")
    r = np.vstack([np.abs(np.asarray(x, dtype=float)) for x in residuals])
    qd = np.vstack([np.abs(np.asarray(x, dtype=float)) for x in velocities])
    features = [np.ones_like(r), np.tanh(qd / speed), qd]
    if accelerations is not None:
        features.append(np.vstack([np.abs(np.asarray(x, dtype=float)) for x in accelerations]))
    if r.shape != qd.shape or any(f.shape != r.shape for f in features):
        raise ArgumentError("residuals, velocities and accelerations must have the same shapes")
    if not all(np.isfinite(x).all() for x in (r, *features)):
        raise ArgumentError("a log to calibrate from must be finite; drop its bad samples first")
    admitted = 0
    if alarms_per_hour > 0.0:
        if times is None:
            raise ArgumentError("alarms_per_hour needs the times of the logs")
        hours = sum(float(np.ptp(np.asarray(t))) for t in times) / 3600.0
        admitted = int(alarms_per_hour * hours)
    columns = []
    for k in range(r.shape[1]):
        columns.append(_lowest_cover([f[:, k] for f in features], r[:, k], admitted))
    weights = margin * np.array(columns).T
    if len(features) < 4:
        weights = np.vstack([weights, np.zeros(r.shape[1])])
    return Thresholds(weights[0], weights[1], weights[2], weights[3], speed)


def _lowest_cover(features: list[Array], r: Array, admitted: int) -> Array:
    """Return weights w >= 0 with w . features >= r in all samples but `admitted` moments, and a
    small mean: a linear program, solved on the samples that become active. Moments are left out
    one by one; without any, the mean is the smallest.
    """
    F = np.column_stack(features)
    keep = np.ones(r.size, dtype=bool)
    weights = _solve_cover(F, r)
    for _ in range(admitted):
        over = F @ weights - r
        over[~keep] = np.inf
        worst = int(np.argmin(over))
        keep[max(worst - 50, 0) : worst + 51] = False  # one moment, not one sample
        if not keep.any():
            break
        weights = _solve_cover(F[keep], r[keep])
    return weights


def _solve_cover(F: Array, r: Array) -> Array:
    cost = F.mean(axis=0)
    active = [int(np.argmax(r))]
    weights = np.zeros(F.shape[1])
    for _ in range(200):
        weights = _best_vertex(F[active], r[active], cost)
        gap = F @ weights - r
        worst = int(np.argmin(gap))
        if gap[worst] >= -1e-12 * max(1.0, r[worst]):
            break
        active.append(worst)
    return weights


def _best_vertex(A: Array, b: Array, cost: Array) -> Array:
    """Return the w that minimizes cost . w with A w >= b, w >= 0, by trying all vertices."""
    n = cost.size
    rows = np.vstack([A, np.eye(n)])
    sides = np.concatenate([b, np.zeros(n)])
    best, lowest = np.full(n, np.nan), np.inf
    for chosen in combinations(range(len(rows)), n):
        M = rows[list(chosen)]
        if abs(np.linalg.det(M)) < 1e-14:
            continue
        w = np.linalg.solve(M, sides[list(chosen)])
        if np.all(rows @ w >= sides - 1e-9 * (1.0 + np.abs(sides))) and cost @ w < lowest:
            best, lowest = np.maximum(w, 0.0), float(cost @ w)
    return best


def _numbers(name: str, value: Any) -> Array:
    try:
        array = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be numbers, got {value!r}") from None
    if array.ndim != 1 or not np.isfinite(array).all() or (array < 0.0).any():
        raise ArgumentError(f"{name} must be finite and not negative, got {value!r}")
    return array
