"""The identification's report: errors, torques, unexcited parameters, and all values found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import html_page as html
from ..errors import ArgumentError
from ..palette import INK, RED, SKY
from .parameter_table import Parameter, torque_units

if TYPE_CHECKING:
    from .identified import Fit, Identified

PANEL_HEIGHT = 170  # [px], of each joint's torque
# Measured is broad and light below predicted: both are visible where they agree.
TORQUE_LINES = (
    ("measured", SKY, 3.5),
    ("predicted", RED, 1.2),
    ("error", INK, 1.0),
)
# Only the chosen log is drawn: a browser has few WebGL surfaces for fast lines.
SCRIPT = """
(() => {
  const logs = JSON.parse(document.getElementById('logs').textContent);
  const buttons = document.querySelectorAll('button[data-log]');
  function show(k) {
    buttons.forEach((b, i) => b.classList.toggle('on', i === k));
    Plotly.react('torques', logs[k].data, logs[k].layout, %s);
  }
  buttons.forEach((b, k) => b.addEventListener('click', () => show(k)));
  show(0);
})();
"""


def report(found: Identified) -> str:
    """Return the page as text."""
    title = f"Identification of {found.nominal.name}"
    return html.page(
        title,
        html.header(title, [], _facts(found)),
        html.section(
            "Torque error",
            html.note(
                "Root mean square of measured minus predicted torque, as a share of the measured "
                "torque. Both are filtered alike. Logs that are held out were only predicted."
            ),
            _relative_errors(found),
            *(f'<p class="warning">{escape(doubt)}.</p>' for doubt in found.doubts),
            f"<details><summary>in N m or N</summary>{_absolute_errors(found)}</details>",
        ),
        html.section("Measured and predicted torque", _torques(found)),
        html.section("Not excited by the motion", _unexcited(found)),
        html.section(
            "Parameters",
            html.note(
                "Physically consistent values, each with its standard deviation; inertial "
                "parameters about the joint frames. The last column is the share of a value that "
                "comes from the data; the rest comes from the nominal model."
            ),
            _parameters(found),
        ),
        html.section(
            "Base parameters",
            html.note(
                "The combinations that torques depend on, by weighted least squares alone. "
                "Numbers count the links: mx1 is the first moment of "
                f"{found.nominal.link_names[0]} along its x axis; Ia is a rotor inertia."
            ),
            _base_parameters(found),
        ),
    )


def _facts(found: Identified) -> list[tuple[str, str]]:
    used, held_out = ([f for f in found.fits if f.held_out is out] for out in (False, True))
    return [
        ("joints", f"{found.nominal.n}"),
        ("used for the fit", _length(used)),
        ("held out", _length(held_out) if held_out else "none"),
        ("base parameters", f"{found.base.rank}"),
        ("condition number", f"{found.least_squares.condition:.3g}"),
    ]


def _length(fits: Sequence[Fit]) -> str:
    seconds = sum(float(fit.t[-1] - fit.t[0]) for fit in fits)
    return f"{len(fits)} log{'s' if len(fits) > 1 else ''}, {seconds:.0f} s"


def _relative_errors(found: Identified) -> str:
    """Return a row for each log, with a bar in each cell."""
    rows: list[list[str | html.Cell]] = [
        [*_log(fit), *(html.Cell(f"{100.0 * x:.2f} %", share=float(x)) for x in fit.relative)]
        for fit in found.fits
    ]
    return html.table(("log", "use", *found.nominal.joint_names), rows, text=2)


def _absolute_errors(found: Identified) -> str:
    rows: list[list[str | html.Cell]] = []
    for fit in found.fits:
        for what, values in (
            ("all samples, rms", fit.rms),
            ("at velocity reversals, rms", fit.at_reversals),
            ("largest", fit.largest),
        ):
            numbers = (f"{x:.3g}" if np.isfinite(x) else "–" for x in values)
            rows.append([*_log(fit), what, *numbers])
    joints = zip(found.nominal.joint_names, torque_units(found.nominal), strict=True)
    names = [f"{joint} [{unit}]" for joint, unit in joints]
    return html.table(("log", "use", "error", *names), rows, text=3)


def _log(fit: Fit) -> tuple[str, html.Cell]:
    return fit.name, html.Cell("held out", "held-out") if fit.held_out else html.Cell("used")


def _torques(found: Identified) -> str:
    """Return a button for each log and the figure; a hint where plotly is missing."""
    try:
        figures = ",".join(_torque_figure(found, fit).to_json() for fit in found.fits)
    except ArgumentError as missing:
        return html.note(str(missing))
    buttons = "".join(
        f"<button data-log>{escape(f'{name} ({use.text})')}</button>"
        for name, use in map(_log, found.fits)
    )
    return (
        f'{html.plotly_script()}<div class="row">{buttons}</div><div id="torques"></div>'
        f"{html.data_script('logs', f'[{figures}]')}"
        f"<script>{SCRIPT % json.dumps(html.FIGURE_OPTIONS)}</script>"
    )


def _torque_figure(found: Identified, fit: Fit) -> Any:
    """Return a figure of measured, predicted and error torque, a panel for each joint."""
    model = found.nominal
    figure = html.subplots(model.n)
    t = fit.t - fit.t[0]
    for j, (joint, unit) in enumerate(zip(model.joint_names, torque_units(model), strict=True)):
        for name, colour, width in TORQUE_LINES:
            y = getattr(fit, name)[:, j]
            html.add_line(figure, t, y, name, colour, width, panel=j, fast=True)
        figure.update_yaxes(title_text=f"{escape(joint)}<br>[{unit}]", row=j + 1, col=1)
    figure.update_xaxes(title_text="time [s]", row=model.n, col=1)
    figure.update_layout(height=PANEL_HEIGHT * model.n + 90, **html.LAYOUT)
    return figure


def _unexcited(found: Identified) -> str:
    items = (f"<li>{escape(sentence)}</li>" for sentence in found.unexcited.splitlines())
    return f"<ul>{''.join(items)}</ul>"


def _parameters(found: Identified) -> str:
    owners: dict[str, list[Parameter]] = {}
    for p in found.parameters:
        owners.setdefault(p.name.partition(" of ")[2], []).append(p)
    head = ("", "unit", "nominal", "found", "deviation", "from data")
    cards = []
    for owner, rows in owners.items():
        lines = [
            (
                p.name.partition(" of ")[0],
                p.unit.replace("^2", "²") if p.unit != "1" else "",
                f"{p.nominal:.4g}",
                f"{p.value:.4g}",
                f"± {p.deviation:.2g}",
                html.Cell(f"{100.0 * p.from_data:.0f} %", share=p.from_data),
            )
            for p in rows
        ]
        cards.append(f"<div><h3>{escape(owner)}</h3>{html.table(head, lines, text=2)}</div>")
    return f'<div class="cards">{"".join(cards)}</div>'


def _base_parameters(found: Identified) -> str:
    rows = [
        (text, f"{value:.5g}", "not excited" if np.isinf(deviation) else f"± {deviation:.2g}")
        for text, value, deviation in found.base_table
    ]
    return html.table(("combination", "found", "deviation"), rows)
