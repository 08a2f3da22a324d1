"""The report's drawing: measured against predicted torque of every joint, one log at a time."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .parameter_table import torque_units

if TYPE_CHECKING:
    from .identified import Fit, Identified

ROW = 170  # [px], of a joint
# Measured broad and light below predicted: both can be seen where they agree.
LINES = (
    ("measured", "#8fbbe6", 3.5),
    ("predicted", "#b5390f", 1.2),
    ("error", "#7b8794", 1.0),
)
# Only the log that is looked at is drawn: browsers have few surfaces for fast lines.
SCRIPT = """
const logs = %s;
const options = {displaylogo: false, showSendToCloud: false, responsive: true};
const buttons = document.querySelectorAll("nav button");
function show(k) {
  buttons.forEach((b, i) => b.setAttribute("aria-pressed", i === k));
  Plotly.react("torques", logs[k].data, logs[k].layout, options);
}
buttons.forEach((b, k) => b.addEventListener("click", () => show(k)));
show(0);
"""


def torques(found: Identified) -> str:
    """Buttons for the logs and the drawing, with plotly's code inside; a hint if it is missing."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return "<p>For drawings: pip install 'robodyn_ros[identification]', with plotly.</p>"
    figures = "[" + ",".join(_drawing(found, fit).to_json() for fit in found.fits) + "]"
    buttons = "".join(
        f'<button type="button">{escape(_title(fit))}</button>' for fit in found.fits
    )
    return (
        f'<nav>{buttons}</nav><div id="torques"></div><script>{get_plotlyjs()}</script>'
        f"<script>{SCRIPT % figures}</script>"
    )


def _title(fit: Fit) -> str:
    return f"{fit.name} ({'held out' if fit.held_out else 'used'})"


def _drawing(found: Identified, fit: Fit) -> Any:
    from plotly.subplots import make_subplots

    model = found.nominal
    figure = make_subplots(
        rows=model.n, cols=1, shared_xaxes=True, vertical_spacing=0.12 / model.n
    )
    t = np.asarray(fit.t - fit.t[0], dtype=np.float32)
    for j, (joint, unit) in enumerate(zip(model.joint_names, torque_units(model), strict=True)):
        for name, colour, width in LINES:
            figure.add_scattergl(
                x=t,
                y=np.asarray(getattr(fit, name)[:, j], dtype=np.float32),
                name=name,
                mode="lines",
                line={"color": colour, "width": width},
                legendgroup=name,
                showlegend=j == 0,
                row=j + 1,
                col=1,
            )
        figure.update_yaxes(title_text=f"{escape(joint)}<br>[{unit}]", row=j + 1, col=1)
    figure.update_yaxes(title_font_size=12, gridcolor="#e4e7eb", zerolinecolor="#9aa5b1")
    figure.update_xaxes(gridcolor="#e4e7eb", showline=True, linecolor="#9aa5b1")
    figure.update_xaxes(title_text="time [s]", row=model.n, col=1)
    figure.update_layout(
        height=ROW * model.n + 90,
        margin={"l": 90, "r": 15, "t": 45, "b": 45},
        legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        hovermode="x unified",
        plot_bgcolor="white",
        template="plotly_white",
    )
    return figure
