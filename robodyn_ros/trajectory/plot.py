"""plot_trajectory: position, velocity, acceleration and jerk over time, with their limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .trajectory import Array, MotionLimits, Trajectory, names_of

SAMPLES = 1000
PANELS = (
    "position\n[rad or m]",
    "velocity\n[rad/s or m/s]",
    "acceleration\n[rad/s² or m/s²]",
    "jerk\n[rad/s³ or m/s³]",
)


def plot_trajectory(
    trajectory: Trajectory,
    *,
    q_min: npt.ArrayLike | None = None,
    q_max: npt.ArrayLike | None = None,
    qd_max: npt.ArrayLike | None = None,
    qdd_max: npt.ArrayLike | None = None,
    qddd_max: npt.ArrayLike | None = None,
    model: RobotModel | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """A matplotlib Figure of four panels, one line per joint; limits dashed in its colour.

    Limits are one number or one per joint; positions and velocities come from the model if they
    are not given. Nothing is shown: save the figure with `savefig`.
    """
    n = trajectory.n
    limits = MotionLimits.of(n, qd_max, qdd_max, qddd_max, model)
    labels = tuple(names) if names is not None else names_of(n, model)
    if len(labels) != n:
        raise ArgumentError(f"{n} joints move, {len(labels)} names are given: {labels}")
    low = _bounds("q_min", q_min, None if model is None else model.q_min, n)
    high = _bounds("q_max", q_max, None if model is None else model.q_max, n)
    bounds = [(low, high)] + [
        (-bound, bound) for bound in (limits.qd_max, limits.qdd_max, limits.qddd_max)
    ]
    t, motion = trajectory.sample(trajectory.duration / SAMPLES)
    figure = _figure()
    rows = figure.subplots(4, 1, sharex=True)
    for axes, values, pair, label in zip(rows, motion, bounds, PANELS, strict=True):
        _draw(axes, t, values, pair, labels)
        axes.set_ylabel(label)
    rows[-1].set_xlabel("time [s]")
    figure.legend(*rows[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    return figure


def _figure() -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise RobodynError("plots need matplotlib: pip install matplotlib") from None
    return Figure(figsize=(9.0, 9.0), layout="constrained")


def _bounds(name: str, value: npt.ArrayLike | None, default: Array | None, n: int) -> Array:
    """(n,), not a number where there is no bound."""
    given = default if value is None else value
    try:
        numbers = np.asarray(np.nan if given is None else given, dtype=np.float64)
        return np.array(np.broadcast_to(numbers, (n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be one number or {n}, got {value!r}") from None


def _draw(
    axes: Any, t: Array, values: Array, bounds: tuple[Array, Array], names: tuple[str, ...]
) -> None:
    for j, name in enumerate(names):
        (line,) = axes.plot(t, values[:, j], color=f"C{j}", label=name)
        for bound in (bounds[0][j], bounds[1][j]):
            if np.isfinite(bound):
                axes.axhline(bound, color=line.get_color(), linestyle="--", linewidth=0.8)
    axes.grid(alpha=0.25)
    axes.margins(x=0.0)
