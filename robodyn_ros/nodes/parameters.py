"""ROS parameters from a parameter set: declared with text, unit and range, replaced as a whole."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ..errors import ArgumentError, RobodynError
from ..sensing.effort_settings import RENAMED as RENAMED_EFFORT
from ..settings import About, changed, converted, leaves
from .node_settings import SETTINGS

# Tables of simulator_node, and parameters that rclpy declares itself
DECLARED_ELSEWHERE = ("obstacles.", "pushes.", "qos_overrides.")
# Parameters of an older release and what replaces them; the old names are rejected
RENAMED = {
    "stamps": "sensing.stamps",
    "motion": "active of demo_node",
    "demo_speed": "speed of demo_node",
    **RENAMED_EFFORT,
}


class Parameters:
    """A node's parameter set, kept equal to its ROS parameters.

    prepare: checks a new set and returns the function that applies it, or raises.
    """

    def __init__(
        self, node: Node, settings: Any, prepare: Callable[[Any], Callable[[], None]]
    ) -> None:
        self._prepare = prepare
        self._checked: tuple[Any, Callable[[], None]] | None = None
        if renamed := sorted(RENAMED.keys() & set(_given(node))):
            names = ", ".join(f"{name} is now {RENAMED[name]}" for name in renamed)
            raise ArgumentError(f"parameters have new names: {names}")
        self.settings = declare(node, settings)
        # A file's section may be for several nodes: a name that one of them knows is no mistake
        known = {name for kind in SETTINGS.values() for name, _, _ in leaves(kind())}
        _warn_of_unknown(node, lambda name: not name.startswith(DECLARED_ELSEWHERE), known)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    def _check(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        defaults = {name: value for name, value, _ in leaves(self.settings)}
        try:
            if unset := [p.name for p in parameters if p.value is None]:
                raise ArgumentError(f"{', '.join(unset)} must have a value")  # else deleted
            if any(p.name == "use_sim_time" for p in parameters):
                raise ArgumentError("use_sim_time is fixed: give it when the node is started")
            values = {
                p.name: _from_ros(p.name, p.value, defaults[p.name])
                for p in parameters
                if p.name in defaults
            }
            new = changed(self.settings, values)
            self._checked = new, self._prepare(new)
        except RobodynError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: Sequence[Parameter]) -> None:
        if self._checked is not None:
            (self.settings, apply), self._checked = self._checked, None
            apply()


def declare(node: Node, settings: Any, prefix: str = "") -> Any:
    """Declare a set's fields as parameters; return the set with the values that were given."""
    given = {}
    for name, default, about in leaves(settings):
        # An empty list has no type in ROS: declare a list with one empty text
        value = (list(default) or [""]) if isinstance(default, tuple) else default
        found = node.declare_parameter(prefix + name, value, _descriptor(default, about))
        given[name] = _from_ros(prefix + name, found.value, default)
    return changed(settings, given)


def declare_table(node: Node, name: str, row: Callable[[], Any]) -> dict[str, Any]:
    """Declare parameter sets whose names the user lists in `name.names`; return them by name."""
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


def _warn_of_unknown(
    node: Node, is_own: Callable[[str], bool], known: Collection[str] = ()
) -> None:
    """Log which of the given parameters are not declared, and the closest declared name."""
    declared = list(getattr(node, "_parameters", {}))
    for name in sorted(filter(is_own, _given(node))):
        if node.has_parameter(name) or name in known:
            continue
        near = difflib.get_close_matches(name, declared, n=1)
        meant = f"; is {near[0]} meant?" if near else ""
        node.get_logger().warning(f"parameter {name} is not known and does nothing{meant}")


def _given(node: Node, table: str = "") -> list[str]:
    """Return the names of the parameters that the node was started with; rclpy hides them."""
    start = f"{table}." if table else ""
    return [name for name in getattr(node, "_parameter_overrides", {}) if name.startswith(start)]


def _descriptor(default: Any, about: About) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(
        description=about.described,
        read_only=about.fixed,
        dynamic_typing=isinstance(default, (float, tuple)),  # accept `1` for 1.0
    )
    if isinstance(default, float) and not math.isinf(about.low + about.high):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(about.low), to_value=float(about.high))
        ]
    elif about.choices:
        descriptor.additional_constraints = "one of " + ", ".join(about.choices)
    elif isinstance(default, tuple) and not math.isinf(about.low):
        descriptor.additional_constraints = f"one for all joints or one each, from {about.low:g}"
    return descriptor


def _from_ros(name: str, value: Any, default: Any) -> Any:
    value = converted(value, default)
    if isinstance(default, int) and not isinstance(default, bool) and type(value) is not int:
        raise ArgumentError(f"{name} must be a whole number, got {value!r}")
    return value
