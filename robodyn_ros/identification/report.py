"""The identification's report: one HTML page that needs no other file and no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .fit import Fit
    from .identified import Identified

STYLE = """
body { font-family: system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem;
       color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
td:first-child, th:first-child { text-align: left; }
pre { white-space: pre-wrap; background: #f5f5f5; padding: 1rem; }
"""


def page(found: Identified) -> str:
    """The whole page as text."""
    parts = [
        f"<h1>Identification of {escape(found.nominal.name)}</h1>",
        f"<p>{found.base.rank} base parameters; condition number of the weighted equations "
        f"{found.least_squares.condition:.3g}.</p>",
        "<h2>Torque error per joint</h2>",
        _errors(found),
        "<h2>Measured and predicted torque</h2>",
        *_plots(found),
        "<h2>What the motion did not excite</h2>",
        f"<pre>{escape(found.unexcited)}</pre>",
        "<h2>Parameters</h2>",
        "<p>Physically consistent values, beside the nominal ones. <i>Told</i> is how much of a "
        "value comes from the data; the rest comes from the nominal model.</p>",
        _parameters(found),
        "<h2>Base parameters by least squares</h2>",
        _table(
            ("combination", "value", "deviation"),
            ((line, f"{x:.5g}", f"{s:.2g}") for line, x, s in found.base_table),
        ),
    ]
    title = f"Identification of {escape(found.nominal.name)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def _errors(found: Identified) -> str:
    names = found.nominal.joint_names
    rows = []
    for fit in found.fits:
        use = "held out" if fit.held_out else "used"
        lines: list[tuple[str, Any, str]] = [
            ("relative [%]", 100.0 * fit.relative, ".2f"),
            ("rms [N m or N]", fit.rms, ".3g"),
            ("at reversals", fit.at_reversals, ".3g"),
            ("largest", fit.largest, ".3g"),
        ]
        for what, values, form in lines:
            cells = [format(x, form) if np.isfinite(x) else "–" for x in values]
            rows.append((f"{fit.name} ({use}): {what}", *cells))
    return _table(("log", *names), rows)


def _parameters(found: Identified) -> str:
    rows = []
    for p in found.parameters:
        nominal = f"{p.nominal:.5g}" if np.isfinite(p.nominal) else "–"
        numbers = (nominal, f"{p.value:.5g}", f"{p.deviation:.2g}", f"{100 * p.told:.0f} %")
        rows.append((f"{p.name} [{p.unit}]", *numbers))
    return _table(("parameter", "nominal", "found", "deviation", "told"), rows)


def _plots(found: Identified) -> list[str]:
    """A drawing for each log, if plotly is there; its code stands in the page once."""
    try:
        from plotly.io import to_html
    except ImportError:
        return ["<p>For drawings: pip install 'robodyn_ros[bags]', which brings plotly.</p>"]
    return [
        to_html(_drawing(found, fit), include_plotlyjs=(k == 0), full_html=False)
        for k, fit in enumerate(found.fits)
    ]


def _drawing(found: Identified, fit: Fit) -> Any:
    from plotly.subplots import make_subplots

    n = found.nominal.n
    figure = make_subplots(
        rows=n, cols=1, shared_xaxes=True, subplot_titles=found.nominal.joint_names
    )
    lines = (
        ("measured", fit.measured, "#4477aa"),
        ("predicted", fit.predicted, "#ee7733"),
        ("error", fit.error, "#999999"),
    )
    for j in range(n):
        for name, values, colour in lines:
            figure.add_scattergl(
                x=np.round(fit.t, 4),
                y=np.round(values[:, j], 4),
                name=name,
                line={"color": colour, "width": 1},
                legendgroup=name,
                showlegend=j == 0,
                row=j + 1,
                col=1,
            )
    use = "held out" if fit.held_out else "used"
    figure.update_layout(height=220 * n, title=f"{fit.name} ({use}): torque [N m or N]")
    figure.update_xaxes(title_text="time [s]", row=n, col=1)
    return figure


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line(head, "th") + "".join(line(row, "td") for row in rows) + "</table>"
