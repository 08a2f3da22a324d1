"""`robodyn identify` without the command line: files in, files out."""

from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import Payload, RobotModel
from ..sensing.bag_log import read_bag
from ..sensing.csv_log import ColumnMap, read_csv
from ..sensing.log import Log
from .identified import Identified
from .identify import identify
from .payload import DriveGains, find_gains

FILES = ("robot.urdf", "nodes.yaml", "report.html")
GAIN_DEVIATION_LIMIT = 0.2  # standard deviation of a drive gain, as a share of it


def read_log(
    path: str,
    model: RobotModel,
    columns: str | None = None,
    gains: npt.ArrayLike | None = None,
    topic: str = "/joint_states",
) -> Log:
    """Return a log from 'file.csv', from rows of it as 'file.csv:635:3510', or from a bag."""
    place, rows = _split(path)
    if place.is_dir() or place.suffix in (".mcap", ".db3"):
        return read_bag(place, model.joint_names, topic=topic, gains=gains, rows=rows)
    found = ColumnMap.parse(columns or _default_columns(model.n))
    if len(found.q) != model.n:
        raise ArgumentError(
            f"the column map has {len(found.q)} joints, robot '{model.name}' has {model.n}: "
            f"{', '.join(model.joint_names)}"
        )
    return read_csv(place, found, gains=gains, rows=rows)


def run(
    model: RobotModel,
    logs: Sequence[str],
    *,
    held_out: Sequence[str] = (),
    original: str | Path | None = None,
    out: str | Path = "identified",
    columns: str | None = None,
    gains: npt.ArrayLike | None = None,
    topic: str = "/joint_states",
    **options: Any,
) -> Identified:
    """Identify a robot from log files; write robot.urdf, nodes.yaml and report.html to `out`.

    original: the robot's URDF, whose meshes and other elements robot.urdf keeps. options: those
    of `identify`.
    """
    folder = _folder(out)  # before the long computation
    used, kept = (
        [read_log(path, model, columns, gains, topic) for path in paths]
        for paths in (logs, held_out)
    )
    found = identify(model, used, held_out=kept, **options)
    urdf, parameters, report = (folder / name for name in FILES)
    urdf.write_text(found.to_urdf(original), encoding="utf-8")
    found.to_yaml(parameters, urdf.resolve(), gains)
    found.report(report)
    return found


def facts_of(found: Identified, out: str | Path) -> dict[str, Any]:
    """Return the result as plain numbers and texts, for JSON; None for nan."""
    return {
        "robot": found.nominal.name,
        "joints": list(found.nominal.joint_names),
        "base_parameters": found.base.rank,
        "condition": found.least_squares.condition,
        "logs": [
            {"name": fit.name, "held_out": fit.held_out}
            | {
                what: [x if isfinite(x) else None for x in getattr(fit, what).tolist()]
                for what in ("relative", "rms", "at_reversals", "largest")
            }
            for fit in found.fits
        ],
        "doubts": found.doubts,
        "unexcited": found.unexcited.splitlines(),
        "files": {name: str(Path(out) / name) for name in FILES},
    }


def gains_by_payload(
    model: RobotModel,
    logs: Sequence[str],
    loaded: Sequence[str],
    payload: str,
    columns: str | None = None,
    topic: str = "/joint_states",
) -> DriveGains:
    """Return drive gains from logs of currents without and with a known payload."""
    held = parse_payload(payload)
    bare, carrying = (
        [read_log(path, model, columns, None, topic) for path in paths] for paths in (logs, loaded)
    )
    found = find_gains(model, bare, carrying, held)
    doubtful = found.deviation > GAIN_DEVIATION_LIMIT * np.abs(found.gains)
    if doubtful.any():
        joints = ", ".join(np.array(model.joint_names)[doubtful])
        raise ArgumentError(
            f"the payload is too light to find the drive gains of {joints}: take a heavier one, "
            "farther from their axes, or give --gains"
        )
    return found


def parse_payload(text: str) -> Payload:
    """Return a payload from 'link:2.5' [kg] or 'link:2.5:0,0,0.1', with its centre [m]."""
    link, *numbers = text.split(":")
    try:
        mass, *com = [float(x) for part in numbers for x in part.split(",")]
        x, y, z = com or (0.0, 0.0, 0.0)
    except ValueError:
        raise ArgumentError(
            f"'{text}' is not a payload; write link:kg, or link:kg:x,y,z with its centre of "
            "mass [m]"
        ) from None
    return Payload(link, mass, (x, y, z))


def _folder(out: str | Path) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise ArgumentError(
            f"'{folder}' cannot be a folder for the results: {reason.strerror}; name another"
        ) from None
    return folder


def _split(path: str) -> tuple[Path, tuple[int, int | None]]:
    """Return file and rows of 'file', 'file:first:last' or 'file:first:'."""
    name, *rows = path.rsplit(":", 2)
    if len(rows) == 2 and rows[0].isdigit() and (rows[1].isdigit() or not rows[1]):
        return Path(name), (int(rows[0]), int(rows[1]) if rows[1] else None)
    return Path(path), (0, None)


def _default_columns(n: int) -> str:
    """Return the usual order: time, positions, velocities, torques."""
    return f"t=0 q=1-{n} qd={n + 1}-{2 * n} tau={2 * n + 1}-{3 * n}"
