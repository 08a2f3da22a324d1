"""ROS parameters from a parameter set: declared with text, unit and range, replaced as a whole."""

from __future__ import annotations

import difflib
import math
from array import array
from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_parameters

from ..errors import ArgumentError, RobodynError
from ..renamed_parameters import new_names, reject_old_names
from ..settings import About, changed, converted, leaves
from .node_settings import SETTINGS

# Tables of simulator_node and guard_node, and parameters that rclpy declares itself
DECLARED_ELSEWHERE = ("faults.", "means.", "obstacles.", "pushes.", "qos_overrides.")
MAX_PAIRED = 12  # refused parameters of one request that are tried in pairs
MAX_NAME = 200  # [characters] of a name that are compared
MIXED_LIST = "should be of same type"  # what rcl says of [1, 2.5] in a file
POINTS = "write all numbers of a list with a point, e.g. [1.0, 2.5]"


class Parameters:
    """A node's parameter set, kept equal to its ROS parameters.

    prepare: checks a new set and returns the function that applies it, or raises. refused: called
    with a text for each parameter that a client could not set.
    """

    def __init__(
        self,
        node: Node,
        settings: Any,
        prepare: Callable[[Any], Callable[[], None]],
        refused: Callable[[str], None],
    ) -> None:
        self._node, self._prepare, self._refused = node, prepare, refused
        self._checked: tuple[Any, Callable[[], None]] | None = None
        reject_old_names(_given(node))
        self.settings = declare(node, settings)
        self._real = {
            name for name, default, about in leaves(settings) if _is_real(default, about)
        }
        # A file's section may be for several nodes: a name that one of them knows is no mistake
        known = {name for kind in SETTINGS.values() for name, _, _ in leaves(kind())}
        _warn_of_unknown(node, lambda name: not name.startswith(DECLARED_ELSEWHERE), known)
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)
        self._serve()

    def _serve(self) -> None:
        """Replace rclpy's services that set parameters.

        Its set_parameters sets one after the other, so that of two parameters that must fit each
        other, as `ros2 param load` sends them, one is refused.
        """
        node, kinds = self._node, (SetParameters, SetParametersAtomically)
        for service in [service for service in node.services if service.srv_type in kinds]:
            node.destroy_service(service)
        qos = qos_profile_parameters
        node.create_service(kinds[0], "~/set_parameters", self._on_set, qos_profile=qos)
        name = "~/set_parameters_atomically"
        node.create_service(kinds[1], name, self._on_set_all, qos_profile=qos)

    def _on_set(self, request: Any, response: Any) -> Any:
        """Set what can be set, together if possible; answer for each parameter."""
        wanted = [Parameter.from_parameter_msg(item) for item in request.parameters]
        response.results = set_together(wanted, self._set)
        for parameter, result in zip(wanted, response.results, strict=True):
            if not result.successful:
                self._refused(f"rejected parameter {parameter.name}: {result.reason}")
        return response

    def _on_set_all(self, request: Any, response: Any) -> Any:
        """Set all parameters, or none."""
        wanted = [Parameter.from_parameter_msg(item) for item in request.parameters]
        response.result = self._set(wanted)
        if not response.result.successful:
            names = ", ".join(parameter.name for parameter in wanted)
            self._refused(f"rejected parameters {names}: {response.result.reason}")
        return response

    def _set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        typed = [
            Parameter(p.name, value=_doubles(p.value)) if p.name in self._real else p
            for p in parameters
        ]
        try:
            return self._node.set_parameters_atomically(typed)
        except ParameterNotDeclaredException:  # its text names none
            known = [name for name, _, _ in leaves(self.settings)]
            unknown = next(p.name for p in parameters if not self._node.has_parameter(p.name))
            reason = new_names([unknown]) or f"there is no {unknown}{nearest(unknown, known)}"
            return SetParametersResult(successful=False, reason=reason)

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


def set_together(
    parameters: Sequence[Parameter],
    set_all: Callable[[Sequence[Parameter]], SetParametersResult],
) -> list[SetParametersResult]:
    """Set parameters, whatever their order; return the result of each.

    set_all: sets all given parameters, or none. First all are set at once. If that is refused, one
    of them is bad: then one by one, again while that helps, and two at once where both must
    change together.
    """
    whole = set_all(parameters)
    results = [whole] * len(parameters)
    if whole.successful or len(parameters) < 2:
        return results
    waiting, size = list(range(len(parameters))), 1
    while size <= 2 and (size == 1 or len(waiting) <= MAX_PAIRED):
        before = len(waiting)
        for group in list(combinations(waiting, size)):
            if not set(group) <= set(waiting):
                continue
            result = set_all([parameters[k] for k in group])
            if result.successful:
                waiting = [k for k in waiting if k not in group]
            if result.successful or size == 1:
                for k in group:
                    results[k] = result
        size = 1 if len(waiting) < before else size + 1
    return results


def declare(node: Node, settings: Any, prefix: str = "") -> Any:
    """Declare a set's fields as parameters; return the set with the values that were given."""
    given, overrides = {}, getattr(node, "_parameter_overrides", {})
    for name, default, about in leaves(settings):
        # An empty list has no type in ROS: declare a list with one empty text
        value = (list(default) or [""]) if isinstance(default, tuple) else default
        override = getattr(overrides.get(prefix + name), "value", None)
        whole = _is_real(default, about) and _is_whole(override)
        if whole:  # or other programs would find an integer, in a list an array of these
            value = _doubles(override)
        descriptor = _descriptor(default, about)
        found = node.declare_parameter(prefix + name, value, descriptor, ignore_override=whole)
        given[name] = _from_ros(prefix + name, found.value, default)
    return changed(settings, given)


def declare_table(node: Node, name: str, row: Callable[[], Any]) -> dict[str, Any]:
    """Declare parameter sets whose names the user lists in `name.names`; return them by name."""
    text = f"names of the {name}; the parameters of each are {name}.<its name>.…"
    about = _descriptor((), About(text, fixed=True))
    listed = node.declare_parameter(f"{name}.names", [""], about).value or ()
    rows = {}
    for one in filter(None, listed):
        try:
            rows[one] = declare(node, row(), f"{name}.{one}.")
        except ArgumentError as error:
            raise ArgumentError(f"{name}.{one}: {error}") from error
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
        meant = nearest(name, declared)
        node.get_logger().warning(f"parameter {name} is not known and does nothing{meant}")


def nearest(name: str, known: Collection[str]) -> str:
    """Return a question that names the known parameter closest to this name, or ''."""
    near = difflib.get_close_matches(name[:MAX_NAME], known, n=1)
    return f"; is {near[0]} meant?" if near else ""


def refused_arguments(error: Exception) -> str:
    """Return why rcl refuses a node's arguments, with the remedy for lists that it cannot read."""
    return f"{error}; {POINTS}" if MIXED_LIST in str(error) else str(error)


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


def _is_real(default: Any, about: About) -> bool:
    """Whether a parameter is a number that may have decimals, or a list of these."""
    first = default[0] if isinstance(default, tuple) and default else default
    return isinstance(first, float) or about.numbers


def _is_whole(value: Any) -> bool:
    """Whether a value is an integer, or a list of these: `1` or `[1, 2]` in YAML."""
    return all(type(item) is int for item in value) if _is_list(value) else type(value) is int


def _doubles(value: Any) -> Any:
    """Return integers as doubles, anything else as it is."""
    if not _is_whole(value):
        return value
    return list(map(float, value)) if _is_list(value) else float(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, array)) and len(value) > 0


def _from_ros(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, tuple) and isinstance(value, str) and value.startswith("["):
        # What `ros2 param set` makes of [1, 2.5]
        raise ArgumentError(f"{name} must be a list, got the text {value!r}: {POINTS}")
    value = converted(value, default)
    if isinstance(default, int) and not isinstance(default, bool) and type(value) is not int:
        raise ArgumentError(f"{name} must be a whole number, got {value!r}")
    return value
