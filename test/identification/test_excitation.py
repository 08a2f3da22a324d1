"""Excitations: within all limits, at rest at the ends, well conditioned; and their files."""

import numpy as np
import pytest
from identification_cases import motion_of

import robodyn_ros as rd
from robodyn_ros.dynamics.base_parameters import base_parameters
from robodyn_ros.dynamics.regressor import regressor
from robodyn_ros.errors import ArgumentError
from robodyn_ros.identification.excitation import excitation, write_motion

FLOOR = 0.2


@pytest.fixture(scope="module")
def case():
    model = rd.robots.kuka_lwr4()
    return model, excitation(model, qdd_max=4.0, workspace=FLOOR, tries=5, seed=3)


def test_it_keeps_all_limits(case):
    model, motion = case
    q, qd, qdd, _ = motion.at(np.linspace(0.0, motion.duration, 7001))
    assert (q >= model.q_min).all() and (q <= model.q_max).all()
    assert (np.abs(qd) <= model.qd_max).all()
    assert (np.abs(qdd) <= 4.0).all()
    height = rd.forward_kinematics(model, q)[:, 2:, 2, 3]  # the first two never move up or down
    assert height.min() >= FLOOR - 0.01
    assert (np.abs(qdd) > 2.0).any(axis=0).all()  # and uses them


def test_it_starts_and_ends_at_rest(case):
    _, motion = case
    ends = motion.at([0.0, motion.duration])
    np.testing.assert_allclose(ends.qd, 0.0, atol=1e-12)
    np.testing.assert_allclose(ends.qdd, 0.0, atol=1e-11)
    np.testing.assert_allclose(ends.q[0], ends.q[1], atol=1e-12)


def test_it_is_a_fourier_trajectory(case):
    _, motion = case
    t = np.linspace(0.0, motion.duration, 97)
    same = rd.Fourier(motion.centre, motion.a, motion.b, 1.0 / motion.period, motion.duration)
    for mine, other in zip(motion.at(t), same.at(t), strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)


def test_it_is_better_conditioned_than_chance(case):
    """The stated number is that of the base regressor, found here by the SVD."""
    model, motion = case
    base = base_parameters(model, rotors=True)

    def condition(q, qd, qdd):
        Y = np.concatenate([regressor(model, q, qd, qdd), qdd[..., None] * np.eye(7)], axis=-1)
        A = Y.reshape(-1, Y.shape[-1])[:, list(base.independent)]
        return np.linalg.cond(A / np.linalg.norm(A, axis=0))

    found = condition(*motion.at(np.linspace(0.0, 10.0, 200, endpoint=False))[:3])
    assert motion.condition == pytest.approx(found, rel=0.1)
    random = np.random.default_rng(0)
    h = np.arange(1, 6)
    chance = rd.Fourier(
        np.zeros(7), random.normal(size=(7, 5)) / h**2 / 3, np.zeros((7, 5)), 0.1, 10.0
    )
    wild = chance.at(np.linspace(0.0, 10.0, 200, endpoint=False))
    assert found < 0.5 * condition(*wild[:3])


def test_the_same_seed_gives_the_same_motion():
    model = rd.robots.planar_2r()
    one, two, other = (excitation(model, tries=2, qd_max=2.0, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.a, two.a)
    assert not np.array_equal(one.a, other.a)


def test_a_workspace_can_be_any_function():
    model = rd.robots.planar_2r()
    motion = excitation(
        model, qd_max=2.0, tries=20, workspace=lambda q: float(np.abs(q[:, 1]).max() - 1.0)
    )
    q = motion.at(np.linspace(0.0, 10.0, 1001)).q
    assert np.abs(q[:, 1]).max() < 1.01


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"duration": 25.0}, "whole periods of 10 s"),
        ({"harmonics": 1}, "2 harmonics"),
        ({"range_share": 0.0}, "range_share"),
        ({"qdd_max": [1.0, -1.0]}, "qdd_max of joint"),
        ({"workspace": lambda q: 1.0}, "within the workspace"),
    ],
)
def test_wrong_arguments_are_rejected(wanted, message):
    with pytest.raises(ArgumentError, match=message):
        excitation(rd.robots.planar_2r(), **({"qd_max": 2.0, "tries": 2} | wanted))


@pytest.fixture(scope="module")
def planar():
    model = rd.robots.planar_2r()
    return model, motion_of(model)


def test_a_csv_file(planar, tmp_path):
    model, motion = planar
    write_motion(motion, model.joint_names, tmp_path / "motion.csv", 50.0)
    table = np.genfromtxt(tmp_path / "motion.csv", delimiter=",", names=True)
    assert table.dtype.names[:3] == ("t", "q_joint_1", "q_joint_2")
    np.testing.assert_allclose(table["t"], np.linspace(0.0, 10.0, 501))
    q, qd, qdd, _ = motion.at(table["t"])
    for name, values in (("q", q), ("qd", qd), ("qdd", qdd)):
        np.testing.assert_allclose(table[f"{name}_joint_2"], values[:, 1], atol=1e-7)


def test_a_yaml_file(planar, tmp_path):
    yaml = pytest.importorskip("yaml")
    model, motion = planar
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
def test_wrong_files_are_rejected(planar, tmp_path, name, rate, message):
    model, motion = planar
    with pytest.raises(ArgumentError, match=message):
        write_motion(motion, model.joint_names, tmp_path / name, rate)
