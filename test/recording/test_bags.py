"""Bags in and out: every kind that is read, the new bag beside the old, and how it fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from recording_cases import MODEL, TOUCHES, motion, nanoseconds, robodyn, write_bag, write_states

import robodyn_ros as rd
from robodyn_ros.recording.bags import BagWriter, open_bag
from robodyn_ros.recording.command import AnalysisOptions, analysed, save_residual
from robodyn_ros.recording.joint_states import TYPE

pytest.importorskip("rosbags")
STEP = 1.0 / 500.0


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp("bags") / "run")


def looked(path, **how):
    with analysed(AnalysisOptions(path, robot="lwr_iii", **how)) as answer:
        return answer


def test_residual_events_and_delays_of_a_bag(bag):
    t, q, qd, tau, _ = motion()
    answer = looked(bag)
    assert answer.run.effort == "joint_states" and answer.run.rate == pytest.approx(
        500.0, rel=1e-3
    )
    # The gain and thresholds of config/lwr_iii
    wanted = rd.residual(MODEL, t, q, qd, tau, 50.0)
    np.testing.assert_allclose(answer.found.r, wanted, atol=5e-3)  # stamps in float seconds
    found = answer.events
    assert [e.true for e in found] == [True, True]
    for event, (begin, end, joint) in zip(found, TOUCHES, strict=True):
        assert event.start == pytest.approx(begin, abs=2 * STEP)
        assert event.end == pytest.approx(end, abs=2 * STEP)
        assert event.level is rd.Level.COLLISION and MODEL.joint_names[joint] in event.joints
        assert 0.0 < event.delay < 0.02


def test_the_new_bag_has_all_of_the_old_and_the_results(bag, tmp_path):
    with analysed(AnalysisOptions(bag, robot="lwr_iii")) as answer:
        path = save_residual(answer, tmp_path / "new")
    with open_bag(bag) as old, open_bag(path) as new:
        for topic in old.topics:
            first, again = ([m[1:] for m in b.messages(topic)] for b in (old, new))
            assert first == again
        added = {topic: new.topics[topic] for topic in new.topics if topic not in old.topics}
        assert added == {
            "/dynamics_node/residual": TYPE,
            "/dynamics_node/collision": "std_msgs/msg/Bool",
            "/dynamics_node/collision_state": "diagnostic_msgs/msg/DiagnosticArray",
        }
        t, r = new.joint_states("/dynamics_node/residual").columns(MODEL.joint_names, "effort")
        np.testing.assert_array_equal(r, answer.found.r)
        np.testing.assert_allclose(t, answer.run.start + answer.run.t, atol=1e-6)
        flags = [m.data for _, m in new.decoded("/dynamics_node/collision")]
        levels = answer.found.level
        turns = np.concatenate([[0], np.flatnonzero(np.diff(levels)) + 1])
        assert flags == [bool(level >= 2) for level in levels[turns]]
        assert {2, 3} <= set(levels[turns].tolist())  # contact as well as collision
        words = [m.status[0].message for _, m in new.decoded("/dynamics_node/collision_state")]
        assert words[0] == "UNKNOWN" and {"CLEAR", "COLLISION"} <= set(words)
    # Again: files are kept, and existing topics get a second publisher
    with analysed(AnalysisOptions(path, robot="lwr_iii")) as answer:
        with pytest.raises(rd.RobodynError, match="exists already"):
            save_residual(answer, path)
        more = save_residual(answer, tmp_path / "more")
    with open_bag(more) as third:
        assert "/offline/dynamics_node/residual" in third.topics


def test_ros_reads_the_results_as_the_node_writes_them(bag, tmp_path):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    from diagnostic_msgs.msg import DiagnosticArray
    from rclpy.serialization import deserialize_message

    from robodyn_ros.nodes.codec import read_collision_state

    with analysed(AnalysisOptions(bag, robot="lwr_iii")) as answer:
        path = save_residual(answer, tmp_path / "new")
    with open_bag(path) as new:
        raws = [raw for *_, raw in new.messages("/dynamics_node/collision_state")]
    reports = [read_collision_state(deserialize_message(raw, DiagnosticArray)) for raw in raws]
    assert reports[0].level is rd.Level.UNKNOWN and reports[0].cause == "joint states begin anew"
    hit = next(report for report in reports if report.level is rd.Level.COLLISION)
    assert "joint_3" in hit.joints and hit.worst is rd.Level.COLLISION
    k = int(np.argmax(answer.found.level == rd.Level.COLLISION))
    assert hit.t == pytest.approx(answer.run.start + answer.run.t[k], abs=1e-6)


def test_an_independent_reader_of_mcap_agrees(bag):
    reader = pytest.importorskip("mcap.reader", reason="pip install mcap")
    with next(bag.glob("*.mcap")).open("rb") as file:
        found = reader.make_reader(file)
        summary = found.get_summary()
        kinds = {s.name: s for s in summary.schemas.values()}
        assert kinds[TYPE].encoding == "ros2msg" and b"float64[] effort" in kinds[TYPE].data
        count = sum(1 for _ in found.iter_messages(topics=["/joint_states"]))
    assert count == motion()[0].size


def converted(kind, folder):
    """The same motion in another kind of file."""
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    t, q, qd, tau, _ = motion()
    if kind == "csv":
        path = folder / "run.csv"
        np.savetxt(path, np.column_stack([t, q, qd, tau]), delimiter=",")
        return path
    ros2 = kind == "sqlite3"
    store = get_typestore(Stores.ROS2_JAZZY if ros2 else Stores.ROS1_NOETIC)
    path = folder / ("run" if ros2 else "run.bag")
    plugin = {"version": 8, "storage_plugin": StoragePlugin.SQLITE3} if ros2 else {}
    with (Writer if ros2 else Writer1)(path, **plugin) as out:
        connection = out.add_connection("/arm/joint_states", TYPE, typestore=store)
        for k, when in enumerate(nanoseconds(t).tolist()):
            stamp = store.types["builtin_interfaces/msg/Time"](*divmod(when, 10**9))
            head = {"stamp": stamp, "frame_id": ""} | ({} if ros2 else {"seq": k})
            header = store.types["std_msgs/msg/Header"](**head)
            one = store.types[TYPE](header, list(MODEL.joint_names), q[k], qd[k], tau[k])
            save = store.serialize_cdr if ros2 else store.serialize_ros1
            out.write(connection, when, save(one, TYPE))
    return path


@pytest.mark.parametrize("kind", ["sqlite3", "ros1", "csv"])
def test_other_kinds_of_recordings(kind, tmp_path):
    path = converted(kind, tmp_path)
    t, q, qd, tau, _ = motion()
    with analysed(AnalysisOptions(path, robot="lwr_iii")) as answer:
        wanted = rd.residual(MODEL, t, q, qd, tau, 50.0)
        np.testing.assert_allclose(answer.found.r, wanted, atol=5e-3)
        saved = save_residual(answer, tmp_path / "new")
    prefix = "" if kind == "csv" else "/arm"
    with open_bag(saved) as new:
        assert f"{prefix}/dynamics_node/residual" in new.topics
        _, effort = new.joint_states(f"{prefix}/joint_states").columns(MODEL.joint_names, "effort")
    np.testing.assert_allclose(effort, tau, rtol=1e-12)


def test_torque_from_commands(tmp_path):
    """A command acts until the next joint state; before the first, nothing is known."""
    t, q, qd, tau, _ = motion()
    with BagWriter(tmp_path / "run") as out:
        write_states(out, "/joint_states", t, q, qd, None)
        kind = "std_msgs/msg/Float64MultiArray"
        out.add("/effort_controller/commands", kind)
        layout = out.make("std_msgs/msg/MultiArrayLayout", dim=[], data_offset=0)
        for k, when in enumerate(nanoseconds(t).tolist()[:-1]):
            raw = out.serialize(kind, layout=layout, data=tau[k + 1])
            out.write("/effort_controller/commands", when + 400_000, raw)
    answer = looked(tmp_path / "run")
    assert answer.run.effort == "command" and answer.run.t.size == t.size - 1
    limit = MODEL.tau_max
    np.testing.assert_array_equal(answer.run.tau, np.clip(tau[1:], -limit, limit))


def test_a_table_of_results(bag, tmp_path):
    answer = looked(bag)
    path = save_residual(answer, tmp_path / "r.csv")
    lines = path.read_text().splitlines()
    assert lines[0].split(",")[:4] == ["t", "level", "joints", "r_joint_1"]
    assert len(lines) == answer.run.t.size + 1
    k = int(np.argmax(answer.found.level == 3))
    cells = lines[k + 1].split(",")
    assert cells[1] == "COLLISION" and cells[2] == "joint_3"
    assert float(cells[5]) == pytest.approx(answer.found.r[k, 2], rel=1e-5)


def damaged(kind, bag, folder):
    """Something that is no good recording, and what the error must say."""
    path = folder / "bad"
    if kind == "cut":
        shutil.copytree(bag, path)
        whole = next(path.glob("*.mcap"))
        whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
        return path, "is it complete"
    if kind == "killed":
        shutil.copytree(bag, path)
        (path / "metadata.yaml").unlink()
        return path, "mcap recover"
    if kind == "empty":
        with BagWriter(path) as out:
            out.add("/joint_states", TYPE)
        return path, "no messages"
    if kind == "text":
        path = folder / "bad.mcap"
        path.write_text("no bag")
        return path, "cannot read the bag"
    if kind == "zeros":
        path = folder / "bad.bag"
        path.write_bytes(bytes(1000))
        return path, "cannot read the bag"
    if kind == "folder":
        path.mkdir()
        return path, "it is not a bag"
    return folder / "nothing", "there is no file or folder"


@pytest.mark.parametrize("command", ["residual", "report", "tune"])
@pytest.mark.parametrize("kind", ["cut", "killed", "empty", "text", "zeros", "folder", "none"])
def test_what_is_no_good_recording_is_one_line(kind, command, bag, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path, says = damaged(kind, bag, tmp_path)
    code, _, err = robodyn(monkeypatch, capsys, command, path, "--robot", "lwr_iii")
    assert code == 1 and says in err, err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--states", "/states"), "/joint_states (sensor_msgs/msg/JointState)"),
        (("--robot", "other.urdf"), "the joints found are: joint_1, joint_2"),
        (("--effort", "command"), "/controller_node/reference"),
        (("--effort", "guess"), "one of auto, joint_states, command"),
        (("--contact", "2.1"), "FROM:TO"),
        (("--gains", "1,x"), "commas"),
        (("--gains", "1,2"), "one number or 7"),
        (("--gain", "-3"), "gain must be"),
        (("--params", "no.yaml"), "no.yaml"),
        (("--out", "run"), "exists already"),
    ],
)
def test_wrong_options_are_one_line(words, says, bag, monkeypatch, capsys):
    monkeypatch.chdir(bag.parent)
    Path("other.urdf").write_text(rd.to_urdf(MODEL).replace("joint_1", "shoulder"))
    robot = () if "--robot" in words else ("--robot", "lwr_iii")
    code, _, err = robodyn(monkeypatch, capsys, "residual", bag, *robot, *words)
    assert code == 1 and says in err, err
    assert len(err.strip().splitlines()) == 1


def test_a_bag_that_does_not_name_its_robot(bag, monkeypatch, capsys):
    code, _, err = robodyn(monkeypatch, capsys, "tune", bag)
    assert code == 1 and "--robot" in err


def test_what_scripts_read(bag, tmp_path, monkeypatch, capsys):
    words = ("residual", bag, "--robot", "lwr_iii", "--out", tmp_path / "new", "--json")
    code, out, _ = robodyn(monkeypatch, capsys, *words)
    facts = json.loads(out)
    assert code == 0 and facts["samples"] == 4000 and facts["joints"] == list(MODEL.joint_names)
    assert [event["told"] for event in facts["events"]] == ["COLLISION", "COLLISION"]


def test_the_shell_completes_the_commands():
    asked = {"_ROBODYN_COMPLETE": "complete_bash", "COMP_WORDS": "robodyn re", "COMP_CWORD": "1"}
    script = "import sys; sys.argv = ['robodyn']; from robodyn_ros.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | asked,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert set(done.stdout.split()) == {"record", "residual", "report"}, done.stderr
