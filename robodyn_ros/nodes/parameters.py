"""ROS parameters from a parameter set: declared with text, unit and range, swapped as a whole."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..errors import ArgumentError, RobodynError
from ..settings import About, changed, leaves
from .node_settings import ControllerSettings, DemoSettings, DynamicsSettings, SimulatorSettings

TABLES = ("obstacles", "pushes")  # of simulator_node: their rows have names of the user's choice
ROS_OWN = "qos_overrides."  # rclpy declares its other parameters itself


# Parameters of an older release and what replaces them; given by the old name they are refused
RENAMED = {
    "stamps": "sensing.stamps",
    "motion": "active of demo_node",
    "demo_speed": "speed of demo_node",
}


class Parameters:
    """A node's parameter set, kept equal to its ROS parameters.

    prepare: checks a new set and returns what takes it over, or raises: then the old set stays.
    """

    def __init__(
        self, node: Node, settings: Any, prepare: Callable[[Any], Callable[[], None]]
    ) -> None:
        self._prepare = prepare
        self._waiting: tuple[Any, Callable[[], None]] | None = None
        _refuse_renamed(node)
        self.settings = declare(node, settings)
        elsewhere = (*(f"{table}." for table in TABLES), ROS_OWN)
        _warn_of_unknown(node, lambda name: not name.startswith(elsewhere), _known_to_any_node())
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._take_over)

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        defaults = {name: value for name, value, _ in leaves(self.settings)}
        try:
            if unset := [p.name for p in parameters if p.value is None]:
                raise ArgumentError(f"{', '.join(unset)} must have a value")  # or it is deleted
            if any(p.name == "use_sim_time" for p in parameters):
                raise ArgumentError("use_sim_time is fixed: give it when the node is started")
            values = {
                p.name: _from_ros(p.name, p.value, defaults[p.name])
                for p in parameters
                if p.name in defaults
            }
            new = changed(self.settings, values)
            self._waiting = new, self._prepare(new)
        except RobodynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _take_over(self, parameters: Sequence[Parameter]) -> None:
        if self._waiting is not None:
            (self.settings, take_over), self._waiting = self._waiting, None
            take_over()


def _refuse_renamed(node: Node) -> None:
    """Reject parameters by their old names; the error has the new ones."""
    old = sorted(RENAMED.keys() & set(_given(node)))
    if old:
        names = ", ".join(f"{name} is now {RENAMED[name]}" for name in old)
        raise ArgumentError(f"parameters have new names: {names}")


def declare(node: Node, settings: Any, prefix: str = "") -> Any:
    """Declare a set's fields as parameters; the set with the values that were given."""
    given = {}
    for name, default, about in leaves(settings):
        descriptor = _descriptor(default, about)
        found = node.declare_parameter(prefix + name, _to_ros(default), descriptor)
        given[name] = _from_ros(prefix + name, found.value, default)
    return changed(settings, given)


def declare_table(node: Node, name: str, row: Callable[[], Any]) -> dict[str, Any]:
    """Sets of one kind by names of the user's choice: `name.names` lists them."""
    text = f"names of the {name}; the parameters of each are {name}.<its name>.…"
    about = _descriptor((), About(text, fixed=True))
    listed = node.declare_parameter(f"{name}.names", [""], about).value or ()
    rows = {one: declare(node, row(), f"{name}.{one}.") for one in listed if one}
    named = {key: key.removeprefix(f"{name}.").rpartition(".")[0] for key in _given(node, name)}
    unlisted = sorted({one for one in named.values() if one} - rows.keys())
    if unlisted:
        node.get_logger().warning(f"not in {name}.names, so left out: {', '.join(unlisted)}")
    _warn_of_unknown(node, lambda key: key in named and named[key] not in unlisted)
    return rows


def _known_to_any_node() -> set[str]:
    """A file's section may be meant for several nodes: what one of them knows is no mistake."""
    every = SimulatorSettings(), ControllerSettings(), DynamicsSettings(), DemoSettings()
    return {name for settings in every for name, _, _ in leaves(settings)}


def _warn_of_unknown(
    node: Node, judged: Callable[[str], bool], known: Collection[str] = ()
) -> None:
    """Log which of the given parameters are not declared, and the closest declared name."""
    declared = list(getattr(node, "_parameters", {}))
    for name in sorted(filter(judged, _given(node))):
        if node.has_parameter(name) or name in known:
            continue
        near = difflib.get_close_matches(name, declared, n=1)
        meant = f"; is {near[0]} meant?" if near else ""
        node.get_logger().warning(f"parameter {name} is not known and does nothing{meant}")


def _given(node: Node, table: str = "") -> list[str]:
    """Names of the parameters that the node was started with; rclpy has no other way to ask."""
    start = f"{table}." if table else ""
    return [name for name in getattr(node, "_parameter_overrides", {}) if name.startswith(start)]


def _descriptor(default: Any, about: About) -> ParameterDescriptor:
    unit = f" [{about.unit}]" if about.unit else ""
    numbers = isinstance(default, (float, tuple)) and not isinstance(default, bool)
    descriptor = ParameterDescriptor(
        description=about.text + unit,
        read_only=about.fixed,
        dynamic_typing=numbers,  # or `1` would not do where 1.0 does
    )
    bounded = isinstance(default, float) and not math.isinf(about.low + about.high)
    if bounded:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(about.low), to_value=float(about.high))
        ]
    elif about.choices:
        descriptor.additional_constraints = "one of " + ", ".join(about.choices)
    elif isinstance(default, tuple) and not math.isinf(about.low):
        descriptor.additional_constraints = f"one for all joints or one each, from {about.low:g}"
    return descriptor


def _to_ros(value: Any) -> Any:
    """An empty list has no type on the wire: it goes as a list with one empty text."""
    if isinstance(value, tuple):
        return list(value) or [""]
    return value


def _from_ros(name: str, value: Any, like: Any) -> Any:
    """A parameter's value as the set has it: tuples, and numbers that are floats."""
    if isinstance(like, tuple):
        items = [value] if isinstance(value, (str, bool, int, float)) else list(value or ())
        items = [item for item in items if item != ""]
        return tuple(_from_ros(name, item, like[0] if like else "") for item in items)
    if isinstance(like, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(like, int) and not isinstance(like, bool) and type(value) is not int:
        raise ArgumentError(f"{name} must be a whole number, got {value!r}")
    return value
