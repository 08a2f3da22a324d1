"""Parameter sets, frozen dataclasses whose fields have a description, a unit and a range; as YAML.

A set is checked as a whole when it is made, so no invalid one exists. Nodes declare their ROS
parameters from it; other code passes it to its algorithm.

    @dataclass(frozen=True)
    class ObserverSettings:
        gain: tuple[float, ...] = setting((50.0,), "one for all joints or one each", "1/s", low=0)
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .errors import ArgumentError


class About(NamedTuple):
    """Description, unit and allowed values of a field."""

    text: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    fixed: bool = False  # cannot be changed while running
    numbers: bool = False  # an empty tuple is one of numbers, not of texts
    internal: bool = False  # of the library, no parameter of a node

    @property
    def described(self) -> str:
        """Description with the unit, for people."""
        return f"{self.text} [{self.unit}]" if self.unit else self.text


class ParameterSet:
    """Base of a parameter set whose fields need no other checks than their own."""

    def __post_init__(self) -> None:
        check(self)


def setting(default: Any, *about: Any, **options: Any) -> Any:
    """Return a dataclass field of a parameter set; about: text, unit, low, high of `About`."""
    return dataclasses.field(default=default, metadata={"about": About(*about, **options)})


def group(kind: Any, **changed: Any) -> Any:
    """Return a dataclass field that is a parameter set itself, with some defaults changed."""
    return dataclasses.field(default_factory=lambda: kind(**changed))


def leaves(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any, About]]:
    """Yield dotted name, value and description of every parameter, nested sets included."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}{field.name}.")
        elif not field.metadata["about"].internal:
            yield prefix + field.name, value, field.metadata["about"]


def changed(settings: Any, values: dict[str, Any]) -> Any:
    """Return a copy of the set with some values replaced, by dotted names; checked as a whole."""
    own: dict[str, Any] = {}
    deeper: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        first, _, rest = name.partition(".")
        if rest:
            deeper.setdefault(first, {})[rest] = value
        else:
            own[first] = value
    for first, inner in deeper.items():
        own[first] = changed(getattr(settings, first), inner)
    return dataclasses.replace(settings, **own)


def one_or_each(values: tuple[float, ...]) -> float | tuple[float, ...]:
    """Return the only value as a number, or the tuple with one value per joint."""
    return values[0] if len(values) == 1 else values


def check(settings: Any) -> None:
    """Reject a set with a value of wrong type, out of range or not finite; name the field."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if not dataclasses.is_dataclass(value):
            _check_value(field.name, value, field.default, field.metadata["about"])


def _check_value(name: str, value: Any, default: Any, about: About) -> None:
    if isinstance(default, tuple):
        if not isinstance(value, tuple):
            raise ArgumentError(f"{name} must be a tuple, got {value!r}")
        like = default[0] if default else 0.0 if about.numbers else ""
        for item in value:
            _check_value(name, item, like, about)
    elif isinstance(default, str):
        if not isinstance(value, str):
            raise ArgumentError(f"{name} must be text, got {value!r}")
        if about.choices and value not in about.choices:
            raise ArgumentError(f"{name} must be one of {', '.join(about.choices)}, got {value!r}")
    elif isinstance(default, bool) or isinstance(value, bool):
        if not (isinstance(value, bool) and isinstance(default, bool)):
            kind = "true or false" if isinstance(default, bool) else "a number"
            raise ArgumentError(f"{name} must be {kind}, got {value!r}")
    elif not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(f"{name} must be a finite number, got {value!r}")
    elif not about.low <= value <= about.high:
        unit = f" {about.unit}" if about.unit else ""
        raise ArgumentError(f"{name} must be {_bounds(about)}{unit}, got {value!r}")


def _bounds(about: About) -> str:
    if math.isinf(about.high):
        return f"at least {about.low:g}"
    if math.isinf(about.low):
        return f"at most {about.high:g}"
    return f"from {about.low:g} to {about.high:g}"


def converted(value: Any, default: Any) -> Any:
    """Return a value from YAML or ROS with the type of the default: a tuple, or a float."""
    if isinstance(default, tuple):
        items = [value] if isinstance(value, (str, bool, int, float)) else list(value or ())
        like = default[0] if default else ""
        return tuple(converted(item, like) for item in items if item != "")
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value


def yaml_section(
    node: str, values: Mapping[str, Any], comments: Mapping[str, str] | None = None
) -> str:
    """Return a node's section of a ROS parameter file; values and comments by dotted names."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *groups, leaf = name.split(".")
        place = tree
        for group_name in groups:
            place = place.setdefault(group_name, {})
        comment = (comments or {}).get(name)
        place[leaf] = _yaml_value(value) + (f"  # {comment}" if comment else "")
    return "\n".join([f"{node}:", "  ros__parameters:", *_yaml_lines(tree, "    ")]) + "\n"


def _yaml_lines(tree: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in tree.items():
        if isinstance(value, str):
            yield f"{indent}{name}: {value}"
        else:
            yield f"{indent}{name}:"
            yield from _yaml_lines(value, indent + "  ")


def _yaml_value(value: Any) -> str:
    """Return a value as YAML that rcl reads back: it takes 1e-05 for text and 1 for an integer."""
    if isinstance(value, (str, bool, int)):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, float):
        return "[" + ", ".join(_yaml_value(item) for item in value) + "]"
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0.0 else "-.inf"
    mantissa, e, exponent = repr(value).partition("e")
    return mantissa + (".0" if e and "." not in mantissa else "") + e + exponent
