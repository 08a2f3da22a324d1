"""Options and arguments of commands, declared by `Annotated`, also for typer below 0.9.

Debian 12 has typer 0.7, which knows neither `Annotated` nor `X | None`: a parameter's default
declares the option there, in later releases as well. `App` translates.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import typer

Function = TypeVar("Function", bound=Callable[..., Any])
KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass(frozen=True)
class Declaration:
    """What typer gets to know of a parameter, without its default."""

    kind: Callable[..., Any]  # typer.Option or typer.Argument
    flags: tuple[str, ...]
    facts: dict[str, Any]


def Option(*flags: str, **facts: Any) -> Declaration:
    """Declare an option, for `Annotated`."""
    return Declaration(typer.Option, flags, facts)


def Argument(**facts: Any) -> Declaration:
    """Declare an argument, for `Annotated`."""
    return Declaration(typer.Argument, (), facts)


class App(typer.Typer):
    """A typer application whose functions are declared as above."""

    def command(self, name: str | None = None, **facts: Any) -> Callable[[Function], Function]:
        """Register a command under its name."""
        return _translated(super().command(name, **facts))

    def callback(self, **facts: Any) -> Callable[[Function], Function]:
        """Register the function with the options of the application itself."""
        return _translated(super().callback(**facts))


def _translated(register: Callable[..., Any]) -> Callable[[Function], Function]:
    def decorate(function: Function) -> Function:
        register(_declared_by_defaults(function))
        return function

    return decorate


def _declared_by_defaults(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def command(**given: Any) -> Any:
        return function(**given)

    parameters = inspect.signature(function, eval_str=True).parameters.values()
    signature = inspect.Signature([_by_default(parameter) for parameter in parameters])
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {x.name: x.annotation for x in signature.parameters.values()}
    return command


def _by_default(parameter: inspect.Parameter) -> inspect.Parameter:
    if get_origin(parameter.annotation) is not Annotated:
        return parameter.replace(kind=KEYWORD)
    kind, declaration = get_args(parameter.annotation)
    if isinstance(kind, UnionType):
        kind = Union[get_args(kind)]  # noqa: UP007
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    facts = {"show_default": default is not None, **declaration.facts}  # 0.7: [default: None]
    declared = declaration.kind(default, *declaration.flags, **facts)
    return parameter.replace(kind=KEYWORD, annotation=kind, default=declared)
