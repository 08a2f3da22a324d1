"""nodes.yaml: real nodes take every parameter in it, and become the identified robot."""

import numpy as np
import pytest
from identification_cases import log_of, motion_of
from ros_harness import bench

import robodyn_ros as rd
from robodyn_ros.identification.identify import identify
from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.simulator_node import SimulatorNode
from robodyn_ros.simulation.perturb import perturbed

pytest.importorskip("cvxpy")
yaml = pytest.importorskip("yaml")


def leaves(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    nominal = rd.robots.planar_2r().replace(viscous=1.0, coulomb=2.0)
    real = perturbed(nominal, 1, mass=0.2, com=0.02, inertia=0.3, friction=0.4)
    log = log_of(real, motion_of(nominal, 1), noise=0.01)
    found = identify(nominal, [log], friction=("viscous", "coulomb"))
    (folder / "robot.urdf").write_text(found.to_urdf())
    found.to_yaml(folder / "nodes.yaml", folder / "robot.urdf")
    return found, log, folder / "nodes.yaml"


@pytest.mark.parametrize("kind", [DynamicsNode, ControllerNode, SimulatorNode])
def test_a_node_takes_all_of_it(case, kind):
    found, _, path = case
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


def test_the_detector_is_quiet_on_the_motion_and_feels_a_push(case):
    """Thresholds and friction are those of nodes.yaml."""
    _, log, path = case
    with bench(DynamicsNode, args=["--params-file", str(path)]) as ros:
        monitor = ros.nodes[0].monitor
        levels = []
        for k in range(600):
            push = 20.0 if k > 500 else 0.0
            report = monitor.update(log.t[k], log.q[k], log.qd[k], log.tau[k] - push)
            levels.append(report.state.level.name)
    assert set(levels[50:500]) == {"CLEAR"}
    assert levels[-1] == "COLLISION"
