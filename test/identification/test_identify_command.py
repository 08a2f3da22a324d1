"""`robodyn excite` and `robodyn identify` as a user runs them: right files, and wrong ones."""

import json
from dataclasses import replace

import numpy as np
import pytest
from identification_cases import log_of, motion_of
from typer.testing import CliRunner

import robodyn_ros as rd
from robodyn_ros.cli import app
from robodyn_ros.errors import ArgumentError
from robodyn_ros.identification.command import gains_by_payload, parse_payload, run
from robodyn_ros.simulation.disturbances import perturbed

pytest.importorskip("cvxpy")

GAINS = np.array([12.0, 5.0])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a URDF and logs: two motions, currents, currents with a payload."""
    folder = tmp_path_factory.mktemp("logs")
    nominal = rd.robots.planar_2r()
    (folder / "arm.urdf").write_text(rd.to_urdf(nominal))
    real = perturbed(nominal, 1, mass=0.2, com=0.02, inertia=0.3, friction=0.0)
    held = real.replace(payload=rd.Payload("link_2", 3.0, (0.2, 0.0, 0.0)))
    for name, robot, seed in (("used", real, 1), ("other", real, 2), ("loaded", held, 1)):
        log = log_of(robot, motion_of(nominal, seed), noise=0.001, name=name)
        log.to_csv(folder / f"{name}.csv")
        if name != "other":
            replace(log, tau=log.tau / GAINS).to_csv(folder / f"{name}_current.csv")
    return folder


def robodyn(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_identify_shows_errors_and_writes_files(files, tmp_path):
    out = tmp_path / "out"
    result = robodyn(
        "identify", files / "arm.urdf", files / "used.csv",
        "--held-out", files / "other.csv", "--out", out, "--friction", "none",
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    for part in ("joint_1", "joint_2", "used", "held out", " %", "report.html"):
        assert part in result.stdout
    rd.load_urdf(out / "robot.urdf", strict=True)
    assert (out / "report.html").is_file() and (out / "nodes.yaml").is_file()


def test_json_is_the_only_output(files, tmp_path):
    words = ("--held-out", files / "other.csv", "--out", tmp_path, "--friction", "viscous")
    more = ("--method", "momentum", "--no-rotors", "--prior", "0.5", "--cutoff", "10", "--json")
    result = robodyn("identify", files / "arm.urdf", files / "used.csv", *words, *more)
    facts = json.loads(result.stdout)
    assert [(log["name"], log["held_out"]) for log in facts["logs"]] == [
        ("used", False),
        ("other", True),
    ]
    assert max(facts["logs"][1]["relative"]) < 0.02
    assert facts["base_parameters"] == 6 and facts["doubts"] == []
    assert facts["files"]["robot.urdf"] == str(tmp_path / "robot.urdf")


def test_drive_gains_come_from_a_known_payload(files, tmp_path):
    model = rd.load_urdf(files / "arm.urdf")
    logs = [str(files / "used_current.csv")], [str(files / "loaded_current.csv")]
    found = gains_by_payload(model, *logs, "link_2:3.0:0.2,0,0")
    np.testing.assert_allclose(found.gains, GAINS, rtol=0.02)
    with pytest.raises(ArgumentError, match="too light to find the drive gains of joint_1"):
        gains_by_payload(model, logs[0], logs[0], "link_2:1e-4")
    result = robodyn(
        "identify", files / "arm.urdf", logs[0][0], "--loaded", logs[1][0],
        "--payload", "link_2:3.0:0.2,0,0", "--friction", "none", "--out", tmp_path,
    )  # fmt: skip
    assert result.exit_code == 0, result.exception
    assert "drive gains" in result.stderr
    again = rd.load_urdf(tmp_path / "robot.urdf")
    real = perturbed(rd.robots.planar_2r(), 1, mass=0.2, com=0.02, inertia=0.3, friction=0.0)
    q = np.array([0.3, 0.4])
    np.testing.assert_allclose(rd.gravity_torque(again, q), rd.gravity_torque(real, q), rtol=0.03)


def test_payload_option():
    payload = parse_payload("tool:2.5:0,0,0.1")
    assert (payload.link, payload.mass, tuple(payload.com)) == ("tool", 2.5, (0.0, 0.0, 0.1))
    assert tuple(parse_payload("tool:1").com) == (0.0, 0.0, 0.0)
    for text in ("tool", "tool:", "tool:much", "tool:1:2"):
        with pytest.raises(ArgumentError, match="is not a payload"):
            parse_payload(text)


@pytest.mark.parametrize(
    ("log", "more", "message"),
    [
        ("none.csv", {}, "cannot read .*none.csv': No such file"),
        ("arm.urdf", {}, "does not hold"),
        ("used.csv:0:20", {}, "20 samples"),
        ("used.csv", {"columns": "t=0 q=1 tau=2"}, "has 1 joints, robot '.*' has 2: joint_1"),
        ("used.csv", {"columns": "t=0 q=1-2 qd=5-6 tau=3-4"}, "velocities of joint 'joint_1'"),
        ("used.csv", {"out": "used.csv"}, "cannot be a folder"),
    ],
)
def test_wrong_files_are_reported(files, tmp_path, monkeypatch, log, more, message):
    monkeypatch.chdir(files)
    model = rd.load_urdf("arm.urdf")
    with pytest.raises(ArgumentError, match=message):
        run(model, [log], **({"out": tmp_path} | more))


def test_unexplained_torque_is_a_warning(files, tmp_path):
    columns = "t=0 q=1-2 qd=3-4 tau=1-2"  # positions for torques
    words = ("--columns", columns, "--out", tmp_path, "--friction", "none")
    result = robodyn("identify", files / "arm.urdf", files / "used.csv", *words)
    assert result.exit_code == 0
    assert "is not explained: check columns" in result.stderr.replace("\n", " ")


def test_excite_writes_a_motion_within_the_limits(tmp_path):
    path = tmp_path / "motion.csv"
    result = robodyn("excite", "planar_2r", "--out", path, "--qd-max", 1.5, "--json")
    facts = json.loads(result.stdout)
    assert facts["file"] == str(path) and 1.0 <= facts["condition"] < 10.0
    table = np.genfromtxt(path, delimiter=",", names=True)
    assert np.abs(table["qd_joint_1"]).max() <= 1.5 and np.abs(table["qdd_joint_2"]).max() <= 4.0
    assert table["t"][-1] == 30.0
    assert "condition number" in robodyn("excite", "planar_2r", "--out", path).stdout
