"""The parameters of running nodes as the YAML of a parameter file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

# Every node has these; they say nothing about the arm
COMMON = ("use_sim_time", "start_type_description_service", "qos_overrides")
NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")


def parameter_yaml(robot: str, parameters: Mapping[str, Mapping[str, Any]]) -> str:
    """A section for each node, as in config/; it holds in any namespace."""
    lines = [f"# Parameters for {' '.join(robot.split())}, as they were while the nodes ran."]
    for node in (*NODES, *sorted(set(parameters) - set(NODES))):
        values = {
            name: value
            for name, value in parameters.get(node, {}).items()
            if name.partition(".")[0] not in COMMON
        }
        if values:
            lines += [f"/**/{node}:", "  ros__parameters:", *_branch(_tree(values), "    ")]
    return "\n".join(lines) + "\n"


def _tree(values: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as branches."""
    tree: dict[str, Any] = {}
    for name, value in sorted(values.items()):
        *branches, leaf = name.split(".")
        place = tree
        for branch in branches:
            place = place.setdefault(branch, {})
        place[leaf] = value
    return tree


def _branch(tree: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name, value in tree.items():
        if isinstance(value, dict):
            lines += [f"{indent}{name}:", *_branch(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {_value(value)}")
    return lines


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _number(value)
    return "[" + ", ".join(_value(item) for item in value) + "]"


def _number(value: float) -> str:
    """A float that reads back as one: rcl takes 1e-05 for text, and 1 for a whole number."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0.0 else "-.inf"
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if e and "." not in mantissa:
        mantissa += ".0"
    return mantissa + e + exponent
