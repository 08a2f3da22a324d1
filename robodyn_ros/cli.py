"""The `robodyn` command. Its sub-commands are in `commands/`, one file for each kind."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

from . import __version__
from .errors import ModelWarning, RobodynError
from .interrupts import ended_quietly

with ended_quietly():  # these take half a second
    import typer

    # Imported for their commands, in the order of --help
    from .commands import identification, recordings, fleet, robots, nodes, doctor, kernels  # isort: skip  # noqa: F401
    from .commands.common import app, console, print_error, print_warning
    from .commands.options import Option


def show_version(wanted: bool) -> None:
    """Print the version and exit if --version is given."""
    if wanted:
        console.print(f"robodyn_ros {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool,
        Option("--version", callback=show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Rigid-body dynamics and collision detection for robot arms."""


def show_warning(message: Any, category: Any, *_: Any) -> None:
    """Print a warning about a robot model; other warnings are for developers."""
    if issubclass(category, ModelWarning):
        print_warning(message)


def main() -> None:
    """Run the command. An error is printed on one line, without a traceback; exit code 1.

    After Ctrl-C it is 130, after SIGTERM 143.
    """
    warnings.showwarning = show_warning  # type: ignore[assignment]
    with ended_quietly():
        try:
            app()
        except RobodynError as error:
            print_error(error)
            sys.exit(1)


if __name__ == "__main__":
    main()
