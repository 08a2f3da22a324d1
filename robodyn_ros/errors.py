"""What can go wrong, as one family: catch `RobodynError` to catch them all."""


class RobodynError(Exception):
    """Root of every error raised by this package."""


class ArgumentError(RobodynError, ValueError):
    """An argument has the wrong shape, type or value; the message names it."""


class ModelError(RobodynError, ValueError):
    """A robot description that no rigid-body dynamics can be computed for."""


class UrdfError(ModelError):
    """A URDF that is refused; the message names the element, the fault and the remedy."""


class ResourceError(RobodynError, FileNotFoundError):
    """A file that should come with the package was not found."""


class LogWarning(UserWarning):
    """A recording of which a part cannot be used and was left out."""


class ModelWarning(UserWarning):
    """A robot description that is odd but can be computed with."""
