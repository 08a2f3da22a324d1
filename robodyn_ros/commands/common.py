"""What all commands share: the application, its consoles, common options and their parsers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Annotated, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import ArgumentError, ResourceError
from ..model.robot import RobotModel
from ..model.robots import load_robot
from .options import App, Argument, Option

NO_ROS = (
    "ROS 2 is missing ({}): source your installation, or without one "
    "`pip install 'robodyn_ros[ros]'`"
)
NO_VISER = "the live page needs viser ({}): `pip install 'viser>=1.1,<2' pycollada`"

app = App(
    help="Rigid-body dynamics and collision detection for robot arms.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",  # the default of newer releases
)
console = Console()
error_console = Console(stderr=True)

# In help texts rich takes a lower-case unit in brackets for markup: write \[s].
RobotArgument = Annotated[str, Argument(help="A URDF file, or a built-in arm such as lwr_iii.")]
RootOption = Annotated[str | None, Option(help="Link to take as the fixed base.")]
TipOption = Annotated[str | None, Option(help="Link at which the arm ends.")]
LockOption = Annotated[
    list[str] | None, Option(help="joint=position to lock, 0 by default; may be repeated.")
]
ColumnsOption = Annotated[
    str | None,
    Option(help="Columns of a CSV file, by number or name: t=0 q=1-6 qd=7-12 tau=13-18."),
]
DriveGainsOption = Annotated[
    str | None,
    Option("--gains", help="Drive gains [N m/A], separated by commas, for motor currents."),
]
NamespaceOption = Annotated[str, Option(help="Namespace of the nodes.")]
JsonOption = Annotated[bool, Option("--json", help="Print JSON, for scripts.")]


def load(robot: str, root: str | None, tip: str | None, lock: list[str] | None) -> RobotModel:
    """Return the robot that the options of a command name."""
    return load_robot(robot, root, tip, parse_lock(lock or []))


def parse_lock(items: list[str]) -> dict[str, float]:
    """Return positions by joint from joint=position pairs; a bare name locks at 0."""
    lock = {}
    for item in items:
        name, _, value = item.partition("=")
        try:
            lock[name] = float(value or 0.0)
        except ValueError:
            raise ArgumentError(f"--lock {item}: '{value}' is not a number") from None
    return lock


def parse_gains(text: str | None) -> tuple[float, ...] | None:
    """Return numbers from a text with commas between them; None without a text."""
    try:
        return tuple(float(x) for x in text.split(",")) if text else None
    except ValueError:
        raise ArgumentError(f"--gains {text}: write numbers separated by commas") from None


@contextlib.contextmanager
def imports(missing: str = NO_ROS) -> Iterator[None]:
    """Explain an import that fails; missing: the explanation, with a place for the error."""
    try:
        yield
    except ImportError as error:
        raise ResourceError(missing.format(error)) from None


def new_table(title: str, text: tuple[str, ...], numbers: tuple[str, ...] = ()) -> Table:
    """Return an empty table with these headings: columns of text, then columns of numbers."""
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE_HEAD)
    for heading in text + numbers:
        justify = "left" if heading in text else "right"
        table.add_column(escape(heading), justify=justify, overflow="fold")  # type: ignore[arg-type]
    return table


def print_json(facts: Any) -> None:
    """Print facts for scripts."""
    print(json.dumps(facts, indent=2))


def print_warning(message: object, kind: str = "[yellow]warning:[/]") -> None:
    """Print a warning on one line of stderr."""
    error_console.print(kind, escape(str(message)), highlight=False, soft_wrap=True)


def print_error(message: object) -> None:
    """Print an error on one line of stderr."""
    print_warning(message, "[red]error:[/]")
