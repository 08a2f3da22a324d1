"""When the guard stops the arm, and what it tries if a request fails; in a time of its own."""

from collections import namedtuple
from dataclasses import replace

import pytest

import robodyn_ros as rd
from robodyn_ros.detection.guard.guard import Action, Guard, Mode
from robodyn_ros.detection.guard.settings import (
    ExpectSettings,
    GuardSettings,
    MeansSettings,
    check_chain,
)
from robodyn_ros.detection.guard.stop import Stop

Report = namedtuple("Report", "t level joints link cause fault fault_joint")
JOINTS, LINKS = ("joint_1", "joint_2"), ("link_1", "link_2")
DT = 0.001


def report(level="CLEAR", joints=(), link="", cause="", fault="", fault_joint=""):
    return Report(0.0, rd.Level[level], joints, link, cause, fault, fault_joint)


CLEAR = report()
CONTACT = report("CONTACT", ("joint_1",), "link_1")
HIT = report("COLLISION", ("joint_1", "joint_2"), "link_2")
UNNAMED = report("COLLISION", ("joint_1",))
LOST = report("UNKNOWN", cause="nothing received on /joint_states for 2 s")
FROZEN = report("UNKNOWN", fault="sensor_freeze", fault_joint="joint_2")


class Run:
    """A guard that gets a verdict every millisecond."""

    def __init__(self, expect=None, **settings):
        self.guard = Guard(GuardSettings(**settings), expect or ExpectSettings(), JOINTS, LINKS)
        self.now = 100.0
        self.orders = []

    def feed(self, verdict, seconds=DT, force=None):
        """Return the orders of this time; force: the estimate that comes with each verdict [N]."""
        found = []
        for _ in range(round(seconds / DT)):
            self.now += DT
            given = verdict._replace(t=self.now)
            found.append(self.guard.on_verdict(given, self.now))
            if force is not None:
                found.append(self.guard.on_force(given.t, given.link, force, self.now))
        return self._told(found)

    def wait(self, seconds):
        """Return the orders of a time without verdicts."""
        found = []
        for _ in range(round(seconds / DT)):
            self.now += DT
            found.append(self.guard.poll(self.now))
        return self._told(found)

    def _told(self, found):
        orders = [order for order in found if order is not None]
        self.orders += orders
        return [order.action for order in orders]


@pytest.mark.parametrize(
    ("settings", "verdict", "stops"),
    [
        ({}, HIT, True),
        ({}, CONTACT, False),
        ({"level": "contact"}, CONTACT, True),
        ({"level": "contact"}, HIT, True),
        ({"level": "none"}, HIT, False),
        ({"links": ("link_1",)}, HIT, False),
        ({"links": ("link_2",)}, HIT, True),
        ({"links": ("link_1",)}, UNNAMED, True),  # it may be that one
        ({"joints": ("joint_2",)}, UNNAMED, False),
        ({"joints": ("joint_2",)}, HIT, True),
        ({"level": "contact", "joints": ("joint_2",)}, CONTACT, False),
        ({"level": "none", "faults": ("sensor_freeze",)}, FROZEN, True),
        ({"level": "none", "faults": ("all",)}, FROZEN, True),
        ({"faults": ("effort_scale",)}, FROZEN, False),
        ({"faults": ("all",), "joints": ("joint_1",)}, FROZEN, False),
        ({}, FROZEN, False),
    ],
)
def test_what_acts(settings, verdict, stops):
    run = Run(**settings)
    run.feed(CLEAR, 0.1)
    assert run.feed(verdict, 0.1) == ([Action.STOP] if stops else [])
    assert run.guard.armed(run.now) is not stops
    if stops:
        assert run.guard.mode is Mode.STOPPED
        (order,) = run.orders
        named = verdict.fault or verdict.level.name
        assert named in order.reason and (verdict.link or "") in order.reason


def test_a_delay_ignores_what_is_shorter():
    run = Run(delay=0.01)
    run.feed(CLEAR, 0.1)
    assert run.feed(HIT, 0.008) == []
    assert run.feed(CLEAR, 0.002) == []
    assert run.feed(HIT, 0.008) == []
    assert run.feed(HIT, 0.003) == [Action.STOP]


def test_a_delay_ends_also_between_two_verdicts():
    run = Run(delay=0.01)
    run.feed(HIT)
    assert run.wait(0.012) == [Action.STOP]


def test_it_stops_once_or_again_while_the_reason_lasts():
    assert Run().feed(HIT, 1.0) == [Action.STOP]
    run = Run(repeat=0.3)
    assert run.feed(HIT, 1.0) == 4 * [Action.STOP]
    assert run.orders[-1].reason.startswith("again: COLLISION on link_2")
    assert run.feed(CLEAR, 1.0) == []


def test_it_is_armed_again_after_a_quiet_time():
    run = Run(rearm_after=0.5)
    run.feed(HIT, 0.1)
    assert run.feed(CLEAR, 0.4) == []
    assert run.feed(CONTACT, 0.1) == []  # no reason to stop, but not quiet
    assert run.feed(CLEAR, 0.49) == []
    assert not run.guard.armed(run.now)
    assert run.feed(CLEAR, 0.02) == [Action.REARMED]
    assert run.guard.armed(run.now)
    assert run.feed(HIT) == [Action.STOP]


def test_unknown_is_not_quiet():
    run = Run(rearm_after=0.5)
    run.feed(HIT, 0.1)
    run.feed(CLEAR, 0.4)
    run.feed(LOST, 0.4)
    assert run.feed(CLEAR, 0.4) == []
    assert run.wait(0.05) == []
    assert run.feed(CLEAR, 0.1) == [Action.REARMED]


def test_it_is_armed_by_hand_but_not_while_touched_or_blind():
    run = Run()
    with pytest.raises(rd.ArgumentError, match="no verdict"):
        run.guard.arm(run.now)
    run.feed(HIT, 0.1)
    run.feed(CLEAR, 10.0)
    assert run.guard.mode is Mode.STOPPED  # rearm_after is 0
    run.feed(HIT)
    with pytest.raises(rd.ArgumentError, match="COLLISION on link_2"):
        run.guard.arm(run.now)
    run.feed(CLEAR)
    run.guard.arm(run.now)
    assert run.guard.armed(run.now)
    run.feed(LOST, 1.0)
    with pytest.raises(rd.ArgumentError, match="nothing received on"):
        run.guard.arm(run.now)


def test_disarmed_it_stops_nothing():
    run = Run(unknown="act", rearm_after=0.1)
    run.feed(CLEAR)
    run.guard.disarm()
    assert run.feed(HIT, 0.1) + run.feed(LOST, 1.0) + run.feed(CLEAR, 1.0) == []


@pytest.mark.parametrize(("unknown", "action"), [("warn", Action.WARN), ("act", Action.STOP)])
@pytest.mark.parametrize("silent", [False, True])
def test_unknown_for_long_is_an_event(unknown, action, silent):
    run = Run(unknown=unknown, unknown_time=0.5)
    run.feed(CLEAR, 0.1)
    assert run.guard.armed(run.now)
    lose = run.wait if silent else lambda seconds: run.feed(LOST, seconds)
    assert lose(0.49) == []
    assert run.guard.armed(run.now)
    assert lose(0.02) == [action]
    assert not run.guard.armed(run.now)
    assert lose(5.0) == []  # once
    assert ("no verdict" if silent else "nothing received on") in run.orders[-1].reason
    assert run.feed(CLEAR, 0.1) == []
    assert run.guard.armed(run.now) is (unknown == "warn")
    if unknown == "warn":
        assert lose(0.52) == [action]


def test_before_the_first_verdict_it_is_not_armed_and_stops_nothing():
    run = Run(unknown="act")
    assert run.wait(5.0) == []
    assert not run.guard.armed(run.now)
    assert "yet" in run.guard.unknown_cause(run.now)


def expecting(link="link_2", force=30.0, **settings):
    run = Run(**settings)
    run.feed(CLEAR, 0.1)
    run.guard.expected.open(link, force, run.now, 1.0)
    return run


def test_an_expected_contact_does_not_stop_up_to_its_force():
    run = expecting()
    assert run.feed(HIT, 0.2, force=29.0) == []
    assert run.feed(HIT, 0.01, force=31.0) == [Action.STOP]
    assert "above the expected 30 N" in run.orders[-1].reason


def test_a_window_leaves_other_links_and_faults_as_they_are():
    other = replace_link(HIT, "link_1")
    assert expecting().feed(other, force=1.0) == [Action.STOP]
    assert expecting(faults=("all",)).feed(FROZEN) == [Action.STOP]


def replace_link(verdict, link):
    return verdict._replace(link=link)


def test_a_window_ends():
    run = expecting()
    assert run.feed(HIT, 0.9, force=29.0) == []
    assert run.feed(HIT, 0.2, force=29.0) == [Action.STOP]
    run = expecting()
    run.guard.expected.open("link_2", 0.0, run.now, 1.0)  # closes it
    assert run.feed(HIT, force=1.0) == [Action.STOP]
    run = expecting()
    run.guard.expected.close()
    assert run.feed(HIT, force=1.0) == [Action.STOP]


def test_a_contact_without_link_or_force_is_waited_for_and_then_stops():
    run = expecting()
    assert run.feed(UNNAMED, 0.04) == []
    assert run.feed(HIT, 0.04, force=10.0) == []  # named in time
    assert run.feed(UNNAMED, 0.06) == [Action.STOP]
    run = expecting()
    assert run.feed(HIT, 0.04) == []  # its force does not come
    assert run.feed(HIT, 0.02) == [Action.STOP]
    assert "not known to be expected" in run.orders[-1].reason
    run = Run()
    assert run.feed(UNNAMED) == [Action.STOP]  # without a window at once


def test_the_force_of_another_sample_or_link_does_not_count():
    run = expecting()
    run.feed(HIT, 0.01, force=10.0)
    for _ in range(60):
        run.feed(HIT)
        run.guard.on_force(run.now, "link_1", 10.0, run.now)
        run.guard.on_force(run.now - DT, "link_2", 10.0, run.now)
    assert [order.action for order in run.orders] == [Action.STOP]


@pytest.mark.parametrize(
    ("link", "force"), [("elbow", 10.0), ("link_1", 101.0), ("link_1", float("nan"))]
)
def test_windows_that_make_no_sense_are_refused(link, force):
    run = Run()
    with pytest.raises(rd.ArgumentError):
        run.guard.expected.open(link, force, run.now, 1.0)
    assert not run.guard.expected.windows


@pytest.mark.parametrize(
    ("settings", "expect", "told"),
    [
        (GuardSettings(joints=("elbow",)), ExpectSettings(), "guard.joints: no elbow"),
        (GuardSettings(links=("hand",)), ExpectSettings(), "guard.links: no hand"),
        (GuardSettings(), ExpectSettings(link="hand"), "expect.link: no hand"),
    ],
)
def test_names_that_the_arm_does_not_have_are_refused(settings, expect, told):
    with pytest.raises(rd.ArgumentError, match=told):
        Guard(settings, expect, JOINTS, LINKS)


def test_new_settings_hold_at_once():
    run = Run()
    run.feed(CONTACT, 0.1)
    run.guard.apply(GuardSettings(level="contact"), ExpectSettings())
    assert run.feed(CONTACT) == [Action.STOP]


# --- the requests of a stop

MEANS = {
    "moveit": MeansSettings(),
    "cancel": MeansSettings("cancel", "jtc/follow", timeout=0.1, next="halt"),
    "halt": MeansSettings("trigger", "driver/halt", timeout=0.3, next="brake"),
    "brake": MeansSettings("set_bool", "driver/brake"),
}


def test_all_means_are_asked_at_once_but_those_that_are_the_next_of_another():
    assert Stop("hit", 10.0, MEANS).first() == ["moveit", "cancel"]
    alone = {name: replace(row, next="") for name, row in MEANS.items()}
    assert Stop("hit", 10.0, alone).first() == list(MEANS)


def test_a_request_that_fails_or_is_not_answered_leads_to_the_next_means():
    stop = Stop("hit", 10.0, MEANS)
    stop.sent("moveit", 10.002, 500.0)
    assert not stop.finished  # cancel has not been asked yet
    stop.sent("cancel", 10.002, 500.0)
    stop.accepted("moveit", "sent to 1 subscriber", None)
    assert not stop.finished and stop.overdue(500.05) == []
    assert stop.overdue(500.11) == ["cancel"]
    assert stop.failed("cancel", "no answer within 0.1 s", None) == "halt"
    assert stop.overdue(501.0) == []
    stop.sent("halt", 10.103, 500.11)
    assert stop.failed("halt", "refused", 10.105) == "brake"
    stop.sent("brake", 10.106, 500.12)
    assert stop.failed("cancel", "refused", 10.2) == ""  # a late answer changes nothing
    stop.accepted("brake", "accepted", 10.107)
    assert stop.finished
    assert list(stop.failures()) == ["cancel: no answer within 0.1 s", "halt: refused"]
    texts = {name: request.text() for name, request in stop.requests.items()}
    assert texts == {
        "moveit": "requested after 2.0 ms: sent to 1 subscriber",
        "cancel": "requested after 2.0 ms: failed: no answer within 0.1 s",
        "halt": "requested after 103.0 ms, answered after 105.0 ms: failed: refused",
        "brake": "requested after 106.0 ms, answered after 107.0 ms: accepted",
    }


def test_a_means_that_two_lead_to_is_asked_once():
    means = {**MEANS, "other": MeansSettings("trigger", "other", next="halt")}
    stop = Stop("hit", 10.0, means)
    for name in stop.first():
        stop.sent(name, 10.0, 500.0)
    assert stop.failed("other", "refused", 10.0) == "halt"
    stop.sent("halt", 10.0, 500.0)
    assert stop.failed("cancel", "refused", 10.0) == ""


@pytest.mark.parametrize(
    ("name", "following", "told"),
    [("brake", "cancel", "leads back to"), ("moveit", "hoot", "no means 'hoot'")],
)
def test_a_chain_without_an_end_is_refused(name, following, told):
    check_chain(MEANS)
    with pytest.raises(rd.ArgumentError, match=told):
        check_chain({**MEANS, name: replace(MEANS[name], next=following)})


def test_incomplete_means_are_refused():
    with pytest.raises(rd.ArgumentError, match="target of a means of kind cancel"):
        MeansSettings("cancel")
    with pytest.raises(rd.ArgumentError, match="activate or deactivate"):
        MeansSettings("switch")
    assert MeansSettings("event").place == "trajectory_execution_event"
    switch = MeansSettings("switch", deactivate=("jtc",))
    assert switch.place == "controller_manager/switch_controller"
