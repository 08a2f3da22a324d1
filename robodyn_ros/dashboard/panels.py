"""HTML and SVG of the left panel: state, residuals, tracking error, torque.

The charts are made here as pictures: a dozen live charts of a browser's chart library would keep
it busier than drawing the arm does.
"""

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
FONT = "12px system-ui,sans-serif"
NAME = '<div style="width:54px;overflow:hidden;text-overflow:ellipsis">{}</div>'


def state_banner(feed: Feed) -> str:
    """Return the state in large letters, with link and force, and the last contact."""
    fresh = feed.fresh("detector") and feed.fresh("state")
    state = feed.detector
    level = state.level if fresh else "UNKNOWN"
    if not fresh:
        text = "no data: no messages from the nodes"
    elif state.touched:
        text = f"{state.link or 'link unknown'} · {state.force:.0f} N"
    else:
        mode = feed.mode.lower().replace("_", " ")
        text = state.reason or (f"arm: {mode}" if mode else "")
    return (
        f'<div id="robodyn-state" data-level="{level}" data-link="{escape(state.link)}" style="'
        f"background:{LEVEL_COLOURS[level]};color:#fff;border-radius:10px;padding:12px 18px;"
        'font-family:system-ui,sans-serif;margin:2px 14px 6px 6px">'
        f'<div style="font-size:34px;line-height:1.1;font-weight:800;letter-spacing:.03em">'
        f"{level}</div>"
        f'<div style="font-size:17px;line-height:1.4;min-height:1.4em">{escape(text)}</div>'
        f'<div style="font-size:12px;line-height:1.4;min-height:1.4em;opacity:.9">'
        f"{escape(_contact_line(feed))}</div></div>"
    )


def _contact_line(feed: Feed) -> str:
    """Return the joints above their threshold, or the last contact."""
    if feed.detector.touched and feed.detector.joints:
        return "above threshold: " + ", ".join(feed.detector.joints.split())
    if feed.contact is None:
        return "no contact yet"
    state, age = feed.contact.state, feed.clock() - feed.contact.begun
    where = state.link or "unknown link"
    return f"last: {state.level} on {where}, {state.force:.0f} N, {age:.0f} s ago"


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
        rows.append(
            '<div style="display:flex;align-items:center;gap:8px;height:17px">'
            + NAME.format(escape(name))
            + '<div style="flex:1;position:relative;height:9px;background:rgba(128,140,155,.22);'
            'border-radius:4px;overflow:hidden">'
            f'<div style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:100%;'
            f'background:{colour}"></div><div style="position:absolute;left:50%;width:1px;'
            'height:100%;background:rgba(100,110,125,.7)"></div></div>'
            f'<div style="width:48px;text-align:right;font-variant-numeric:tabular-nums">{text}'
            f'</div><div style="width:44px;opacity:.6">{range_text}</div></div>'
        )
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
    return (
        '<div style="font:12px/1.6 system-ui,sans-serif;padding:2px 6px 10px">'
        + _heading("Arrows and colours", "8 mm per N")
        + " &nbsp; ".join(items)
        + "</div>"
    )


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
        low = None if contact is None else float(contact[k])
        high = None if collision is None else float(collision[k])
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


def _residual_row(name: str, t: Array, r: Array, low: float | None, high: float | None) -> str:
    """Return a joint's name, its chart, and its value in the colour of its level."""
    top = _round_up(1.02 * max(float(np.abs(r).max(initial=0.0)), CHART_TOP * (high or 0.0)))
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
    return (
        f'<div style="display:flex;align-items:center;gap:8px;height:{height}px;margin:0 0 3px">'
        + NAME.format(escape(name))
        + f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" style="flex:1;'
        f'min-width:0;height:100%;background:rgba(128,140,155,.08);border-radius:5px">'
        f'<path d="M0 {height / 2}H{WIDTH}{grid}" stroke="rgba(128,140,155,.28)" '
        f'vector-effect="non-scaling-stroke"/>{lines}</svg>'
        '<div style="width:46px;text-align:right;font-variant-numeric:tabular-nums;'
        f'font-weight:600;color:{colour}">{escape(value)}</div></div>'
    )


def _line(t: Array, values: Array, top: float, height: int, colour: str, width: float) -> str:
    if t.size < 2:
        return ""
    x = WIDTH * (1.0 + t / HISTORY_SPAN)
    y = _heights(values, top, height)
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
    """Return a heading; the key is HTML."""
    return (
        '<div style="display:flex;font:600 13px system-ui,sans-serif;margin:8px 0 4px">'
        f'<div style="flex:1">{escape(title)} <span style="font-weight:400;opacity:.6">'
        f'[{escape(unit)}]</span></div><div style="font:11px/18px system-ui,sans-serif">{key}'
        "</div></div>"
    )


def _box(content: str, bottom: int = 0) -> str:
    return f'<div style="font:{FONT};padding:0 14px {bottom}px 6px">{content}</div>'
