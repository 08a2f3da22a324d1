"""What `robodyn demo` shows: a live table, a summary, a plot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .demo import Event, Onlooker

WIDTH = 30  # characters of a bar
COLOURS = {"UNKNOWN": "yellow", "CLEAR": "green", "CONTACT": "dark_orange", "COLLISION": "red"}


def live(onlooker: Onlooker, duration: float, beside: str = "") -> Group:
    """The state now, the residual of each joint against its thresholds, the latest events.

    beside: a line about the live page.
    """
    level = onlooker.words[-1].level if onlooker.words else "UNKNOWN"
    link = onlooker.words[-1].link if onlooker.words else ""
    head = Text.assemble(
        (f" {level} ", f"bold reverse {COLOURS.get(level, 'white')}"),
        f" {link}   arm: {onlooker.mode or 'starting'}"
        f"   {onlooker.elapsed:5.1f} of {duration:g} s",
    )
    foot = [Text(beside)] if beside else []
    return Group(head, bars(onlooker), events_table(onlooker.events()[-8:]), *foot)


def bars(onlooker: Onlooker) -> Table:
    """A bar per joint: its end is 1.5 times the collision threshold."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("joint")
    table.add_column("residual [N m]", justify="right")
    table.add_column("| contact, ! collision")
    latest = onlooker.r[-1] if onlooker.r else np.zeros(len(onlooker.names))
    rows = zip(onlooker.names, latest, onlooker.contact, onlooker.collision, strict=True)
    for name, r, low, high in rows:
        filled = round(min(abs(r) / (1.5 * high), 1.0) * WIDTH)
        marks = {round(low / (1.5 * high) * WIDTH): "|", round(WIDTH / 1.5): "!"}
        bar = "".join(marks.get(k, "█" if k < filled else " ") for k in range(WIDTH + 1))
        colour = "red" if abs(r) > high else "dark_orange" if abs(r) > low else "green"
        table.add_row(name, f"{r:+.3f}", Text(bar, colour))
    return table


def events_table(events: list[Event]) -> Table:
    """Each push and what was told about it."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("time [s]", "truth", "told", "force [N]: truth", "told", "delay [ms]"):
        left = heading in ("truth", "told") and len(table.columns) < 3
        table.add_column(heading, justify="left" if left else "right")
    for event in events:
        told = event.told
        table.add_row(
            f"{event.t:.2f}",
            f"push {event.link}" if event.pushed else "[red]nothing[/]",
            f"{told.level} {told.link or 'cannot tell where'}" if told else "[red]missed[/]",
            f"{event.force:.1f}" if event.force is not None else "",
            f"{told.force:.1f}" if told else "",
            f"{1e3 * event.delay:.1f}" if event.delay is not None else "",
        )
    return table


def verdict(onlooker: Onlooker) -> tuple[bool, str]:
    """Whether all went as it should, and what did not."""
    events = onlooker.events()
    missed = sum(event.pushed and event.told is None for event in events)
    invented = sum(not event.pushed for event in events)
    wrong = []
    if not any(event.pushed for event in events):
        wrong.append("nothing pushed the arm")
    if missed:
        wrong.append(f"{missed} of {sum(event.pushed for event in events)} pushes missed")
    if invented:
        wrong.append(f"{invented} alarms without a push")
    if onlooker.mode not in ("TRACKING", "HOLDING"):
        wrong.append(f"the arm did not resume: {onlooker.mode or 'silent'}, {onlooker.reason}")
    found = sum(event.pushed for event in events) - missed
    return not wrong, "; ".join(wrong) or f"{found} pushes found, none invented, the arm resumed"


def plot(onlooker: Onlooker, path: Path) -> bool:
    """Residuals with thresholds and pushes as a picture; False where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    t, r = np.array(onlooker.t) - onlooker.t[0], np.array(onlooker.r)
    n = r.shape[1]
    size = (9, 1.3 * n + 1)
    figure, grid = plt.subplots(
        n, 1, sharex=True, squeeze=False, figsize=size, layout="constrained"
    )
    axes = grid[:, 0]
    for k, ax in enumerate(axes):
        ax.plot(t, r[:, k], color="tab:blue", linewidth=0.8)
        for limit, colour in (
            (onlooker.contact[k], "tab:orange"),
            (onlooker.collision[k], "tab:red"),
        ):
            ax.axhline(limit, color=colour, linewidth=0.6, linestyle="--")
            ax.axhline(-limit, color=colour, linewidth=0.6, linestyle="--")
        for event in onlooker.events():
            ax.axvline(event.t, color="black" if event.pushed else "red", linewidth=0.5)
        ax.set_ylabel(f"{onlooker.names[k]}\n[N m]", fontsize=8)
    axes[-1].set_xlabel("time [s]; dashed: contact and collision thresholds")
    figure.suptitle("residual; vertical lines: pushes")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return True
