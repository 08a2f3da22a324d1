"""What `robodyn demo` says about a run: pushes found, pushes missed and false alarms."""

import io

import numpy as np
from rich.console import Console
from ros_harness import bench

from robodyn_ros.detection.detector import Level

from robodyn_ros.nodes.demo_observer import DemoObserver, DetectorState  # isort: skip
from robodyn_ros.nodes.demo_view import events_table, verdict  # isort: skip


def observed(node, *states):
    """Return ten seconds of observation: a push at 3 s and these detector states."""
    seen = DemoObserver(node)
    seen.t = [100.0 + 0.01 * k for k in range(1001)]
    seen.pushed = [(t, 1.0 if 103.0 <= t <= 103.2 else 0.0) for t in seen.t]
    seen.script = [(3.0, "link_5", 28.0)]
    seen.states = list(states)
    seen.mode = "TRACKING"
    return seen


def text_of(events):
    console = Console(width=120, force_terminal=False)
    with console.capture() as said:
        console.print(events_table(events))
    return said.get()


def test_a_false_alarm_is_an_event_that_says_what_the_detector_told():
    found = DetectorState(103.05, Level.COLLISION, "link_5", "joint_5", 27.0)
    alarm = DetectorState(106.0, Level.COLLISION, "link_3", "joint_3", 12.0)
    with bench() as there:
        clear = [DetectorState(t, Level.CLEAR, "", "", 0.0) for t in (103.5, 106.5)]
        seen = observed(there.node, found, clear[0], alarm, clear[1])
        push, false = seen.events()
        ok, said = verdict(seen)
    assert push.pushed and push.reported == found and push.link == "link_5"
    assert not false.pushed and false.reported == alarm and false.link == ""
    np.testing.assert_allclose(false.t, 6.0)
    row = text_of([false])
    assert "nothing" in row and "COLLISION link_3" in row and "12.0" in row
    assert "missed" not in row
    assert not ok and said == "1 alarms without a push"


def test_a_missed_push_is_an_event_without_a_verdict():
    with bench() as there:
        (push,) = observed(there.node).events()
    assert push.pushed and push.reported is None
    assert "missed" in text_of([push])


def test_headings_keep_their_units():
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(events_table([]))
    text = console.export_text()
    assert "time [s]" in text and "delay [ms]" in text and "force [N]" in text
