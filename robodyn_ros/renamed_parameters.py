"""Parameters of older releases and what replaces them: the old names are refused."""

from __future__ import annotations

from collections.abc import Iterable

from .errors import ArgumentError

RENAMED = {
    "stamps": "sensing.stamps",
    "motion": "active of demo_node",
    "demo_speed": "speed of demo_node",
    "effort": "effort.source",
    "monitor.friction": "effort.friction",
    "monitor.gravity_free": "effort.gravity",
    "monitor.faults.payload_link": "payload.link",
    "monitor.faults.payload_follow": "payload.follow",
    "monitor.faults.payload_max_mass": "payload.max_mass",
}


def new_names(names: Iterable[str]) -> str:
    """Return which of these names are old, each with its new one; '' if none is."""
    return ", ".join(
        f"{name} is now {RENAMED[name]}" for name in sorted(RENAMED.keys() & {*names})
    )


def reject_old_names(names: Iterable[str], where: str = "") -> None:
    """Raise an error that names the new ones. where: the file they stand in."""
    if renamed := new_names(names):
        raise ArgumentError(f"parameters{where} have new names: {renamed}")
