"""What the commands share: the application, two consoles, and how to complain."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..errors import ArgumentError, ResourceError

app = typer.Typer(
    help="Rigid-body dynamics of robot arms, and what touches them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()
complaints = Console(stderr=True)

RootOption = Annotated[str | None, typer.Option(help="Link to take as the fixed base.")]
TipOption = Annotated[str | None, typer.Option(help="Link at which the arm ends.")]
LockOption = Annotated[
    list[str] | None, typer.Option(help="joint=position to freeze; may be repeated.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="For scripts.")]


def parse_lock(items: list[str]) -> dict[str, float]:
    """joint=position pairs; a bare name locks at 0."""
    lock = {}
    for item in items:
        name, _, value = item.partition("=")
        try:
            lock[name] = float(value or 0.0)
        except ValueError:
            raise ArgumentError(f"--lock {item}: '{value}' is no number") from None
    return lock


def parse_gains(text: str | None) -> tuple[float, ...] | None:
    """Numbers with commas between."""
    try:
        return tuple(float(x) for x in text.split(",")) if text else None
    except ValueError:
        raise ArgumentError(f"--gains {text}: write numbers with commas between") from None


@contextlib.contextmanager
def ros_at_hand() -> Iterator[None]:
    """Say what to do where ROS 2 is missing."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(
            f"ROS 2 is missing ({error}): source your installation, or without one "
            "`pip install 'robodyn_ros[ros]'`"
        ) from None


@contextlib.contextmanager
def dashboard_at_hand() -> Iterator[None]:
    """Say what to do where viser is missing."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(
            f"the live page needs viser ({error}): `pip install 'robodyn_ros[dashboard]'`"
        ) from None


def complain(kind: str, message: object) -> None:
    """One line, whatever a stranger's file is called."""
    complaints.print(kind, escape(str(message)), highlight=False, soft_wrap=True)
