"""What `robodyn demo` says about faults and payloads: named, misnamed, missed, invented."""

import math

import pytest
from rich.console import Console
from ros_harness import own_domain

from robodyn_ros.errors import ArgumentError
from robodyn_ros.nodes.demo_faults import FaultSpan, Name, compare_faults, in_span
from robodyn_ros.resources import share_path

from demo_seeds import run  # isort: skip
from robodyn_ros.nodes.demo import SCENARIOS, PlantOptions, overrides, scenario_files  # isort: skip
from robodyn_ros.nodes.demo_view import faults_table, verdict  # isort: skip

START = 100.0
BIAS = FaultSpan(103.0, "bias", "joint_3", "bias of 6 on joint_3", end=105.0)
BOX = FaultSpan(103.0, "payload", "", "payload of 1.50 kg", 1.5, end=110.0)


def told(t, kind, joint="", text=""):
    return Name(t, kind, joint, text or f"{kind} on {joint}")


def judged(spans, names, masses=()):
    return [event.judgement for event in compare_faults(START, spans, names, masses)]


@pytest.mark.parametrize(
    ("names", "judgement"),
    [
        ([told(103.1, "undecided"), told(103.4, "bias", "joint_3")], "named"),
        ([told(103.4, "bias", "joint_3"), told(105.2, "locked", "joint_1")], "named"),
        ([told(105.5, "bias", "joint_3")], "named"),  # it was short
        ([told(103.4, "bias", "joint_2")], "wrong name"),
        ([told(103.4, "bias", "joint_3"), told(104.0, "locked", "joint_3")], "wrong name"),
        ([told(103.4, "collision")], "not named"),
        ([], "not named"),
    ],
)
def test_the_last_name_while_a_fault_lasts_counts(names, judgement):
    (event,) = compare_faults(START, [BIAS], names, [])
    assert event.judgement == judgement and event.right is (judgement == "named")
    assert event.t == pytest.approx(3.0)
    if names and judgement == "named":
        right = next(name for name in names if name.kind == "bias")
        assert event.delay == pytest.approx(right.t - 103.0)


def test_a_name_without_a_fault_is_false():
    assert judged([BIAS], [told(101.0, "locked", "joint_1"), told(103.5, "bias", "joint_3")]) == [
        "FALSE NAME",
        "named",
    ]
    assert judged([], [told(101.0, "payload", "link_7")]) == ["FALSE NAME"]
    assert judged([], [told(101.0, "collision"), told(102.0, "undecided")]) == []


def test_every_frozen_reading_is_a_sensor_freeze():
    for kind in ("sensor_freeze", "encoder_freeze", "position_freeze", "velocity_freeze"):
        span = FaultSpan(103.0, kind, "joint_4", kind)
        assert judged([span], [told(103.5, "sensor_freeze", "joint_4")]) == ["named"]


def test_the_mass_that_is_carried_counts_at_pick_up_and_release():
    names = [told(103.4, "payload", "link_7"), told(110.4, "payload", "link_7")]
    right = [(103.7, 1.48), (110.7, 0.0)]
    assert judged([BOX], names, right) == ["named", "named"]
    assert judged([BOX], names, [(103.7, 1.0), (110.7, 0.0)]) == ["wrong name", "named"]
    assert judged([BOX], names, [(103.7, 1.48), (110.7, 0.4)]) == ["named", "wrong name"]
    assert judged([BOX], names, [(103.7, 1.48)]) == ["named", "not named"]
    still = FaultSpan(103.0, "payload", "", "payload", 1.5)
    assert still.end == math.inf and judged([still], names[:1], right[:1]) == ["named"]


def test_what_a_fault_does_to_the_residual_is_no_false_alarm():
    assert in_span(104.0, [BIAS]) and in_span(106.0, [BIAS]) and not in_span(102.0, [BIAS])
    assert in_span(103.5, [BOX]) and in_span(110.5, [BOX])
    assert not in_span(107.0, [BOX])  # it is carried then


def test_a_wrong_name_is_red_and_fits_a_terminal():
    console = Console(width=80, force_terminal=False)
    with console.capture() as said:
        console.print(faults_table(compare_faults(START, [BIAS], [told(101.0, "locked")], [])))
    assert "FALSE NAME" in said.get() and "not named" in said.get()


def test_scenarios_are_for_the_arms_whose_joints_they_name():
    assert scenario_files("collisions", "ur10e", "") == []
    for scenario in set(SCENARIOS) - {"collisions"}:
        (path,) = scenario_files(scenario, "kuka_lwr4", "")
        assert path == share_path("config", "scenarios", f"{scenario}.yaml") and path.is_file()
        with pytest.raises(ArgumentError, match="joints of lwr_iii"):
            scenario_files(scenario, "", "arm.urdf")
    with pytest.raises(ArgumentError, match="scenario"):
        scenario_files("earthquake", "", "")
    with pytest.raises(ArgumentError, match="friction"):
        overrides("", "", PlantOptions(ideal=True, scenario="faults"), guess=True)


@pytest.mark.parametrize("scenario", ["payload", pytest.param("faults", marks=pytest.mark.long)])
def test_a_scenario_is_told_rightly_in_simulated_time(scenario, monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    observer = run(plant=PlantOptions(seed=0, scenario=scenario))
    ok, text = verdict(observer)
    assert ok, (text, observer.fault_events())
