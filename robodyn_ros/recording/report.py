"""`robodyn report`: a run on one page: residual, events, tracking, torque, better thresholds."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from html import escape

import numpy as np

from .events import Event
from .figures import as_html, residual_figure, torque_figure, tracking_figure, trade_off_figure
from .html_page import facts, page, section, table
from .node_yaml import NodeParameters, text
from .offline import Watched
from .run import Run
from .tuning import COLLISION, FLOOR, MARGIN, RATES, SCALES, Tuning

EPOCH = 1e8  # [s]: stamps below are of simulated time
UNKNOWN = (
    "Whether something touched the arm is not known: the whole run counts as free of contact. "
    "Name contacts by --contact FROM:TO."
)
MARKS = ("CONTACT", "COLLISION", "missed", "alarm")

SCRIPT = """
(() => {
  const data = JSON.parse(document.getElementById('trials').textContent);
  const slider = document.getElementById('scale'), yaml = document.getElementById('yaml');
  const plot = document.getElementById('residual'), curve = document.getElementById('trade-off');
  const started = data.suggested.map(k => Array.from(plot.data[k].y));
  function choose(i) {
    const trial = data.trials[i], by = trial.scale / data.scale;
    slider.value = i;
    yaml.textContent = trial.yaml;
    document.getElementById('chosen').textContent = trial.says;
    document.querySelectorAll('button[data-trial]').forEach(
      b => b.classList.toggle('on', Number(b.dataset.trial) === i));
    Plotly.restyle(curve, {x: [[trial.scale]], y: [[trial.alarms]]}, [curve.data.length - 1]);
    Plotly.restyle(plot, {y: started.map(y => y.map(v => v === null ? null : v * by))},
                   data.suggested);
  }
  slider.addEventListener('input', () => choose(Number(slider.value)));
  document.querySelectorAll('button[data-trial]').forEach(
    b => b.addEventListener('click', () => choose(Number(b.dataset.trial))));
  document.getElementById('copy').addEventListener('click', async event => {
    const range = document.createRange();
    range.selectNodeContents(yaml);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    try { await navigator.clipboard.writeText(yaml.textContent); }
    catch { document.execCommand('copy'); }
    event.target.textContent = 'copied';
    setTimeout(() => { event.target.textContent = 'copy'; }, 1500);
  });
  choose(Number(slider.value));
})();
"""


def report(
    run: Run,
    watched: Watched,
    tuning: Tuning,
    happened: Sequence[Event],
    parameters: NodeParameters,
    truth: str,
) -> str:
    """The page as text; truth: in words, where the knowledge about contacts is from."""
    figure, suggested = residual_figure(run, watched, tuning, happened)
    names = watched.model.joint_names
    parts = [
        _header(run, watched, tuning, happened, truth),
        section("Residual [N m or N]", as_html(figure, "residual", with_code=True)),
        section("Events", _events(happened)),
        _thresholds(tuning, parameters, suggested, names),
    ]
    if run.reference is not None:
        tracking, worst = tracking_figure(run, names)
        largest = ", ".join(f"{n} {1e3 * x:.3g}" for n, x in zip(names, worst, strict=True))
        said = f'<p class="soft">largest [mrad or mm]: {escape(largest)}</p>'
        parts.append(section("Tracking", as_html(tracking, "tracking"), said))
    torque = as_html(torque_figure(run, names, watched.model.tau_max), "torque")
    parts.append(section("Torque", torque, _torque(run, watched)))
    parts.append(f"<script>{SCRIPT}</script>")
    return page(f"{run.name}: {watched.model.name}", *parts)


def _header(
    run: Run, watched: Watched, tuning: Tuning, happened: Sequence[Event], truth: str
) -> str:
    when = "simulated time"
    if run.start > EPOCH:
        begun = datetime.datetime.fromtimestamp(run.start, datetime.timezone.utc)
        when = begun.strftime("%Y-%m-%d %H:%M:%S UTC")
    elif run.received is None:
        when = "not told"
    gain = ", ".join(f"{g:g}" for g in watched.settings.gain)
    told = sum(bool(event.level) for event in happened)
    rows = [
        ("arm", f"{watched.model.name}, {watched.model.n} joints"),
        ("recorded", when),
        ("length", f"{run.duration:.1f} s, {run.t.size:,} samples"),
        ("rate", f"{run.rate:.0f} Hz"),
        ("torque from", run.effort),
        ("observer gain", f"{gain} 1/s"),
        ("contacts told", str(told)),
        ("known contacts", str(tuning.contacts) if truth else "not known"),
    ]
    if truth:
        missed = sum(not event.level for event in happened)
        alarms = sum(event.true is False for event in happened)
        delays = [event.delay for event in happened if math.isfinite(event.delay)]
        median = f"{1e3 * float(np.median(delays)):.0f} ms" if delays else "–"
        rows += [("missed, false alarms", f"{missed}, {alarms}"), ("median delay", median)]
    known = f"Contacts are known from {truth}." if truth else UNKNOWN
    remarks = "".join(f'<p class="soft">{escape(remark)}</p>' for remark in run.remarks)
    said = f'<p class="soft">{escape(known)}</p>'
    return f"<header><h1>{escape(run.name)}</h1>{said}{remarks}{facts(rows)}</header>"


def _events(happened: Sequence[Event]) -> str:
    """A row for each contact, told or not."""
    if not happened:
        return "<p>Nothing was told, and nothing is known to have touched the arm.</p>"
    words = {True: "contact", False: "alarm", None: "not known"}
    rows = [
        (
            f"{event.t:.3f}",
            event.level or "missed",
            words[event.true],
            event.link or ("cannot tell" if event.level else ""),
            " ".join(event.joints),
            f"{event.force:.1f}" if math.isfinite(event.force) else "",
            f"{1e3 * event.delay:.1f}" if math.isfinite(event.delay) else "",
            f"{event.end - event.t:.3f}",
        )
        for event in happened
    ]
    head = ("time [s]", "told", "truth", "link", "joints", "force [N]", "delay [ms]", "lasted [s]")
    return table(head, rows, text=5, marks=MARKS)


def _torque(run: Run, watched: Watched) -> str:
    rows = []
    for j, name in enumerate(watched.model.joint_names):
        peak, limit = float(np.abs(run.tau[:, j]).max()), float(watched.model.tau_max[j])
        rms = float(np.sqrt(np.mean(run.tau[:, j] ** 2)))
        bounded = math.isfinite(limit)
        share = f"{peak / limit:.0%}" if bounded else ""
        rows.append(
            (name, f"{rms:.2f}", f"{peak:.2f}", f"{limit:g}" if bounded else "none", share)
        )
    return table(("joint", "rms [N m]", "largest [N m]", "limit [N m]", "of the limit"), rows)


def yaml_at(tuning: Tuning, parameters: NodeParameters, scale: float, name: str) -> str:
    """The parameters that a scale suggests."""
    at = int(np.argmin(np.abs(SCALES - scale)))
    told = f", {tuning.found[at]} of {tuning.contacts} contacts told" if tuning.contacts else ""
    remarks = [
        f"From {name}, {60.0 * tuning.hours:.1f} min free of contact: "
        f"{tuning.alarms[at]:.3g} false alarms an hour{told}.",
    ]
    settings = NodeParameters(parameters.robot, parameters.effort, tuning.at(scale))
    return text(settings, remarks)


def _thresholds(
    tuning: Tuning, parameters: NodeParameters, suggested: Sequence[int], names: Sequence[str]
) -> str:
    """The trade-off with its slider, and the parameters to copy."""
    trials = []
    for k, scale in enumerate(SCALES.tolist()):
        told = f", {tuning.found[k]} of {tuning.contacts} contacts told" if tuning.contacts else ""
        says = f"{tuning.alarms[k]:.3g} false alarms an hour{told} (scale {scale:.2f})"
        yaml = yaml_at(tuning, parameters, scale, "this run")
        trials.append(
            {"scale": scale, "alarms": float(tuning.alarms[k]), "says": says, "yaml": yaml}
        )
    at = {rate: int(np.argmin(np.abs(SCALES - tuning.scale(rate)))) for rate in RATES}
    buttons = "".join(f'<button data-trial="{at[rate]}">{rate} an hour</button>' for rate in RATES)
    data = {"scale": MARGIN, "suggested": list(suggested), "trials": trials}
    short = [rate for rate in RATES if not tuning.told_apart(rate)]
    note = ""
    if short:
        rates = " and ".join(str(rate) for rate in short)
        note = (
            f'<p class="soft">{60.0 * tuning.hours:.1f} minutes free of contact are too short to '
            f"see {rates} alarms an hour: there the thresholds are those that are just quiet. "
            "Record longer to tell them apart.</p>"
        )
    return section(
        "Suggested thresholds",
        f'<p class="soft">From the part of the run without contact. 0 an hour has a margin of '
        f"{MARGIN:g} for motions that were not recorded. Alarms are counted at the level CONTACT; "
        f"COLLISION is {COLLISION:g} times as high. No threshold is below {FLOOR:.1%} of the "
        "effort limit.</p>",
        note,
        _chosen(tuning, names),
        as_html(trade_off_figure(tuning), "trade-off"),
        f'<div class="row"><span class="soft">more sensitive</span>{buttons}'
        '<span class="soft">or any:</span></div>'
        f'<input id="scale" type="range" min="0" max="{SCALES.size - 1}" value="{at[0]}" '
        'aria-label="scale of the thresholds">'
        '<p class="big" id="chosen"></p>'
        '<div class="row"><b>dynamics_node.yaml</b><button id="copy">copy</button></div>'
        f'<pre id="yaml">{escape(trials[at[0]]["yaml"])}</pre>'
        f'<script type="application/json" id="trials">{_json(data)}</script>',
    )


def _chosen(tuning: Tuning, names: Sequence[str]) -> str:
    """Contact thresholds at rest for the three rates."""
    rows = []
    for rate in RATES:
        base = tuning.at(tuning.scale(rate)).contact.base
        rows.append((f"{rate} an hour", f"{tuning.scale(rate):.2f}", *(f"{x:.3g}" for x in base)))
    return table(("false alarms", "scale", *names), rows)


def _json(data: object) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(data).replace("<", "\\u003c")
