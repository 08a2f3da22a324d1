"""What the benchmarks share: figures beside their bars, the table of them, and options."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One line of the table. A bar in brackets is not asked for."""

    figure: str
    measured: str
    bar: str
    passed: bool
    note: str = ""


def options(text: str) -> argparse.ArgumentParser:
    """The options that all benchmarks have; `text` is their docstring."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="about a minute")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--check", action="store_true", help="fail if a figure misses its bar")
    return parser


def figures_table(figures: Sequence[Figure], title: str) -> Table:
    """All figures with their bars and verdicts."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("figure", "measured", "bar", "", "of what"):
        table.add_column(name, justify="right" if name in ("measured", "bar") else "left")
    for figure in figures:
        verdict = "[green]passed[/]" if figure.passed else "[red]missed[/]"
        asked = "" if figure.bar.startswith("(") else verdict
        table.add_row(figure.figure, figure.measured, figure.bar, asked, figure.note)
    return table


def finish(figures: Sequence[Figure], arguments: argparse.Namespace, **more: Any) -> None:
    """Write the figures, and more, where they are wanted; fail if they are to be checked."""
    if arguments.json:
        result = {**more, "figures": [asdict(figure) for figure in figures]}
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if arguments.check and not all(figure.passed for figure in figures):
        sys.exit("some figures missed their bars")
