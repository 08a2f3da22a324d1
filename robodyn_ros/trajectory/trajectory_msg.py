"""Trajectories from and to points as in trajectory_msgs/JointTrajectory, without ROS."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from .piecewise import PiecewisePolynomial, hermite
from .trajectory import Array, Trajectory

FIELDS = ("positions", "velocities", "accelerations")


@dataclass(frozen=True)
class TrajectoryPoint:
    """One point of a trajectory message; unknown derivatives are empty."""

    positions: Sequence[float]  # (n,) [rad or m]
    velocities: Sequence[float] = ()  # (n,) [rad/s or m/s]
    accelerations: Sequence[float] = ()  # (n,) [rad/s^2 or m/s^2]
    time_from_start: float = 0.0  # [s]


def to_points(
    trajectory: Trajectory, dt: float, joint_names: Sequence[str]
) -> tuple[tuple[str, ...], list[TrajectoryPoint]]:
    """Return the joint names, and points every dt [s] with velocities and accelerations."""
    names = _distinct(joint_names)
    if len(names) != trajectory.n:
        raise ArgumentError(f"{trajectory.n} joints move, {len(names)} names are given: {names}")
    t, motion = trajectory.sample(dt)
    rows = zip(*(x.tolist() for x in motion[:3]), t.tolist(), strict=True)
    return names, [TrajectoryPoint(tuple(q), tuple(v), tuple(a), at) for q, v, a, at in rows]


def from_points(
    names: Sequence[str],
    points: Iterable[Any],
    *,
    joint_names: Sequence[str] | None = None,
    start: Sequence[npt.ArrayLike] | None = None,
) -> PiecewisePolynomial:
    """Return the motion through points, joints in the order of `joint_names` (default: `names`).

    points: `TrajectoryPoint`s or messages with the same fields; names: their joints. Between two
    points the motion is a line if one of them has positions only, a cubic if both have velocities,
    a quintic if both have accelerations too, as in ros2_control's joint trajectory controller. If
    the first point is not at time 0, the motion begins at `start`: the present q, or q and qd, or
    q, qd and qdd, in the order of `joint_names`; otherwise start is ignored. After the last point
    the motion rests, even if that point has a velocity.
    """
    given = _distinct(names)
    order = _order(given, given if joint_names is None else _distinct(joint_names))
    knots = [_knot(k, point, given, order) for k, point in enumerate(points)]
    if not knots:
        raise ArgumentError("a trajectory needs points; the list is empty")
    if knots[0][0] > 0.0:
        ordered = [given[j] for j in order]
        knots.insert(0, (0.0, _start(start, knots[0][0], ordered)))
    times = np.array([t for t, _ in knots])
    _check_times(times)
    return PiecewisePolynomial(times, _pieces(times, [known for _, known in knots]))


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise ArgumentError(f"joint names must differ; more than once: {', '.join(repeated)}")
    return tuple(names)


def _order(given: tuple[str, ...], wanted: tuple[str, ...]) -> list[int]:
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in given if name not in wanted]
    if missing or unknown:
        raise ArgumentError(
            "the trajectory must name all joints and no others; missing: "
            f"{', '.join(missing) or '-'}; unknown: {', '.join(unknown) or '-'}"
        )
    return [given.index(name) for name in wanted]


def _knot(k: int, point: Any, given: tuple[str, ...], order: list[int]) -> tuple[float, Array]:
    """Return time [s], and position and known derivatives (1 to 3, n) in the wanted order."""
    lists = [getattr(point, field) for field in FIELDS]
    count = next((i for i, values in enumerate(lists) if len(values) == 0), len(lists))
    if count == 0:
        raise ArgumentError(f"point {k} has no positions")
    if count == 1 and len(lists[2]):
        raise ArgumentError(f"point {k} has accelerations but no velocities: give both")
    known = np.empty((count, len(given)))
    for row, field, values in zip(known, FIELDS, lists, strict=False):
        if len(values) != row.size:
            raise ArgumentError(
                f"{field} of point {k} must be {row.size} numbers, got {len(values)}"
            )
        row[:] = values
    if not np.isfinite(known).all():
        i, j = np.argwhere(~np.isfinite(known))[0]
        raise ArgumentError(
            f"{FIELDS[i]} of point {k} must be finite; joint '{given[j]}' has {known[i, j]}"
        )
    return _seconds(point.time_from_start), known[:, order]


def _seconds(time: Any) -> float:
    return float(time.sec) + 1e-9 * time.nanosec if hasattr(time, "nanosec") else float(time)


def _start(start: Sequence[npt.ArrayLike] | None, first: float, names: list[str]) -> Array:
    if start is None:
        raise ArgumentError(
            f"the first point is at {first:g} s: give `start`, the present positions (and "
            "velocities)"
        )
    known = [np.asarray(x, dtype=np.float64) for x in start[: len(FIELDS)]]
    if not known:
        raise ArgumentError("start must hold the positions at least")
    for values in known:
        if values.shape != (len(names),):
            raise ArgumentError(f"start must be {len(names)} numbers, got shape {values.shape}")
        if not np.isfinite(values).all():
            j = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ArgumentError(f"start must be finite; joint '{names[j]}' has {values[j]}")
    return np.array(known)


def _check_times(times: Array) -> None:
    if not np.isfinite(times).all() or times[0] < 0.0:
        raise ArgumentError(f"time_from_start must be finite and not negative [s], got {times}")
    steps = np.diff(times)
    if not (steps > 0.0).all():
        k = int(np.flatnonzero(~(steps > 0.0))[0])
        raise ArgumentError(
            f"times must increase from point to point [s]; {times[k]:g} s is followed by "
            f"{times[k + 1]:g} s"
        )
    if times.size < 2:
        raise ArgumentError("one point at time 0 is no motion: give a later one")


def _pieces(times: Array, knots: list[Array]) -> Array:
    """Return coefficients (P, n, 6) from the derivatives that both ends of a piece have."""
    known = np.array([len(knot) for knot in knots])
    shared = np.minimum(known[:-1], known[1:])
    values = np.zeros((len(knots), len(FIELDS), knots[0].shape[1]))
    for value, knot in zip(values, knots, strict=True):
        value[: len(knot)] = knot
    pieces = np.zeros((shared.size, values.shape[2], 2 * len(FIELDS)))
    for r in set(shared.tolist()):
        pieces[shared == r, :, : 2 * r] = hermite(times, values[:, :r])[shared == r]
    return pieces
