"""Errors and warnings of this package, and checks: `RobodynError` catches all errors."""

import math
from collections.abc import Iterable
from typing import Any


class RobodynError(Exception):
    """Base class of every error that this package raises."""


class ArgumentError(RobodynError, ValueError):
    """Argument of wrong shape, type or value; the message names it."""


class ModelError(RobodynError, ValueError):
    """Robot without meaningful rigid-body dynamics."""


class UrdfError(ModelError):
    """Rejected URDF; the message names the element, the fault and the remedy."""


class ResourceError(RobodynError, FileNotFoundError):
    """Missing file of the package's shared files."""


class LogWarning(UserWarning):
    """Part of a recording is invalid and was left out."""


class ModelWarning(UserWarning):
    """Robot description with a flaw that does not prevent computations."""


def one_of(name: str, value: Any, choices: Iterable[str]) -> Any:
    """Return the value; raise ArgumentError if it is none of the choices."""
    if value not in choices:
        raise ArgumentError(f"{name} must be one of {', '.join(choices)}, got {value!r}")
    return value


def positive(name: str, value: Any, unit: str = "") -> float:
    """Return the value as a float; raise ArgumentError if it is not positive and finite."""
    try:
        fits = bool(0.0 < value < math.inf)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        about = f"{name} must be positive and finite"
        raise ArgumentError(f"{about}{unit and f' [{unit}]'}, got {value!r}")
    return float(value)
