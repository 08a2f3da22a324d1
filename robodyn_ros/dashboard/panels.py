"""HTML and SVG of the left panel. Charts are pictures: live charts would slow the browser down."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from .feed import HISTORY_SPAN, Feed

Array = npt.NDArray[np.float64]

RED, ORANGE, GREEN, BLUE, GREY = "#d92626", "#f08c00", "#149a5b", "#1f6feb", "#7b8794"
TEXT = "#1b2733"
LEVEL_COLOURS = {"UNKNOWN": GREY, "CLEAR": GREEN, "CONTACT": ORANGE, "COLLISION": RED}
# Distinguishable also with colour blindness (Okabe and Ito)
JOINT_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8a8d91")
WIDTH, HEIGHT, ERROR_HEIGHT = 300, 50, 96  # of a chart; its width is stretched to the panel's
CHART_TOP = 1.4  # smallest top of a residual chart, times the collision threshold
GRID_SPACING = 2.0  # [s] between vertical lines
NUMBER = "text-align:right;font-variant-numeric:tabular-nums"


def state_banner(feed: Feed) -> str:
    """Return the state in large letters, with link and force, and the last contact."""
    fresh, state = feed.fresh("detector") and feed.fresh("state"), feed.detector
    level = state.level if fresh else "UNKNOWN"
    if not fresh:
        text = "no data: no messages from the nodes"
    elif state.touched:
        text = f"{state.place or 'link unknown'} · {_force(state.force)}"
    else:
        mode = feed.mode.lower().replace("_", " ")
        text = state.reason or (f"arm: {mode}" if mode else "")
    return (
        f'<div id="robodyn-state" data-level="{level}" data-link="{escape(state.link)}" style="'
        f"background:{LEVEL_COLOURS[level]};color:#fff;border-radius:10px;padding:12px 18px;"
        'font-family:system-ui,sans-serif;margin:2px 14px 6px 6px">'
        + _div("font-size:34px;line-height:1.1;font-weight:800;letter-spacing:.03em", level)
        + _div("font-size:17px;line-height:1.4;min-height:1.4em", escape(text))
        + _div("font-size:12px;line-height:1.4;min-height:1.4em;opacity:.9", _contact_line(feed))
        + "</div>"
    )


def fault_banner(feed: Feed) -> str:
    """Return what is wrong with the arm and what to do about it; in a simulation, the truth."""
    fault, lines = feed.fault, []
    if fault.kind:
        colour = ORANGE if fault.harmless else RED
        title = _div(f"font-weight:700;color:{colour}", escape(fault.text))
        lines.append(title + _div("", escape(fault.remedy)))
    if feed.mode == "SAFE_HOLD" and feed.reason:
        lines.append(_div("", escape(f"safe hold: {feed.reason}")))
    if feed.payload:
        lines.append(_div("", escape(f"payload in the model: {feed.payload}")))
    if feed.injected:
        truth = "in the simulation: " + ", ".join(feed.injected)
        lines.append(_div("opacity:.65", escape(truth)))
    style = "font:13px/1.45 system-ui,sans-serif;padding:2px 14px 2px 10px;min-height:3em"
    kind = escape(fault.kind)
    return f'<div id="robodyn-fault" data-kind="{kind}" style="{style}">{"".join(lines)}</div>'


def _contact_line(feed: Feed) -> str:
    """Return the joints above their threshold, or the last contact, as HTML."""
    if feed.detector.touched and feed.detector.joints:
        return "above threshold: " + escape(", ".join(feed.detector.joints.split()))
    if feed.contact is None:
        return "no contact yet"
    state, age = feed.contact.state, feed.clock() - feed.contact.begun
    where = escape(state.place) or "unknown link"
    return f"last: {state.level} on {where}, {_force(state.force)}, {age:.0f} s ago"


def _force(force: float) -> str:
    """Return a force [N] in words; NaN is unknown."""
    return f"{force:.0f} N" if force > 0.0 else "force unknown"


def torque_bars(feed: Feed) -> str:
    """Return a bar per joint: its torque between its limits."""
    tau = feed.tau if feed.tau is not None and feed.fresh("state") else None
    rows = []
    for k, name in enumerate(feed.model.joint_names):
        limit = float(feed.model.tau_max[k])
        value = float(tau[k]) if tau is not None else 0.0
        share = float(np.clip(value / limit, -1.0, 1.0)) if np.isfinite(limit) and limit else 0.0
        left, width = 50.0 + 50.0 * min(share, 0.0), 50.0 * abs(share)
        colour = RED if abs(share) > 0.95 else ORANGE if abs(share) > 0.8 else "#3b7ddd"
        text = "–" if tau is None else f"{value:+.1f}"
        range_text = f"±{limit:g}" if np.isfinite(limit) else "no limit"
        spot = "position:absolute;height:100%;"
        bar = _div(f"{spot}left:{left:.1f}%;width:{width:.1f}%;background:{colour}")
        bar += _div(f"{spot}left:50%;width:1px;background:rgba(100,110,125,.7)")
        cells = _div(
            "flex:1;position:relative;height:9px;background:rgba(128,140,155,.22);"
            "border-radius:4px;overflow:hidden",
            bar,
        )
        cells += _div(f"width:48px;{NUMBER}", text) + _div("width:44px;opacity:.6", range_text)
        rows.append(_row(name, 17, cells))
    return _box(_heading("Torque and limits", "N m or N") + "".join(rows), bottom=6)


def legend() -> str:
    """Return the colours of what the 3-D view shows besides the arm."""
    marks = (
        (RED, "estimated force"),
        ("#12965a", "true force (simulation)"),
        (GREY, "push as chosen"),
        ("#4091ff", "reference posture"),
    )
    items = (
        f'<span style="white-space:nowrap"><span style="color:{c}">●</span> {t}</span>'
        for c, t in marks
    )
    content = _heading("Arrows and colours", "8 mm per N") + " &nbsp; ".join(items)
    return _div("font:12px/1.6 system-ui,sans-serif;padding:2px 6px 10px", content)


def residual_charts(feed: Feed) -> str:
    """Return a chart per joint: its residual over time between its thresholds."""
    t, r = feed.residual.arrays()
    contact, collision = (feed.thresholds(level) for level in ("contact", "collision"))
    key = (
        f'<span style="color:{ORANGE}">╌ contact</span> '
        f'<span style="color:{RED}">╌ collision</span> (at rest)'
    )
    rows = [_heading("Residual of each joint", "N m or N", key)]
    for k, name in enumerate(feed.model.joint_names):
        low, high = (0.0 if x is None else float(x[k]) for x in (contact, collision))
        rows.append(_residual_row(name, t, r[:, k], low, high))
    return _box("".join(rows))


def error_chart(feed: Feed) -> str:
    """Return one chart with the tracking error of all joints."""
    t, e = feed.error.arrays()
    top = _round_up(1e3 * float(np.abs(e).max(initial=0.0)), smallest=1.0)
    colours = [JOINT_COLOURS[k % len(JOINT_COLOURS)] for k in range(feed.model.n)]
    lines = [_line(t, 1e3 * e[:, k], top, ERROR_HEIGHT, c, 1.3) for k, c in enumerate(colours)]
    key = " ".join(f'<span style="color:{c}">■ {k + 1}</span>' for k, c in enumerate(colours))
    return _box(
        _heading("Tracking error", "mrad or mm", key)
        + _chart_row("", f"±{top:g}", "".join(lines), ERROR_HEIGHT, TEXT)
    )


def _residual_row(name: str, t: Array, r: Array, low: float, high: float) -> str:
    """Return name, chart, and value in the colour of its level; thresholds 0: unknown."""
    top = _round_up(1.02 * max(float(np.abs(r).max(initial=0.0)), CHART_TOP * high))
    now = float(r[-1]) if r.size else 0.0
    levels = ((high, RED), (low, ORANGE))
    colour = next((c for limit, c in levels if limit and abs(now) > limit), TEXT)
    dashes = "".join(
        f'<path d="M0 {y:.1f}H{WIDTH}" stroke="{c}" stroke-width="1" stroke-dasharray="5 4" '
        'vector-effect="non-scaling-stroke"/>'
        for limit, c in levels
        if limit
        for y in _heights(np.array([limit, -limit]), top, HEIGHT)
    )
    lines = dashes + _line(t, r, top, HEIGHT, BLUE, 1.5)
    return _chart_row(name, f"{now:+.2f}", lines, HEIGHT, colour)


def _chart_row(name: str, value: str, lines: str, height: int, colour: str) -> str:
    times = np.arange(GRID_SPACING, HISTORY_SPAN, GRID_SPACING)
    grid = "".join(f"M{x:.1f} 0V{height}" for x in WIDTH * (1.0 - times / HISTORY_SPAN))
    chart = (
        f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" style="flex:1;'
        f'min-width:0;height:100%;background:rgba(128,140,155,.08);border-radius:5px">'
        f'<path d="M0 {height / 2}H{WIDTH}{grid}" stroke="rgba(128,140,155,.28)" '
        f'vector-effect="non-scaling-stroke"/>{lines}</svg>'
    )
    number = _div(f"width:46px;{NUMBER};font-weight:600;color:{colour}", escape(value))
    return _row(name, height, chart + number, "margin:0 0 3px")


def _line(t: Array, values: Array, top: float, height: int, colour: str, width: float) -> str:
    if t.size < 2:
        return ""
    x, y = WIDTH * (1.0 + t / HISTORY_SPAN), _heights(values, top, height)
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        'stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
    )


def _heights(values: Array, top: float, height: int) -> Array:
    """Return the y coordinates of values between -top and top; y points down."""
    return np.asarray(0.5 * height * (1.0 - np.clip(values / top, -1.1, 1.1)))


def _round_up(value: float, smallest: float = 1e-3) -> float:
    """Round to a value of few digits, so that the scale does not flicker."""
    value = max(value, smallest)
    unit = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0])
    return float(unit * steps[np.searchsorted(steps, value / unit - 1e-9)])


def _heading(title: str, unit: str, key: str = "") -> str:
    """Return a heading; all arguments are HTML."""
    text = f'{title} <span style="font-weight:400;opacity:.6">[{unit}]</span>'
    parts = _div("flex:1", text) + _div("font:11px/18px system-ui,sans-serif", key)
    return _div("display:flex;font:600 13px system-ui,sans-serif;margin:8px 0 4px", parts)


def _row(name: str, height: int, cells: str, style: str = "") -> str:
    label = _div("width:54px;overflow:hidden;text-overflow:ellipsis", escape(name))
    return _div(
        f"display:flex;align-items:center;gap:8px;height:{height}px;{style}", label + cells
    )


def _box(content: str, bottom: int = 0) -> str:
    return _div(f"font:12px system-ui,sans-serif;padding:0 14px {bottom}px 6px", content)


def _div(style: str, content: str = "") -> str:
    return f'<div style="{style}">{content}</div>'
