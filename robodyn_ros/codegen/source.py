"""What all generated files say of themselves, and how a model is told from another."""

from __future__ import annotations

import hashlib
import re

import numpy as np

from ..model.robot import FRICTION, RobotModel
from .quantities import Customized

STRUCTURE = ("parent", "prismatic", "coordinate", "ratio", "offset", "axis", "rotation", "place")
INERTIA = ("mass", "com", "inertia", "rotor_inertia", "gravity")


def checksum(model: RobotModel) -> str:
    """SHA-256 of all numbers that the dynamics of a robot depend on."""
    digest = hashlib.sha256()
    for name in (*STRUCTURE, *INERTIA, *FRICTION):
        numbers = np.ascontiguousarray(getattr(model, name), dtype="<f8") + 0.0
        digest.update(f"{name}{numbers.shape}".encode())
        digest.update(numbers.tobytes())
    return digest.hexdigest()


def identifier(text: str) -> str:
    """A name that C and Python accept."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return f"_{name}" if name[:1].isdigit() else name


def _plain(text: str) -> str:
    """Strangers' names, without what could end a comment."""
    return re.sub(r"[^\w .:+-]", "_", text, flags=re.ASCII)


def about_constants(function: str) -> list[str]:
    """How code with symbolic parameters is fed."""
    return [
        f"{function} is called once for each set of parameters: ten per body",
        "(m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz about its frame), then for all joints rotor",
        "inertia, viscous, Coulomb and static friction, and how fast that fades.",
    ]


def header(model: RobotModel, made: Customized) -> list[str]:
    """The lines that stand at the top of a generated file."""
    kind = "base inertial parameters" if made.base else "standard inertial parameters"
    if not made.quantity.inertial:
        kind = "no inertial parameters" if made.name == "regressor" else "friction parameters"
    where = "as symbols" if made.symbolic else "as numbers"
    parts = zip(made.quantity.outputs, made.outputs, strict=True)
    shapes = ", ".join(f"{name}[{len(part)}]" for name, part in parts)
    joints = ", ".join(map(_plain, model.joint_names))
    return [
        f"{made.name} of robot '{_plain(model.name)}', customized by robodyn_ros: do not edit.",
        "",
        f"robot:       {_plain(model.name)}, {model.n} joints: {joints}",
        f"quantity:    {made.name}{'' if made.gravity else ', without gravity'}",
        f"in:          {', '.join(f'{name}[{model.n}]' for name in made.quantity.inputs)}",
        f"out:         {shapes}",
        f"parameters:  {kind}{'' if kind.startswith('no') else f', {where}'}",
        f"operations:  {made.operations}",
        f"model:       sha256 {checksum(model)}",
    ]
