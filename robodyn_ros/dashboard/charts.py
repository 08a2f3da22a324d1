"""Charts as SVG: the residual of each joint between its thresholds, and the tracking error.

They are pictures made here: a dozen live charts of a browser's chart library keep it busier than
the arm itself does.
"""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

from .banner import heading
from .feed import Feed
from .history import SPAN

Array = npt.NDArray[np.float64]

LINE, CONTACT, COLLISION = "#1f6feb", "#f08c00", "#d92626"
# Told apart also by those who do not see all colours (Okabe and Ito)
JOINTS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#8a8d91")
WIDTH, HEIGHT, TALL = 300, 50, 96  # units of a chart; its width is stretched to the panel's
LEAST = 1.4  # times the collision threshold that a chart shows at least
SECONDS = 2.0  # [s] between vertical lines


def residual_charts(feed: Feed) -> str:
    """A row per joint."""
    t, r = feed.residual.arrays()
    contact, collision = (feed.thresholds(level) for level in ("contact", "collision"))
    rows = [
        heading("Residual of each joint", "N m or N", _key()),
        *(
            _residual_row(name, t, r[:, k], _at(contact, k), _at(collision, k))
            for k, name in enumerate(feed.model.joint_names)
        ),
    ]
    return _box("".join(rows))


def error_chart(feed: Feed) -> str:
    """All joints in one chart."""
    t, e = feed.error.arrays()
    top = _round_up(1e3 * float(np.abs(e).max(initial=0.0)), least=1.0)
    lines = [
        _line(t, 1e3 * e[:, k], top, TALL, JOINTS[k % len(JOINTS)], 1.3) for k in range(e.shape[1])
    ]
    key = " ".join(
        f'<span style="color:{JOINTS[k % len(JOINTS)]}">■ {k + 1}</span>'
        for k in range(feed.model.n)
    )
    return _box(
        heading("Tracking error", "mrad or mm", key)
        + _row("", f"±{top:g}", "".join(lines), TALL, "#1b2733")
    )


def _residual_row(name: str, t: Array, r: Array, low: float | None, high: float | None) -> str:
    """One joint: its name, its residual over time, and its value in the colour of its level."""
    most = max(float(np.abs(r).max(initial=0.0)), LEAST * (high or 0.0))
    top = _round_up(1.02 * most)
    now = float(r[-1]) if r.size else 0.0
    levels = ((high, COLLISION), (low, CONTACT))
    colour = next((c for limit, c in levels if limit and abs(now) > limit), "#1b2733")
    dashes = "".join(
        f'<path d="M0 {y:.1f}H{WIDTH}" stroke="{c}" stroke-width="1" stroke-dasharray="5 4" '
        'vector-effect="non-scaling-stroke"/>'
        for limit, c in levels
        if limit
        for y in _heights(np.array([limit, -limit]), top, HEIGHT)
    )
    return _row(name, f"{now:+.2f}", dashes + _line(t, r, top, HEIGHT, LINE, 1.5), HEIGHT, colour)


def _row(name: str, value: str, inside: str, height: int, colour: str) -> str:
    ticks = "".join(
        f"M{x:.1f} 0V{height}" for x in WIDTH * (1.0 - np.arange(SECONDS, SPAN, SECONDS) / SPAN)
    )
    return (
        f'<div style="display:flex;align-items:center;gap:8px;height:{height}px;margin:0 0 3px">'
        f'<div style="width:54px;overflow:hidden;text-overflow:ellipsis">{escape(name)}</div>'
        f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" style="flex:1;'
        f'min-width:0;height:100%;background:rgba(128,140,155,.08);border-radius:5px">'
        f'<path d="M0 {height / 2}H{WIDTH}{ticks}" stroke="rgba(128,140,155,.28)" '
        f'vector-effect="non-scaling-stroke"/>{inside}</svg>'
        '<div style="width:46px;text-align:right;font-variant-numeric:tabular-nums;'
        f'font-weight:600;color:{colour}">{escape(value)}</div></div>'
    )


def _line(t: Array, values: Array, top: float, height: int, colour: str, width: float) -> str:
    if t.size < 2:
        return ""
    x = WIDTH * (1.0 + t / SPAN)
    y = _heights(values, top, height)
    points = " ".join(f"{a:.0f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}" '
        'stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
    )


def _heights(values: Array, top: float, height: int) -> Array:
    """From values between -top and top to places in a chart, from above."""
    return np.asarray(0.5 * height * (1.0 - np.clip(values / top, -1.1, 1.1)))


def _round_up(value: float, least: float = 1e-3) -> float:
    """To one digit or so, so that a scale does not flicker."""
    value = max(value, least)
    unit = 10.0 ** np.floor(np.log10(value))
    steps = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0])
    return float(unit * steps[np.searchsorted(steps, value / unit - 1e-9)])


def _at(limits: Array | None, k: int) -> float | None:
    return None if limits is None else float(limits[k])


def _key() -> str:
    return (
        f'<span style="color:{CONTACT}">╌ contact</span> '
        f'<span style="color:{COLLISION}">╌ collision</span> (at rest)'
    )


def _box(inside: str) -> str:
    return f'<div style="font:12px system-ui,sans-serif;padding:0 14px 0 6px">{inside}</div>'
