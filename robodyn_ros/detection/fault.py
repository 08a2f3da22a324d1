"""Fault: a defect of drives, sensors or wiring that the monitor found on a stream of samples."""

from dataclasses import dataclass

SENSOR_FREEZE = "sensor_freeze"  # a joint's reading does not change although its torque does
EFFORT_SCALE = "effort_scale"  # the effort is a multiple of the torque
EFFORT_SIGN = "effort_sign"  # the effort is minus the torque, or a multiple of that
JOINT_STOP = "joint_stop"  # a joint has run into the end of its range; the level stands
COMMAND_LOSS = "command_loss"  # commands stopped arriving
COLLISION = "collision"
PAYLOAD = "payload"
UNDECIDED = "undecided"
ACTUATOR_KINDS = ("free_swinging", "effectiveness", "bias", "locked", "friction")


@dataclass(frozen=True)
class Fault:
    """A fault of the arm; a controller should not go on with it."""

    kind: str
    joint: str = ""  # empty: all joints, or none in particular
    value: float | None = None  # effort_scale, effort_sign: effort over torque
    confidence: float = 1.0  # 0 to 1
    unit: str = ""
    onset: float | None = None  # [s]
    runner_up: str = ""
    com: tuple[float, ...] | None = None  # [m], of a payload

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return ""

    def text(self) -> str:
        """Return the fault in words."""
        where = f" of {self.joint}" if self.joint else ""
        size = "" if self.value is None else f": {self.value:.3g} {self.unit}".rstrip()
        return f"{self.kind}{where}{size}"
