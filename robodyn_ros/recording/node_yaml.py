"""Parameters of dynamics_node: from a bag or a file, and as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..sensing.settings import SensingSettings
from ..settings import changed, leaves

NODE = "dynamics_node"
KEY = f"robodyn_ros.{NODE}"  # metadata of a bag: the node's parameters
DESCRIPTION = "robodyn_ros.robot_description"  # metadata of a bag: the URDF


@dataclass(frozen=True)
class NodeParameters:
    """Parameters of a dynamics_node."""

    robot: Mapping[str, Any]  # name, urdf, root, tip, lock
    effort: str
    monitor: MonitorSettings
    sensing: SensingSettings = SensingSettings()
    rate: float | None = None  # [Hz], nominal, of the joint states


def from_flat(values: Mapping[str, Any]) -> NodeParameters:
    """Return the parameters by their dotted names, as the node lists them; others are ignored."""
    rate = values.get("rate")
    return NodeParameters(
        robot=_below("robot.", values),
        effort=str(values.get("effort", "")),
        monitor=_settings(MonitorSettings(), _below("monitor.", values)),
        sensing=_settings(SensingSettings(), _below("sensing.", values)),
        rate=float(rate) if isinstance(rate, (int, float)) and rate > 0.0 else None,
    )


def _below(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    start = len(prefix)
    return {name[start:]: value for name, value in values.items() if name.startswith(prefix)}


def _settings(defaults: Any, values: Mapping[str, Any]) -> Any:
    """Return the set with these values; names that it does not have are ignored."""
    own = {name: value for name, value, _ in leaves(defaults)}
    given = {name: _like(own[name], value) for name, value in values.items() if name in own}
    return changed(defaults, given)


def from_bag(custom: Mapping[str, str]) -> NodeParameters | None:
    """Return the parameters of the node that a bag was recorded with, or None."""
    try:
        values = json.loads(custom[KEY])
        return from_flat(values) if isinstance(values, dict) else None
    except (KeyError, ValueError):
        return None


def from_file(path: Path) -> NodeParameters:
    """Return the parameters in a file of the node, as in config/."""
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
    """Return the YAML that makes a node run with these parameters."""
    lines = [f"# {remark}" for remark in remarks]
    lines += [f"/**/{NODE}:", "  ros__parameters:"]
    robot = {k: v for k, v in parameters.robot.items() if v and v != [""]}
    if robot:
        lines += ["    robot:", *(f"      {k}: {_value(v)}" for k, v in robot.items())]
    if parameters.effort in ("command", "joint_states"):
        lines.append(f"    effort: {parameters.effort}")
    usual = {name: value for name, value, _ in leaves(SensingSettings())}
    other = [(n, v) for n, v, _ in leaves(parameters.sensing) if v != usual[n]]
    if other:
        lines += ["    sensing:", *(f"      {name}: {_value(value)}" for name, value in other)]
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
    """Return a value as JSON, which is YAML; floats keep their point, as ROS needs it."""
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, float):
        return repr(float(f"{value:.4g}"))
    return json.dumps(value)


def _like(default: Any, value: Any) -> Any:
    """Return a value with the types of the default."""
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
