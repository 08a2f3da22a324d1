"""`robodyn record` beside the running demo: every message, finished by a signal, read back."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rosbags")
pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from source_tree import own_domain  # noqa: E402

import robodyn_ros as rd
from robodyn_ros.nodes.recorder import TopicCount  # noqa: E402
from robodyn_ros.recording.bags import open_bag  # noqa: E402
from robodyn_ros.recording.command import AnalysisOptions, analysed  # noqa: E402
from robodyn_ros.resources import share_path  # noqa: E402

JOINTS = [f"joint_{k}" for k in range(1, 8)]
STAMPED = ("/joint_states", "/simulator_node/external_torque", "/dynamics_node/residual")
FAST = "/**:\n  ros__parameters:\n    rate: 1000.0\n    heartbeat: 0.01\n"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Run all nodes in one process at 1 kHz; yields the environment to reach them."""
    there = os.environ | {
        "ROS_DOMAIN_ID": str(own_domain()),
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
        "COLUMNS": "160",
    }
    rate = tmp_path_factory.mktemp("nodes") / "rate.yaml"
    rate.write_text(FAST)
    files = ["--params-file", str(share_path("config", "demo.yaml")), "--params-file", str(rate)]
    said = rate.with_name("nodes.log")
    with said.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "robodyn_ros.nodes.composed", "--ros-args", *files],
            env=there,
            stdout=log,
            stderr=log,
        )
        yield there
        ended = process.poll()
        process.terminate()
        process.wait(60.0)
    assert ended is None, said.read_text()  # or nothing above means anything


def recording(there, path, *words):
    command = [sys.executable, "-m", "robodyn_ros.cli", "record", "--out", str(path), *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=there, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture(scope="module")
def recorded(nodes, tmp_path_factory):
    """Return a bag with the demo's first push, ended by SIGTERM, and what was printed."""
    path = tmp_path_factory.mktemp("bags") / "demo"
    process = recording(nodes, path, "--json")
    deadline = time.monotonic() + 60.0
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(5.0)  # the first push comes 3 s after the start
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30.0)
    assert process.returncode == 0, err
    return path, json.loads(out)


def steps_left_out(t):
    """Steps of 1 ms that are missing; the plant gives up 0.5 s at once on a busy machine."""
    steps = np.diff(t)
    return int(np.round(steps[steps < 0.4] / 1e-3 - 1.0).sum())


def test_the_printed_counts_are_those_of_the_bag(recorded):
    path, printed = recorded
    with open_bag(path) as bag:
        for topic, row in printed["topics"].items():
            assert sum(1 for _ in bag.messages(topic)) == row["messages"]


@pytest.mark.parametrize("topic", STAMPED)
def test_lost_messages_are_counted(recorded, topic):
    """Steps that the stamps lack are as many as the sequence numbers lack."""
    path, printed = recorded
    with open_bag(path) as bag:
        t = bag.joint_states(topic).stamps
    assert t.size > 1000 and (np.diff(t) > 0.0).all()
    assert printed["topics"][topic]["lost"] == steps_left_out(t)


def test_nothing_is_lost(recorded):
    _, printed = recorded
    lost = {topic: row["lost"] for topic, row in printed["topics"].items() if row["lost"]}
    if lost and os.getloadavg()[0] > 2 * (os.cpu_count() or 1):
        pytest.skip(f"this machine has no time to record at 1 kHz now: {lost}")
    assert lost == {}


def test_latched_states_are_recorded(recorded):
    _, printed = recorded
    states = {"/controller_node/state", "/dynamics_node/collision_state", "/dynamics_node/fault"}
    assert states <= printed["topics"].keys()


def test_topics_come_with_their_definition_and_quality_of_service(recorded):
    path, _ = recorded
    with open_bag(path) as bag:
        kinds = {c.topic: c for c in bag.reader.connections}
        for topic, latched in (("/joint_states", False), ("/dynamics_node/collision", True)):
            (qos,) = kinds[topic].ext.offered_qos_profiles
            assert qos.durability.name == ("TRANSIENT_LOCAL" if latched else "VOLATILE")
            assert qos.reliability.name == "RELIABLE"
            assert kinds[topic].msgdef.data
        assert json.loads(bag.custom["robodyn_ros.dynamics_node"])["robot.name"] == "lwr_iii"


def test_offline_equals_the_node(recorded):
    """Without any option: robot and parameters are in the bag."""
    path, _ = recorded
    with analysed(AnalysisOptions(path)) as answer:
        states = answer.bag.joint_states("/dynamics_node/residual")
        live_t, live_r = states.columns(JOINTS, "effort")
        reports = [m for _, m in answer.bag.decoded("/dynamics_node/collision_state")]
        run, found, happened = answer.run, answer.found, answer.events
    ours = np.round((run.start + run.t) * 1e6).astype(np.int64)
    _, i, k = np.intersect1d(np.round(live_t * 1e6).astype(np.int64), ours, return_indices=True)
    settled = run.t[k] > 0.5  # the node's observer ran before the recording began
    for gap in run.t[1:][np.abs(np.diff(run.t) - 1e-3) > 1e-5]:
        settled &= (run.t[k] < gap) | (run.t[k] > gap + 0.5)  # and went on where steps were lost
    difference = np.abs(live_r[i] - found.r[k])[settled]
    assert settled.sum() > 1000 and difference.max() < 1e-6
    # The recorder and the node receive messages at different times: silence may differ
    row_at = dict(zip(ours.tolist(), range(ours.size), strict=True))
    compared, fair = 0, set(k[settled].tolist())
    for report in reports:
        (status,) = report.status
        stamp = report.header.stamp
        row = row_at.get(round((stamp.sec + 1e-9 * stamp.nanosec) * 1e6))
        level = rd.Level(int(found.level[row])).name if row in fair else "UNKNOWN"
        if "UNKNOWN" in (status.message, level):
            continue
        compared += 1
        assert status.message == level
        joints = next(item.value for item in status.values if item.key == "joints")
        assert joints.split() == list(found.joints(row))
    assert compared > 100
    assert {event.true for event in happened} <= {True}
    assert all(event.level >= rd.Level.CONTACT for event in happened)


def test_chosen_topics_for_a_duration(nodes, tmp_path):
    process = recording(nodes, tmp_path / "part", "joint_states", "--duration", "1")
    out, err = process.communicate(timeout=60.0)
    assert process.returncode == 0, err
    assert "/joint_states" in out and "residual" not in out
    with open_bag(tmp_path / "part") as bag:
        assert list(bag.topics) == ["/joint_states"]


def test_an_existing_bag_is_not_overwritten(nodes, tmp_path):
    process = recording(nodes, tmp_path)
    _, err = process.communicate(timeout=60.0)
    assert process.returncode == 1 and "exists already" in err
    assert not list(Path(tmp_path).iterdir())


# Publishes `steady` all the time, `late` from 1.2 s and `gone` until 1.6 s after it is heard
PUBLISHER = """
import time
from robodyn_ros.nodes.terminal import open_terminal
from std_msgs.msg import Bool
with open_terminal("publisher") as (node, _):
    made = {name: node.create_publisher(Bool, name, 10) for name in ("steady", "gone")}
    heard = None
    while True:
        if heard is None and all(p.get_subscription_count() for p in made.values()):
            heard = time.monotonic()
        since = 0.0 if heard is None else time.monotonic() - heard
        if since > 1.2 and "late" not in made:
            made["late"] = node.create_publisher(Bool, "late", 10)
        if since > 1.6 and "gone" in made:
            node.destroy_publisher(made.pop("gone"))
        for publisher in made.values():
            publisher.publish(Bool(data=True))
        time.sleep(0.02)
"""


def test_a_topic_found_late_or_gone_early_is_told_with_the_time_that_is_missing(nodes, tmp_path):
    publisher = subprocess.Popen([sys.executable, "-c", PUBLISHER], env=nodes)
    try:
        names = ("steady", "late", "gone", "never")
        process = recording(nodes, tmp_path / "edges", *names, "--duration", "3", "--json")
        out, err = process.communicate(timeout=60.0)
    finally:
        publisher.kill()
        publisher.wait()
    assert process.returncode == 0, err
    told, topics = json.loads(out), json.loads(out)["topics"]
    steady, late, gone = (topics[f"/{name}"] for name in names[:3])
    assert 2.95 <= told["duration"] < 4.0  # from the first message to the last
    for edge in ("at_start", "between", "at_end"):
        assert steady[f"missing_{edge}"] < 0.2
    assert late["missing_at_start"] >= 1.0 and late["missing_at_end"] == 0.0
    assert abs(late["first"] - late["missing_at_start"]) < 0.2 and late["lost"] == 0
    assert gone["missing_at_end"] >= 0.5 and gone["missing_at_start"] < 0.2
    assert abs(gone["last"] + gone["missing_at_end"] - told["duration"]) < 0.2
    lines = err.splitlines()
    assert any("/late: the first" in x and "s are missing" in x for x in lines), err
    assert any("/gone: the last" in x and "publisher is gone" in x for x in lines), err
    assert any("never found: /never" in x for x in lines), err
    assert not any("/steady" in x for x in lines), err


def test_a_publisher_that_restarts_leaves_a_gap_and_no_lost_messages():
    topic = TopicCount("/x", "")
    for k in range(100):
        topic.add(10.0 + 0.01 * k, 1 + k)
    topic.connect(11.0, 0)
    for k in range(100):
        topic.add(13.0 + 0.01 * k, 301 + k)  # other numbers: it is another publisher
    assert topic.lost == 0 and topic.count == 200
    assert topic.missing(10.0, 14.0) == {"start": 0.0, "between": 2.0, "end": 0.0}
    topic.add(14.0, 403)
    assert topic.lost == 2


def test_a_killed_publisher_is_told_before_the_middleware_knows():
    steady, rare = TopicCount("/steady", ""), TopicCount("/rare", "")
    for k in range(100):
        steady.add(10.0 + 0.01 * k, 1 + k)
    for k in range(3):
        rare.add(10.0 + 0.01 * k, 1 + k)
    for topic in (steady, rare):
        assert topic.missing(10.0, 14.0)["end"] == 0.0  # still connected
    np.testing.assert_allclose(steady.silent(14.0), 14.0 - 10.99)
    assert steady.silent(11.2) == 0.0
    assert rare.silent(14.0) == 0.0  # it may have nothing to say
