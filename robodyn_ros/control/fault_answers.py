"""FaultAnswers: what a controlled arm does once the detector has named a fault."""

from dataclasses import dataclass

from ..settings import ParameterSet, setting

SAFE_HOLD, CONTINUE, DISABLE = "safe_hold", "continue", "disable"
ANSWERS = (SAFE_HOLD, CONTINUE, DISABLE)


@dataclass(frozen=True)
class FaultAnswers(ParameterSet):
    """The answer to each kind of fault: brake and hold, go on, or brake and go idle."""

    free_swinging: str = setting(SAFE_HOLD, "a motor gives no torque", choices=ANSWERS)
    effectiveness: str = setting(SAFE_HOLD, "a motor gives a part of its torque", choices=ANSWERS)
    bias: str = setting(SAFE_HOLD, "a constant torque is added", choices=ANSWERS)
    locked: str = setting(SAFE_HOLD, "a joint is held in place", choices=ANSWERS)
    friction: str = setting(SAFE_HOLD, "a joint has more friction than it had", choices=ANSWERS)
    sensor_freeze: str = setting(SAFE_HOLD, "a joint's reading is stuck", choices=ANSWERS)
    effort_scale: str = setting(CONTINUE, "the reported effort is a multiple", choices=ANSWERS)
    effort_sign: str = setting(CONTINUE, "the reported effort is reversed", choices=ANSWERS)
    payload: str = setting(CONTINUE, "the arm holds an unknown mass", choices=ANSWERS)

    def to(self, kind: str) -> str:
        """Return the answer to a kind; other kinds are none of the controller's business."""
        return str(getattr(self, kind, CONTINUE))
