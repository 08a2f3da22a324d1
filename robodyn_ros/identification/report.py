"""The identification's report: one HTML page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .parameter_table import Parameter, torque_units
from .report_style import STYLE
from .report_torques import torques

if TYPE_CHECKING:
    from .identified import Fit, Identified

# The browser itself then asks nobody for anything; plotly compiles its drawing code.
OFFLINE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


def page(found: Identified) -> str:
    """The whole page as text."""
    title = f"Identification of {escape(found.nominal.name)}"
    parts = [
        f"<header><h1>{title}</h1>{_facts(found)}</header>",
        "<h2>Torque error</h2>",
        "<p>Root mean square of measured less predicted torque, as a share of the measured. "
        "Filtered alike; logs that are <em>held out</em> were only predicted.</p>",
        _relative(found),
        *(f'<p class="doubt">{escape(doubt)}.</p>' for doubt in found.doubts),
        f"<details><summary>The same in N m or N</summary>{_absolute(found)}</details>",
        "<h2>Measured and predicted torque</h2>",
        torques(found),
        "<h2>What the motion did not excite</h2>",
        _list(found.unexcited.splitlines()),
        "<h2>Parameters</h2>",
        "<p>Physically consistent values, each with its standard deviation; bodies about their "
        "joint frames. <em>Told</em> is how much of a value comes from the data: the rest comes "
        "from the nominal model.</p>",
        _parameters(found),
        "<h2>Base parameters</h2>",
        "<p>The combinations that torques can tell apart, by weighted least squares alone. "
        "Numbers count the links: mx1 is the first moment of "
        f"{escape(found.nominal.link_names[0])} along its x axis; Ia is a rotor.</p>",
        _base(found),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{OFFLINE}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _facts(found: Identified) -> str:
    used, held_out = ([f for f in found.fits if f.held_out is out] for out in (False, True))
    facts = [
        ("joints", f"{found.nominal.n}"),
        ("used for the fit", _length(used)),
        ("held out", _length(held_out) if held_out else "nothing"),
        ("base parameters", f"{found.base.rank}"),
        ("condition number", f"{found.least_squares.condition:.3g}"),
    ]
    cells = (f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    return f"<dl>{''.join(cells)}</dl>"


def _length(fits: Sequence[Fit]) -> str:
    seconds = sum(float(fit.t[-1] - fit.t[0]) for fit in fits)
    return f"{len(fits)} log{'s' if len(fits) > 1 else ''}, {seconds:.0f} s"


def _relative(found: Identified) -> str:
    """A row for each log, a bar in each cell."""
    rows = []
    for fit in found.fits:
        cells = (
            f'<td class="bar" style="--share:{min(100.0 * x, 100.0):.1f}%">{100.0 * x:.2f} %</td>'
            for x in fit.relative
        )
        rows.append(f"<tr><th>{_name(fit)}</th>{''.join(cells)}</tr>")
    return _framed(_head("log", *found.nominal.joint_names), rows)


def _absolute(found: Identified) -> str:
    rows = []
    for fit in found.fits:
        lines = (
            ("all samples, rms", fit.rms),
            ("at velocity reversals, rms", fit.at_reversals),
            ("largest", fit.largest),
        )
        for k, (what, values) in enumerate(lines):
            name = f'<th rowspan="{len(lines)}">{_name(fit)}</th>' if k == 0 else ""
            cells = "".join(f"<td>{_number(x, '.3g')}</td>" for x in values)
            rows.append(f"<tr>{name}<th>{what}</th>{cells}</tr>")
    model = found.nominal
    joints = zip(model.joint_names, torque_units(model), strict=True)
    names = [f"{joint} [{unit}]" for joint, unit in joints]
    return _framed(_head("log", "error", *names), rows)


def _name(fit: Fit) -> str:
    kind = ("out", "held out") if fit.held_out else ("used", "used")
    return f'{escape(fit.name)} <span class="tag {kind[0]}">{kind[1]}</span>'


def _parameters(found: Identified) -> str:
    """A card for each link and each joint."""
    owners: dict[str, list[Parameter]] = {}
    for p in found.parameters:
        owners.setdefault(p.name.partition(" of ")[2], []).append(p)
    cards = []
    for owner, those in owners.items():
        rows = [
            f"<tr><th>{escape(p.name.partition(' of ')[0])} <small>{_unit(p.unit)}</small></th>"
            f"<td>{p.nominal:.4g}</td><td>{p.value:.4g}</td><td>± {p.deviation:.2g}</td>"
            f'<td class="bar" style="--share:{p.told:.0%}">{100.0 * p.told:.0f} %</td></tr>'
            for p in those
        ]
        head = _head("", "nominal", "found", "deviation", "told")
        cards.append(f"<section><h3>{escape(owner)}</h3>{_framed(head, rows)}</section>")
    return f'<div class="cards">{"".join(cards)}</div>'


def _base(found: Identified) -> str:
    rows = [
        f"<tr><th>{escape(line)}</th><td>{value:.5g}</td>"
        f"<td>{'not told' if np.isinf(deviation) else f'± {deviation:.2g}'}</td></tr>"
        for line, value, deviation in found.base_table
    ]
    return _framed(_head("combination", "found", "deviation"), rows)


def _unit(text: str) -> str:
    return escape(text.replace("^2", "²")) if text != "1" else ""


def _number(value: float, form: str) -> str:
    return format(value, form) if np.isfinite(value) else "–"


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _head(*names: str) -> str:
    return "<tr>" + "".join(f"<th>{escape(name)}</th>" for name in names) + "</tr>"


def _framed(head: str, rows: Iterable[str]) -> str:
    """A table that scrolls where the window is too narrow."""
    table = f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{table}</div>'
