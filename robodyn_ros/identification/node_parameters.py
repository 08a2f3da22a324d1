"""The YAML with which the nodes run on the identified robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.friction import friction_torque
from ..model.robot import RobotModel

if TYPE_CHECKING:
    from .identified import Identified
    from .log import Array

NODES = {"dynamics_node": "monitor", "controller_node": "arm", "simulator_node": "plant"}
CONTACT, COLLISION = 1.2, 2.0  # thresholds, as multiples of the largest error seen


def text(found: Identified, urdf: str) -> str:
    """A section for each node: which robot, whether the torque holds friction, and thresholds
    above all that the logs show without contact.

    Bodies, rotors, damping and friction stand in the URDF, from which every node reads them.
    """
    friction = "true" if found.design.terms else "false"
    worst = largest_errors(found, found.straight)
    lines = ["# The identified robot; give this file behind those of config/."]
    for node, section in NODES.items():
        lines += [
            f"/**/{node}:",
            "  ros__parameters:",
            "    robot:",
            '      name: ""',
            f"      urdf: {_quoted(urdf)}",
            f"    {section}:",
            f"      friction: {friction}",
        ]
        if section == "monitor":
            lines += [
                "      # [N m or N], above the largest torque error of each joint over all logs:",
                f"      # {', '.join(f'{x:.3g}' for x in worst)}",
                f"      contact: {{base: {_numbers(CONTACT * worst)}}}",
                f"      collision: {{base: {_numbers(COLLISION * worst)}}}",
            ]
    return "\n".join(lines) + "\n"


def largest_errors(found: Identified, model: RobotModel) -> Array:
    """(n,) [N m or N]: largest torque error over all logs with this model's friction, as a node
    takes it off, instead of that of `found.friction`.
    """
    errors = [
        np.abs(fit.error + fit.friction - friction_torque(model, fit.qd)).max(axis=0)
        for fit in found.fits
    ]
    return np.asarray(np.max(errors, axis=0))


def _numbers(values: Array) -> str:
    return "[" + ", ".join(f"{x:.3f}" for x in values) + "]"


def _quoted(value: str) -> str:
    """A YAML string, whatever the path holds."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
