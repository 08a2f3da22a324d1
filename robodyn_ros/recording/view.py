"""What the commands print: tables for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.markup import escape
from rich.table import Table

from .events import Event

COLOURS = {"CONTACT": "dark_orange", "COLLISION": "red"}


def events_table(happened: Sequence[Event]) -> Table:
    """Each contact and what was told about it."""
    table = Table(title="events", title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("time [s]", "told", "truth", "link", "joints", "force [N]", "delay [ms]"):
        words = heading in ("told", "truth", "link", "joints")
        table.add_column(heading, justify="left" if words else "right")
    truth = {True: "contact", False: "[red]nothing[/]", None: "not known"}
    for event in happened:
        colour = COLOURS.get(event.level, "red")
        table.add_row(
            f"{event.t:.3f}",
            f"[{colour}]{event.level or 'missed'}[/]",
            truth[event.true],
            escape(event.link) or ("cannot tell" if event.level else ""),
            escape(" ".join(event.joints)),
            f"{event.force:.1f}" if math.isfinite(event.force) else "",
            f"{1e3 * event.delay:.1f}" if math.isfinite(event.delay) else "",
        )
    return table


def topics_table(heard: Iterable[Any], title: str) -> Table:
    """Messages of each topic that is recorded, and how many were lost."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for heading in ("topic", "type", "messages", "lost"):
        words = heading in ("topic", "type")
        table.add_column(heading, justify="left" if words else "right", no_wrap=heading != "type")
    for one in heard:
        lost = "cannot tell" if one.missing is None else str(one.missing)
        mark = f"[red]{lost}[/]" if one.missing else lost
        table.add_row(escape(one.topic), escape(one.kind), f"{one.count:,}", mark)
    return table
