"""The lines that dynamics_node and controller_node log, without ROS."""

import numpy as np
import pytest

from robodyn_ros.control.transitions import Mode
from robodyn_ros.detection.detector import Level
from robodyn_ros.detection.fault import Fault
from robodyn_ros.detection.verdict import Ended, Verdict
from robodyn_ros.nodes.log_lines import ContactLog, Line, Severity, force_text, mode_line

DT = 0.002  # [s]


class Story:
    """Verdicts of 500 Hz, one after the other, and the lines that they gave."""

    def __init__(self):
        self.t, self.lines = 100.0, []
        self.log = ContactLog(lambda: self.t)

    def say(self, level, seconds=DT, **more):
        """Give the same verdict for this time; a list of levels: each in turn."""
        levels = level if isinstance(level, list) else [level]
        for k in range(round(seconds / DT)):
            self.t += DT
            self.lines.append(self.log.update(verdict(self.t, levels[k % len(levels)], **more)))
        return self

    @property
    def told(self):
        """The lines since the last look, as text with severity."""
        lines, self.lines = [line for line in self.lines if line], []
        return [f"{line.severity.name} {line.text}" for line in lines]


def verdict(t, level, link="", force=None, joints=(), cause="", **more):
    wrench = None if force is None else np.array([0.6 * force, 0.8 * force, 0.0, 0.0, 0.0, 0.0])
    more = {"where": link, **more}
    return Verdict(t, level, np.zeros(7), joints, link, wrench, link, cause=cause, **more)


@pytest.fixture
def story():
    """A detector that has started and is CLEAR."""
    story = Story().say(Level.UNKNOWN, 0.2, cause="joint states begin anew").say(Level.CLEAR, 1.0)
    assert story.told == ["INFO CLEAR: watching for contact"]
    return story


def test_a_push_gives_a_line_at_each_of_its_steps(story):
    story.say(Level.CONTACT, 0.01, joints=("joint_3", "joint_4"))
    story.say(Level.COLLISION, 0.05, joints=("joint_3",), link="link_4", force=12.4)
    story.say(Level.COLLISION, 0.15, joints=("joint_2", "joint_4"), link="link_5", force=35.2)
    story.say(Level.CLEAR, 1.0)
    assert story.told == [
        "WARN CONTACT: link unknown, force unknown (joint_3, joint_4)",
        "ERROR COLLISION on link_4: 12 N (joint_3)",
        "ERROR COLLISION on link_5: 35 N (joint_2, joint_4)",
        "INFO CLEAR after 0.21 s: COLLISION on link_5, about 35 N",
    ]


def test_a_link_that_becomes_known_is_told_once(story):
    story.say(Level.CONTACT, 0.05, joints=("joint_5",))
    story.say(Level.CONTACT, 0.3, joints=("joint_5",), link="link_5", force=4.0)
    assert story.told == [
        "WARN CONTACT: link unknown, force unknown (joint_5)",
        "WARN CONTACT on link_5: 4.0 N (joint_5)",
    ]
    story.say(Level.CONTACT, 0.5, link="link_6", force=5.0)  # it has moved on
    assert story.told == ["WARN CONTACT on link_6: 5.0 N (no joint)"]


def test_flicker_between_links_is_throttled(story):
    for _ in range(20):
        story.say(Level.CONTACT, 0.1, link="link_6", force=5.0)
        story.say(Level.CONTACT, 0.1, link="link_5", force=5.0)
    assert 3 <= len(story.told) <= 7  # in four seconds


def test_the_last_word_about_a_link_is_that_of_the_whole_contact(story):
    story.say(Level.CONTACT, 0.1, joints=("joint_5",), link="link_5", force=4.0)
    story.say(Level.CLEAR, 0.01, ended=Ended("link_6", "link_6 or beyond", 0.6, np.nan))
    story.say(Level.CLEAR, 1.0)
    assert story.told[-1] == "INFO CLEAR after 0.10 s: CONTACT on link_6 or beyond, force unknown"
    story.say(Level.CONTACT, 0.01, joints=("joint_5",))  # over before its link was decided
    story.say(Level.CLEAR, 0.01, ended=Ended("link_6", "link_6", 0.9, 12.0)).say(Level.CLEAR, 1.0)
    assert story.told == [
        "WARN CONTACT: link unknown, force unknown (joint_5)",
        "INFO CLEAR after 0.01 s: CONTACT on link_6, about 12 N",
    ]


def test_a_joint_at_its_stop_is_no_touch(story):
    stop = {"fault": Fault("joint_stop", "joint_4"), "link_cause": "joint_4 at its upper stop"}
    story.say(Level.COLLISION, 0.1, joints=("joint_4",), **stop).say(Level.CLEAR, 1.0)
    assert story.told == [
        "ERROR COLLISION: joint_4 at its upper stop (joint_4)",
        "INFO CLEAR after 0.10 s: COLLISION, joint_4 at its upper stop",
    ]


def test_flicker_between_levels_floods_no_log(story):
    story.say([Level.CONTACT, Level.COLLISION, Level.CLEAR], 3.0, link="link_5", force=20.0)
    story.say(Level.CLEAR, 1.0)
    assert story.told == [
        "WARN CONTACT on link_5: 20 N (no joint)",
        "ERROR COLLISION on link_5: 20 N (no joint)",
        "INFO CLEAR after 3.00 s: COLLISION on link_5, about 20 N",
    ]


def test_a_force_that_is_not_known_is_not_zero(story):
    story.say(Level.COLLISION, 0.1, joints=("joint_1",))
    story.say(Level.CLEAR, 1.0)
    story.say(Level.COLLISION, 0.1, link="link_1", force=0.0).say(Level.CLEAR, 1.0)
    assert story.told == [
        "ERROR COLLISION: link unknown, force unknown (joint_1)",
        "INFO CLEAR after 0.10 s: COLLISION, link and force unknown (joint_1)",
        "ERROR COLLISION on link_1: force unknown (no joint)",
        "INFO CLEAR after 0.10 s: COLLISION on link_1, force unknown",
    ]
    assert [force_text(x) for x in (0.0, np.nan, 0.4, 9.96, 123.4)] == [
        "force unknown",
        "force unknown",
        "0.4 N",
        "10 N",
        "123 N",
    ]


def test_the_force_of_a_contact_is_its_median(story):
    story.say(Level.COLLISION, 0.2, link="link_5", force=35.0)
    story.say(Level.COLLISION, 0.02, link="link_5", force=173.0)  # hardly felt any more
    story.say(Level.COLLISION, 10.0, link="link_5", force=40.0).say(Level.CLEAR, 1.0)
    assert story.told[-1] == "INFO CLEAR after 10.22 s: COLLISION on link_5, about 40 N"


def test_the_force_on_a_link_that_was_decided_late_is_not_that_of_the_pushs_end(story):
    story.say(Level.COLLISION, 0.2, link="link_6", where="link_6 or beyond", force=np.nan)
    story.say(Level.COLLISION, 0.08, link="link_6", force=3.0)
    story.say(Level.CLEAR, ended=Ended("link_6", "link_6", 0.9, 39.0)).say(Level.CLEAR, 1.0)
    assert story.told[-1] == "INFO CLEAR after 0.28 s: COLLISION on link_6, about 39 N"


def test_unknown_says_why_and_when_it_is_over(story):
    for k in range(100):  # the number in it grows
        story.say(Level.UNKNOWN, cause=f"nothing received on /js for {0.02 + k * DT:.3f} s")
    story.say(Level.CLEAR, 0.5)
    assert story.told == [
        "WARN UNKNOWN: nothing received on /js for 0.020 s",
        "INFO CLEAR: known again after 0.20 s",
    ]


def test_unknown_that_lasts_is_repeated_and_another_cause_is_told(story):
    story.say(Level.UNKNOWN, 12.0, cause="joint 'joint_3' reads the same for 0.05 s")
    story.say(Level.UNKNOWN, 3.0, cause="joint 'joint_4' reads the same for 0.05 s")
    assert story.told == [
        "WARN UNKNOWN: joint 'joint_3' reads the same for 0.05 s",
        "WARN UNKNOWN for 10 s: joint 'joint_3' reads the same for 0.05 s",
        "WARN UNKNOWN: joint 'joint_4' reads the same for 0.05 s",
    ]


def test_unknown_that_flickers_floods_no_log(story):
    story.say([Level.UNKNOWN, Level.CLEAR], 5.0, cause="no sample for 0.1 s")
    assert 2 <= len(story.told) <= 12


def test_unknown_in_the_middle_of_a_contact_tells_both(story):
    story.say(Level.COLLISION, 0.1, link="link_5", force=30.0)
    story.say(Level.UNKNOWN, 0.1, cause="reset").say(Level.CLEAR, 1.0)
    assert story.told[1:] == [
        "WARN UNKNOWN: reset; before it COLLISION on link_5, about 30 N",
        "INFO CLEAR: known again after 0.10 s",
    ]


def test_stamps_a_little_behind_the_time_of_silence_begin_nothing_anew(story):
    story.say(Level.UNKNOWN, cause="nothing received on /js for 0.1 s")
    story.t -= 0.1
    story.say(Level.UNKNOWN, 0.05, cause="joint states were silent").say(Level.CLEAR)
    assert story.told == [
        "WARN UNKNOWN: nothing received on /js for 0.1 s",
        "INFO CLEAR: known again after 0.00 s",
    ]


def test_a_start_without_joint_states_is_told_after_a_second():
    story = Story().say(Level.UNKNOWN, 0.9, cause="nothing received on /js for 0.02 s")
    assert story.told == []
    assert story.say(Level.UNKNOWN, 0.2, cause="nothing received on /js for 1 s").told == [
        "WARN UNKNOWN: nothing received on /js for 1 s"
    ]
    assert story.say(Level.CLEAR, 0.2).told == ["INFO CLEAR: known again after 1.10 s"]


def test_a_start_inside_a_contact_is_told():
    story = Story().say(Level.UNKNOWN, 0.1).say(Level.CONTACT, 0.1, link="link_2", force=9.0)
    assert story.told == ["WARN CONTACT on link_2: 9.0 N (no joint)"]


def test_time_may_go_back(story):
    story.say(Level.COLLISION, 0.1, link="link_5", force=30.0)
    story.t = 1.0
    story.say(Level.CLEAR, 0.01).say(Level.UNKNOWN, 0.01, cause="joint states begin anew")
    assert story.told[1:] == [
        "INFO CLEAR after 0.10 s: COLLISION on link_5, about 30 N",
        "WARN UNKNOWN: joint states begin anew",
    ]


def test_modes_are_told_with_their_reason_and_severity():
    told = [
        mode_line(Mode.HOLDING, "started here", None),
        mode_line(Mode.TRACKING, "", Mode.HOLDING),
        mode_line(Mode.REACTING, "touched", Mode.TRACKING),
        mode_line(Mode.RESUMING, "contact ended", Mode.REACTING),
        mode_line(Mode.TRACKING, "", Mode.RESUMING),
        mode_line(Mode.SAFE_HOLD, "no verdict of the detector for 0.1 s", Mode.TRACKING),
        mode_line(Mode.DISABLED, "", Mode.HOLDING),
    ]
    assert told == [
        Line(Severity.INFO, "HOLDING: started here"),
        Line(Severity.INFO, "TRACKING: new trajectory"),
        Line(Severity.WARN, "REACTING: touched"),
        Line(Severity.INFO, "RESUMING: contact ended"),
        Line(Severity.INFO, "TRACKING: trajectory rejoined"),
        Line(Severity.ERROR, "SAFE_HOLD: no verdict of the detector for 0.1 s"),
        Line(Severity.INFO, "DISABLED"),
    ]
