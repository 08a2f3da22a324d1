"""load_robot: one of the built-in arms by its name, or any other from its URDF."""

from __future__ import annotations

from pathlib import Path

from . import robots
from .robot import RobotModel
from .urdf import load_urdf
from .urdf_writer import to_urdf

BUILT_IN = ("lwr_iii", "kuka_lwr4", "stanford", "planar_2r", "rx90", "puma_4dof")


def load_robot(
    robot: str,
    root: str | None = None,
    tip: str | None = None,
    lock: dict[str, float] | list[str] | None = None,
    strict: bool = False,
) -> RobotModel:
    """One of the built-in arms by name, or a URDF by path or as text."""
    description = robot
    if robot in BUILT_IN and not Path(robot).exists():
        model: RobotModel = getattr(robots, robot)()
        if not (root or tip or lock or strict):
            return model
        description = to_urdf(model)
    return load_urdf(description, root=root, tip=tip, lock=lock, strict=strict)
