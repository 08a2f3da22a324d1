"""Fault: what a detector says of an arm beside contact; apart, so that a controller knows it."""

from __future__ import annotations

from enum import Enum


class Fault(Enum):
    """What an arm should not go on with, though nothing may have touched it."""

    NONE = ""
    READINGS = "readings"  # those of the joints that are named do not change
    COMMANDS = "commands"  # do not come
