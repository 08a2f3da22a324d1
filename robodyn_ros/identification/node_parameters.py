"""The YAML with which the nodes run on the identified robot."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .identified import Identified

NODES = {"dynamics_node": "monitor", "controller_node": "arm", "simulator_node": "plant"}


def text(found: Identified, urdf: str) -> str:
    """A section for each node: which robot, and whether the torque holds friction.

    Bodies, rotors, damping and friction stand in the URDF, from which every node reads them.
    """
    friction = "true" if found.design.terms else "false"
    worst = ", ".join(f"{x:.3g}" for x in found.largest_errors)
    lines = [
        "# Parameters for the identified robot; behind those of config/ they change what differs.",
        f"# Largest torque error of each joint over all logs [N m or N]: {worst}",
    ]
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
    return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    """A YAML string, whatever the path holds."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
