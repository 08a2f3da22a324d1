"""TaskSettings, AdaptiveSettings: parameters of the task-space law and of the adaptive laws."""

import math
from dataclasses import dataclass

from ..settings import ParameterSet, setting


@dataclass(frozen=True)
class TaskSettings(ParameterSet):
    """The hand that the task-space law, pose targets and the null-space reaction control."""

    link: str = setting("", "link of the hand; empty: the last")
    point: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "point of the hand, in its frame", "m", -10.0, 10.0
    )
    orientation: bool = setting(True, "control its orientation, too")
    null_damping: float = setting(
        10.0, "decay rate of null-space motion, which does not move the hand", "1/s", 0.1, 100.0
    )
    v_max: float = setting(0.5, "pose targets: largest velocity", "m/s", 1e-3, 10.0)
    a_max: float = setting(2.0, "pose targets: largest acceleration", "m/s^2", 1e-2, 100.0)
    w_max: float = setting(1.0, "pose targets: largest angular velocity", "rad/s", 1e-3, 10.0)
    alpha_max: float = setting(
        4.0, "pose targets: largest angular acceleration", "rad/s^2", 1e-2, 100.0
    )


@dataclass(frozen=True)
class AdaptiveSettings(ParameterSet):
    """What the adaptive laws estimate."""

    law: str = setting("slotine_li", "adaptive law", choices=("slotine_li", "lu_meng", "craig"))
    unknown: tuple[str, ...] = setting(
        ("payload",),
        "unknown parameters: payload, payload.mass, links, friction, rotors, all, or names of "
        "links or of joints, e.g. joint_1.viscous",
    )
    gain: float = setting(1.0, "adaptation gain", "", 0.0, 1e6)
    link: str = setting("", "link that carries the payload; empty: the last")
    reach: float = setting(0.1, "largest distance of the payload's centre", "m", 1e-3, 10.0)
    dead_zone: float = setting(
        0.0, "smaller errors do not change the estimate", "rad/s or m/s", 0.0, math.pi
    )
