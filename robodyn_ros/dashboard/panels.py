"""Texts of the left panel as HTML: state, fault, guard, torques, legend, first hint."""

from __future__ import annotations

from html import escape

import numpy as np

from ..palette import AMBER, BLUE, GREEN, GREY, LEVEL_COLOURS, ORANGE, RED, SANS, SLATE
from .feed import Feed

NUMBER = "text-align:right;font-variant-numeric:tabular-nums"
HIGH, LIMIT = 0.8, 0.95  # share of a torque limit
# Focus must be visible wherever the Tab key leads; viser's own ring is faint. Boxes keep their
# place when the browser's window is small.
STYLE = f"""<style>
:is(button, input, [role=tab], [role=slider], [role=button], a):focus-visible {{
  outline: 3px solid {BLUE} !important; outline-offset: 1px; }}
#robodyn-hint, #robodyn-state, #robodyn-fault, #robodyn-answer, #robodyn-guard,
.robodyn-box {{ font-family: {SANS}; }}
label {{ color: {SLATE}; }}
[role=tab] {{ color: {SLATE}; }}
.mantine-Button-root[data-variant=outline] {{
  --button-color: {BLUE} !important; --button-bd: 1px solid {BLUE} !important; }}
</style>"""
WATCH = "This page shows the arm, what its detector feels, and what is wrong with it."
HINT = (
    WATCH,
    'Press "Push": the banner at the left turns to COLLISION, names the link, and the arm reacts.',
    "The tabs below hold all controls; Tab and the arrow keys reach each of them.",
)
READ_ONLY_HINT = (
    WATCH,
    "A line of a chart that crosses a dashed one is a contact.",
    "This page is read-only: start it without --read-only to push and to tune.",
)


def hint(read_only: bool) -> str:
    """Return three sentences for who sees the page for the first time."""
    text = " ".join(READ_ONLY_HINT if read_only else HINT)
    style = f"border-left:4px solid {BLUE};padding:2px 10px;margin:2px 10px 8px;font-size:13px"
    return f'<div id="robodyn-hint" role="note" style="{style}">{escape(text)}</div>'


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
    background, colour = LEVEL_COLOURS[level]
    return (
        f'<div id="robodyn-state" data-level="{level}" data-link="{escape(state.link)}" style="'
        f"background:{background};color:{colour};border-radius:8px;padding:7px 16px;"
        'margin:2px 14px 4px 6px">'
        + div("font-size:30px;line-height:1.1;font-weight:800;letter-spacing:.03em", level)
        + div(f"font-size:16px;{ONE_LINE}", escape(text))
        + div(f"font-size:12px;{ONE_LINE}", _contact_line(feed))
        + "</div>"
    )


ONE_LINE = "line-height:1.4;height:1.4em;overflow:hidden;text-overflow:ellipsis;white-space:nowrap"


def fault_banner(feed: Feed) -> str:
    """Return what is wrong with the arm and what to do about it, the payload and the guard; in a
    simulation, the truth.
    """
    fault, lines = feed.fault, []
    if fault.kind:
        colour, mark = (AMBER, "●") if fault.harmless else (RED, "▲")
        title = div(f"font-weight:700;color:{colour}", f"{mark} {escape(fault.text)}")
        lines.append(title + div("", escape(fault.remedy)))
    if feed.mode == "SAFE_HOLD" and feed.reason:
        lines.append(div("", escape(f"safe hold: {feed.reason}")))
    if feed.payload:
        lines.append(div("", escape(f"payload in the model: {feed.payload}")))
    if feed.fresh_guard:
        lines.append(div("", escape(" · ".join(feed.guard.lines()))))
    if feed.injected:
        truth = "in the simulation: " + ", ".join(feed.injected)
        lines.append(div("opacity:.75", escape(truth)))
    style = "font-size:13px;line-height:1.4;padding:0 14px 0 10px;min-height:2.8em"
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
        colour = RED if abs(share) > LIMIT else ORANGE if abs(share) > HIGH else BLUE
        mark = "▲" * ((abs(share) > HIGH) + (abs(share) > LIMIT))
        text = "–" if tau is None else f"{mark}{value:+.1f}"
        range_text = f"±{limit:g}" if np.isfinite(limit) else "no limit"
        spot = "position:absolute;height:100%;"
        bar = div(f"{spot}left:{left:.1f}%;width:{width:.1f}%;background:{colour}")
        bar += div(f"{spot}left:50%;width:1px;background:{GREY}")
        cells = div(
            "flex:1;position:relative;height:8px;background:rgba(128,140,155,.22);"
            "border-radius:4px;overflow:hidden",
            bar,
        )
        cells += div(f"width:60px;{NUMBER}", text) + div("width:48px;opacity:.75", range_text)
        rows.append(row(name, "14px", cells))
    return box(heading("Torque and limits", "N m or N") + "".join(rows))


def legend() -> str:
    """Return what the arrows and colours of the 3-D view mean."""
    marks = (
        (RED, "➡", "estimated force, thick"),
        (GREEN, "→", "true force (simulation), thin"),
        (GREY, "→", "push as chosen"),
        (BLUE, "■", "reference posture"),
    )
    items = (
        f'<span style="white-space:nowrap"><b style="color:{c}">{mark}</b> {text}</span>'
        for c, mark, text in marks
    )
    return box(heading("Arrows and colours", "8 mm per N") + " &nbsp; ".join(items))


def heading(title: str, unit: str, key: str = "") -> str:
    """Return a heading; all arguments are HTML."""
    text = f'{title} <span style="font-weight:400;opacity:.75">[{unit}]</span>'
    parts = div("flex:1;white-space:nowrap", text) + div("font-weight:400;font-size:11px", key)
    style = "display:flex;align-items:baseline;gap:6px;font-size:13px;font-weight:600"
    return div(f"{style};margin:5px 0 2px", parts)


def row(name: str, height: str, cells: str, style: str = "") -> str:
    """Return a row with a name and cells."""
    label = div("width:54px;overflow:hidden;text-overflow:ellipsis", escape(name))
    return div(f"display:flex;align-items:center;gap:8px;height:{height};{style}", label + cells)


def box(content: str) -> str:
    """Return a part of the panel."""
    style = "font-size:12px;line-height:1.45;padding:0 14px 0 6px"
    return f'<div class="robodyn-box" style="{style}">{content}</div>'


def div(style: str, content: str = "") -> str:
    """Return an element with this style."""
    return f'<div style="{style}">{content}</div>'
