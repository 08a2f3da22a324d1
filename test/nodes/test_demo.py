"""What `robodyn demo` says about a run: pushes found, misnamed or missed, and false alarms."""

import io
import re

import numpy as np
import pytest
from rich.console import Console
from ros_harness import bench, own_domain
from typer.testing import CliRunner

import robodyn_ros as rd
from robodyn_ros.cli import app
from robodyn_ros.detection.detector import Level
from robodyn_ros.errors import ArgumentError
from robodyn_ros.nodes.demo_events import DetectorState, ScriptedPush
from robodyn_ros.resources import share_path

from robodyn_ros.nodes import demo  # isort: skip
from robodyn_ros.nodes.demo import DEMO_START, PlantOptions, overrides  # isort: skip
from robodyn_ros.nodes.demo_observer import DemoObserver  # isort: skip
from robodyn_ros.nodes.demo_view import events_table, plot, verdict  # isort: skip

JOINTS = [f"joint_{k}" for k in range(1, 8)]


def observed(node, *states, loads=(1.0,) * 7, script=None):
    """Return ten seconds of observation: a push at 3 s and these detector states.

    loads: true external torque of the push.
    """
    seen = DemoObserver(node)
    seen.names, seen.contact, seen.collision = JOINTS, np.full(7, 0.5), np.ones(7)
    seen.t = [100.0 + 0.01 * k for k in range(1001)]
    seen.r = list(0.1 * np.random.default_rng(0).normal(size=(1001, 7)))
    for t in seen.t:
        seen.add_truth(t, np.array(loads) * (103.0 <= t <= 103.2))
    seen.script = [ScriptedPush(3.0, "link_5", 28.0, joint=4)] if script is None else script
    seen.states = list(states)
    seen.mode = "TRACKING"
    return seen


def told(t, level, link="", force=0.0):
    return DetectorState(t, Level[level], link, (), force)


def text_of(events, width=80):
    console = Console(width=width, force_terminal=False)
    with console.capture() as said:
        console.print(events_table(events))
    return said.get()


def test_a_false_alarm_is_an_event_that_says_what_the_detector_told():
    found, alarm = (
        told(103.05, "COLLISION", "link_5", 27.0),
        told(106.0, "COLLISION", "link_3", 12.0),
    )
    with bench() as there:
        clear = [told(t, "CLEAR") for t in (103.5, 106.5)]
        seen = observed(there.node, found, clear[0], alarm, clear[1])
        push, false = seen.events()
        ok, said = verdict(seen)
    assert push.pushed and push.reported == found and push.link == "link_5"
    assert push.judgement == "found" and push.right
    assert not false.pushed and false.reported == alarm and false.link == ""
    np.testing.assert_allclose(false.t, 6.0)
    row = text_of([false])
    assert re.search(r"6\.00 +nothing +COLLISION +link_3 +12\.0 +FALSE ALARM", row)
    assert not ok
    assert said == "1 of 1 pushes found with their link, 1 false alarm, the arm resumed"


def test_a_false_alarm_is_red():
    alarm = told(106.0, "CONTACT", "link_3", 12.0)
    with bench() as there:
        seen = observed(
            there.node, told(103.05, "COLLISION", "link_5"), told(104.0, "CLEAR"), alarm
        )
        events = seen.events()
    console = Console(width=80, force_terminal=True, color_system="standard", file=io.StringIO())
    console.print(events_table(events))
    found, false = console.file.getvalue().splitlines()[-2:]
    assert "\x1b[31m" in false and "FALSE ALARM" in false
    assert "\x1b[31m" not in found


def test_a_missed_push_is_an_event_without_a_verdict():
    with bench() as there:
        seen = observed(there.node)
        (push,) = seen.events()
        ok, said = verdict(seen)
    assert push.pushed and push.reported is None
    assert "missed" in text_of([push])
    assert not ok and said.startswith("0 of 1 pushes found")


@pytest.mark.parametrize(
    ("links", "judgement"),
    [
        (("link_5",), "found"),
        (("link_4", "link_5"), "found"),
        (("link_5", "link_4"), "wrong link"),
        (("link_5", ""), "found"),  # a gap in the data
        (("", ""), "no link"),
    ],
)
def test_the_last_link_until_the_end_of_a_push_counts(links, judgement):
    states = [told(103.05 + 0.05 * k, "COLLISION", link) for k, link in enumerate(links)]
    with bench() as there:
        # The residual's decay names other links after the push
        seen = observed(there.node, *states, told(103.22, "CONTACT", "link_3"))
        (push,) = seen.events()
        ok, _ = verdict(seen)
    assert push.judgement == judgement and ok is (judgement == "found")
    assert judgement in text_of([push])


def test_a_push_through_its_joints_axis_need_not_name_the_link():
    loads = (1.0, 1.0, 1.0, 1.0, 0.7, 0.0, 0.0)  # 1.4 contact thresholds on joint 5
    with bench() as there:
        seen = observed(there.node, told(103.05, "COLLISION", "link_4"), loads=loads)
        (push,) = seen.events()
        ok, said = verdict(seen)
    assert push.judgement == "unclear" and ok
    assert "(1 hardly loaded the joint of the link)" in said


def test_an_arm_that_does_not_resume_or_was_not_pushed_fails():
    with bench() as there:
        seen = observed(there.node, told(103.05, "COLLISION", "link_5"))
        seen.mode, seen.reason = "REACTING", "touched"
        assert verdict(seen) == (
            False,
            "1 of 1 pushes found with their link, no false alarm, "
            "the arm did not resume: REACTING, touched",
        )
        seen = observed(there.node, loads=np.zeros(7))
        assert verdict(seen) == (
            False,
            "nothing pushed the arm, no false alarm, the arm resumed",
        )


def test_pushes_keep_their_link_if_the_plant_skips_time_or_another_push_comes_between():
    """On a busy machine the plant's clock leaps: within a push, and between two of them."""
    script = [ScriptedPush(at, f"link_{k}", 20.0) for at, k in ((3.0, 4), (7.0, 5), (11.0, 6))]
    with bench() as there:
        seen = observed(there.node, loads=np.zeros(7), script=script)
        t = np.concatenate([np.arange(0.0, 3.1, 0.01), np.arange(3.6, 14.0, 0.01)])
        pushed = np.zeros(t.size)
        for begin, end in ((3.0, 3.7), (5.5, 5.6), (7.6, 7.8), (11.9, 12.1)):
            pushed[(t > begin) & (t < end)] = 1.0
        for x, on in zip(200.0 + t, pushed, strict=True):
            seen.add_truth(x, np.full(7, on))
        links = [event.link for event in seen.events()]
    assert links == ["link_4", "", "link_5", "link_6"]


def test_headings_keep_their_units():
    text = text_of([])
    for unit in ("[s]", "[N]", "[ms]"):
        assert unit in text


def test_rows_fit_a_narrow_terminal():
    """Of an arm with long names, too."""
    script = [ScriptedPush(3.0, "wrist_3_link", 128.0)]
    with bench() as there:
        state = told(103.05, "COLLISION", "wrist_2_link", 127.0)
        (push,) = observed(there.node, state, script=script).events()
    rows = [line for line in text_of([push]).splitlines() if line.strip()]
    assert len(rows) == 4, "headings in two lines, a rule, one row"
    assert re.search(
        r"wrist_3_link +128\.0 +COLLISION +wrist_2_link +127\.0 +60 +wrong link", rows[-1]
    )


def test_the_plot_shows_residual_thresholds_flags_and_truth_with_a_legend(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    drawn = []
    save = Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda self, *a, **k: (drawn.append(self), save(self, *a, **k))
    )
    with bench() as there:
        states = [
            told(100.0, "UNKNOWN"),
            told(100.1, "CLEAR"),
            told(103.05, "COLLISION", "link_5"),
        ]
        clear, alarm = told(103.5, "CLEAR"), told(106.0, "CONTACT", "link_3")
        assert plot(observed(there.node, *states, clear, alarm), tmp_path / "demo.png")
    (figure,) = drawn
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "below the contact threshold",
        "between contact and collision threshold",
        "flag: UNKNOWN",
        "flag: CONTACT",
        "flag: COLLISION",
        "residual",
        "true external torque",
    }
    labels = [text.get_text().strip() for text in figure.axes[0].texts]
    assert labels == ["link_5 28 N", "FALSE ALARM"]
    residual, truth = figure.axes[4].get_lines()
    assert np.ptp(residual.get_ydata()) > 0.3 and truth.get_ydata().max() == 1.0


def of_plant(**options):
    return overrides("", "", PlantOptions(**options), guess=True)["simulator_node"]


def test_options_of_the_plant():
    assert of_plant() == {}
    assert of_plant(kind="mujoco", seed=7) == {"plant.kind": "mujoco", "plant.seed": 7}
    assert of_plant(ideal=True) == {
        "plant.friction": False,
        "plant.noise": False,
        "plant.model_error.mass": 0.0,
        "plant.model_error.com": 0.0,
        "plant.model_error.friction": 0.0,
    }
    ideal = overrides("", "", PlantOptions(ideal=True), guess=True)
    assert ideal["controller_node"] == {"arm.friction": False}
    assert ideal["dynamics_node"] == {"effort.friction": "none"}


@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4"])
@pytest.mark.parametrize("link", ["link_4", "link_5", "link_6", "link_7"])
def test_a_push_given_by_its_size_loads_the_joint_of_its_link(robot, link):
    given = overrides(robot, "", PlantOptions(pushes=[f"{link}:40"]), guess=True)
    push = {k: v for k, v in given["simulator_node"].items() if k.startswith("pushes.push_1")}
    force = np.array(push["pushes.push_1.force"])
    np.testing.assert_allclose(np.linalg.norm(force), 40.0)
    model = getattr(rd.robots, robot)()
    J = rd.jacobian(model, DEMO_START, link, push["pushes.push_1.point"])[:3]
    assert abs((J.T @ force)[int(link[-1]) - 1]) > 2.0  # [N m]: far above all thresholds there


def test_a_push_given_by_its_size_needs_the_arm():
    with pytest.raises(ArgumentError, match="with --params write LINK:FX,FY,FZ"):
        overrides("", "", PlantOptions(pushes=["link_5:40"]), guess=False)
    given = overrides("", "", PlantOptions(pushes=["link_5:4,0,3"]), guess=False)
    assert given["simulator_node"]["pushes.push_1.force"] == [4.0, 0.0, 3.0]


def test_the_demo_starts_where_its_file_says():
    text = share_path("config", "demo.yaml").read_text(encoding="utf-8")
    assert f"start: {list(DEMO_START)}" in text


@pytest.mark.parametrize("terminal", [False, True], ids=["piped", "at a terminal"])
def test_piped_it_prints_the_nodes_messages_and_one_table(terminal, tmp_path, monkeypatch):
    picture = tmp_path / "demo.png"
    console = Console(file=io.StringIO(), width=120, force_terminal=terminal)
    monkeypatch.setattr(demo, "compile_with_progress", lambda *_: None)
    with bench() as there:
        seen = observed(there.node, told(103.05, "COLLISION", "link_5"))

        def watch(told, show, stay=None):
            assert told.log == (picture.with_suffix(".log") if terminal else None)
            show(seen)
            return seen

        monkeypatch.setattr(demo, "watch", watch)
        options = ("", "", PlantOptions(), None, 10.0, True, False, None, picture, console)
        assert demo.run_demo(*options)
    printed = console.file.getvalue()
    assert ("contact, ! collision" in printed) == terminal  # the live table, before the other
    assert terminal or printed.count("judgement") == 1
    assert terminal or printed.rstrip().endswith(verdict(seen)[1])


def test_the_command_passes_its_options_on(monkeypatch):
    given = []
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))  # where no other demo runs
    monkeypatch.setattr(
        "robodyn_ros.nodes.demo.run_demo", lambda *args: given.append(args[2]) or True
    )
    line = ["demo", "--ideal", "--seed", "7", "--plant", "mujoco", "--push", "link_5:40"]
    assert CliRunner().invoke(app, line).exit_code == 0
    assert given == [PlantOptions("mujoco", ["link_5:40"], 7, ideal=True)]
