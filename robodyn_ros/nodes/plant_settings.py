"""PlantSettings: which plant simulator_node simulates. Nodes that simulate none import it, too."""

from __future__ import annotations

from dataclasses import dataclass

from ..settings import check, setting


@dataclass(frozen=True)
class PlantSettings:
    """Which plant, and how it starts."""

    kind: str = setting(
        "rigid", "how it is simulated", choices=("rigid", "elastic", "mujoco"), fixed=True
    )
    start: tuple[float, ...] = setting(
        (0.0,), "posture at the start", "rad or m", low=-1000.0, high=1000.0, fixed=True
    )
    friction: bool = setting(
        False, "motor-side friction; behind a joint torque sensor there is none", fixed=True
    )
    noise: bool = setting(False, "measure through the LWR's sensors", fixed=True)
    stiffness: tuple[float, ...] = setting(
        (1e4,), "of elastic joints", "N m/rad", low=1.0, fixed=True
    )
    damping: tuple[float, ...] = setting(
        (10.0,), "of elastic joints", "N m s/rad", low=0.0, fixed=True
    )
    seed: int = setting(0, "of the sensors' noise", low=0, fixed=True)

    def __post_init__(self) -> None:
        check(self)
