"""`robodyn report`: a recording as one page: residual, events, thresholds, tracking, torque."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Sequence
from html import escape

import numpy as np

from ..detection.fault import COLLISION, UNDECIDED
from ..detection.monitor_settings import MonitorSettings
from ..html_page import (
    Cell,
    data_script,
    figure_html,
    header,
    note,
    page,
    plotly_script,
    section,
    table,
)
from ..model.robot import RobotModel
from .external_torque import ExternalTorque
from .figures import (
    cases_figure,
    residual_figure,
    torque_figure,
    tracking_figure,
    trade_off_figure,
)
from .node_yaml import NodeParameters, text
from .offline import Detection, Event
from .run import Run
from .tuning import COLLISION_FACTOR, MARGIN, MIN_THRESHOLD, RATES, SCALES, Tuning

WALL_TIME_FROM = 1e8  # [s]: smaller stamps are simulated time
CONTACTS_UNKNOWN = (
    "It is not known whether something touched the arm: the whole run counts as free of contact. "
    "Give contacts by --contact FROM:TO."
)

EXTERNAL_HEAD = (
    "joint",
    "noise of the residual [N m]",
    "maker's noise [N m]",
    "offset of the residual [N m]",
    "maker's offset [N m]",
)

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
    document.getElementById('chosen').textContent = trial.summary;
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
    found: Detection,
    tuning: Tuning,
    events: Sequence[Event],
    parameters: NodeParameters,
    truth: str,
    external: ExternalTorque | None = None,
) -> str:
    """Return the page as text; truth: source of the known contacts, or empty."""
    model, settings = found.model, found.settings
    beside = None if external is None else external.values
    figure, suggested = residual_figure(run, model, found.r, settings, tuning, events, beside)
    parts = [
        plotly_script(),
        _header(run, model, settings, tuning, events, truth),
        section("Residual [N m or N]", figure_html(figure, "residual")),
        section("Events", _events(events)),
        _cases(found),
        _thresholds(tuning, parameters, suggested, model.joint_names),
    ]
    if external is not None:
        notes = [note(text) for text in external.sentences()]
        rows = table(EXTERNAL_HEAD, external_rows(external, model.joint_names))
        parts.append(section(f"The maker's external torque: {external.source}", *notes, rows))
    if run.reference is not None:
        tracking, worst = tracking_figure(run, model.joint_names)
        pairs = zip(model.joint_names, worst, strict=True)
        largest = ", ".join(f"{joint} {1e3 * x:.3g}" for joint, x in pairs)
        below = note(f"largest error [mrad or mm]: {largest}")
        parts.append(section("Tracking", figure_html(tracking, "tracking"), below))
    torque = figure_html(torque_figure(run, model.joint_names, model.tau_max), "torque")
    parts.append(section("Torque", torque, _torque(run, model)))
    parts.append(f"<script>{SCRIPT}</script>")
    return page(f"{run.name}: {model.name}", *parts)


def _header(
    run: Run,
    model: RobotModel,
    settings: MonitorSettings,
    tuning: Tuning,
    events: Sequence[Event],
    truth: str,
) -> str:
    when = "simulated time"
    if run.start > WALL_TIME_FROM:
        begun = datetime.datetime.fromtimestamp(run.start, datetime.timezone.utc)
        when = begun.strftime("%Y-%m-%d %H:%M:%S UTC")
    elif run.received is None:
        when = "not known"
    facts = [
        ("arm", f"{model.name}, {model.n} joints"),
        ("recorded", when),
        ("length", f"{run.duration:.1f} s, {run.t.size:,} samples"),
        ("rate", f"{run.rate:.0f} Hz"),
        ("torque from", run.effort),
        ("observer gain", f"{', '.join(f'{g:g}' for g in settings.gain)} 1/s"),
        ("contacts detected", str(sum(bool(event.detected) for event in events))),
        ("known contacts", str(tuning.contacts) if truth else "not known"),
    ]
    if truth:
        missed = sum(not event.detected for event in events)
        alarms = sum(event.true is False for event in events)
        delays = [event.delay for event in events if math.isfinite(event.delay)]
        median = f"{1e3 * float(np.median(delays)):.0f} ms" if delays else "–"
        facts += [("missed, false alarms", f"{missed}, {alarms}"), ("median delay", median)]
    known = f"Contacts are known from {truth}." if truth else CONTACTS_UNKNOWN
    return header(run.name, [known, *run.remarks], facts)


def event_row(event: Event) -> tuple[str, ...]:
    """Return an event as texts: start [s], level, truth, link, joints, force [N], delay [ms]."""
    numbers = (event.force, 1e3 * event.delay)
    return (
        f"{event.start:.3f}",
        event.detected or "missed",
        {True: "contact", False: "no contact", None: "not known"}[event.true],
        _where(event),
        " ".join(event.joints),
        *(f"{x:.1f}" if math.isfinite(x) else "" for x in numbers),
    )


def _where(event: Event) -> str:
    """Return what was touched, in words."""
    if event.fault is not None and event.fault.kind not in (COLLISION, UNDECIDED):
        return event.fault.text()
    return event.where or ("cannot tell" if event.detected else "")


def _events(events: Sequence[Event]) -> str:
    """Return a row for each contact, detected or missed, and each false alarm."""
    if not events:
        return "<p>No contact was detected, and none is known.</p>"
    rows: list[list[str | Cell]] = []
    for event in events:
        start, level, truth, *others = event_row(event)
        marked = Cell(level, level), Cell(truth, "alarm" if event.true is False else "")
        rows.append([start, *marked, *others, f"{event.end - event.start:.3f}"])
    head = ("time [s]", "detected", "truth", "link", "joints")
    return table((*head, "force [N]", "delay [ms]", "duration [s]"), rows, text=5)


def external_rows(external: ExternalTorque, names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a row of texts per joint: noise and offset of residual and maker's torque."""
    numbers = np.concatenate([external.noise, external.offset])
    return [(name, *(f"{x:.3f}" for x in numbers[:, j])) for j, name in enumerate(names)]


def _cases(found: Detection) -> str:
    """Return the section about the causes of contacts: names, remedies and their evidence."""
    figure = cases_figure(found)
    if figure is None:
        return ""
    rows: list[list[str | Cell]] = []
    for start, end, fault in found.cases.named(found.t):
        rows.append([f"{start:.3f}", fault.text(), fault.runner_up, fault.remedy, f"{end:.3f}"])
    head = ("time [s]", "cause", "runner-up", "remedy", "last decision [s]")
    below = table(head, rows, text=4)
    return section("Causes of contacts", figure_html(figure, "causes"), below)


def _torque(run: Run, model: RobotModel) -> str:
    rows = []
    for j, name in enumerate(model.joint_names):
        peak, limit = float(np.abs(run.tau[:, j]).max()), float(model.tau_max[j])
        rms = float(np.sqrt(np.mean(run.tau[:, j] ** 2)))
        bounded = math.isfinite(limit)
        share = f"{peak / limit:.0%}" if bounded else ""
        rows.append(
            (name, f"{rms:.2f}", f"{peak:.2f}", f"{limit:g}" if bounded else "none", share)
        )
    return table(("joint", "rms [N m]", "largest [N m]", "limit [N m]", "of the limit"), rows)


def yaml_at(tuning: Tuning, parameters: NodeParameters, scale: float, name: str) -> str:
    """Return dynamics_node's parameters with thresholds of a scale as YAML; name: of the run."""
    remark = (
        f"From {name}, {60.0 * tuning.hours:.1f} min free of contact: "
        f"{_outcome(tuning, int(np.argmin(np.abs(SCALES - scale))))}."
    )
    settings = NodeParameters(
        parameters.robot, parameters.source, tuning.at(scale), effort=parameters.effort
    )
    return text(settings, [remark])


def _outcome(tuning: Tuning, k: int) -> str:
    """Return alarms and detected contacts at SCALES[k], in words."""
    alarms = f"{tuning.alarms[k]:.3g} false alarms per hour"
    if not tuning.contacts:
        return alarms
    return f"{alarms}, {tuning.found[k]} of {tuning.contacts} contacts detected"


def _thresholds(
    tuning: Tuning, parameters: NodeParameters, suggested: Sequence[int], names: Sequence[str]
) -> str:
    trials = [
        {
            "scale": scale,
            "alarms": float(tuning.alarms[k]),
            "summary": f"{_outcome(tuning, k)} (scale {scale:.2f})",
            "yaml": yaml_at(tuning, parameters, scale, "this run"),
        }
        for k, scale in enumerate(SCALES.tolist())
    ]
    at = {rate: int(np.argmin(np.abs(SCALES - tuning.scale(rate)))) for rate in RATES}
    buttons = "".join(
        f'<button data-trial="{at[rate]}">{rate} per hour</button>' for rate in RATES
    )
    data = {"scale": MARGIN, "suggested": list(suggested), "trials": trials}
    too_rare = " and ".join(str(rate) for rate in RATES if not tuning.measurable(rate))
    return section(
        "Suggested thresholds",
        note(
            "From the part of the run without contact. For 0 alarms per hour they have a margin "
            f"of {MARGIN:g} for motions that were not recorded. Alarms are counted at the level "
            f"CONTACT; COLLISION thresholds are {COLLISION_FACTOR:g} times as high. No threshold "
            f"is below {MIN_THRESHOLD:.1%} of the effort limit."
        ),
        note(
            f"{60.0 * tuning.hours:.1f} minutes free of contact are too short to show a rate of "
            f"{too_rare} per hour: for these, the thresholds are the lowest without an alarm. "
            "Record a longer run to tell them apart."
        )
        if too_rare
        else "",
        _thresholds_at_rest(tuning, names),
        figure_html(trade_off_figure(tuning), "trade-off"),
        f'<div class="row"><span class="soft">more sensitive</span>{buttons}'
        '<span class="soft">or any:</span></div>'
        f'<input id="scale" type="range" min="0" max="{SCALES.size - 1}" value="{at[0]}" '
        'aria-label="scale of the thresholds">'
        '<p class="big" id="chosen"></p>'
        '<div class="row"><b>dynamics_node.yaml</b><button id="copy">copy</button></div>'
        f'<pre id="yaml">{escape(str(trials[at[0]]["yaml"]))}</pre>',
        data_script("trials", json.dumps(data)),
    )


def _thresholds_at_rest(tuning: Tuning, names: Sequence[str]) -> str:
    rows = []
    for rate in RATES:
        scale = tuning.scale(rate)
        base = tuning.at(scale).contact.base
        rows.append((f"{rate} per hour", f"{scale:.2f}", *(f"{x:.3g}" for x in base)))
    return table(("false alarms", "scale", *names), rows)
