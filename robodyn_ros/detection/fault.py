"""Fault: a defect of drives, sensors or wiring that the monitor found on a stream of samples."""

from dataclasses import dataclass

SENSOR_FREEZE = "sensor_freeze"  # a joint's reading does not change although its torque does
EFFORT_SCALE = "effort_scale"  # the effort is a multiple of the torque
COMMAND_LOSS = "command_loss"  # commands stopped arriving


@dataclass(frozen=True)
class Fault:
    """A fault of the arm; a controller should not go on with it."""

    kind: str
    joint: str = ""  # empty: all joints, or none in particular
    value: float | None = None  # effort_scale: effort over torque
    confidence: float = 1.0  # 0 to 1
