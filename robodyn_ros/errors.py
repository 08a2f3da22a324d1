"""Errors and warnings of this package: `RobodynError` catches all errors."""


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
