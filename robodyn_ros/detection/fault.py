"""Fault: a defect of drives, sensors or wiring that the monitor found on a stream of samples."""

from dataclasses import dataclass

SENSOR_FREEZE = "sensor_freeze"  # a joint's reading does not change although its torque does
EFFORT_SCALE = "effort_scale"  # the effort is a multiple of the torque
EFFORT_SIGN = "effort_sign"  # the effort is minus the torque, or a multiple of that
JOINT_STOP = "joint_stop"  # a joint has run into the end of its range; the level stands
COMMAND_LOSS = "command_loss"  # commands stopped arriving


@dataclass(frozen=True)
class Fault:
    """A fault of the arm; a controller should not go on with it."""

    kind: str
    joint: str = ""  # empty: all joints, or none in particular
    value: float | None = None  # effort_scale, effort_sign: effort over torque
    confidence: float = 1.0  # 0 to 1
