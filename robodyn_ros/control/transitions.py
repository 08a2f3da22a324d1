"""Modes of a controlled arm, the events that change them, and the one table of transitions.

    (mode, event) -> first row whose guard holds: (next mode, action)

A pair without a row is ignored. `Supervisor` has one method per guard and per action, and runs
the table. `transition_table()` renders it for docs/control.md.
"""

from __future__ import annotations

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
    FAULT = "`safe_hold(reason)`, tracking error, swing, stuck reading"
    STUCK_JOINT = "`on_stuck_joint(joint, reason)`"
    SAMPLES_LOST = "no valid sample for longer than `timeout`"
    COMMANDS_LOST = "commands not received for longer than `timeout`"
    ENABLE = "`enable(True)`"
    DISABLE = "`enable(False)`"
    RAMP_DOWN = "`ramp_down()`"


class Guard(Enum):
    """Condition of a transition: the method `_<name>` of `Supervisor`."""

    ALWAYS = ""
    STARTED = "a sample was received"
    FOUND_MOVING = "faster than `start_speed`"
    REACTS = "`reaction` is not none"
    LATCHES = "`reaction` is not none and `resume_after` is 0"
    TOUCHED = "in contact"
    LATCHED_TOUCH = "in contact, `reaction` is not none and `resume_after` is 0"
    CLEARED = "cleared"
    QUIET = "no contact for `resume_after`"
    MOVING = "moving"
    LOSS_MATTERS = "moving, samples rejected, or silent for `rest_timeout`"


class Action(Enum):
    """What a transition does: the method `_<name>` of `Supervisor`."""

    NOTHING = ""
    HOLD_HERE = "hold the measured posture"
    BRAKE = "brake, then hold"
    BRAKE_AND_HOLD = "brake, then hold without `clear`, unless in contact"
    RESTART_REACTION = "brake or yield from the measured state"
    START_TRAJECTORY = "blend into the trajectory"
    STOP_REFERENCE = "bring the reference to rest within `ramp`"
    REACT = "start the reaction"
    CANCEL_CLEAR = "forget an earlier `clear`"
    MARK_CLEARED = "clear as soon as the arm is at rest"
    TRUST_READINGS = "clear the stuck-joint latch"
    RESUME = "return to the interrupted point, then speed up"
    HOLD_REST_POSTURE = "hold the posture in which the arm came to rest"
    LATCH_STUCK_JOINT = "ignore samples until the joint's reading changes"
    BRAKE_STUCK_JOINT = "ignore samples until the joint's reading changes; brake, then hold"
    RESTART = "hold the posture of the next sample"
    RELEASE = "carry the weight only, or no torque (`disabled`)"
    REMOVE_TORQUE = "end without torque"
    BRAKE_TO_ZERO = "brake, then end without torque"
    REJECT = "rejected with an error"


class Transition(NamedTuple):
    """One row: where an event leads from a mode."""

    to: Mode | None  # None: the mode is kept and not entered anew
    action: Action
    guard: Guard = Guard.ALWAYS
    reason: str | None = None  # what `Supervisor.reason` says then; None: what the event brings


FOLLOWING = (Mode.HOLDING, Mode.TRACKING, Mode.RESUMING)  # the law tracks the reference
ACTIVE = (*FOLLOWING, Mode.REACTING)
YIELDING = (Mode.REACTING, Mode.SAFE_HOLD, Mode.DISABLED)  # a reaction brakes, yields or holds
LATCHED = (Mode.SAFE_HOLD, Mode.DISABLED)
ENABLED = (*ACTIVE, Mode.SAFE_HOLD)
STILL_TOUCHED = "the arm is still being touched: free it first"

_ROWS: tuple[tuple[tuple[Mode, ...], Event, Transition], ...] = (
    (
        FOLLOWING,
        Event.START,
        Transition(
            Mode.SAFE_HOLD, Action.BRAKE_AND_HOLD, Guard.FOUND_MOVING, "moving at the start"
        ),
    ),
    (FOLLOWING, Event.START, Transition(Mode.HOLDING, Action.HOLD_HERE, reason="started here")),
    (YIELDING, Event.START, Transition(None, Action.RESTART_REACTION)),
    (
        (Mode.HOLDING, Mode.TRACKING),
        Event.FOLLOW,
        Transition(Mode.TRACKING, Action.START_TRAJECTORY, reason=""),
    ),
    (
        (Mode.RESUMING, *YIELDING),
        Event.FOLLOW,
        Transition(None, Action.REJECT, reason="cannot follow a trajectory now: {mode}, {reason}"),
    ),
    (
        FOLLOWING,
        Event.HOLD,
        Transition(Mode.HOLDING, Action.STOP_REFERENCE, reason="hold requested"),
    ),
    (
        (Mode.TRACKING,),
        Event.ARRIVED,
        Transition(Mode.HOLDING, Action.NOTHING, reason="arrived"),
    ),
    ((Mode.REACTING,), Event.CONTACT, Transition(None, Action.CANCEL_CLEAR)),
    ((Mode.SAFE_HOLD,), Event.CONTACT, Transition(None, Action.CANCEL_CLEAR, Guard.LATCHES)),
    (
        FOLLOWING,
        Event.CONTACT_SAMPLE,
        Transition(Mode.REACTING, Action.REACT, Guard.REACTS, "touched"),
    ),
    (
        FOLLOWING,
        Event.EARLIER_CONTACT,
        Transition(
            Mode.SAFE_HOLD, Action.BRAKE, Guard.LATCHES, "touched before this controller began"
        ),
    ),
    (
        (Mode.REACTING,),
        Event.CLEAR,
        Transition(None, Action.REJECT, Guard.TOUCHED, STILL_TOUCHED),
    ),
    (
        (Mode.SAFE_HOLD,),
        Event.CLEAR,
        Transition(None, Action.REJECT, Guard.LATCHED_TOUCH, STILL_TOUCHED),
    ),
    ((Mode.REACTING, Mode.SAFE_HOLD), Event.CLEAR, Transition(None, Action.MARK_CLEARED)),
    ((*FOLLOWING, Mode.DISABLED), Event.CLEAR, Transition(None, Action.TRUST_READINGS)),
    (
        (Mode.REACTING,),
        Event.AT_REST,
        Transition(Mode.RESUMING, Action.RESUME, Guard.CLEARED, "cleared"),
    ),
    (
        (Mode.REACTING,),
        Event.AT_REST,
        Transition(Mode.RESUMING, Action.RESUME, Guard.QUIET, "contact ended"),
    ),
    (
        (Mode.SAFE_HOLD,),
        Event.AT_REST,
        Transition(Mode.HOLDING, Action.HOLD_REST_POSTURE, Guard.CLEARED, "cleared"),
    ),
    ((Mode.DISABLED,), Event.AT_REST, Transition(None, Action.RELEASE)),
    ((Mode.RESUMING,), Event.REJOINED, Transition(Mode.TRACKING, Action.NOTHING, reason="")),
    (ACTIVE, Event.FAULT, Transition(Mode.SAFE_HOLD, Action.BRAKE, Guard.STARTED)),
    (
        ACTIVE,
        Event.STUCK_JOINT,
        Transition(Mode.SAFE_HOLD, Action.BRAKE_STUCK_JOINT, Guard.MOVING),
    ),
    (LATCHED, Event.STUCK_JOINT, Transition(None, Action.LATCH_STUCK_JOINT, Guard.MOVING)),
    (ACTIVE, Event.SAMPLES_LOST, Transition(Mode.SAFE_HOLD, Action.BRAKE, Guard.LOSS_MATTERS)),
    (
        ACTIVE,
        Event.COMMANDS_LOST,
        Transition(Mode.SAFE_HOLD, Action.BRAKE, reason="commands do not reach the arm"),
    ),
    ((Mode.DISABLED,), Event.ENABLE, Transition(Mode.HOLDING, Action.RESTART, reason="enabled")),
    (ENABLED, Event.DISABLE, Transition(Mode.DISABLED, Action.BRAKE, reason="disabled")),
    (
        ENABLED,
        Event.RAMP_DOWN,
        Transition(Mode.DISABLED, Action.BRAKE_TO_ZERO, reason="ramped down"),
    ),
    ((Mode.DISABLED,), Event.RAMP_DOWN, Transition(None, Action.REMOVE_TORQUE)),
)

TRANSITIONS: dict[tuple[Mode, Event], tuple[Transition, ...]] = {
    (mode, event): tuple(row for modes, on, row in _ROWS if on is event and mode in modes)
    for mode in Mode
    for event in Event
}


def transition_table() -> str:
    """Return the transitions as a Markdown table; pairs that are not listed are ignored."""
    lines = ["| event | in mode | if | next mode | action |", "|---|---|---|---|---|"]
    for event in Event:
        for modes, on, row in _ROWS:
            if on is event:
                names = ", ".join(mode.name for mode in Mode if mode in modes)
                to = "the same" if row.to is None else row.to.name
                cells = (event.value, names, row.guard.value, to, row.action.value)
                lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(transition_table())
