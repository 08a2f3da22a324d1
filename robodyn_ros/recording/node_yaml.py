"""Parameters of dynamics_node: from a bag or a file, and as YAML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..detection.monitor_settings import MonitorSettings
from ..errors import ArgumentError
from ..model.friction_settings import FrictionSettings
from ..renamed_parameters import RENAMED, reject_old_names
from ..sensing.effort_settings import SOURCES, EffortSettings
from ..sensing.settings import SensingSettings
from ..settings import changed, converted, leaves, yaml_section

NODE = "dynamics_node"
KEY = f"robodyn_ros.{NODE}"  # metadata of a bag: the node's parameters
DESCRIPTION = "robodyn_ros.robot_description"  # metadata of a bag: the URDF


@dataclass(frozen=True)
class NodeParameters:
    """Parameters of a dynamics_node."""

    robot: Mapping[str, Any]  # name, urdf, root, tip, lock, friction.…
    source: str  # of the effort: command or joint_states; empty: not known
    monitor: MonitorSettings
    sensing: SensingSettings = SensingSettings()
    effort: EffortSettings = EffortSettings()  # without its source
    rate: float | None = None  # [Hz], nominal, of the joint states


def from_flat(values: Mapping[str, Any]) -> NodeParameters:
    """Return the parameters by their dotted names, as the node lists them; others are ignored."""
    rate = values.get("rate")
    effort = _below("effort.", values)
    return NodeParameters(
        robot=_below("robot.", values),
        source=str(effort.pop("source", "")),
        effort=_settings(EffortSettings(), effort),
        monitor=_settings(MonitorSettings(), _below("monitor.", values)),
        sensing=_settings(SensingSettings(), _below("sensing.", values)),
        rate=float(rate) if isinstance(rate, (int, float)) and rate > 0.0 else None,
    )


def friction_of(robot: Mapping[str, Any]) -> FrictionSettings:
    """Return the friction among the parameters of a robot."""
    found: FrictionSettings = _settings(FrictionSettings(), _below("friction.", robot))
    return found


def _below(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    start = len(prefix)
    return {name[start:]: value for name, value in values.items() if name.startswith(prefix)}


def _settings(defaults: Any, values: Mapping[str, Any]) -> Any:
    """Return the set with these values; names that it does not have are ignored."""
    own = {name: value for name, value, _ in leaves(defaults)}
    given = {name: converted(value, own[name]) for name, value in values.items() if name in own}
    return changed(defaults, given)


def from_bag(custom: Mapping[str, str]) -> NodeParameters | None:
    """Return the parameters of the node that a bag was recorded with, or None."""
    try:
        values = json.loads(custom[KEY])
        return from_flat(_renamed(values)) if isinstance(values, dict) else None
    except (KeyError, ValueError):
        return None


def _renamed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an older recording by today's names."""
    old = {name: values[name] for name in RENAMED if name in values}
    new = {name: value for name, value in values.items() if name not in RENAMED}
    for name in old.keys() & {"effort", "stamps"}:
        new[RENAMED[name]] = old[name]
    if old.get("monitor.friction"):
        new["effort.friction"] = "model"
    if old.get("monitor.gravity_free"):
        new["effort.gravity"] = "removed"
    return new


def from_file(path: Path) -> NodeParameters:
    """Return the parameters in a file of the node, as in config/."""
    return _from_file(path, path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=16)  # a fleet of recordings shares one file
def _from_file(path: Path, _: int) -> NodeParameters:
    try:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError:
        raise ArgumentError("--params needs ruamel.yaml: pip install ruamel.yaml") from None
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
    reject_old_names(found, f" in '{path}'")
    return from_flat(found)


def text(parameters: NodeParameters, remarks: Iterable[str] = ()) -> str:
    """Return the YAML that makes a node run with these parameters."""
    usual = {name: value for name, value, _ in leaves(SensingSettings())}
    values = {f"robot.{k}": v for k, v in parameters.robot.items() if v and v != [""]}
    if parameters.source in SOURCES:
        values["effort.source"] = parameters.source
    plain = {name: value for name, value, _ in leaves(EffortSettings())}
    values |= {f"effort.{k}": v for k, v, _ in leaves(parameters.effort) if v != plain[k]}
    values |= {f"sensing.{k}": v for k, v, _ in leaves(parameters.sensing) if v != usual[k]}
    units = {}
    for name, value, about in leaves(parameters.monitor):
        if value != () and value != "":
            values[f"monitor.{name}"] = _rounded(value)
            units[f"monitor.{name}"] = f"[{about.unit}]" if about.unit else ""
    return "".join(f"# {remark}\n" for remark in remarks) + yaml_section(
        f"/**/{NODE}", values, units
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return float(f"{value:.4g}") if isinstance(value, float) else value


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + str(name)] = value
    return found
