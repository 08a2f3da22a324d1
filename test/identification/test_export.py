"""Files of the identified robot: an updated URDF, and parameters that the nodes accept."""

import warnings

import numpy as np
import pytest
from identification_cases import ARM, log_of, motion_of
from ros_harness import bench
from sample_cases import valid_sample

import robodyn_ros as rd
from robodyn_ros.errors import ArgumentError, UrdfError
from robodyn_ros.identification.export import updated_urdf
from robodyn_ros.identification.identify import identify
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.simulation.disturbances import perturbed

pytest.importorskip("cvxpy")
yaml = pytest.importorskip("yaml")


@pytest.fixture
def arm(tmp_path):
    """The path of a URDF, and another robot of the same shape."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM, encoding="utf-8")
    nominal = rd.load_urdf(path)
    other = perturbed(nominal, 3, mass=0.3, com=0.05, inertia=0.3, friction=0.0)
    return path, other.replace(rotor_inertia=[2.0, 0.7], viscous=[3.0, 4.0], coulomb=[0.0, 6.0])


def test_the_urdf_reads_back_as_the_other_robot(arm):
    path, other = arm
    for original in (path, str(path), ARM):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            again = rd.load_urdf(updated_urdf(original, other), strict=True)
        for name in ("inertial_parameters", "rotor_inertia", "viscous", "coulomb"):
            mine, yours = (getattr(m, name) for m in (again, other))
            if callable(mine):
                mine, yours = mine(), yours()
            np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-15, err_msg=name)
        assert list(again.frames) == list(other.frames)
        np.testing.assert_array_equal(again.frames["tool"].place, [0.0, 0.0, 0.1])


def test_meshes_comments_and_other_tags_are_kept(arm):
    path, other = arm
    text = updated_urdf(path, other)
    for kept in ("package://arm/upper.dae", "wrong here: é", "Gazebo/Red", "EffortJointInterface"):
        assert kept in text, kept
    assert text.count("<inertial>") == 3  # the tool's is lumped into its carrier's
    assert text.count("<transmission") == 2 and text.count("gear_ratio") == 2
    assert updated_urdf(text, other) == text


def test_the_urdf_of_another_robot_is_rejected(arm):
    path, other = arm
    with pytest.raises(ArgumentError, match="no joint_1, joint_2, link_1, link_2: give that of"):
        updated_urdf(path, rd.robots.planar_2r())
    with pytest.raises(UrdfError):
        updated_urdf('<!DOCTYPE robot [<!ENTITY a "b">]><robot name="arm"/>', other)


def leaves(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@pytest.fixture(scope="module")
def identified(tmp_path_factory):
    """An identified robot, its log, and the parameter file."""
    folder = tmp_path_factory.mktemp("found")
    nominal = rd.robots.planar_2r().replace(viscous=1.0, coulomb=2.0)
    real = perturbed(nominal, 1, mass=0.2, com=0.02, inertia=0.3, friction=0.4)
    log = log_of(real, motion_of(nominal, 1), noise=0.01)
    found = identify(nominal, [log], friction=("viscous", "coulomb"))
    (folder / "robot.urdf").write_text(found.to_urdf())
    found.to_yaml(folder / "nodes.yaml", folder / "robot.urdf")
    return found, log, folder / "nodes.yaml"


@pytest.mark.parametrize("kind", [DynamicsNode, ControllerNode, SimulatorNode])
def test_a_node_accepts_every_parameter(identified, kind):
    found, _, path = identified
    with bench(kind, args=["--params-file", str(path)]) as ros:
        (node,) = ros.nodes
        given = yaml.safe_load(path.read_text())[f"/**/{node.get_name()}"]["ros__parameters"]
        for name, value in leaves(given):
            assert node.has_parameter(name), name
            assert node.get_parameter(name).value == (
                pytest.approx(value) if isinstance(value, list) else value
            ), name
        np.testing.assert_allclose(
            node.robot.inertial_parameters(), found.model.inertial_parameters()
        )
        np.testing.assert_allclose(node.robot.viscous, found.straight.viscous)


def test_the_detector_is_quiet_on_the_motion_and_detects_a_push(identified):
    """Thresholds and friction are those of nodes.yaml."""
    _, log, path = identified
    with bench(DynamicsNode, args=["--params-file", str(path)]) as ros:
        monitor = ros.nodes[0].monitor
        levels = []
        for k in range(600):
            push = 20.0 if k > 500 else 0.0
            sample = valid_sample(log.t[k], log.q[k], log.qd[k], log.tau[k] - push)
            levels.append(monitor.update(sample).level.name)
    assert set(levels[50:500]) == {"CLEAR"}
    assert levels[-1] == "COLLISION"
