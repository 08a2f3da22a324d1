"""plot_trajectory: position, velocity, acceleration and jerk over time, with limits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .trajectory import Array, MotionLimits, Trajectory, for_each_joint, names_of

SAMPLES = 1000  # per line
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
    """Return a matplotlib Figure of four panels, one line per joint, limits dashed.

    Limits are one number or one per joint; position and velocity limits default to the model's.
    The figure is not shown: save it with `savefig`.
    """
    n = trajectory.n
    limits = MotionLimits.of(n, qd_max, qdd_max, qddd_max, model)
    labels = names_of(n, model) if names is None else tuple(names)
    if len(labels) != n:
        raise ArgumentError(f"{n} joints move, {len(labels)} names are given: {labels}")
    if model is not None:
        q_min = model.q_min if q_min is None else q_min
        q_max = model.q_max if q_max is None else q_max
    bounds = [(for_each_joint("q_min", q_min, n), for_each_joint("q_max", q_max, n))]
    bounds += [(-bound, bound) for bound in (limits.qd_max, limits.qdd_max, limits.qddd_max)]
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
