"""Parameter sets: frozen dataclasses whose fields say what they mean, in which unit and range.

A set is checked as a whole when it is made, so there is no half-valid one. Nodes declare their ROS
parameters from it; everyone else passes it to the algorithm beside which it stands.

    @dataclass(frozen=True)
    class ObserverSettings:
        gain: tuple[float, ...] = setting((50.0,), "one for all joints or one each", "1/s", low=0)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from .errors import ArgumentError


class About(NamedTuple):
    """What a field means and which values it takes."""

    text: str
    unit: str = ""
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    fixed: bool = False  # cannot be changed while running


def setting(default: Any, text: str, unit: str = "", **about: Any) -> Any:
    """A field of a parameter set."""
    return dataclasses.field(default=default, metadata={"about": About(text, unit, **about)})


def group(kind: Any, **changed: Any) -> Any:
    """A field that is a parameter set itself."""
    return dataclasses.field(default_factory=lambda: kind(**changed))


def leaves(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any, About]]:
    """Every field of a set and of the sets in it: dotted name, value, what it means."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            yield from leaves(value, f"{prefix}{field.name}.")
        else:
            yield prefix + field.name, value, field.metadata["about"]


def changed(settings: Any, values: dict[str, Any]) -> Any:
    """The same set with some values, by dotted names, replaced; checked as a whole."""
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
    """The number for all joints, or one for each, as algorithms take them."""
    return values[0] if len(values) == 1 else values


def check(settings: Any) -> None:
    """Refuse a set with a value of the wrong kind, out of range or not finite; names the field."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if not dataclasses.is_dataclass(value):
            _check_value(field.name, value, field.default, field.metadata["about"])


def _check_value(name: str, value: Any, default: Any, about: About) -> None:
    if isinstance(default, tuple):
        if not isinstance(value, tuple):
            raise ArgumentError(f"{name} must be a tuple, got {value!r}")
        for item in value:
            _check_value(name, item, default[0] if default else "", about)  # of names
    elif isinstance(default, str):
        if not isinstance(value, str):
            raise ArgumentError(f"{name} must be text, got {value!r}")
        if about.choices and value not in about.choices:
            raise ArgumentError(f"{name} must be one of {', '.join(about.choices)}, got {value!r}")
    elif isinstance(default, bool) or isinstance(value, bool):
        if not (isinstance(value, bool) and isinstance(default, bool)):
            raise ArgumentError(f"{name} must be {_kind(default)}, got {value!r}")
    elif not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(f"{name} must be a finite number, got {value!r}")
    elif not about.low <= value <= about.high:
        unit = f" {about.unit}" if about.unit else ""
        bounds = (
            f"at least {about.low:g}"
            if math.isinf(about.high)
            else (
                f"at most {about.high:g}"
                if math.isinf(about.low)
                else f"from {about.low:g} to {about.high:g}"
            )
        )
        raise ArgumentError(f"{name} must be {bounds}{unit}, got {value!r}")


def _kind(default: Any) -> str:
    return "true or false" if isinstance(default, bool) else "a number"
