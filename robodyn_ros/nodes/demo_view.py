"""Output of `robodyn demo`: a live table, a summary, a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .. import palette
from .demo_events import UNCLEAR, Event
from .demo_faults import FaultEvent
from .demo_observer import DemoObserver

BAR_WIDTH = 30  # [characters]
BAR_TOP = 1.5  # end of a bar, times the collision threshold
EVENTS_SHOWN = 8  # in the live table
COLOURS = {"UNKNOWN": "yellow", "CLEAR": "green", "CONTACT": "dark_orange", "COLLISION": "red"}
SCRIPT_DELAY = 2.0  # [s] by which a push of the script may come late
PLOT_TOP = 3.0  # least height of the plot's axes, times the collision threshold
EVENT_HEADINGS = (
    *("time\n[s]", "pushed", "force\n[N]"),
    *("detected", "link", "force\n[N]", "delay\n[ms]", "judgement"),
)
FAULT_HEADINGS = ("time\n[s]", "fault", "reported", "delay\n[s]", "judgement")


def live_table(observer: DemoObserver, duration: float, page: str = "") -> Group:
    """Return state, residuals and latest events; page: a line about the live page."""
    last = observer.states[-1] if observer.states else None
    level, link = (last.level.name, last.link) if last else ("UNKNOWN", "")
    progress = f"{observer.elapsed:5.1f} of {duration:g} s"
    head = Text.assemble(
        (f" {level} ", f"bold reverse {COLOURS[level]}"),
        f" {link}   arm: {observer.mode or 'starting'}   {progress}",
    )
    events = events_table(observer.events()[-EVENTS_SHOWN:])
    parts: list[Text | Table] = [head, residual_bars(observer), events]
    if observer.faults or observer.scripted_faults:
        parts.append(faults_table(observer.fault_events()[-EVENTS_SHOWN:]))
    return Group(*parts, *([Text(page)] if page else []))


def residual_bars(observer: DemoObserver) -> Table:
    """Return a bar per joint."""
    table = _table("joint", "residual [N m]", "| contact, ! collision")
    latest = observer.r[-1] if observer.r else np.zeros(len(observer.names))
    rows = zip(observer.names, latest, observer.contact, observer.collision, strict=True)
    for name, r, low, high in rows:
        top = BAR_TOP * high
        filled = round(min(abs(r) / top, 1.0) * BAR_WIDTH)
        marks = {round(low / top * BAR_WIDTH): "|", round(high / top * BAR_WIDTH): "!"}
        bar = "".join(marks.get(k, "█" if k < filled else " ") for k in range(BAR_WIDTH + 1))
        colour = "red" if abs(r) > high else "dark_orange" if abs(r) > low else "green"
        table.add_row(name, f"{r:+.3f}", Text(bar, colour))
    return table


def events_table(events: list[Event]) -> Table:
    """Return a row per push or false alarm: the truth, the detector's report, and a judgement."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for heading in EVENT_HEADINGS:  # numbers have a unit
        table.add_column(escape(heading), justify="right" if "[" in heading else "left")
    for event in events:
        state, judgement = event.reported, event.judgement
        table.add_row(
            f"{event.t:.2f}",
            (event.link or "yes") if event.pushed else "nothing",
            f"{event.force:.1f}" if event.force is not None else "",
            state.level.name if state else "nothing",
            (state.where or state.link or "unknown") if state else "",
            (f"{state.force:.1f}" if state.force > 0.0 else "unknown") if state else "",
            f"{1e3 * event.delay:.0f}" if event.delay is not None else "",
            judgement if event.right else f"[red]{judgement}[/]",
            style="" if event.pushed else "red",
        )
    return table


def print_tables(observer: DemoObserver, console: Console) -> None:
    """Print the pushes, and the faults if there are any, each with the detector's report."""
    events, faults = observer.events(), observer.fault_events()
    if events or not faults:
        console.print(events_table(events))
    if faults or observer.scripted_faults:
        console.print(faults_table(faults))


def faults_table(events: list[FaultEvent]) -> Table:
    """Return a row per fault or false name: the truth, the report, and a judgement."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for heading in FAULT_HEADINGS:
        table.add_column(escape(heading), justify="right" if "[" in heading else "left")
    for event in events:
        table.add_row(
            f"{event.t:.2f}",
            escape(event.truth) or "nothing",
            escape(event.reported) or "nothing",
            f"{event.delay:.2f}" if event.delay is not None else "",
            event.judgement if event.right else f"[red]{event.judgement}[/]",
            style="" if event.right else "red",
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:  # numbers have a unit
        table.add_column(escape(heading), justify="right" if "[" in heading else "left")
    return table


def verdict(observer: DemoObserver) -> tuple[bool, str]:
    """Return whether each push was found with its link and each fault named, without a false
    alarm, and the arm resumed; and a summary.
    """
    events, faults = observer.events(), observer.fault_events()
    pushes = [event for event in events if event.pushed]
    right = sum(event.right for event in pushes)
    unclear = sum(event.judgement == UNCLEAR for event in pushes)
    alarms = len(events) - len(pushes)
    resumed = observer.mode in ("TRACKING", "HOLDING")
    found = f"{right} of {len(pushes)} pushes found with their link"
    if unclear:
        found += f" ({unclear} hardly loaded the joint of the link)"
    expected = [event for event in faults if event.truth]
    named, false = sum(event.right for event in expected), len(faults) - len(expected)
    seen = len(observer.faults) >= observer.scripted_faults
    parts = [
        found if pushes else "nothing pushed the arm",
        *([f"{named} of {len(expected)} faults and payloads named rightly"] if expected else []),
        *([f"{false} false name{'s' if false > 1 else ''}"] if false else []),
        *([] if seen else ["not all faults of the script were seen"]),
        f"{alarms} false alarm{'s' if alarms > 1 else ''}" if alarms else "no false alarm",
        "the arm resumed"
        if resumed
        else f"the arm did not resume: {observer.mode or 'silent'}, {observer.reason}",
    ]
    due = sum(push.at + SCRIPT_DELAY < observer.elapsed for push in observer.script)
    happened = bool(pushes or expected) and len(pushes) >= due
    ok = happened and len(pushes) == right and len(expected) == named and seen
    return ok and not alarms and not false and resumed, ", ".join(parts)


def plot(observer: DemoObserver, path: Path) -> bool:
    """Plot residual, truth, thresholds and flags; return False where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    n = len(observer.names)
    start, end = observer.t[0], observer.t[-1]
    figure, grid = plt.subplots(
        n, 1, sharex=True, squeeze=False, figsize=(10, 1.2 * n + 1.4), layout="constrained"
    )
    t, r = np.array(observer.t) - start, np.array(observer.r)
    t_true = np.array([t for t, _ in observer.truth]) - start
    truth = np.array([tau for _, tau in observer.truth]).reshape(-1, n)
    edges = [state.t for state in observer.states] + [end]
    for k, ax in enumerate(grid[:, 0]):
        low, high = observer.contact[k], observer.collision[k]
        for band, colour, label in (
            ((-low, low), palette.GREEN, "below the contact threshold"),
            ((low, high), palette.ORANGE, "between contact and collision threshold"),
            ((-high, -low), palette.ORANGE, ""),
        ):
            ax.axhspan(*band, color=colour, alpha=0.16, lw=0, label=label)
        for state, until in zip(observer.states, edges[1:], strict=True):
            if (level := state.level.name) == "CLEAR":
                continue
            flag, span = palette.LEVEL_COLOURS[level][0], (state.t - start, until - start)
            ax.axvspan(*span, color=flag, alpha=0.35, lw=0, label=f"flag: {level}")
        ax.plot(t, r[:, k], color=palette.BLUE, lw=0.7, label="residual")
        ax.plot(
            t_true, truth[:, k], color=palette.INK, lw=0.9, ls="--", label="true external torque"
        )
        top = max(PLOT_TOP * high, 1.2 * np.abs(r[:, k]).max())
        ax.set_yscale("symlog", linthresh=high, linscale=1.5)  # noise and pushes, both visible
        ax.set(xlim=(0.0, end - start), ylim=(-top, top))
        ax.set_yticks([-high, 0.0, high], [f"{-high:g}", "0", f"{high:g}"], fontsize=8)
        ax.yaxis.set_minor_locator(NullLocator())
        ax.set_ylabel(f"{observer.names[k]}\n[N m]", fontsize=8)
    for event in observer.events():
        pushed = f"{event.link or 'push'} {event.force or 0.0:.0f} N" if event.pushed else ""
        grid[0, 0].annotate(
            pushed if event.right else f"{pushed} {event.judgement}",
            (event.t / (end - start), 1.0),
            xycoords="axes fraction",
            xytext=(0, 3),
            textcoords="offset points",
            color=palette.INK if event.right else palette.RED,
            fontsize=8,
        )
    grid[-1, 0].set_xlabel("time [s]; vertical axes: logarithmic beyond the collision threshold")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    figure.legend(once.values(), once.keys(), loc="outside upper center", ncols=3, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
