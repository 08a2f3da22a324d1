"""Parameters of dynamics_node: YAML for it, and what a bag or a file says about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..settings import changed, leaves

NODE = "dynamics_node"
KEY = f"robodyn_ros.{NODE}"  # under which a bag keeps them
DESCRIPTION = "robodyn_ros.robot_description"  # and the URDF they name


@dataclass(frozen=True)
class NodeParameters:
    """What a dynamics_node ran with, or shall run with."""

    robot: Mapping[str, Any]  # name, urdf, root, tip, lock
    effort: str
    monitor: MonitorSettings


def from_flat(values: Mapping[str, Any]) -> NodeParameters:
    """From parameters by their dotted names, as the node tells them; unknown ones are ignored."""
    own = {name: value for name, value, _ in leaves(MonitorSettings())}
    given = {
        name.removeprefix("monitor."): _like(own[name.removeprefix("monitor.")], value)
        for name, value in values.items()
        if name.removeprefix("monitor.") in own and name.startswith("monitor.")
    }
    robot = {
        name.removeprefix("robot."): value
        for name, value in values.items()
        if name.startswith("robot.")
    }
    return NodeParameters(robot, str(values.get("effort", "")), changed(MonitorSettings(), given))


def from_bag(custom: Mapping[str, str]) -> NodeParameters | None:
    """What a bag says its node ran with, if it does."""
    try:
        values = json.loads(custom[KEY])
        return from_flat(values) if isinstance(values, dict) else None
    except (KeyError, ValueError):
        return None


def from_file(path: Path) -> NodeParameters:
    """From a parameter file of the node, as in config/."""
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise ArgumentError(
            "--params needs ruamel.yaml: pip install 'robodyn_ros[bags]'"
        ) from None
    try:
        sections = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as reason:
        text = str(reason).splitlines()[0]
        raise ArgumentError(f"cannot read the parameters '{path}': {text}") from None
    found: dict[str, Any] = {}
    for name, section in sections.items() if isinstance(sections, dict) else ():
        if str(name).rpartition("/")[2] in (NODE, "**") and isinstance(section, dict):
            found |= _flat(section.get("ros__parameters") or {})
    if not found:
        raise ArgumentError(f"'{path}' has no parameters of {NODE}")
    return from_flat(found)


def text(parameters: NodeParameters, remarks: Iterable[str] = ()) -> str:
    """The YAML that makes a node run with these."""
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"/**/{NODE}:", "  ros__parameters:"]
    robot = {k: v for k, v in parameters.robot.items() if v and v != [""]}
    if robot:
        lines += ["    robot:", *(f"      {k}: {_value(v)}" for k, v in robot.items())]
    if parameters.effort in ("command", "joint_states"):
        lines.append(f"    effort: {parameters.effort}")
    lines.append("    monitor:")
    group = ""
    for name, value, about in leaves(parameters.monitor):
        head, _, rest = name.partition(".")
        if rest and head != group:
            group = head
            lines.append(f"      {head}:")
        unit = f"  # [{about.unit}]" if about.unit else ""
        if value != () and value != "":
            indent = "        " if rest else "      "
            lines.append(f"{indent}{rest or head}: {_value(value)}{unit}")
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """JSON is YAML; numbers keep their point, or ROS takes them for whole ones."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(float(f"{value:.4g}"))
    return json.dumps(value)


def _like(default: Any, value: Any) -> Any:
    """A value as the parameter set has it."""
    if isinstance(default, tuple):
        items = value if isinstance(value, (list, tuple)) else [value]
        return tuple(_like(default[0] if default else "", item) for item in items if item != "")
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + str(name)] = value
    return found
