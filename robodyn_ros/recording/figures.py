"""The drawings of a report, by plotly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..detection.monitor_settings import ThresholdSettings
from ..errors import ArgumentError
from .events import Event
from .offline import Watched
from .run import Array, Run
from .thinning import thinned
from .tuning import MARGIN, SCALES, Tuning

LINE = 1200  # buckets of a drawn line, two points each
LIMIT = 300  # of a threshold
COLOURS = ("#2a6fb0", "#e07b39", "#2e8b57", "#c0392b", "#7d5ba6", "#8c6d46", "#d466a8", "#64748b")
BLUE, ORANGE, RED, GREEN, SHADE = "#2a6fb0", "#d68910", "#c0392b", "#2e8b57", "#94a3b8"
LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "margin": {"l": 62, "r": 16, "t": 28, "b": 42},
    "font": {"family": "system-ui, sans-serif", "size": 12, "color": "#1d2733"},
    "hovermode": "x unified",
    "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
}


def subplots(rows: int, **options: Any) -> Any:
    """Panels below each other, or what to do where plotly is missing."""
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise ArgumentError("reports need plotly: pip install 'robodyn_ros[bags]'") from None
    return make_subplots(rows=rows, cols=1, shared_xaxes=True, **options)


def residual_figure(
    run: Run, watched: Watched, tuning: Tuning, happened: Sequence[Event]
) -> tuple[Any, list[int]]:
    """A row per joint with thresholds in use and suggested; which traces the suggested are."""
    names, n = watched.model.joint_names, watched.model.n
    figure = subplots(n, vertical_spacing=0.12 / n)
    suggested = []
    for j in range(n):
        row = {"row": j + 1, "col": 1}
        rows = thinned(watched.r[:, j], LINE)
        figure.add_scatter(
            x=_small(run.t[rows]),
            y=_small(watched.r[rows, j]),
            name="residual",
            mode="lines",
            line={"color": BLUE, "width": 1},
            legendgroup="r",
            showlegend=j == 0,
            **row,
        )
        lines = (
            ("contact", watched.settings.contact, ORANGE, "solid"),
            ("collision", watched.settings.collision, RED, "solid"),
            ("suggested contact", tuning.at(MARGIN).contact, GREEN, "dash"),
        )
        for name, limit, colour, dash in lines:
            x, y = _limit(run, watched, limit, j)
            figure.add_scatter(
                x=x,
                y=y,
                name=name,
                mode="lines",
                line={"color": colour, "width": 1.2, "dash": dash},
                legendgroup=name,
                showlegend=j == 0,
                hoverinfo="skip",
                **row,
            )
        suggested.append(len(figure.data) - 1)
    for event in happened:
        colour = RED if event.true is False else SHADE
        figure.add_vrect(
            x0=event.t, x1=event.end, fillcolor=colour, opacity=0.18, line_width=0, layer="below"
        )
    figure.update_layout(height=150 * n + 80, **LAYOUT)
    figure.update_xaxes(title_text="time [s]", row=n, col=1)
    for j, name in enumerate(names):
        figure.update_yaxes(title_text=name, title_standoff=4, row=j + 1, col=1)
    return figure, suggested


def tracking_figure(run: Run, names: Sequence[str]) -> tuple[Any, Array]:
    """The tracking error of all joints, and its largest [rad or m]."""
    if run.reference is None:
        raise ArgumentError("the run has no reference")
    when, wanted = run.reference
    inside = (run.t >= when[0]) & (run.t <= when[-1])
    at = np.column_stack([np.interp(run.t[inside], when, column) for column in wanted.T])
    error = at - run.q[inside]
    figure = _overlaid(run.t[inside], 1e3 * error, names, "wanted − measured [mrad or mm]")
    return figure, np.abs(error).max(axis=0)


def torque_figure(run: Run, names: Sequence[str], limit: Array) -> Any:
    """Torque as a share of its limit, or as it is where there is none."""
    bounded = bool(np.isfinite(limit).all())
    values = 100.0 * run.tau / limit if bounded else run.tau
    figure = _overlaid(
        run.t, values, names, "share of the limit [%]" if bounded else "torque [N m or N]"
    )
    if bounded and np.abs(values).max() > 60.0:
        for side in (-100.0, 100.0):
            figure.add_hline(y=side, line={"color": RED, "width": 1, "dash": "dot"})
    return figure


def trade_off_figure(tuning: Tuning) -> Any:
    """False alarms an hour against the scale of the thresholds; the last trace is a marker."""
    figure = subplots(1, specs=[[{"secondary_y": True}]])
    figure.add_scatter(
        x=SCALES.tolist(),
        y=tuning.alarms.tolist(),
        name="false alarms an hour",
        line={"color": BLUE, "width": 2, "shape": "vh"},
    )
    if tuning.contacts:
        figure.add_scatter(
            x=SCALES.tolist(),
            y=(100.0 * tuning.found / tuning.contacts).tolist(),
            name="known contacts told [%]",
            line={"color": GREEN, "width": 2, "dash": "dot"},
            secondary_y=True,
        )
        figure.update_yaxes(
            title_text="told [%]", range=[0, 105], tickvals=[0, 50, 100], secondary_y=True
        )
    at = int(np.searchsorted(SCALES, MARGIN))
    figure.add_scatter(
        x=[float(SCALES[at])],
        y=[float(tuning.alarms[at])],
        name="chosen",
        mode="markers",
        marker={"size": 13, "color": RED, "symbol": "diamond"},
    )
    figure.update_layout(height=300, **{**LAYOUT, "hovermode": "closest"})
    figure.update_xaxes(title_text="thresholds, times those that are just quiet: more sensitive ←")
    figure.update_yaxes(title_text="alarms an hour", rangemode="tozero", secondary_y=False)
    return figure


def as_html(figure: Any, name: str, with_code: bool = False) -> str:
    """A drawing as a part of a page; plotly's own code goes with the first."""
    from plotly.io import to_html

    return str(
        to_html(
            figure,
            include_plotlyjs=with_code,
            full_html=False,
            div_id=name,
            # No button that sends the recording somewhere
            config={"displaylogo": False, "showSendToCloud": False, "responsive": True},
        )
    )


def _overlaid(t: Array, values: Array, names: Sequence[str], title: str) -> Any:
    """All joints in one panel."""
    figure = subplots(1)
    for j, name in enumerate(names):
        rows = thinned(values[:, j], LINE)
        colour = COLOURS[j % len(COLOURS)]
        figure.add_scatter(
            x=_small(t[rows]),
            y=_small(values[rows, j]),
            name=name,
            mode="lines",
            line={"color": colour, "width": 1},
        )
    figure.update_layout(height=330, **LAYOUT)
    figure.update_xaxes(title_text="time [s]")
    figure.update_yaxes(title_text=title)
    return figure


def _limit(run: Run, watched: Watched, limit: ThresholdSettings, j: int) -> tuple[Any, Any]:
    """The line of a threshold, above and below 0 with a gap between."""
    thresholds = limit.thresholds(watched.model)
    if thresholds.moving:
        values = thresholds.at(run.qd)[:, j]
        rows = thinned(values, LIMIT)
        t, y = run.t[rows], values[rows]
    else:
        t, y = run.t[[0, -1]], np.full(2, thresholds.base[j])
    x = [*np.round(t, 3).tolist(), None, *np.round(t, 3).tolist()]
    up = np.round(y, 4)
    return x, [*up.tolist(), None, *(-up).tolist()]


def _small(values: Array) -> Any:
    """Half the bytes; a drawing needs no more."""
    return np.asarray(values, dtype=np.float32)
