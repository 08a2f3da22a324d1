"""Output of `robodyn demo`: a live table, a summary, a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from .demo_observer import DemoObserver, Event

BAR_WIDTH = 30  # [characters]
BAR_TOP = 1.5  # end of a bar, times the collision threshold
EVENTS_SHOWN = 8  # in the live table
COLOURS = {"UNKNOWN": "yellow", "CLEAR": "green", "CONTACT": "dark_orange", "COLLISION": "red"}


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
    return Group(head, residual_bars(observer), events, *([Text(page)] if page else []))


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
    """Return a row per push or false alarm."""
    headings = ("time [s]", "pushed", "detected", "force [N]", "estimated [N]", "delay [ms]")
    table = _table(*headings)
    for event in events:
        state = event.reported
        found = f"{state.level.name} {state.link or 'link unknown'}" if state else "[red]missed[/]"
        table.add_row(
            f"{event.t:.2f}",
            (event.link or "yes") if event.pushed else "[red]nothing[/]",
            found,
            f"{event.force:.1f}" if event.force is not None else "",
            f"{state.force:.1f}" if state else "",
            f"{1e3 * event.delay:.1f}" if event.delay is not None else "",
        )
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for heading in headings:  # numbers have a unit
        table.add_column(escape(heading), justify="right" if "[" in heading else "left")
    return table


def verdict(observer: DemoObserver) -> tuple[bool, str]:
    """Return whether all pushes were found without a false alarm and the arm resumed, and text."""
    events = observer.events()
    pushes = sum(event.pushed for event in events)
    missed = sum(event.pushed and event.reported is None for event in events)
    false_alarms = len(events) - pushes
    resumed = observer.mode in ("TRACKING", "HOLDING")
    checks = {
        "nothing pushed the arm": pushes,
        f"{missed} of {pushes} pushes missed": not missed,
        f"{false_alarms} alarms without a push": not false_alarms,
        f"the arm did not resume: {observer.mode or 'silent'}, {observer.reason}": resumed,
    }
    wrong = [text for text, passed in checks.items() if not passed]
    return not wrong, "; ".join(wrong) or f"{pushes} pushes found, no false alarm, the arm resumed"


def plot(observer: DemoObserver, path: Path) -> bool:
    """Plot residuals, thresholds and pushes; return False where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, r = np.array(observer.t) - observer.t[0], np.array(observer.r)
    n = r.shape[1]
    figure, grid = plt.subplots(
        n, 1, sharex=True, squeeze=False, figsize=(9, 1.3 * n + 1), layout="constrained"
    )
    for k, ax in enumerate(grid[:, 0]):
        ax.plot(t, r[:, k], color="tab:blue", linewidth=0.8)
        limits = ((observer.contact[k], "tab:orange"), (observer.collision[k], "tab:red"))
        for limit, colour in limits:
            for sign in (-1.0, 1.0):
                ax.axhline(sign * limit, color=colour, linewidth=0.6, linestyle="--")
        for event in observer.events():
            ax.axvline(event.t, color="black" if event.pushed else "red", linewidth=0.5)
        ax.set_ylabel(f"{observer.names[k]}\n[N m]", fontsize=8)
    grid[-1, 0].set_xlabel("time [s]; dashed: contact and collision thresholds")
    figure.suptitle("residual; vertical lines: pushes")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
