"""The figures of a recording's report: residual, tracking error, torque, threshold trade-off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..detection.faults.race import CAUSES
from ..detection.monitor_settings import MonitorSettings, ThresholdSettings
from ..errors import ArgumentError
from ..html_page import LAYOUT, add_line, subplots
from ..model.robot import RobotModel
from ..palette import BLUE, GREY, INK, ORANGE, RED, SKY, THRESHOLD_LINES, joint_line
from .offline import Detection, Event
from .run import Array, Run
from .tuning import MARGIN, SCALES, Tuning

SIGNAL_BUCKETS = 1200  # of a drawn signal, two points each
THRESHOLD_BUCKETS = 300  # of a drawn threshold
MAKERS_TORQUE = "the maker's external torque"
LEAST_CHANCE = 0.01  # of a cause that is drawn
LIMITS_SHOWN_FROM = 60.0  # [%] of the effort limit: below, its lines would flatten the curves


def residual_figure(
    run: Run,
    model: RobotModel,
    r: Array,
    settings: MonitorSettings,
    tuning: Tuning,
    events: Sequence[Event],
    external: Array | None = None,
) -> tuple[Any, list[int]]:
    """Return a panel per joint with its residual r (T, n), the thresholds in use and the
    suggested one, and the indices of the suggested traces; external: the maker's (T, n).
    """
    figure = subplots(model.n)
    suggested = []
    thresholds = [
        ("contact", _thresholds(run, model, settings.contact), *THRESHOLD_LINES["contact"]),
        ("collision", _thresholds(run, model, settings.collision), *THRESHOLD_LINES["collision"]),
        ("suggested contact", _thresholds(run, model, tuning.at(MARGIN).contact), INK, "dot"),
    ]
    for j in range(model.n):
        rows = thinned(r[:, j], SIGNAL_BUCKETS)
        add_line(figure, run.t[rows], r[rows, j], "residual", BLUE, panel=j)
        if external is not None:
            rows = thinned(external[:, j], SIGNAL_BUCKETS)
            add_line(figure, run.t[rows], external[rows, j], MAKERS_TORQUE, SKY, panel=j)
        for name, limit, colour, dash in thresholds:
            x, y = _threshold_line(run.t, limit[:, j])
            shape = {"dash": dash}
            add_line(figure, x, y, name, colour, 1.2, panel=j, shape=shape, hoverinfo="skip")
        suggested.append(len(figure.data) - 1)
    for event in events:
        style = {"fillcolor": RED if event.true is False else GREY, "opacity": 0.18}
        figure.add_vrect(x0=event.start, x1=event.end, line_width=0, layer="below", **style)
    figure.update_layout(height=150 * model.n + 80, **LAYOUT)
    figure.update_xaxes(title_text="time [s]", row=model.n, col=1)
    for j, name in enumerate(model.joint_names):
        figure.update_yaxes(title_text=name, title_standoff=4, row=j + 1, col=1)
    return figure, suggested


def cases_figure(found: Detection) -> Any | None:
    """Return a figure of the probability of each cause over time; None: no case was decided."""
    rows, chances = found.cases.decisions()
    if not rows.size:
        return None
    figure, t = subplots(1), found.t[rows]
    # A case that ended breaks the lines
    ended = np.flatnonzero(np.isnan(chances[:, 0]))
    for j, name in enumerate(CAUSES):
        if not np.nanmax(np.append(chances[:, j], 0.0)) > LEAST_CHANCE:
            continue
        y = [None if k in ended else round(float(x), 4) for k, x in enumerate(chances[:, j])]
        colour, dash = joint_line(j)
        add_line(figure, np.round(t, 3), y, name, colour, 2.0, shape={"dash": dash})
    figure.update_layout(height=300, showlegend=True, **LAYOUT)
    figure.update_xaxes(title_text="time [s]")
    figure.update_yaxes(title_text="probability", range=[-0.02, 1.05])
    return figure


def tracking_figure(run: Run, names: Sequence[str]) -> tuple[Any, Array]:
    """Return a figure of all tracking errors, and the largest of each joint (n,) [rad or m]."""
    if run.reference is None:
        raise ArgumentError("the run has no reference")
    t, q_d = run.reference
    inside = (run.t >= t[0]) & (run.t <= t[-1])
    reference = np.column_stack([np.interp(run.t[inside], t, column) for column in q_d.T])
    error = reference - run.q[inside]
    figure = _overlaid(run.t[inside], 1e3 * error, names, "reference − measured [mrad or mm]")
    return figure, np.abs(error).max(axis=0)


def torque_figure(run: Run, names: Sequence[str], limit: Array) -> Any:
    """Return a figure of all torques; in percent if all joints have a limit (n,)."""
    bounded = bool(np.isfinite(limit).all())
    values = 100.0 * run.tau / limit if bounded else run.tau
    title = "share of the effort limit [%]" if bounded else "torque [N m or N]"
    figure = _overlaid(run.t, values, names, title)
    if bounded and np.abs(values).max() > LIMITS_SHOWN_FROM:
        for side in (-100.0, 100.0):
            figure.add_hline(y=side, line={"color": RED, "width": 1, "dash": "dot"})
    return figure


def trade_off_figure(tuning: Tuning) -> Any:
    """Return false alarms per hour over the threshold scale; the last trace marks the choice."""
    figure = subplots(1, specs=[[{"secondary_y": True}]])
    name, x = "false alarms per hour", SCALES.tolist()
    add_line(figure, x, tuning.alarms.tolist(), name, BLUE, 2.0, shape={"shape": "vh"})
    if tuning.contacts:
        name, y = "known contacts detected [%]", (100.0 * tuning.found / tuning.contacts).tolist()
        add_line(figure, x, y, name, ORANGE, 2.0, shape={"dash": "dot"}, secondary_y=True)
        figure.update_yaxes(
            title_text="detected [%]", range=[0, 105], tickvals=[0, 50, 100], secondary_y=True
        )
    at = int(np.searchsorted(SCALES, MARGIN))
    x, y = [float(SCALES[at])], [float(tuning.alarms[at])]
    marker = {"size": 13, "color": RED, "symbol": "diamond"}
    figure.add_scatter(x=x, y=y, name="chosen", mode="markers", marker=marker)
    figure.update_layout(height=300, **{**LAYOUT, "hovermode": "closest"})
    figure.update_xaxes(title_text="threshold scale (1: no alarm in this run); more sensitive ←")
    figure.update_yaxes(title_text="alarms per hour", rangemode="tozero", secondary_y=False)
    return figure


def thinned(x: Array, buckets: int) -> npt.NDArray[np.int64]:
    """Return the rows of x (T,) to draw: minimum and maximum of each bucket, and both ends."""
    if x.size <= 2 * buckets:
        return np.arange(x.size)
    edges = np.linspace(0, x.size, buckets + 1).astype(np.int64)
    size = int(np.diff(edges).max())
    rows = np.minimum(edges[:-1, None] + np.arange(size), edges[1:, None] - 1)
    parts = x[rows]
    first = np.arange(buckets)
    lowest, highest = rows[first, parts.argmin(axis=1)], rows[first, parts.argmax(axis=1)]
    return np.unique(np.concatenate([lowest, highest, [0, x.size - 1]]))


def _overlaid(t: Array, values: Array, names: Sequence[str], title: str) -> Any:
    figure = subplots(1)
    for j, name in enumerate(names):
        rows = thinned(values[:, j], SIGNAL_BUCKETS)
        colour, dash = joint_line(j)
        add_line(figure, t[rows], values[rows, j], name, colour, 1.2, shape={"dash": dash})
    figure.update_layout(height=330, **LAYOUT)
    figure.update_xaxes(title_text="time [s]")
    figure.update_yaxes(title_text=title)
    return figure


def _thresholds(run: Run, model: RobotModel, limit: ThresholdSettings) -> Array:
    """Return the thresholds (T, n) [N m or N] over the run; (2, n) if they are constant."""
    thresholds = limit.thresholds(model)
    return thresholds.at(run.qd) if thresholds.moving else np.tile(thresholds.base, (2, 1))


def _threshold_line(t: Array, y: Array) -> tuple[list[float | None], list[float | None]]:
    """Return x and y of a threshold: above 0, a gap, and below 0."""
    rows = thinned(y, THRESHOLD_BUCKETS)
    x = np.round(t[rows] if y.size == t.size else t[[0, -1]], 3)
    up = np.round(y[rows], 4)
    return [*x.tolist(), None, *x.tolist()], [*up.tolist(), None, *(-up).tolist()]
