"""demo_report: the table that collision_demo.launch.py prints once its script is over."""

import pytest
from ros_harness import bench

from robodyn_ros.nodes import demo_report  # isort: skip
from robodyn_ros.nodes.demo_report import DemoReport, is_over  # isort: skip


class Observer:
    """What demo_report asks an observer of a demo."""

    def __init__(self, elapsed, pushes=(), scripted=2, mode="TRACKING", faults=(), over=True):
        self.elapsed, self.mode, self.script = elapsed, mode, ["push"] * scripted
        self.pushes, self.scripted_faults, self.faults_over = pushes, len(faults), over
        self.faults = faults

    def events(self):
        found = [Event(t, True) for t in self.pushes]
        return [Event(0.5, False), *found]

    def fault_events(self):
        return [Fault(t) for t in self.faults]


class Fault:
    def __init__(self, t):
        self.t, self.truth = t, "a fault"


class Event:
    def __init__(self, t, pushed):
        self.t, self.pushed = t, pushed


@pytest.mark.parametrize(
    ("observer", "over"),
    [
        (Observer(8.0, (3.0, 7.0)), False),  # the arm has not yet resumed
        (Observer(12.0, (3.0, 7.0)), True),
        (Observer(12.0, (3.0, 7.0), mode="REACTING"), False),
        (Observer(22.0, (3.0, 7.0), mode="REACTING"), True),
        (Observer(40.0, (3.0,)), False),  # one is still to come
        (Observer(64.0, (3.0,)), True),  # or was not seen
        (Observer(12.0, (3.0, 7.0), faults=(9.0,)), False),  # time for the arm after a fault
        (Observer(14.0, (3.0, 7.0), faults=(9.0,)), True),
        (Observer(30.0, (3.0, 7.0), faults=(9.0,), over=False), False),  # it still lasts
        (Observer(14.0, scripted=0, faults=(9.0,)), True),
        (Observer(9.0, scripted=0), False),  # the script may not be known yet
        (Observer(11.0, scripted=0), True),
    ],
)
def test_it_waits_for_the_last_push_and_the_arm(observer, over):
    assert is_over(observer) is over


def test_it_prints_the_table_once_and_stops(monkeypatch):
    printed = []
    monkeypatch.setattr(demo_report, "CHECK_PERIOD", 0.01)
    monkeypatch.setattr(demo_report, "is_over", lambda observer: True)
    monkeypatch.setattr(demo_report, "print_report", printed.append)
    with bench(DemoReport) as there:
        (report,) = there.nodes
        there.run(0.1)
        assert not report.stopped and not printed  # nothing was heard yet
        report.observer.t = [100.0, 120.0]
        there.until(lambda: report.stopped)
        there.run(0.1)
        assert printed == [report.observer]


def test_a_signal_ends_it_at_once(monkeypatch):
    printed = []
    monkeypatch.setattr(demo_report, "print_report", printed.append)
    with bench(DemoReport) as there:
        (report,) = there.nodes
        report.begin_stop()
        assert report.stopped and not printed


def test_without_a_script_one_line_says_so(capsys):
    demo_report.print_report(Observer(11.0, scripted=0))
    assert capsys.readouterr().out == demo_report.NO_SCRIPT + "\n"
