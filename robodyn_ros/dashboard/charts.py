"""Charts of the left panel as SVG. They are pictures: live charts would slow the browser down."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from ..palette import AMBER, BLUE, GREY, INK, RED, THRESHOLD_LINES, joint_line
from .feed import HISTORY_SPAN, Feed
from .panels import NUMBER, box, div, heading, row

Array = npt.NDArray[np.float64]

WIDTH, HEIGHT = 300, 50  # of a chart's own units; it is stretched to its place
RESIDUAL_HEIGHT = "clamp(26px,4.1vh,50px)"  # so that all charts fit on a small screen
ERROR_HEIGHT = "clamp(60px,9vh,100px)"
CHART_TOP = 1.4  # smallest top of a residual chart, times the collision threshold
GRID_SPACING = 2.0  # [s] between vertical lines
BAND = 3.0  # standard deviations of the drawn noise
LEVELS = {"contact": AMBER, "collision": RED}  # colour of their texts on white paper


def residual_charts(feed: Feed) -> str:
    """Return a chart per joint: its residual over time, its noise, and its thresholds."""
    t, r = feed.residual.arrays()
    limits = {level: feed.limits[level].arrays() for level in LEVELS}
    key = "".join(
        f'<span style="color:{LEVELS[level]};white-space:nowrap">'
        f'<svg width="26" height="7"><path d="M0 4H26" stroke="{line}" stroke-width="2" '
        f'stroke-dasharray="{_dash(dash)}"/></svg> {level}</span> '
        for level, (line, dash) in THRESHOLD_LINES.items()
    )
    key += (
        '<span style="white-space:nowrap">'
        f'<span style="background:{GREY};opacity:.4">&emsp;</span> noise ±{BAND:g}σ</span>'
    )
    rows = [heading("Residual", "N m or N", key)]
    for k, name in enumerate(feed.model.joint_names):
        lines = {level: (times, values[:, k]) for level, (times, values) in limits.items()}
        noise = feed.noise
        band = (noise.mean[k], BAND * noise.deviation[k]) if noise.known else None
        rows.append(_residual_row(name, t, r[:, k], lines, band))
    return box("".join(rows))


def error_chart(feed: Feed) -> str:
    """Return one chart with the tracking error of all joints."""
    t, e = feed.error.arrays()
    top = _round_up(1e3 * float(np.abs(e).max(initial=0.0)), smallest=1.0)
    styles = [joint_line(k) for k in range(feed.model.n)]
    lines = [
        _line(t, 1e3 * e[:, k], top, colour, 1.4, _dash(dash))
        for k, (colour, dash) in enumerate(styles)
    ]
    key = " ".join(
        '<span style="white-space:nowrap">'
        f'<svg width="16" height="7"><path d="M0 4H16" stroke="{colour}" stroke-width="2.5" '
        f'stroke-dasharray="{_dash(dash)}"/></svg>{k + 1}</span>'
        for k, (colour, dash) in enumerate(styles)
    )
    return box(
        heading("Tracking error", "mrad or mm", key)
        + _chart_row("", f"±{top:g}", "".join(lines), ERROR_HEIGHT, INK)
    )


def _residual_row(
    name: str,
    t: Array,
    r: Array,
    limits: dict[str, tuple[Array, Array]],
    band: tuple[float, float] | None,
) -> str:
    """Return name, chart, and value with a mark of its level; band: mean and half width."""
    present = {level: float(y[-1]) for level, (_, y) in limits.items() if y.size}
    highest = max((float(y.max()) for _, y in limits.values() if y.size), default=0.0)
    top = _round_up(1.02 * max(float(np.abs(r).max(initial=0.0)), CHART_TOP * highest))
    now = float(r[-1]) if r.size else 0.0
    above = [level for level in LEVELS if level in present and abs(now) > present[level]]
    colour, mark = (LEVELS[above[-1]], "▲" * len(above)) if above else (INK, "")
    lines = ""
    if band is not None:
        middle, half = band
        low, high = _heights(np.array([middle - half, middle + half]), top)
        height = max(low - high, 1.0)
        lines += (
            f'<rect class="noise" x="0" y="{high:.1f}" width="{WIDTH}" height="{height:.1f}" '
            f'fill="{GREY}" opacity=".28"/>'
        )
    for level, (times, y) in limits.items():
        line, dash = THRESHOLD_LINES[level]
        for side in (1.0, -1.0):
            lines += _line(times, side * y, top, line, 1.2, _dash(dash))
    lines += _line(t, r, top, BLUE, 1.6)
    return _chart_row(name, f"{mark}{now:+.2f}", lines, RESIDUAL_HEIGHT, colour)


def _chart_row(name: str, value: str, lines: str, height: str, colour: str) -> str:
    times = np.arange(GRID_SPACING, HISTORY_SPAN, GRID_SPACING)
    grid = "".join(f"M{x:.1f} 0V{HEIGHT}" for x in WIDTH * (1.0 - times / HISTORY_SPAN))
    chart = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" style="flex:1;'
        f'min-width:0;height:100%;background:rgba(128,140,155,.08);border-radius:5px">'
        f'<path d="M0 {HEIGHT / 2}H{WIDTH}{grid}" stroke="rgba(128,140,155,.28)" '
        f'vector-effect="non-scaling-stroke"/>{lines}</svg>'
    )
    number = div(f"width:60px;{NUMBER};font-weight:600;color:{colour}", escape(value))
    return row(name, height, chart + number, "margin:0 0 2px")


def _line(t: Array, values: Array, top: float, colour: str, width: float, dash: str = "") -> str:
    if t.size < 2:
        return ""
    x, y = WIDTH * (1.0 + t / HISTORY_SPAN), _heights(values, top)
    dashes = f'stroke-dasharray="{dash}" ' if dash else ""
    if np.ptp(y) < 0.05:  # a straight line: two points
        x, y = x[[0, -1]], y[[0, -1]]
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        f'{dashes}stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
    )


def _dash(dash: str) -> str:
    """Return a dash of the palette as SVG names it."""
    return "" if dash == "solid" else dash.replace("px", "")


def _heights(values: Array, top: float) -> Array:
    """Return the y coordinates of values between -top and top; y points down."""
    return np.asarray(0.5 * HEIGHT * (1.0 - np.clip(values / top, -1.1, 1.1)))


def _round_up(value: float, smallest: float = 1e-3) -> float:
    """Round to a value of few digits, so that the scale does not flicker."""
    value = max(value, smallest)
    unit = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0])
    return float(unit * steps[np.searchsorted(steps, value / unit - 1e-9)])
