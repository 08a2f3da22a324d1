"""The files of named arms: taken over by the nodes, documented, and quiet on recordings."""

import re

import numpy as np
import pytest
import yaml
from arm_recordings import ARMS, of_table, path_of
from source_tree import ROOT

import robodyn_ros as rd
from robodyn_ros.recording import node_yaml
from robodyn_ros.resources import share_path
from robodyn_ros.settings import leaves

NAMES = sorted(path.stem for path in share_path("config", "arms").glob("*.yaml"))
each_arm = pytest.mark.parametrize("arm", NAMES)
RECORDED = {"fr3": "fr3", "panda": "panda", "lbr_med": "med7", "ur_e_current": "ur10e"}
PUSHES = ((2.1, 3.1), (4.8, 6.0), (8.6, 9.7), (12.0, 13.1))  # [s], of the UR10e at rest


def sections(arm):
    loaded = yaml.safe_load(share_path("config", "arms", f"{arm}.yaml").read_text())
    return {key: node_yaml._flat(section["ros__parameters"]) for key, section in loaded.items()}


def test_the_arms_that_users_ask_for_are_there():
    wanted = {"fr3", "panda", "ur_e_current", "ur_e_torque", "lbr_iiwa", "lbr_med", "kinova_gen3"}
    assert wanted | {"xarm", "template"} <= set(NAMES)


@each_arm
def test_an_arm_has_its_page(arm):
    page = (ROOT / "docs" / "arms" / f"{arm}.md").read_text()
    assert f"config/arms/{arm}.yaml" in page and "## What was tried" in page
    for said in ("tare", "robodyn tune", "robodyn doctor", "guard:=true"):
        assert said in page, said
    assert f"]({arm}.md)" in (ROOT / "docs" / "arms" / "README.md").read_text()
    if arm != "template":
        assert sections(arm)["/**/guard_node"]["means.cancel.target"] in page


@each_arm
def test_its_page_records_the_joint_states_that_the_detector_takes(arm):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    from robodyn_ros.nodes.recorder import NODE_TOPICS

    page = (ROOT / "docs" / "arms" / f"{arm}.md").read_text()
    (command,) = re.findall(r"robodyn record ([^#\n]+)", page)
    topic = sections(arm)["/**/detector_only"]["joint_states"]
    named = command.partition("--")[0].split()
    assert topic in named or (not named and topic in NODE_TOPICS)


@each_arm
def test_the_nodes_take_an_arm_over(arm):
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    from ros_harness import bench

    from robodyn_ros.nodes.dynamics_node import DynamicsNode
    from robodyn_ros.nodes.guard_node import GuardNode

    path = share_path("config", "arms", f"{arm}.yaml")
    with bench(DynamicsNode, GuardNode, args=["--params-file", str(path)]) as running:
        detector, guard = running.nodes
        taken = {name: value for name, value, _ in leaves(detector.settings)}
        declared = set(guard._parameters)
    given = sections(arm)
    for name, value in given["/**/dynamics_node"].items():
        wanted = tuple(x for x in value if x != "") if isinstance(value, list) else value
        assert taken[name] == wanted, name
    assert set(given["/**/guard_node"]) <= declared
    assert set(given["/**/detector_only"]) == {"joint_states"}
    assert len(taken["monitor.contact.base"]) in (1, 6, 7)


def detected(arm, log=None, push=0.0):
    parameters = node_yaml.from_file(share_path("config", "arms", f"{arm}.yaml"))
    model, recorded = ARMS[RECORDED[arm]]()
    log = log or recorded
    tau = log.tau.copy()
    middle = log.t.size // 2
    gain = np.broadcast_to(parameters.effort.gain, (model.n,))[1]
    tau[middle : middle + log.t.size // 20, 1] -= push / gain
    log = rd.Log(log.t, log.q, log.qd, tau)
    return rd.detect(model, log, parameters.monitor, effort=parameters.effort)


@pytest.mark.parametrize("arm", RECORDED)
def test_a_recording_is_quiet_and_a_push_is_found(arm):
    found = detected(arm)
    assert found.events == []
    assert (found.level == rd.Level.CLEAR).mean() > 0.95
    contact = found.settings.contact.base
    motion = np.broadcast_to(found.settings.contact.in_motion, (len(contact),))[1]
    pushed = detected(arm, push=2.5 * (contact[1] + motion))
    assert [event.level for event in pushed.events] != []
    middle = pushed.t[pushed.t.size // 2]
    assert pushed.events[0].start - middle < 0.2


def test_pushes_by_hand_are_found_on_a_ur10e():
    other = ("push", "oad.", "Load")  # pushed or loaded
    files = sorted(path_of("ur10e").glob("ur-20_0*.csv"))
    free = [path for path in files if not any(text in path.name for text in other)]
    for path in free:
        assert detected("ur_e_current", of_table(path, 6)).events == [], path
    assert len(free) >= 10
    a = np.loadtxt(path_of("ur10e", "ur-20_01_22-push_pose_1.csv"), delimiter=",")
    log = rd.Log(a[:, 0] - a[0, 0], a[:, 1:7], a[:, 7:13], a[:, 13:19])
    events = detected("ur_e_current", log).events
    found = {k for e in events for k, (a, b) in enumerate(PUSHES) if e.start < b and e.end > a}
    inside = [any(e.start < b + 0.5 and e.end > a - 0.5 for a, b in PUSHES) for e in events]
    assert all(inside), events
    assert found == {0, 1, 2, 3}  # the first is the faintest
