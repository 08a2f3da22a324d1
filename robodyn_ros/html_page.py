"""HTML pages that need no other file and no network: the builder that all reports share.

Text is escaped here, so that callers pass names from files as they are. Figures are drawn by
plotly, whose code goes into the page once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from . import palette
from .errors import ArgumentError

# The browser blocks every request; plotly compiles its drawing code at run time.
OFFLINE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
COLOURS = f"""
:root {{ --ink: {palette.INK}; --soft: {palette.SOFT}; --line: {palette.LINE};
        --paper: {palette.PAPER}; --ground: {palette.GROUND}; --accent: {palette.BLUE};
        --bad: {palette.RED}; --warn: {palette.AMBER}; --sans: {palette.SANS};
        --mono: {palette.MONO}; }}
"""
STYLE = """
* { box-sizing: border-box; }
body { font: 15px/1.5 var(--sans); margin: 0; color: var(--ink); background: var(--ground); }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.65rem; margin: .2rem 0 .1rem; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
h3 { font-size: 1rem; margin: .6rem 0 .3rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); }
section, header { background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
                  padding: 1.1rem 1.3rem; margin: 0 0 1.1rem; overflow-x: auto; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
         gap: .7rem 1.2rem; margin-top: .9rem; }
.facts b { display: block; font-size: 1.05rem; font-weight: 600; }
.facts span { color: var(--soft); font-size: .8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
td { white-space: nowrap; }
th { color: var(--soft); font-weight: 600; font-size: .82rem; }
td.text, th.text { text-align: left; white-space: normal; }
.COLLISION, .missed, .alarm { color: var(--bad); font-weight: 600; }
.CONTACT, .held-out { color: var(--warn); font-weight: 600; }
.warning { border-left: 4px solid var(--warn); color: var(--warn); background: var(--ground);
           padding: .4rem .8rem; border-radius: 6px; }
.bar { background: linear-gradient(to right, color-mix(in srgb, var(--accent) 22%, transparent)
       var(--share), transparent var(--share)); }
.cards { display: grid; gap: .8rem 2.5rem;
         grid-template-columns: repeat(auto-fill, minmax(min(32rem, 100%), 1fr)); }
.cards > div { overflow-x: auto; } .cards td { padding: .12rem .5rem; }
details { margin: .8rem 0; } summary { cursor: pointer; color: var(--accent); }
pre { background: var(--ink); color: var(--ground); padding: 1rem; border-radius: 8px;
      overflow-x: auto; font: 13px/1.45 var(--mono); margin: .4rem 0; }
button { font: inherit; padding: .35rem .8rem; border-radius: 6px; border: 1px solid var(--line);
         background: var(--ground); cursor: pointer; }
button:hover { border-color: var(--accent); }
button.on { background: var(--accent); color: var(--paper); border-color: var(--accent); }
input[type=range] { width: 100%; accent-color: var(--accent); }
.row { display: flex; gap: .7rem; align-items: center; flex-wrap: wrap; }
.big { font-size: 1.3rem; font-weight: 600; }
@media print { button { display: none; } }
"""

LAYOUT: dict[str, Any] = {
    "template": "plotly_white",
    "margin": {"l": 72, "r": 16, "t": 28, "b": 42},
    "font": {"family": palette.SANS, "size": 12, "color": palette.INK},
    "hovermode": "x unified",
    "legend": {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
}
# Without the button that uploads the figure
FIGURE_OPTIONS = {"displaylogo": False, "showSendToCloud": False, "responsive": True}


@dataclass(frozen=True)
class Cell:
    """A table cell with CSS classes; with a share (0 to 1), a bar is drawn behind its text."""

    text: str
    classes: str = ""
    share: float | None = None


def page(title: str, *parts: str) -> str:
    """Return the whole page as text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{COLOURS}{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def header(title: str, notes: Iterable[str], facts: Iterable[tuple[str, str]]) -> str:
    """Return the top of a page: its title, notes, and (name, value) pairs in a grid."""
    cells = (
        f"<div><span>{escape(name)}</span><b>{escape(value)}</b></div>" for name, value in facts
    )
    grid = f'<div class="facts">{"".join(cells)}</div>'
    return f"<header><h1>{escape(title)}</h1>{''.join(map(note, notes))}{grid}</header>"


def section(heading: str, *parts: str) -> str:
    """Return a part of the page below a heading."""
    return f"<section><h2>{escape(heading)}</h2>{''.join(parts)}</section>"


def note(text: str) -> str:
    """Return a paragraph in a soft colour."""
    return f'<p class="soft">{escape(text)}</p>'


def table(head: Sequence[str], rows: Iterable[Sequence[str | Cell]], text: int = 1) -> str:
    """Return a table whose first `text` columns are words, the others numbers."""

    def line(cells: Sequence[str | Cell], tag: str) -> str:
        shown = []
        for k, cell in enumerate(cells):
            if isinstance(cell, str):
                cell = Cell(cell)
            names, style = ["text"] * (k < text) + [cell.classes] * bool(cell.classes), ""
            if cell.share is not None:
                names.append("bar")
                style = f' style="--share:{100.0 * min(cell.share, 1.0):.1f}%"'
            shown.append(f'<{tag} class="{" ".join(names)}"{style}>{escape(cell.text)}</{tag}>')
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{body}</tbody></table>"


def data_script(name: str, text: str) -> str:
    """Return a script element that holds JSON for the page's own scripts to read."""
    safe = text.replace("<", "\\u003c")  # nothing inside can end the element
    return f'<script type="application/json" id="{name}">{safe}</script>'


def subplots(rows: int, **options: Any) -> Any:
    """Return an empty plotly figure with panels below each other and one time axis."""
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise ArgumentError("figures need plotly: pip install plotly") from None
    return make_subplots(
        rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.12 / rows, **options
    )


def add_line(
    figure: Any,
    x: Any,
    y: Any,
    name: str,
    colour: str,
    width: float = 1.0,
    *,
    panel: int | None = None,
    fast: bool = False,
    shape: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Add a line in single precision to a figure, or to a panel of it; fast: by WebGL."""
    if isinstance(x, np.ndarray):
        x, y = np.asarray(x, np.float32), np.asarray(y, np.float32)
    if panel is not None:
        options |= {"row": panel + 1, "col": 1, "legendgroup": name, "showlegend": panel == 0}
    line = {"color": colour, "width": width, **(shape or {})}
    add = figure.add_scattergl if fast else figure.add_scatter
    add(x=x, y=y, name=name, mode="lines", line=line, **options)


def plotly_script() -> str:
    """Return plotly's own code; a page needs it once, before its figures."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def figure_html(figure: Any, name: str) -> str:
    """Return a figure as an element with this id."""
    from plotly.io import to_html

    options = {"include_plotlyjs": False, "full_html": False, "config": FIGURE_OPTIONS}
    return str(to_html(figure, div_id=name, **options))
