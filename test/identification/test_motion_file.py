"""Excitations as files: a table, and the message that a controller takes."""

import numpy as np
import pytest
from identification_cases import motion_of

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError
from robodyn_ros.identification.motion_file import write_motion


@pytest.fixture(scope="module")
def case():
    model = rd.robots.planar_2r()
    return model, motion_of(model)


def test_a_table(case, tmp_path):
    model, motion = case
    write_motion(motion, model.joint_names, tmp_path / "motion.csv", 50.0)
    table = np.genfromtxt(tmp_path / "motion.csv", delimiter=",", names=True)
    assert table.dtype.names[:3] == ("t", "q_joint_1", "q_joint_2")
    np.testing.assert_allclose(table["t"], np.linspace(0.0, 10.0, 501))
    q, qd, qdd, _ = motion.at(table["t"])
    for name, values in (("q", q), ("qd", qd), ("qdd", qdd)):
        np.testing.assert_allclose(table[f"{name}_joint_2"], values[:, 1], atol=1e-7)


def test_a_message(case, tmp_path):
    yaml = pytest.importorskip("yaml")
    model, motion = case
    write_motion(motion, model.joint_names, tmp_path / "motion.yaml", 3.0)
    message = yaml.safe_load((tmp_path / "motion.yaml").read_text())
    assert message["joint_names"] == list(model.joint_names)
    assert len(message["points"]) == 31
    point = message["points"][7]
    time = point["time_from_start"]["sec"] + 1e-9 * point["time_from_start"]["nanosec"]
    assert time == pytest.approx(7 / 3)
    for key, values in zip(("positions", "velocities", "accelerations"), motion.at([7 / 3])):
        np.testing.assert_allclose(point[key], values[0], atol=1e-8)


@pytest.mark.parametrize(
    ("name", "rate", "message"),
    [
        ("motion.txt", 10.0, "must end in .csv or .yaml"),
        ("motion.csv", 0.0, "rate must be positive"),
        ("none/motion.csv", 10.0, "cannot write"),
    ],
)
def test_what_cannot_be_written(case, tmp_path, name, rate, message):
    model, motion = case
    with pytest.raises(ArgumentError, match=message):
        write_motion(motion, model.joint_names, tmp_path / name, rate)
