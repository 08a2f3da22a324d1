"""The `robodyn` command: what people see, what scripts read, and how it fails."""

import json
import subprocess
import sys

import numpy as np
import pytest

import robodyn_ros as rd

URDF = str(rd.share_path("urdf", "kuka_lwr4.urdf"))


def robodyn(*words, columns="120"):
    """Run the command as a user does; returns exit code, output and complaints."""
    result = subprocess.run(
        [sys.executable, "-m", "robodyn_ros.cli", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env={"COLUMNS": columns, "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    return result.returncode, result.stdout, result.stderr


def test_info_shows_joints_limits_masses_and_the_weight_of_the_arm():
    code, out, _ = robodyn("info", URDF)
    assert code == 0
    for text in ("joint_1", "link_7", "-2.97 … 2.97", "176", "3.19", "14.000 kg", "stretched out"):
        assert text in out, text


def test_info_in_json_finds_the_heaviest_posture():
    code, out, _ = robodyn("info", URDF, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["joints"] == [f"joint_{i}" for i in range(1, 8)]
    # facts of the arm: 47.28 N m on joint 2 when it is level
    torque = np.array(facts["stretched_out"]["gravity_torque"])
    assert abs(torque[1]) == pytest.approx(47.28, rel=2e-3)
    assert facts["moving_mass"] == pytest.approx(14.0)


def test_info_takes_a_part_of_a_robot():
    code, out, _ = robodyn("info", URDF, "--json", "--tip", "link_5", "--lock", "joint_3=0.5")
    assert code == 0
    assert json.loads(out)["joints"] == ["joint_1", "joint_2", "joint_4", "joint_5"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("info", "no_such_file.urdf"), "no_such_file.urdf"),
        (("info", URDF, "--tip", "hand"), "hand"),
        (("info", URDF, "--lock", "joint_3=much"), "much"),
        (("info", URDF, "--lock", "elbow"), "elbow"),
    ],
)
def test_errors_are_one_line_without_traceback(words, says):
    code, out, err = robodyn(*words, columns="500")
    assert code == 1
    assert says in err and "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


def test_tour_proves_what_it_shows():
    code, out, _ = robodyn("tour", "stanford")
    assert code == 0
    shown = [line.split() for line in out.splitlines() if line.rstrip().endswith("µs")]
    assert len(shown) == 6
    assert all(float(words[-3]) < 1e-7 for words in shown), out


def test_version_and_help():
    assert rd.__version__ in robodyn("--version")[1]
    assert "info" in robodyn("--help")[1]
