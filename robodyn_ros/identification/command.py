"""What `robodyn identify` does, without the command line: files in, files out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .bag_log import read_bag
from .csv_log import ColumnMap, read_csv
from .friction import TERMS
from .identified import Identified
from .identify import Progress, identify
from .log import Log


def read_log(
    path: str,
    model: RobotModel,
    columns: str | None = None,
    gains: npt.ArrayLike | None = None,
    topic: str = "/joint_states",
) -> Log:
    """A log from 'file.csv', from rows of it as 'file.csv:635:3510', or from a bag's folder."""
    place, rows = _split(path)
    if place.is_dir() or place.suffix in (".mcap", ".db3"):
        return read_bag(place, model.joint_names, topic=topic, gains=gains, rows=rows)
    return read_csv(place, ColumnMap.parse(columns or _usual(model.n)), gains=gains, rows=rows)


def run(
    model: RobotModel,
    logs: Sequence[str],
    *,
    held_out: Sequence[str] = (),
    out: str | Path = "identified",
    columns: str | None = None,
    gains: npt.ArrayLike | None = None,
    topic: str = "/joint_states",
    cutoff: float | None = None,
    method: str = "differences",
    friction: Sequence[str] = TERMS,
    rotors: bool = True,
    prior: float = 0.3,
    progress: Progress | None = None,
) -> Identified:
    """Identify a robot from log files; robot.urdf, nodes.yaml and report.html go to `out`."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ArgumentError(f"'{folder}' is no folder: name one for the results")
    used, kept = (
        [read_log(path, model, columns, gains, topic) for path in paths]
        for paths in (logs, held_out)
    )
    found = identify(
        model,
        used,
        held_out=kept,
        cutoff=cutoff,
        method=method,
        friction=friction,
        rotors=rotors,
        prior=prior,
        progress=progress,
    )
    folder.mkdir(parents=True, exist_ok=True)
    urdf = folder / "robot.urdf"
    urdf.write_text(found.to_urdf(), encoding="utf-8")
    found.to_yaml(folder / "nodes.yaml", urdf.resolve())
    found.report(folder / "report.html")
    return found


def _split(path: str) -> tuple[Path, tuple[int, int | None]]:
    """File and rows of 'file', 'file:first:last' or 'file:first:'."""
    name, *rows = path.rsplit(":", 2)
    if len(rows) == 2 and rows[0].isdigit() and (rows[1].isdigit() or not rows[1]):
        return Path(name), (int(rows[0]), int(rows[1]) if rows[1] else None)
    return Path(path), (0, None)


def _usual(n: int) -> str:
    """Time, positions, velocities, torques, one after another."""
    return f"t=0 q=1-{n} qd={n + 1}-{2 * n} tau={2 * n + 1}-{3 * n}"
