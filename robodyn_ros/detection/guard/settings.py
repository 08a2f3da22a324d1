"""Parameters of the guard: what it acts on, by which means, and which contacts are expected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...errors import ArgumentError
from ...settings import ParameterSet, setting

KINDS = (
    "event",  # a text on a topic, such as MoveIt's trajectory_execution_event
    "cancel",  # all goals of an action
    "trigger",  # a service of std_srvs/Trigger
    "set_bool",  # a service of std_srvs/SetBool
    "switch",  # ros2_control's controllers
    "zero_velocity",  # a command of zero velocities on a topic
    "hold_position",  # the present position as a trajectory on a topic
)
DEFAULT_TARGETS = {
    "event": "trajectory_execution_event",
    "switch": "controller_manager/switch_controller",
}
ALL_FAULTS = "all"


@dataclass(frozen=True)
class GuardSettings(ParameterSet):
    """When the guard stops the arm."""

    level: str = setting(
        "collision", "lowest level that acts", choices=("contact", "collision", "none")
    )
    faults: tuple[str, ...] = setting((), "kinds of faults that act, e.g. sensor_freeze; or all")
    joints: tuple[str, ...] = setting((), "joints whose contacts and faults act; empty: all")
    links: tuple[str, ...] = setting(
        (), "links whose contacts act, and contacts without a link; empty: all"
    )
    delay: float = setting(0.0, "act on what lasts this long", "s", low=0.0, high=10.0)
    repeat: float = setting(
        0.0, "repeat the stop this often while its reason lasts; 0: once", "s", low=0.0
    )
    rearm_after: float = setting(
        0.0, "re-arm after this long without contact; 0: only by ~/arm", "s", low=0.0
    )
    unknown: str = setting(
        "warn", "what to do if the state is UNKNOWN for `unknown_time`", choices=("warn", "act")
    )
    unknown_time: float = setting(
        0.5, "UNKNOWN for this long leads to `guard.unknown`", "s", low=0.0
    )
    silence: float = setting(
        0.1, "without a verdict for this long the state is UNKNOWN", "s", low=1e-3
    )


@dataclass(frozen=True)
class ExpectSettings(ParameterSet):
    """Windows in which a contact is expected."""

    link: str = setting("", "link of the window that the service ~/expect opens")
    force: float = setting(20.0, "its largest force", "N", low=0.0)
    time: float = setting(1.0, "how long a window lasts, also one opened by topic", "s", low=1e-3)
    max_force: float = setting(100.0, "refuse windows for larger forces", "N", low=0.0)
    naming_time: float = setting(
        0.05,
        "while a window is open, wait this long for link and force of a contact; then act",
        "s",
        low=0.0,
        high=1.0,
    )


@dataclass(frozen=True)
class MeansSettings(ParameterSet):
    """One means to stop the arm."""

    kind: str = setting("event", "what is asked", choices=KINDS, fixed=True)
    target: str = setting("", "topic, action or service; empty: the usual one", fixed=True)
    data: str = setting("stop", "text of an event", fixed=True)
    value: bool = setting(True, "value for set_bool", fixed=True)
    activate: tuple[str, ...] = setting((), "controllers to activate by switch", fixed=True)
    deactivate: tuple[str, ...] = setting((), "controllers to deactivate by switch", fixed=True)
    joints: tuple[str, ...] = setting((), "joints of a hold, in order; empty: all", fixed=True)
    time: float = setting(
        0.1, "time to reach the position of a hold", "s", low=0.0, high=10.0, fixed=True
    )
    timeout: float = setting(
        0.2, "without an answer for this long the request has failed", "s", low=1e-3, fixed=True
    )
    next: str = setting(
        "", "means to try if this one fails; that one is not asked before", fixed=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.target or self.kind in DEFAULT_TARGETS):
            raise ArgumentError(f"target of a means of kind {self.kind} is missing")
        if self.kind == "switch" and not (self.activate or self.deactivate):
            raise ArgumentError("a means of kind switch needs activate or deactivate")

    @property
    def place(self) -> str:
        """Topic, action or service that is asked."""
        return self.target or DEFAULT_TARGETS[self.kind]


def check_chain(means: Mapping[str, MeansSettings]) -> None:
    """Raise if a `next` names no means, or leads back to itself."""
    for name, row in means.items():
        seen, following = {name}, row.next
        while following:
            if following not in means:
                known = ", ".join(means)
                raise ArgumentError(
                    f"means.{name}.next: no means {following!r}; there are {known}"
                )
            if following in seen:
                raise ArgumentError(f"means.{name}.next leads back to {following}")
            seen.add(following)
            following = means[following].next
