"""One HTML page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..identification.report import OFFLINE

STYLE = """
:root { --ink: #1d2733; --soft: #5d6b7a; --line: #dfe5ec; --paper: #fff; --ground: #f3f5f8;
        --accent: #2a6fb0; --bad: #c0392b; --good: #2e8b57; --warn: #d68910; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; margin: 0;
       color: var(--ink); background: var(--ground); }
main { max-width: 78rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.65rem; margin: .2rem 0 .1rem; }
h2 { font-size: 1.15rem; margin: 0 0 .6rem; }
p { margin: .4rem 0; } .soft { color: var(--soft); }
section, header { background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
                  padding: 1.1rem 1.3rem; margin: 0 0 1.1rem; overflow-x: auto; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
         gap: .7rem 1.2rem; margin-top: .9rem; }
.facts b { display: block; font-size: 1.05rem; font-weight: 600; }
.facts span { color: var(--soft); font-size: .8rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
td, th { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; font-size: .82rem; }
td.text, th.text { text-align: left; }
.COLLISION, .missed, .alarm { color: var(--bad); font-weight: 600; }
.CONTACT { color: var(--warn); font-weight: 600; }
pre { background: #16202b; color: #e6edf3; padding: 1rem; border-radius: 8px; overflow-x: auto;
      font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; margin: .4rem 0; }
button { font: inherit; padding: .35rem .8rem; border-radius: 6px; border: 1px solid var(--line);
         background: #f8fafc; cursor: pointer; } button:hover { border-color: var(--accent); }
button.on { background: var(--accent); color: #fff; border-color: var(--accent); }
input[type=range] { width: 100%; accent-color: var(--accent); }
.row { display: flex; gap: .7rem; align-items: center; flex-wrap: wrap; }
.big { font-size: 1.3rem; font-weight: 600; }
"""


def page(title: str, *parts: str) -> str:
    """The whole page as text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>"
        f"<body><main>{''.join(parts)}</main></body></html>\n"
    )


def section(heading: str, *parts: str) -> str:
    """A part of the page under a heading."""
    return f"<section><h2>{escape(heading)}</h2>{''.join(parts)}</section>"


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """Names and values in a grid."""
    cells = (
        f"<div><span>{escape(name)}</span><b>{escape(value)}</b></div>" for name, value in rows
    )
    return f'<div class="facts">{"".join(cells)}</div>'


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1, marks: Sequence[str] = ()
) -> str:
    """A table; its first `text` columns are words. A cell that is one of `marks` stands out."""

    def line(cells: Sequence[str], tag: str) -> str:
        shown = []
        for k, cell in enumerate(cells):
            classes = ["text"] * (k < text) + [cell] * (cell in marks)
            shown.append(f'<{tag} class="{" ".join(classes)}">{escape(cell)}</{tag}>')
        return f"<tr>{''.join(shown)}</tr>"

    return f"<table>{line(head, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"
