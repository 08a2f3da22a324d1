"""The state banner, and torque against limits, as HTML."""

from __future__ import annotations

from html import escape

import numpy as np

from .feed import Feed

COLOURS = {
    "UNKNOWN": "#7b8794",
    "CLEAR": "#149a5b",
    "CONTACT": "#f08c00",
    "COLLISION": "#d92626",
}
QUIET = "no data: the nodes are silent"


def banner(feed: Feed) -> str:
    """The state in large letters, with link and force, and what was last touched."""
    live = feed.alive("word") and feed.alive("state")
    word = feed.word
    level = word.level if live and word.level in COLOURS else "UNKNOWN"
    if not live:
        told = QUIET
    elif word.touched:
        told = f"{word.link or 'cannot tell where'} · {word.force:.0f} N"
    else:
        told = word.reason or (f"arm: {feed.mode.lower().replace('_', ' ')}" if feed.mode else "")
    return (
        f'<div id="robodyn-state" data-level="{level}" data-link="{escape(word.link)}" style="'
        f"background:{COLOURS[level]};color:#fff;border-radius:10px;padding:12px 18px;"
        'font-family:system-ui,sans-serif;margin:2px 14px 6px 6px">'
        f'<div style="font-size:34px;line-height:1.1;font-weight:800;letter-spacing:.03em">'
        f"{level}</div>"
        f'<div style="font-size:17px;line-height:1.4;min-height:1.4em">{escape(told)}</div>'
        f'<div style="font-size:12px;line-height:1.4;min-height:1.4em;opacity:.9">'
        f"{escape(_latest(feed))}</div></div>"
    )


def _latest(feed: Feed) -> str:
    """Who feels the touch, or the last one in one line."""
    if feed.word.touched and feed.word.joints:
        return "felt by " + ", ".join(feed.word.joints.split())
    if feed.touch is None:
        return "not touched yet"
    word, ago = feed.touch.word, feed.clock() - feed.touch.begun
    where = word.link or "?"
    return f"last: {word.level} on {where}, {word.force:.0f} N, {ago:.0f} s ago"


def torque_bars(feed: Feed) -> str:
    """Each joint's torque between its limits."""
    tau = feed.tau if feed.tau is not None and feed.alive("state") else None
    rows = []
    for k, name in enumerate(feed.model.joint_names):
        limit = float(feed.model.tau_max[k])
        value = float(tau[k]) if tau is not None else 0.0
        share = float(np.clip(value / limit, -1.0, 1.0)) if np.isfinite(limit) and limit else 0.0
        left, width = 50.0 + 50.0 * min(share, 0.0), 50.0 * abs(share)
        colour = "#d92626" if abs(share) > 0.95 else "#f08c00" if abs(share) > 0.8 else "#3b7ddd"
        text = "–" if tau is None else f"{value:+.1f}"
        most = f"±{limit:g}" if np.isfinite(limit) else "no limit"
        rows.append(
            '<div style="display:flex;align-items:center;gap:8px;height:17px">'
            f'<div style="width:54px;overflow:hidden;text-overflow:ellipsis">{escape(name)}</div>'
            '<div style="flex:1;position:relative;height:9px;background:rgba(128,140,155,.22);'
            'border-radius:4px;overflow:hidden">'
            f'<div style="position:absolute;left:{left:.1f}%;width:{width:.1f}%;height:100%;'
            f'background:{colour}"></div><div style="position:absolute;left:50%;width:1px;'
            'height:100%;background:rgba(100,110,125,.7)"></div></div>'
            f'<div style="width:48px;text-align:right;font-variant-numeric:tabular-nums">{text}'
            f'</div><div style="width:44px;opacity:.6">{most}</div></div>'
        )
    return (
        '<div style="font:12px system-ui,sans-serif;padding:0 14px 6px 6px">'
        + heading("Torque against limits", "N m or N")
        + "".join(rows)
        + "</div>"
    )


def heading(title: str, unit: str, key: str = "") -> str:
    """A heading above charts; the key is HTML."""
    return (
        '<div style="display:flex;font:600 13px system-ui,sans-serif;margin:8px 0 4px">'
        f'<div style="flex:1">{escape(title)} <span style="font-weight:400;opacity:.6">'
        f'[{escape(unit)}]</span></div><div style="font:11px/18px system-ui,sans-serif">{key}'
        "</div></div>"
    )


def arrows_key() -> str:
    """What is drawn in 3-D besides the arm."""
    marks = (
        ("#d92626", "estimated force"),
        ("#12965a", "true force (simulation)"),
        ("#7b8794", "push to come"),
        ("#4091ff", "where the arm should be"),
    )
    items = (
        f'<span style="white-space:nowrap"><span style="color:{c}">●</span> {t}</span>'
        for c, t in marks
    )
    return (
        '<div style="font:12px/1.6 system-ui,sans-serif;padding:2px 6px 10px">'
        + heading("In the picture", "8 mm per N")
        + " &nbsp; ".join(items)
        + "</div>"
    )
