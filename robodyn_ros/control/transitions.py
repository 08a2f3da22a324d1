"""Modes of a controlled arm, the events that change them, and the one table of transitions.

    (mode, event) -> (next mode, action) of the first row whose guard holds

A pair without such a row is ignored. A guard is an entry of `GUARDS` in `supervisor`; an action is
a method of `Supervisor`, with an underscore before its name, or of `ArmTorque`.
"""

from enum import Enum
from typing import NamedTuple


class Mode(Enum):
    """Mode of a controlled arm."""

    DISABLED = "disabled"
    HOLDING = "holding"
    TRACKING = "tracking"
    REACTING = "reacting"
    RESUMING = "resuming"
    SAFE_HOLD = "safe hold"


class Event(Enum):
    """Event, with the call or the condition that causes it."""

    START = "first sample, or RESTART"
    FOLLOW = "`follow(trajectory)`"
    HOLD = "`hold()`"
    ARRIVED = "end of the trajectory reached"
    CONTACT = "`on_contact(True)`"
    CONTACT_SAMPLE = "valid sample during contact"
    EARLIER_CONTACT = "`on_earlier_contact()`"
    CLEAR = "`clear()`"
    AT_REST = "braked or yielding arm at rest"
    REJOINED = "trajectory rejoined at full speed"
    FAULT = "`safe_hold(reason)`, `on_fault(kind)`, tracking error, swing, stuck reading"
    STUCK_JOINT = "`on_stuck_joint(joint, reason)`"
    SAMPLES_LOST = "no valid sample for longer than `timeout`"
    COMMANDS_LOST = "commands not received for longer than `timeout`"
    ENABLE = "`enable(True)`"
    DISABLE = "`enable(False)`"
    RAMP_DOWN = "`ramp_down()`"


class Transition(NamedTuple):
    """One row: where an event leads from some modes."""

    modes: tuple[Mode, ...]
    event: Event
    guard: str  # "": always
    to: Mode | None  # None: the mode is kept and not entered anew
    action: str  # "": none
    reason: str | None = None  # what `Supervisor.reason` says then; None: what the event brings


DISABLED, HOLDING, TRACKING, REACTING, RESUMING, SAFE_HOLD = Mode
FOLLOWING = (HOLDING, TRACKING, RESUMING)  # the law tracks the reference
YIELDING = (REACTING, SAFE_HOLD, DISABLED)  # a reaction brakes, yields or holds
LATCHED = (SAFE_HOLD, DISABLED)
ACTIVE = (*FOLLOWING, REACTING)
ENABLED = (*ACTIVE, SAFE_HOLD)

REJECT = "reject"  # the action that raises an error with the row's reason
TOUCHED = "the arm is still being touched: free it first"
TOUCHED_BEFORE = "touched before this controller began"
FAULTY = "the fault is still there: {reason}"
NOT_NOW = "cannot follow a trajectory now: {mode}, {reason}"
NOT_RECEIVED = "commands do not reach the arm"

ROWS = tuple(
    Transition(*row)
    for row in (
        (FOLLOWING, Event.START, "found_moving", SAFE_HOLD, "brake_and_hold", "found moving"),
        (FOLLOWING, Event.START, "", HOLDING, "hold_here", "started here"),
        (YIELDING, Event.START, "", None, "restart_reaction"),
        ((HOLDING, TRACKING), Event.FOLLOW, "", TRACKING, "follow_path", ""),
        ((RESUMING, *YIELDING), Event.FOLLOW, "", None, REJECT, NOT_NOW),
        (FOLLOWING, Event.HOLD, "", HOLDING, "stop_reference", "hold requested"),
        ((TRACKING,), Event.ARRIVED, "", HOLDING, "", "arrived"),
        ((REACTING,), Event.CONTACT, "", None, "cancel_clear"),
        ((SAFE_HOLD,), Event.CONTACT, "latches", None, "cancel_clear"),
        (FOLLOWING, Event.CONTACT_SAMPLE, "reacts", REACTING, "begin_reaction", "touched"),
        (FOLLOWING, Event.EARLIER_CONTACT, "latches", SAFE_HOLD, "brake", TOUCHED_BEFORE),
        ((REACTING,), Event.CLEAR, "touched", None, REJECT, TOUCHED),
        ((SAFE_HOLD,), Event.CLEAR, "touched_and_latches", None, REJECT, TOUCHED),
        ((SAFE_HOLD,), Event.CLEAR, "faulty", None, REJECT, FAULTY),
        ((REACTING, SAFE_HOLD), Event.CLEAR, "", None, "mark_cleared"),
        ((*FOLLOWING, DISABLED), Event.CLEAR, "", None, "trust_readings"),
        ((REACTING,), Event.AT_REST, "cleared", RESUMING, "resume", "cleared"),
        ((REACTING,), Event.AT_REST, "quiet", RESUMING, "resume", "contact ended"),
        ((SAFE_HOLD,), Event.AT_REST, "cleared", HOLDING, "hold_rest_posture", "cleared"),
        ((DISABLED,), Event.AT_REST, "", None, "go_idle"),
        ((RESUMING,), Event.REJOINED, "", TRACKING, "", ""),
        (ACTIVE, Event.FAULT, "started", SAFE_HOLD, "brake"),
        (ACTIVE, Event.STUCK_JOINT, "in_motion", SAFE_HOLD, "brake_stuck_joint"),
        (LATCHED, Event.STUCK_JOINT, "in_motion", None, "latch_stuck_joint"),
        (ACTIVE, Event.SAMPLES_LOST, "loss_matters", SAFE_HOLD, "brake"),
        (ACTIVE, Event.COMMANDS_LOST, "", SAFE_HOLD, "brake", NOT_RECEIVED),
        ((DISABLED,), Event.ENABLE, "", HOLDING, "restart", "enabled"),
        (ENABLED, Event.DISABLE, "", DISABLED, "brake", "disabled"),
        (ENABLED, Event.RAMP_DOWN, "", DISABLED, "brake_to_zero", "ramped down"),
        ((DISABLED,), Event.RAMP_DOWN, "", None, "remove_torque"),
    )
)

TRANSITIONS = {
    (mode, event): tuple(row for row in ROWS if row.event is event and mode in row.modes)
    for mode in Mode
    for event in Event
}
