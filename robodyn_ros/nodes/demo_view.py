"""Output of `robodyn demo`: a live table, a summary, a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .demo_observer import DemoObserver, Event

BAR_WIDTH = 30  # [characters]
BAR_TOP = 1.5  # end of a bar, times the collision threshold
EVENTS_SHOWN = 8  # in the live table
COLOURS = {"UNKNOWN": "yellow", "CLEAR": "green", "CONTACT": "dark_orange", "COLLISION": "red"}


def live_table(observer: DemoObserver, duration: float, page: str = "") -> Group:
    """Return the present state, the residuals with their thresholds, and the latest events.

    page: a line about the live page.
    """
    level = observer.states[-1].level.name if observer.states else "UNKNOWN"
    link = observer.states[-1].link if observer.states else ""
    head = Text.assemble(
        (f" {level} ", f"bold reverse {COLOURS.get(level, 'white')}"),
        f" {link}   arm: {observer.mode or 'starting'}"
        f"   {observer.elapsed:5.1f} of {duration:g} s",
    )
    foot = [Text(page)] if page else []
    events = events_table(observer.events()[-EVENTS_SHOWN:])
    return Group(head, residual_bars(observer), events, *foot)


def residual_bars(observer: DemoObserver) -> Table:
    """Return a bar per joint."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("joint")
    table.add_column("residual [N m]", justify="right")
    table.add_column("| contact, ! collision")
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
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("time [s]", justify="right")
    for heading in ("pushed", "detected"):
        table.add_column(heading)
    for heading in ("force [N]", "estimated [N]", "delay [ms]"):
        table.add_column(heading, justify="right")
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


def verdict(observer: DemoObserver) -> tuple[bool, str]:
    """Return whether all pushes were found without a false alarm and the arm resumed, and text."""
    events = observer.events()
    pushes = sum(event.pushed for event in events)
    missed = sum(event.pushed and event.reported is None for event in events)
    false_alarms = sum(not event.pushed for event in events)
    wrong = []
    if not pushes:
        wrong.append("nothing pushed the arm")
    if missed:
        wrong.append(f"{missed} of {pushes} pushes missed")
    if false_alarms:
        wrong.append(f"{false_alarms} alarms without a push")
    if observer.mode not in ("TRACKING", "HOLDING"):
        wrong.append(f"the arm did not resume: {observer.mode or 'silent'}, {observer.reason}")
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
