"""Supervisor: every (mode, event) pair of the table, and samples of every status."""

import dataclasses

import numpy as np
import pytest
from source_tree import ROOT

import robodyn_ros as rd
from robodyn_ros.control.arm_settings import ArmSettings
from robodyn_ros.control.supervisor import GUARDS, Supervisor, action_of
from robodyn_ros.control.transitions import REJECT, ROWS, TRANSITIONS, Event, Mode
from robodyn_ros.sensing.sample import Sample, Status, missing
from robodyn_ros.sensing.settings import SensingSettings

LWR = rd.robots.lwr_iii()
START = np.radians([-60.0, 40.0, 0.0, 70.0, 0.0, 40.0, 0.0])
DOCUMENT = ROOT / "docs" / "control.md"
STILL = np.zeros(7)
DT = 2e-3


class Arm:
    """A supervisor whose arm follows its reference exactly, and rests where it has none."""

    def __init__(self, sensing=None, **settings):
        self.supervisor = Supervisor(LWR, ArmSettings(**settings), sensing)
        self.t = self.valid_at = 0.0

    @property
    def mode(self):
        return self.supervisor.mode

    def sample(self, status=Status.OK, q=None, qd=None):
        wanted = self.supervisor.reference
        q, qd = wanted.q if q is None else q, wanted.qd if qd is None else qd
        dt, self.valid_at = self.t - self.valid_at, self.t
        return self.supervisor.update(Sample(self.t, dt, q, qd, None, status))

    def start(self, q=START, qd=STILL):
        return self.sample(Status.RESTART, q, qd)

    def run(self, seconds, until=None, **sample):
        """Feed valid samples, also until the mode changes, or is this one."""
        for _ in range(round(seconds / DT)):
            self.t += DT
            self.sample(**sample)
            if until is self.mode:
                break

    def lose(self, seconds, status=Status.SILENT):
        for _ in range(round(seconds / DT)):
            self.t += DT
            since = self.t - self.valid_at
            tau = self.supervisor.update(missing(self.t, since, 7, status, "no joint state"))
        return tau

    def follow(self, duration=5.0):
        q = self.supervisor.reference.q
        self.supervisor.follow(rd.joint_move(q, q + 0.2, duration=duration))

    def set(self, **settings):
        changed = dataclasses.replace(self.supervisor.settings, **settings)
        self.supervisor.apply(self.supervisor.prepare(changed))

    def bring_to(self, mode):
        """Bring a started arm to a mode by calls and samples alone."""
        supervisor = self.supervisor
        self.start()
        self.run(0.2)
        if mode is Mode.TRACKING:
            self.follow()
            self.run(0.1)
        elif mode in (Mode.REACTING, Mode.RESUMING):
            supervisor.on_contact(True)
            self.run(DT)
            supervisor.on_contact(None)
            if mode is Mode.RESUMING:
                supervisor.on_contact(False)
                supervisor.clear()
                self.run(0.5, until=Mode.RESUMING)
        elif mode is Mode.SAFE_HOLD:
            supervisor.safe_hold("a fault")
        elif mode is Mode.DISABLED:
            supervisor.enable(False)
        assert self.mode is mode


# ---------------------------------------------------------------- the table

# Settings with which a guard holds, and does not
GUARD_SETTINGS = {
    "reacts": ({"reaction": "stop"}, {"reaction": "none"}),
    "latches": ({"resume_after": 0.0}, {"resume_after": 1.0}),
    "touched_and_latches": ({"resume_after": 0.0}, {"resume_after": 1.0}),
    "quiet": ({"resume_after": 0.02}, {"resume_after": 0.0}),
}
# A trajectory moves at all times
IMPOSSIBLE = {
    (mode, guard)
    for mode in (Mode.TRACKING, Mode.RESUMING)
    for guard in ("in_motion", "loss_matters")
} | {(mode, "started") for mode in Mode if mode is not Mode.HOLDING}
FAST = np.full(7, 0.5)


def outcomes():
    """Yield each pair with each row that it may take; the last, None, where all guards fail."""
    for (mode, event), rows in TRANSITIONS.items():
        yield from ((mode, event, row) for row in rows)
        if not rows or rows[-1].guard and (mode, rows[-1].guard) not in IMPOSSIBLE:
            yield mode, event, None


def arrange(arm, mode, guard, holds):
    """See to it that a guard holds, or does not."""
    supervisor = arm.supervisor
    if guard in GUARD_SETTINGS:
        arm.set(**GUARD_SETTINGS[guard][0 if holds else 1])
    if guard in ("touched", "touched_and_latches"):
        supervisor.on_contact(holds or guard == "touched_and_latches")
    if guard == "quiet":
        supervisor.on_contact(False)
    if guard == "faulty" and holds:
        supervisor.on_fault("locked", "joint_3")
    if guard == "cleared" and holds:
        supervisor.clear()
    if guard in ("in_motion", "loss_matters") and holds and mode is Mode.HOLDING:
        arm.follow()
        arm.run(1.0)
        supervisor.hold()
    elif guard in ("in_motion", "loss_matters") and not holds:
        arm.run(0.2)  # comes to rest


def cause(arm, event, row):
    """Let an event happen, as far as it can happen in this mode."""
    supervisor = arm.supervisor
    calls = {
        Event.HOLD: supervisor.hold,
        Event.CONTACT: lambda: supervisor.on_contact(True),
        Event.EARLIER_CONTACT: supervisor.on_earlier_contact,
        Event.CLEAR: supervisor.clear,
        Event.FAULT: lambda: supervisor.safe_hold("a fault"),
        Event.STUCK_JOINT: lambda: supervisor.on_stuck_joint("joint_3", "a fault"),
        Event.ENABLE: lambda: supervisor.enable(True),
        Event.DISABLE: lambda: supervisor.enable(False),
        Event.RAMP_DOWN: supervisor.ramp_down,
    }
    if event in calls:
        calls[event]()
    elif event is Event.START:
        arm.start(qd=FAST if row and row.guard == "found_moving" else STILL)
    elif event is Event.FOLLOW:
        arm.follow()
    elif event is Event.CONTACT_SAMPLE:
        supervisor.on_contact(True)
        arm.run(DT)
    elif event is Event.COMMANDS_LOST:
        supervisor.on_command_feedback(arm.t, False)
        arm.run(0.01)
    elif event is Event.SAMPLES_LOST:
        arm.lose(0.05)
    elif row is None:
        supervisor._fire(event)  # cannot happen in this mode
    else:
        if event is Event.ARRIVED:
            arm.follow(duration=0.1)
        arm.run(2.0, until=row.to)


@pytest.mark.parametrize(
    ("mode", "event", "row"),
    [
        pytest.param(m, e, row, id=f"{m.name}-{e.name}-{row.guard if row else 'ignored'}")
        for m, e, row in outcomes()
    ],
)
def test_every_event_in_every_mode_leads_where_the_table_says(mode, event, row):
    arm = Arm()
    rows = TRANSITIONS[mode, event]
    unmet = [x.guard for x in (rows[: rows.index(row)] if row else rows)]
    if "started" not in unmet:
        arm.bring_to(mode)
    for guard in unmet:
        arrange(arm, mode, guard, False)
    if row is not None:
        arrange(arm, mode, row.guard, True)
    assert arm.mode is mode
    before = arm.supervisor.reason
    if row is not None and row.action == REJECT:
        text = row.reason.format(mode=mode.value, reason=before)
        with pytest.raises(rd.RobodynError, match=text):
            cause(arm, event, row)
    else:
        cause(arm, event, row)
    assert arm.mode is (mode if row is None or row.to is None else row.to)
    if row is None or row.to is None:
        assert arm.supervisor.reason == before
    else:
        wanted = row.reason
        assert arm.supervisor.reason == (wanted if wanted is not None else before) or (
            wanted is None and arm.supervisor.reason in ("a fault", "no joint state")
        )


def test_every_event_is_in_the_table():
    assert {event for (_, event), rows in TRANSITIONS.items() if rows} == set(Event)


def transition_table(supervisor):
    """Return all transitions as a Markdown table; pairs without a row are ignored."""

    def action(name):
        if name in ("", REJECT):
            return "raise an error" if name else ""
        first = str(action_of(supervisor, name).__doc__).partition("\n")[0].rstrip(".")
        return first[0].lower() + first[1:]

    lines = ["| event | in mode | if | next mode | action |", "|---|---|---|---|---|"]
    for event in Event:
        for row in (row for row in ROWS if row.event is event):
            modes = ", ".join(mode.name for mode in Mode if mode in row.modes)
            to = row.to.name if row.to else "the same"
            guard = GUARDS[row.guard][0] if row.guard else ""
            cells = (event.value, modes, guard, to, action(row.action))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def test_the_document_has_the_table_of_the_code():
    """`python test/control/test_supervisor.py` writes it there."""
    assert transition_table(Supervisor(LWR)) in DOCUMENT.read_text(encoding="utf-8"), (
        "run `python test/control/test_supervisor.py`, which replaces the table in docs/control.md"
    )


def write_table():
    """Replace the table of the document, from its head to the next empty line."""
    before, head, rest = DOCUMENT.read_text(encoding="utf-8").partition("| event | in mode |")
    after = rest[rest.index("\n\n") :]
    table = transition_table(Supervisor(LWR))
    DOCUMENT.write_text(before + table + after, encoding="utf-8")


def test_an_action_that_fails_leaves_the_mode_alone():
    class Broken:
        duration = 1.0

        def __init__(self):
            self.calls = 0

        def at(self, t):
            self.calls += 1
            if self.calls > 10:  # after the checks, when it is blended in
                raise rd.RobodynError("broken")
            return rd.joint_move(START, START + 0.1, duration=1.0).at(t)

    arm = Arm()
    arm.bring_to(Mode.HOLDING)
    with pytest.raises(rd.RobodynError, match="broken"):
        arm.supervisor.follow(Broken())
    assert arm.mode is Mode.HOLDING


# ---------------------------------------------------------------- samples


def test_without_a_first_sample_there_is_no_torque():
    arm = Arm()
    assert not arm.lose(0.1).any() and not arm.lose(0.1, Status.INVALID).any()
    np.testing.assert_allclose(arm.start(), rd.gravity_torque(LWR, START))


def test_rejected_samples_matter_at_rest_and_missing_ones_do_not():
    arm = Arm()
    arm.bring_to(Mode.HOLDING)
    arm.lose(1.0)
    assert arm.mode is Mode.HOLDING
    arm.run(0.1)
    arm.lose(0.03, Status.INVALID)
    assert (arm.mode, arm.supervisor.reason) == (Mode.SAFE_HOLD, "no joint state")


def test_an_arm_at_rest_bears_silence_for_the_rest_timeout():
    arm = Arm(rest_timeout=0.5)
    arm.bring_to(Mode.HOLDING)
    arm.lose(0.45)
    assert arm.mode is Mode.HOLDING
    arm.lose(0.1)
    assert arm.mode is Mode.SAFE_HOLD and arm.supervisor.blind


def test_after_a_restart_the_torque_is_not_blind():
    arm = Arm()
    arm.bring_to(Mode.TRACKING)
    arm.lose(0.1)
    assert arm.supervisor.blind
    arm.start(START)
    assert not arm.supervisor.blind and arm.mode is Mode.SAFE_HOLD


def test_time_that_goes_back_in_silence_changes_nothing():
    """The time since the last valid sample counts, not the clock."""
    arm = Arm()
    arm.bring_to(Mode.TRACKING)
    before = arm.supervisor.tau
    for k in range(1, 31):
        tau = arm.supervisor.update(missing(-100.0 + k * DT, k * DT, 7, Status.SILENT, "silence"))
        assert np.abs(tau - before).max() <= 1000.0 * DT + 1e-9
        before = tau
    assert (arm.mode, arm.supervisor.reason) == (Mode.SAFE_HOLD, "silence")


@pytest.mark.parametrize("first", [1, 5])
def test_silence_counts_on_when_the_clock_steps_back_by_10_s(first):
    arm = Arm()
    arm.bring_to(Mode.TRACKING)
    for k in range(1, 31):
        dt = k * DT - (10.0 if k >= first else 0.0)
        arm.supervisor.update(missing(arm.t + dt, dt, 7, Status.SILENT, "silence"))
    assert (arm.mode, arm.supervisor.reason) == (Mode.SAFE_HOLD, "silence")
    assert arm.supervisor.blind


def test_a_sample_without_any_before_it_may_be_infinitely_late():
    arm = Arm()
    arm.bring_to(Mode.TRACKING)
    for _ in range(3):
        tau = arm.supervisor.update(missing(1.0, np.inf, 7, Status.SILENT, "silence"))
        assert np.isfinite(tau).all()
    assert arm.mode is Mode.SAFE_HOLD


@pytest.mark.parametrize(
    ("sensing", "stuck"),
    [
        (SensingSettings(), True),
        (SensingSettings(stuck_time=10.0), False),
        (SensingSettings(stuck_samples=1000), False),
        (SensingSettings(stuck_reference_travel=1.0), False),
    ],
)
@pytest.mark.parametrize("later", [False, True])
def test_a_stuck_reading_is_found_within_the_limits_of_sensing(sensing, stuck, later):
    arm = Arm(SensingSettings() if later else sensing)
    arm.bring_to(Mode.TRACKING)
    if later:
        arm.supervisor.sensing = sensing
    arm.run(0.4)
    arm.follow(duration=1.0)
    arm.run(0.3)
    q = arm.supervisor.reference.q
    arm.run(0.3, q=q)
    assert (arm.mode is Mode.SAFE_HOLD) is stuck
    if stuck:
        assert "has read the same for" in arm.supervisor.reason
        assert arm.supervisor.blind  # its samples are not used
        arm.run(DT, q=q + 1e-6, qd=STILL)
        assert not arm.supervisor.blind


@pytest.mark.parametrize(("silence", "held"), [(0.02, False), (0.09, True)])
def test_lost_commands_count_from_when_the_detector_may_notice(silence, held):
    arm = Arm(SensingSettings(silence=silence), timeout=0.1)
    arm.bring_to(Mode.HOLDING)
    arm.supervisor.on_command_feedback(arm.t, False)
    arm.run(0.05)
    assert (arm.mode is Mode.SAFE_HOLD) is held


def test_a_restart_while_something_else_holds_the_arm_carries_its_weight():
    arm = Arm()
    arm.bring_to(Mode.TRACKING)
    arm.supervisor.release_command()
    there = START + 0.3
    np.testing.assert_allclose(arm.start(there), rd.gravity_torque(LWR, there), atol=2.0)


@pytest.mark.parametrize(
    ("reaction", "used"),
    [("none", False), ("stop", False), ("float", False), ("reflex", True), ("admittance", True)],
)
def test_which_reactions_use_the_residual(reaction, used):
    assert Supervisor(LWR, ArmSettings(reaction=reaction)).uses_residual is used


if __name__ == "__main__":
    write_table()
