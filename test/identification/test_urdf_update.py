"""A URDF with new numbers: the same robot otherwise, down to its meshes and comments."""

import warnings

import numpy as np
import pytest
from identification_cases import ARM

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError, UrdfError
from robodyn_ros.identification.urdf_update import updated
from robodyn_ros.simulation.perturb import perturbed


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    nominal = rd.load_urdf(path)
    other = perturbed(nominal, 3, mass=0.3, com=0.05, inertia=0.3, friction=0.0)
    return path, other.replace(rotor_inertia=[2.0, 0.7], viscous=[3.0, 4.0], coulomb=[0.0, 6.0])


def test_it_reads_back_as_the_other_robot(case):
    path, other = case
    for original in (path, str(path), ARM):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = rd.load_urdf(updated(original, other), strict=True)
        for name in ("inertial_parameters", "rotor_inertia", "viscous", "coulomb"):
            mine, yours = (getattr(m, name) for m in (again, other))
            if callable(mine):
                mine, yours = mine(), yours()
            np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-15, err_msg=name)
        assert list(again.frames) == list(other.frames)
        np.testing.assert_array_equal(again.frames["tool"].place, [0.0, 0.0, 0.1])


def test_all_else_stays(case):
    path, other = case
    text = updated(path, other)
    for kept in ("package://arm/upper.dae", "wrong here: é", "Gazebo/Red", "EffortJointInterface"):
        assert kept in text, kept
    assert text.count("<inertial>") == 3  # the tool's is in its carrier's
    assert text.count("<transmission") == 2 and text.count("gear_ratio") == 2
    assert updated(text, other) == text


def test_another_robot_or_none_is_refused(case):
    path, other = case
    with pytest.raises(ArgumentError, match="no joint_1, joint_2, link_1, link_2: give that of"):
        updated(path, rd.robots.planar_2r())
    with pytest.raises(UrdfError):
        updated('<!DOCTYPE robot [<!ENTITY a "b">]><robot name="arm"/>', other)
