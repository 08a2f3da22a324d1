"""Fault: the name of what the monitor found: a touch, a payload, or a defect of the arm."""

from dataclasses import dataclass

SENSOR_FREEZE = "sensor_freeze"  # a joint's reading does not change although the joint moves
EFFORT_SCALE = "effort_scale"  # the effort is a multiple of the torque
EFFORT_SIGN = "effort_sign"  # the effort is minus the torque, or a multiple of that
JOINT_STOP = "joint_stop"  # a joint has run into the end of its range; the level stands
COMMAND_LOSS = "command_loss"  # commands stopped arriving
UNDECIDED = "undecided"  # not decided yet, or not decidable: `runner_up` names the candidates
COLLISION = "collision"  # the arm is touched
PAYLOAD = "payload"  # a link holds a mass that the model does not know, or has lost one
FREE_SWINGING = "free_swinging"  # a motor gives no torque
EFFECTIVENESS = "effectiveness"  # a motor gives a share of its torque
BIAS = "bias"  # a constant torque is added
LOCKED = "locked"  # a joint is held in place
FRICTION = "friction"  # a joint has more friction than it had

# Kinds after which the arm does not do what its motors are told: `arm.on_fault` answers them
ACTUATOR_KINDS = frozenset(
    {FREE_SWINGING, EFFECTIVENESS, BIAS, LOCKED, FRICTION, SENSOR_FREEZE},
)
# Kinds that a stop looks like, which holds its joint back as a brake does
STOP_KINDS = frozenset({BIAS, LOCKED, FRICTION})
# Kinds that name no defect of the arm: they come with every contact
HARMLESS_KINDS = frozenset({UNDECIDED, COLLISION, PAYLOAD})

REMEDIES = {
    SENSOR_FREEZE: "Stop the arm; check the encoder and the cable of this joint.",
    EFFORT_SCALE: "Set effort.gain to the torque per unit of effort.",
    EFFORT_SIGN: "Reverse the sign of effort.gain.",
    JOINT_STOP: "Move the joint away from the end of its range.",
    COMMAND_LOSS: "Check the publisher of the commands.",
    UNDECIDED: "Wait, or move the arm: motion tells the candidates apart.",
    COLLISION: "Check what touches the arm.",
    PAYLOAD: "Accept the payload if the arm is meant to carry it, or set payload.mass.",
    FREE_SWINGING: "Support the arm; check the motor, its amplifier and its gear.",
    EFFECTIVENESS: "Check the motor and its amplifier.",
    BIAS: "Check the torque offset of the drive or of its sensor; tare it if it is harmless.",
    LOCKED: "Check the brake and what blocks the joint.",
    FRICTION: "Check gear, bearings and lubrication of the joint.",
}


@dataclass(frozen=True)
class Fault:
    """What was found, with its joint, value and certainty."""

    kind: str
    joint: str = ""  # of a payload its link; empty: all joints, or none in particular
    # effort_scale, effort_sign: effort over torque; payload: mass; effectiveness: share of the
    # torque; bias: torque; friction: multiple of the model's, or the torque added to it
    value: float | None = None
    confidence: float = 1.0  # 0 to 1
    unit: str = ""  # of `value`
    onset: float | None = None  # [s]
    runner_up: str = ""  # next kind in question; of `undecided` both candidates
    com: tuple[float, float, float] | None = None  # centre of a payload, link frame [m]

    @property
    def remedy(self) -> str:
        """What to do about it, one sentence."""
        return REMEDIES.get(self.kind, "")

    def text(self) -> str:
        """Return it in words, one line."""
        certainty = f" ({self.confidence:.0%})"
        where, size = f" on {self.joint}" if self.joint else "", self.value
        if self.kind == UNDECIDED:
            return f"undecided: {self.runner_up}{where}" if self.runner_up else "undecided"
        if size is None:
            return f"{self.kind.replace('_', ' ')}{where}{certainty}"
        if self.kind == PAYLOAD:
            return f"payload of {size:.2f} kg{where}{certainty}"
        if self.kind == EFFECTIVENESS:
            return f"motor gives {size:.0%} of its torque{where}{certainty}"
        if self.kind in (EFFORT_SCALE, EFFORT_SIGN):
            return f"effort is {size:.3g} times the torque{where or ' on all joints'}{certainty}"
        if self.kind == FRICTION and not self.unit:
            return f"friction of {size:.1f} times the model's{where}{certainty}"
        unit = f" {self.unit}" if self.unit else ""
        return f"{self.kind.replace('_', ' ')} of {size:.3g}{unit}{where}{certainty}"
