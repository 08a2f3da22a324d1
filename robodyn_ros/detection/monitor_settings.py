"""Settings of a ContactMonitor, with units and ranges.

They stand apart so that nodes that only declare them need not compile the detector's kernels.
"""

from dataclasses import dataclass

import numpy as np

from ..dynamics.dispatch import per_joint
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..settings import ParameterSet, check, group, setting
from .faults.settings import FaultSettings
from .isolation_settings import IsolationSettings
from .thresholds import Thresholds

MIN_SIGMA = 1e-6  # [N m or N], least standard deviation
LARGEST = 1e9  # of thresholds, deviations and friction: their squares are still numbers


@dataclass(frozen=True)
class ThresholdSettings:
    """Thresholds of one level: one number for all joints, or one each."""

    base: tuple[float, ...] = setting(
        (2.0,), "threshold at rest", "N m or N", low=0.0, high=LARGEST
    )
    in_motion: tuple[float, ...] = setting(
        (0.0,),
        "added once a joint moves, for dry friction that the model lacks",
        "N m or N",
        low=0.0,
        high=LARGEST,
    )
    per_velocity: tuple[float, ...] = setting(
        (0.0,), "added per unit of speed", "N m s/rad", low=0.0, high=LARGEST
    )
    per_acceleration: tuple[float, ...] = setting(
        (0.0,), "added per acceleration", "kg m^2", low=0.0, high=LARGEST
    )

    def __post_init__(self) -> None:
        check(self)

    def thresholds(self, model: RobotModel) -> Thresholds:
        """Return the thresholds for this robot."""
        return Thresholds(
            base=per_joint(model, "base", self.base),
            in_motion=per_joint(model, "in_motion", self.in_motion),
            per_velocity=per_joint(model, "per_velocity", self.per_velocity),
            per_acceleration=per_joint(model, "per_acceleration", self.per_acceleration),
        )


@dataclass(frozen=True)
class ForceSettings:
    """Thresholds in terms of force, beside those of the joints: the higher one counts."""

    contact: float = setting(0.0, "smaller pushes are no contact; 0: none", "N", 0.0, 1e4)
    collision: float = setting(0.0, "smaller pushes are no collision; 0: none", "N", 0.0, 1e4)
    link: str = setting("", "link that is pushed; empty: the last one")
    point: tuple[float, ...] = setting(
        (0.0, 0.0, 0.0), "pushed point in the link's frame, x, y, z", "m", -10.0, 10.0
    )

    def __post_init__(self) -> None:
        check(self)
        if len(self.point) != 3:
            raise ArgumentError(f"point must be three numbers [m], got {self.point!r}")
        if 0.0 < self.collision < self.contact:
            raise ArgumentError(
                f"force of a collision, {self.collision:g} N, is below that of a contact, "
                f"{self.contact:g} N; swap them"
            )


@dataclass(frozen=True)
class NoiseWindow(ParameterSet):
    """Noise of the mean external torque over a window, and the threshold of its distance."""

    window: float = setting(0.02, "length of the window", "s", low=1e-3, high=0.1)
    threshold: float = setting(
        0.0,
        "a contact deviates by this many standard deviations; 0: no test",
        low=0.0,
        high=LARGEST,
    )
    base: tuple[float, ...] = setting(
        (1.0,),
        "standard deviation of a standing or creeping joint",
        "N m or N",
        low=MIN_SIGMA,
        high=LARGEST,
    )
    in_motion: tuple[float, ...] = setting(
        (0.0,),
        "added once a joint moves; negative where that is quieter",
        "N m or N",
        low=-LARGEST,
        high=LARGEST,
    )
    per_velocity: tuple[float, ...] = setting(
        (0.0,), "added per unit of speed", "N m s/rad", low=0.0, high=LARGEST
    )
    correlation: tuple[float, ...] = setting(
        (0.0,), "between joints, row by row below the diagonal; a single 0: none", "", -1.0, 1.0
    )
    at_rest: tuple[float, ...] = setting(
        (0.0,),
        "replaces base once the whole arm has rested; 0: the same as base",
        "N m or N",
        low=0.0,
        high=LARGEST,
    )
    per_acceleration: tuple[float, ...] = setting(
        (0.0,),
        "added per acceleration, filtered over the long window",
        "kg m^2",
        low=0.0,
        high=LARGEST,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.base) == len(self.in_motion) or 1 in (len(self.base), len(self.in_motion)):
            moving = np.array(self.base) + np.array(self.in_motion)
            if (moving < MIN_SIGMA).any():
                raise ArgumentError(
                    f"base and in_motion of the noise must add up to a positive deviation, got "
                    f"{self.base} and {self.in_motion}"
                )


@dataclass(frozen=True)
class NoiseSettings(ParameterSet):
    """Test of all joints together by their noise, as `tune` learns it; beside the thresholds."""

    short: NoiseWindow = group(NoiseWindow, window=0.02)
    long: NoiseWindow = group(NoiseWindow, window=0.1)
    collision: float = setting(
        2.0, "a collision deviates by this many times the threshold", low=1.0, high=1e3
    )
    speed: float = setting(
        0.1, "a joint slower than this creeps", "rad/s or m/s", low=1e-4, high=1e3
    )
    rest_time: float = setting(
        1.5, "an arm that stops gets as quiet as `at_rest` with this time constant", "s", 1e-3, 1e3
    )
    spike: tuple[float, ...] = setting(
        (1e6,),
        "usual up and down of the torque between samples; larger spikes are not trusted",
        "N m or N",
        low=0.0,
        high=LARGEST,
    )


@dataclass(frozen=True)
class DragSettings(ParameterSet):
    """Friction that the model lacks or, negative, has too much of; as `tune` learns it."""

    dry: tuple[float, ...] = setting(
        (0.0,), "dry friction that the model lacks", "N m or N", -LARGEST, LARGEST
    )
    viscous: tuple[float, ...] = setting(
        (0.0,), "per unit of speed", "N m s/rad", -LARGEST, LARGEST
    )
    speed: float = setting(
        0.05, "joint speed within which `dry` changes sign", "rad/s or m/s", low=1e-4
    )
    presliding: tuple[float, ...] = setting(
        (0.0,), "travel within which `dry` changes sign", "rad or m", low=0.0, high=LARGEST
    )


@dataclass(frozen=True)
class BiasSettings(ParameterSet):
    """Offset of the residual without contact, learnt while the arm is untouched (tare)."""

    rate: float = setting(
        0.0, "rate at which the bias is learnt; 0: no bias", "1/s", low=0.0, high=10.0
    )
    limit: tuple[float, ...] = setting((3.0,), "largest bias", "N m or N", 0.0, LARGEST)
    start_limit: tuple[float, ...] = setting(
        (1.5,),
        "largest bias taken at the start, where a contact may act already",
        "N m or N",
        low=0.0,
        high=LARGEST,
    )
    start_time: float = setting(
        0.3, "time averaged for the bias at the start; UNKNOWN meanwhile", "s", low=0.0, high=10.0
    )
    doubt: float = setting(
        0.5, "share of the thresholds above which no bias is learnt", low=0.0, high=1.0
    )
    quiet: float = setting(0.05, "learn after this long below doubt", "s", low=0.0, high=10.0)


@dataclass(frozen=True)
class MonitorSettings:
    """Settings of contact detection."""

    gain: tuple[float, ...] = setting(
        (50.0,), "observer gain: the residual follows at this rate", "1/s", low=1e-3, high=1e4
    )
    # For the library, and where `tune` tells which friction is quieter; nodes take both from
    # `EffortSettings`. What either of them asks for is done (`monitor_parts`)
    friction: bool = setting(False, "subtract the model's friction from the torque", internal=True)
    gravity_free: bool = setting(False, "the torque excludes gravity compensation", internal=True)
    contact: ThresholdSettings = group(ThresholdSettings, base=(2.0,))
    collision: ThresholdSettings = group(ThresholdSettings, base=(4.0,))
    force: ForceSettings = group(ForceSettings)
    drag: DragSettings = group(DragSettings)
    noise: NoiseSettings = group(NoiseSettings)
    bias: BiasSettings = group(BiasSettings)
    isolation: IsolationSettings = group(IsolationSettings)
    faults: FaultSettings = group(FaultSettings)
    debounce: float = setting(
        0.0, "a residual must stay above its threshold this long", "s", low=0.0, high=1.0
    )
    hysteresis: float = setting(
        0.8, "share of the threshold below which a contact ends", low=0.05, high=1.0
    )
    release: float = setting(0.05, "a contact ends after this long below", "s", low=0.0, high=10.0)
    settling: float = setting(
        0.1, "UNKNOWN for this long after a start, a gap or bad data", "s", low=0.0, high=10.0
    )
    masked: tuple[str, ...] = setting((), "joints to ignore")
    wrench_link: str = setting(
        "", "link of the external wrench; empty: the touched link, where its force is known"
    )

    def __post_init__(self) -> None:
        check(self)
