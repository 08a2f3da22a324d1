"""`robodyn doctor`: what joint states offer to a detector, from tables, files and a driver."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import yaml
from arm_recordings import ARMS, path_of
from recording_cases import MODEL, motion, write_bag

import robodyn_ros as rd
from robodyn_ros import cli
from robodyn_ros.recording import node_yaml
from robodyn_ros.recording.doctor import NOTE, OK, PROBLEM, StateTable, examine

T, Q, QD, TAU, _ = motion(duration=10.0, rate=200.0, touches=(), noise=0.05)
TABLE = StateTable(MODEL.joint_names, 100.0 + T, Q, QD, TAU, 100.0005 + T)


def told(found, subject):
    """Return texts and weights of the findings on a subject."""
    return [(f.text, f.weight) for f in found.findings if f.subject == subject]


def test_a_good_stream_is_told_as_such():
    found = examine(MODEL, TABLE)
    assert found.usable
    assert {finding.weight for finding in found.findings} == {OK}, found.findings
    assert told(found, "joints") == [("all 7 of lwr_iii are named", OK)]
    assert told(found, "rate")[0][0].startswith("200 Hz; 99 % of the steps within 0.00 ms")
    assert told(found, "stamps against clock") == [("0.50 ms old at receipt, within 0.00 ms", OK)]
    assert found.values["rate"] == 200.0
    assert found.values["effort.source"] == "joint_states"
    assert found.values["effort.gain"] == (1.0,)
    assert found.values["effort.side"] == "link"
    assert "sensing.stamps" not in found.values


def test_joints_in_another_order_and_others_beside_are_sorted_out():
    order = [3, 1, 0, 2, 6, 5, 4]
    names = ("finger", *(MODEL.joint_names[k] for k in order))

    def with_finger(x):
        return np.column_stack([np.zeros(len(x)), x[:, order]])

    other = StateTable(names, TABLE.stamps, *map(with_finger, (Q, QD, -TAU)), TABLE.received)
    found = examine(MODEL, other)
    assert told(found, "joints") == [("all 7 of lwr_iii are named; also named: finger", OK)]
    assert found.values["effort.gain"] == (-1.0,)


def test_joints_that_are_missing_or_called_otherwise_are_problems():
    few = replace(TABLE, names=MODEL.joint_names[:6], q=Q[:, :6])
    found = examine(MODEL, few)
    assert told(found, "joints")[0][1] == PROBLEM and "joint_7" in told(found, "joints")[0][0]
    assert not found.usable
    other = replace(TABLE, names=tuple("abcdefg"))
    found = examine(MODEL, other)
    assert "they are called a, b, c" in told(found, "joints")[0][0]
    assert not found.usable  # the node matches by name
    assert found.values["effort.gain"] == (1.0,)  # but the effort is judged
    assert examine(MODEL, replace(TABLE, names=())).usable


@pytest.mark.parametrize(
    ("table", "subject", "text", "values"),
    [
        (
            replace(TABLE, received=TABLE.received + 5.0),
            "stamps against clock",
            "+5 s old: the driver's clock is another",
            {"sensing.stamps": "receipt"},
        ),
        (
            replace(TABLE, stamps=np.zeros_like(T)),
            "stamps",
            "none: the time of receipt",
            {"sensing.stamps": "receipt", "rate": 200.0},
        ),
        (replace(TABLE, qd=None), "velocities", "none: differences", {}),
        (replace(TABLE, qd=0.0 * QD), "velocities", "all zero although", {}),
        (replace(TABLE, qd=np.degrees(QD)), "velocities", "57.3 times the differences", {}),
        (
            replace(TABLE, effort=None),
            "effort",
            "none: the detector",
            {"effort.source": "command"},
        ),
        (
            replace(TABLE, effort=0.0 * TAU),
            "effort",
            "all zero: the detector",
            {"effort.source": "command"},
        ),
    ],
)
def test_what_is_wrong_is_told_with_what_to_set(table, subject, text, values):
    found = examine(MODEL, table)
    texts = [said for said, weight in told(found, subject) if weight in (NOTE, PROBLEM)]
    assert any(said.startswith(text) for said in texts), found.findings
    assert {name: found.values[name] for name in values} == values


def test_stamps_that_jitter_do_not_spoil_the_velocities():
    """A driver that is late and then hurries stamps a burst of messages within a moment."""
    late = T[np.arange(T.size) // 10 * 10 + 9]
    stamps = 100.0 + late + 1e-4 * (np.arange(T.size) % 10)
    found = examine(MODEL, replace(TABLE, stamps=stamps, received=stamps))
    ((text, weight),) = told(found, "velocities")
    assert weight == OK and text.startswith("given"), text


def test_gaps_jitter_and_repetitions_are_told():
    stamps = TABLE.stamps + 0.004 * (np.arange(T.size) % 2)
    found = examine(MODEL, replace(TABLE, stamps=stamps, received=stamps))
    assert told(found, "rate")[0][1] == NOTE
    stamps = TABLE.stamps + 0.3 * (np.arange(T.size) > 1000)
    found = examine(MODEL, replace(TABLE, stamps=stamps, received=stamps))
    assert "1 gaps, up to 0.305 s" in told(found, "rate")[0][0]
    assert found.values["sensing.silence"] == 0.61
    rows = np.arange(T.size) // 4 * 4
    repeated = replace(TABLE, q=Q[rows], qd=QD[rows], effort=TAU[rows])
    (said,) = told(examine(MODEL, repeated), "fresh samples")
    assert said[0].startswith("25% of the messages are new") and "50 Hz" in said[0]
    back = TABLE.stamps.copy()
    back[500], back[700] = back[498], back[699]
    found = examine(MODEL, replace(TABLE, stamps=back))
    assert "1 go back, 1 are repeated" in told(found, "stamps")[0][0]
    back[1500:] -= 2.0  # the driver's clock was set
    assert "2 go back" in told(examine(MODEL, replace(TABLE, stamps=back)), "stamps")[0][0]


def test_too_few_messages_are_a_problem():
    few = StateTable(MODEL.joint_names, T[:20], Q[:20], QD[:20], None, T[:20])
    assert not examine(MODEL, few).usable


def test_the_yaml_is_that_of_a_node(tmp_path):
    found = examine(MODEL, replace(TABLE, effort=-TAU / 12.0))
    path = tmp_path / "doctor.yaml"
    path.write_text(found.yaml())
    loaded = node_yaml.from_file(path)
    assert loaded.source == "joint_states" and loaded.rate == 200.0
    assert max(loaded.effort.gain) < -10.0
    comments = [line for line in found.yaml().splitlines() if line.startswith("#")]
    assert any("sign reversed" in line for line in comments)


# --- the command


@pytest.fixture
def robodyn(monkeypatch, capsys):
    """Run the command in this process; return exit code, output and messages on stderr."""

    def run(*words):
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["robodyn", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_a_bag_and_a_csv_file_are_examined(robodyn, tmp_path):
    bag = write_bag(tmp_path / "bag", touches=())
    code, text, _ = robodyn("doctor", bag, "--robot", "lwr_iii", "--out", tmp_path / "found.yaml")
    assert code == 0 and "sign as usual" in text and "found.yaml" in text
    values = yaml.safe_load((tmp_path / "found.yaml").read_text())
    given = values["/**/dynamics_node"]["ros__parameters"]
    assert given["robot"] == {"name": "lwr_iii"} and given["rate"] == 500.0
    rd.Log(T, Q, QD, -TAU).to_csv(tmp_path / "states.csv")
    code, text, _ = robodyn("doctor", tmp_path / "states.csv", "--robot", "lwr_iii", "--json")
    assert code == 0
    facts = json.loads(text)
    assert facts["effort"]["sign"] == -1 and facts["usable"]


def test_errors_are_one_line(robodyn, tmp_path):
    for words, said in (
        (("no_such_bag", "--robot", "lwr_iii"), "no file or folder"),
        ((write_bag(tmp_path / "bag", touches=()),), "give --robot"),
    ):
        code, _, error = robodyn("doctor", *words)
        assert code == 1 and said in error and "Traceback" not in error


def test_fingers_that_no_message_names_are_locked(robodyn, tmp_path):
    urdf = rd.to_urdf(MODEL)
    finger = (
        '<link name="finger"><inertial><mass value="0.01"/><inertia ixx="1e-5" iyy="1e-5" '
        'izz="1e-5" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="finger_joint" '
        f'type="prismatic"><parent link="{MODEL.link_names[-1]}"/><child link="finger"/>'
        '<axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="1"/></joint>'
    )
    path = tmp_path / "arm.urdf"
    path.write_text(urdf.replace("</robot>", finger + "</robot>"))
    bag = write_bag(tmp_path / "bag", touches=())
    code, text, _ = robodyn("doctor", bag, "--robot", path, "--json")
    facts = json.loads(text)
    assert code == 0 and facts["parameters"]["robot.lock"] == ["finger_joint"]


def test_the_recordings_of_a_ur_are_read_by_the_command(robodyn):
    bag, urdf = path_of("ur3", "id1.bag"), path_of("ur3", "ur3.urdf")
    code, text, _ = robodyn("doctor", bag, "--robot", urdf, "--json")
    facts = json.loads(text)
    assert code == 1 and not facts["usable"]  # the joints have other names
    assert (facts["effort"]["sign"], facts["effort"]["unit"]) == (-1, "scaled")
    bag, urdf = path_of("ur10", "ur10_exciting_trajectory.db3"), path_of("ur10", "ur10.urdf")
    code, text, _ = robodyn("doctor", bag, "--robot", urdf, "--json")
    facts = json.loads(text)
    assert code == 0
    assert (facts["effort"]["side"], facts["effort"]["unit"]) == ("motor", "torque")


def test_a_running_system_is_listened_to(robodyn, monkeypatch):
    """A driver that reports its torque with the sign reversed, and a description."""
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    from doctor_driver import publish_states
    from ros_harness import own_domain

    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    driver = publish_states(T, Q, QD, -TAU)
    try:
        code, text, error = robodyn("doctor", "--seconds", "3", "--json")
    finally:
        driver.terminate()
        driver.wait(20.0)
    assert code == 0, (text, error)
    facts = json.loads(text)
    assert facts["effort"]["sign"] == -1, facts
    assert any(f["subject"] == "stamps against clock" for f in facts["findings"])


@pytest.mark.parametrize(
    ("arm", "sign", "unit", "side"),
    [
        ("panda", 1, "torque", "link"),
        ("fr3", 1, "torque", "link"),
        ("med7", -1, "torque", "link"),
        ("ur10e", 1, "current", "motor"),
        ("ur10", 1, "torque", "motor"),
        ("ur3", -1, "scaled", "motor"),
    ],
)
def test_a_real_arm_is_told_rightly_and_the_node_takes_the_yaml(arm, sign, unit, side, tmp_path):
    model, log = ARMS[arm]()
    table = StateTable(model.joint_names, log.t, log.q, log.qd, log.tau, log.t)
    found = examine(model, table)
    told_effort = found.convention
    assert (told_effort.sign, told_effort.unit, told_effort.side) == (sign, unit, side)
    assert told_effort.gravity == "included"
    path = tmp_path / "doctor.yaml"
    path.write_text(found.yaml())
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    from ros_harness import bench

    from robodyn_ros.nodes.dynamics_node import DynamicsNode

    with bench(DynamicsNode, args=["--params-file", str(path)]) as running:
        effort = running.nodes[0].settings.effort
    assert all(np.sign(gain) == sign for gain in effort.gain)
    assert (effort.side, effort.source) == (side, "joint_states")
