"""Faults to inject into a plant: what a drive or a sensor can do wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import ArgumentError

KINDS = {
    "free_swinging": "the motor gives no torque",
    "effectiveness": "the motor gives this share of the torque",
    "bias": "the motor adds this torque [N m or N]",
    "locked": "the joint is held where it is",
    "friction": "friction is this many times what it was",
    "sensor_freeze": "position and velocity are reported as they were",
    "effort_scale": "the reported torque is this many times the real one",
}
DEFAULTS = {"effectiveness": 0.5, "bias": 5.0, "friction": 3.0, "effort_scale": 0.1}


@dataclass(frozen=True)
class Fault:
    """One fault of one joint."""

    joint: str
    kind: str
    value: float

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"a fault is one of {', '.join(KINDS)}, got {self.kind!r}")
        if not math.isfinite(self.value):
            raise ArgumentError(f"value of a fault must be finite, got {self.value!r}")
        if self.kind in ("effectiveness", "friction", "effort_scale") and self.value < 0.0:
            raise ArgumentError(f"{self.kind} must not be negative, got {self.value!r}")


def make_fault(joint: str, kind: str, value: float | None = None) -> Fault:
    return Fault(joint, kind, DEFAULTS.get(kind, 0.0) if value is None else float(value))
