"""A Log from a CSV file: which column is which, by name or by number."""

import csv
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError, LogWarning
from .log import Array, Log, derivative, value_limits

Column = int | str


@dataclass(frozen=True)
class ColumnMap:
    """Where a file keeps what: column numbers from 0, or names in its first line.

    Without qd, velocities are central differences of the positions. tau may be motor currents:
    then give `gains` to `read_csv`.
    """

    t: Column
    q: Sequence[Column]
    tau: Sequence[Column]
    qd: Sequence[Column] | None = None

    def __post_init__(self) -> None:
        for name in ("q", "tau", "qd"):
            columns = getattr(self, name)
            if columns is not None and (isinstance(columns, str) or not len(columns)):
                raise ArgumentError(f"{name} must list one column per joint, got {columns!r}")
        counts = {len(columns) for columns in (self.q, self.tau, self.qd or self.q)}
        if len(counts) > 1:
            raise ArgumentError("q, qd and tau must list the same number of columns")

    @classmethod
    def parse(cls, text: str) -> "ColumnMap":
        """Return the map of 't=0 q=1-6 qd=7-12 tau=13-18', or of names: 't=time q=q1,q2 …'."""
        found: dict[str, list[Column]] = {}
        for item in text.split():
            name, _, columns = item.partition("=")
            if name not in ("t", "q", "qd", "tau") or not columns:
                raise ArgumentError(
                    f"'{item}' is no column map; write t=0 q=1-6 qd=7-12 tau=13-18"
                )
            found[name] = _columns(columns)
        missing = {"t", "q", "tau"} - set(found)
        if missing:
            raise ArgumentError(f"the column map lacks {', '.join(sorted(missing))}: {text!r}")
        return cls(found["t"][0], found["q"], found["tau"], found.get("qd"))


def read_csv(
    path: str | PathLike[str],
    columns: ColumnMap,
    *,
    gains: npt.ArrayLike | None = None,
    rows: tuple[int, int | None] = (0, None),
    delimiter: str | None = None,
) -> Log:
    """Return the motion in a CSV file as a Log.

    `gains` [N m/A] turn currents into torques; `rows` selects first to last as in a slice, without
    the line of names. The `delimiter` defaults to the most frequent of comma, semicolon and tab in
    the first line. Samples whose time repeats are dropped; those whose time goes back are dropped
    with a LogWarning. A number beyond the limits of `SensingSettings` raises an error that names
    row and column.
    """
    names, table = _table(Path(path), delimiter)
    groups = [[columns.t], columns.q, columns.qd or [], columns.tau]
    which = [[_number_of(column, names, table, path) for column in group] for group in groups]
    table = table[slice(*rows)]
    _reject_damage(table, which, names, rows[0], path)
    steps = np.diff(table[:, which[0][0]], prepend=-np.inf)
    if back := int((steps < 0.0).sum()):
        text = f"'{path}': {back} of {len(table)} rows left out, whose time goes back"
        warnings.warn(text, LogWarning, stacklevel=2)
    table = table[steps > 0.0]
    t, q, qd, tau = (table[:, group] for group in which)
    t = t[:, 0]
    if columns.qd is None:
        qd = derivative(t, q)
    return Log(t, q, qd, tau * drive_gains(gains, tau.shape[1]), name=Path(path).stem)


def drive_gains(gains: npt.ArrayLike | None, n: int) -> Array:
    """Return drive gains (n,) [N m/A], one for all joints or one each; 1 without gains."""
    try:
        found = np.array(np.broadcast_to(np.asarray(1.0 if gains is None else gains, float), (n,)))
    except (TypeError, ValueError):
        raise ArgumentError(f"gains must be one number or {n}, got {gains!r}") from None
    if not np.isfinite(found).all() or not found.all():
        raise ArgumentError(f"gains must be finite and not 0 [N m/A], got {gains!r}")
    return found


def _table(path: Path, delimiter: str | None) -> tuple[list[str], Array]:
    """Return the names in the first line, if any, and the numbers below."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as reason:
        why = reason.strerror if isinstance(reason, OSError) else "it is no text"
        raise ArgumentError(f"cannot read '{path}': {why}") from None
    if delimiter is None:
        delimiter = max(",;\t", key=text.partition("\n")[0].count)
    lines = [line for line in csv.reader(text.splitlines(), delimiter=delimiter) if line]
    names = [] if not lines or _is_number(lines[0][0]) else [x.strip() for x in lines.pop(0)]
    if not lines:
        raise ArgumentError(f"'{path}' holds no numbers")
    width = len(lines[0])
    if names and len(names) != width:
        raise ArgumentError(
            f"'{path}': the first line names {len(names)} columns and the next one holds {width}; "
            "which is which is not known"
        )
    table = np.empty((len(lines), width))
    for i, line in enumerate(lines):
        try:
            if len(line) != width:
                raise ValueError  # numpy would take one number for all
            table[i] = [float(x) for x in line]
        except ValueError:
            raise ArgumentError(
                f"'{path}': row {i} does not hold {width} number{'s' * (width > 1)} with "
                f"{delimiter!r} between: {delimiter.join(line)[:80]!r}"
            ) from None
    return names, table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number_of(column: Column, names: list[str], table: Array, path: object) -> int:
    if isinstance(column, str):
        if column not in names:
            known = ", ".join(names) or "none: use numbers from 0"
            raise ArgumentError(f"'{path}' has no column '{column}'; its names are {known}")
        return names.index(column)
    if not 0 <= column < table.shape[1]:
        raise ArgumentError(f"'{path}' has columns 0 to {table.shape[1] - 1}, not {column}")
    return column


def _reject_damage(
    table: Array, which: list[list[int]], names: list[str], first: int, path: object
) -> None:
    """Raise an error that names the first number beyond the limits of `SensingSettings`."""
    limits = value_limits()
    for field, columns in zip(("t", "q", "qd", "tau"), which, strict=True):
        values = table[:, columns]
        bad = ~np.isfinite(values) | (np.abs(values) > limits[field])
        if bad.any():
            row, k = (int(i) for i in np.argwhere(bad)[0])
            column = f"{columns[k]}" + (f" ({names[columns[k]]})" if names else "")
            raise ArgumentError(
                f"'{path}' is damaged: row {first + row}, column {column} holds "
                f"{values[row, k]:g}, and {int(bad.any(axis=1).sum())} rows in all hold such "
                "numbers; choose rows without them, or record it again"
            )


def _columns(text: str) -> list[Column]:
    """Return '1-6' and '1,2,5' as column numbers, anything else as names."""
    found: list[Column] = []
    for item in text.split(","):
        low, dash, high = item.partition("-")
        if low.isdigit() and (not dash or high.isdigit()):
            found.extend(range(int(low), int(high if dash else low) + 1))
        else:
            found.append(item)
    return found
