"""The `robodyn` command: its commands stand in `commands/`, one file for each kind."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer

from . import __version__

# Imported for their commands, in the order of --help
from .commands import identification, recordings, robots, nodes  # isort: skip  # noqa: F401
from .commands.common import app, complain, console
from .errors import ModelWarning, RobodynError


def show_version(wanted: bool) -> None:
    if wanted:
        console.print(f"robodyn_ros {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print it.")
    ] = False,
) -> None:
    """Rigid-body dynamics of robot arms, and what touches them."""


def show_warning(message: Any, category: Any, *_: Any) -> None:
    """What is odd about a robot, in one line."""
    if issubclass(category, ModelWarning):
        complain("[yellow]warning:[/]", message)


def main() -> None:
    """Run the command; errors are one line, not a traceback."""
    warnings.showwarning = show_warning  # type: ignore[assignment]
    try:
        app()
    except RobodynError as error:
        complain("[red]error:[/]", error)
        sys.exit(1)


if __name__ == "__main__":
    main()
