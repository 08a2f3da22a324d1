"""Settings of the effort: from what a driver reports to the torque on the links."""

from dataclasses import dataclass

from ..errors import ArgumentError
from ..settings import check, setting

Numbers = tuple[float, ...]

SOURCES = ("command", "joint_states")
MAX_VALUE = 1e6  # a gain, or a torque in N m: larger ones are typing errors


@dataclass(frozen=True)
class EffortSettings:
    """What the effort means: torque = gain * effort - offset."""

    source: str = setting("command", "where the effort comes from", choices=SOURCES, fixed=True)
    gain: Numbers = setting(
        (1.0,),
        "torque per unit of effort: a drive gain [N m/A], or -1 for a reversed sign",
        low=-MAX_VALUE,
        high=MAX_VALUE,
    )
    offset: Numbers = setting(
        (0.0,),
        "torque reported where the true torque is 0",
        "N m or N",
        low=-MAX_VALUE,
        high=MAX_VALUE,
    )
    side: str = setting(
        "motor",
        "motor, or link: measured behind the gear, where rotors do not show",
        choices=("motor", "link"),
    )
    gravity: str = setting(
        "included", "included, or removed by the driver", choices=("included", "removed")
    )
    friction: str = setting(
        "none", "none, or model: subtract the model's friction", choices=("none", "model")
    )

    def __post_init__(self) -> None:
        check(self)
        if 0.0 in self.gain:
            raise ArgumentError(f"gain of the effort must not be 0, got {self.gain!r}")
