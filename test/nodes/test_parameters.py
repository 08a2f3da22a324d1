"""Parameters of the nodes: a key that none of them knows is told, with the one that is near."""

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

import rclpy  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from source_tree import ROOT, own_domain  # noqa: E402

from robodyn_ros.nodes.controller_node import ControllerNode  # noqa: E402
from robodyn_ros.nodes.demo_node import DemoNode  # noqa: E402
from robodyn_ros.nodes.dynamics_node import DynamicsNode  # noqa: E402
from robodyn_ros.nodes.simulator_node import SimulatorNode  # noqa: E402

NODES = {
    "simulator_node": SimulatorNode,
    "controller_node": ControllerNode,
    "dynamics_node": DynamicsNode,
    "demo_node": DemoNode,
}


def start(name, path, capfd):
    """What a node that is given this parameter file warns of."""
    rclpy.init(
        args=["--ros-args", "--log-level", "warn", "--params-file", str(path)]
        + ["-p", "robot.name:=lwr_iii"],
        domain_id=own_domain(),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        NODES[name]().destroy_node()
    finally:
        rclpy.try_shutdown()
    return [line for line in capfd.readouterr().err.splitlines() if "[WARN]" in line]


@pytest.mark.parametrize(
    "name, key, near",
    [
        ("dynamics_node", "monitor.gian", "monitor.gain"),
        ("controller_node", "arm.frequncy", "arm.frequency"),
        ("simulator_node", "plant.strat", "plant.start"),
        ("simulator_node", "obstacles.nams", "obstacles.names"),
        ("simulator_node", "pushes.nams", "pushes.names"),
    ],
)
def test_a_misspelt_key_is_told(tmp_path, capfd, name, key, near):
    path = tmp_path / "parameters.yaml"
    path.write_text(f"{name}:\n  ros__parameters:\n    {key}: 1.0\n")
    (told,) = start(name, path, capfd)
    assert f"parameter {key} is not known" in told and f"is {near} meant?" in told


def test_rows_of_a_table_that_are_not_listed_are_told_together(tmp_path, capfd):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        """simulator_node:
  ros__parameters:
    pushes:
      names: [elbow]
      elbow: {at: 1.0, link: link_4, froce: [0.0, 9.0, 0.0]}
      wrist: {at: 3.0, link: link_7}
      base: {at: 5.0, link: link_2}
"""
    )
    unlisted, misspelt = start("simulator_node", path, capfd)
    assert unlisted.endswith("not in pushes.names, so left out: base, wrist")
    assert "parameter pushes.elbow.froce is not known" in misspelt
    assert misspelt.endswith("is pushes.elbow.force meant?")


@pytest.mark.parametrize("name", NODES)
def test_what_another_node_or_ros_knows_is_no_mistake(tmp_path, capfd, name):
    path = tmp_path / "parameters.yaml"
    path.write_text(
        """/**:
  ros__parameters:
    use_sim_time: false
    start_type_description_service: false
    qos_overrides./parameter_events.publisher.depth: 10
    monitor.gain: [40.0]
    arm.braking: 20.0
    push_duration: 0.1
"""
    )
    assert start(name, path, capfd) == []


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4"])
def test_the_files_that_come_with_it_have_no_such_key(capfd, name, robot):
    assert start(name, ROOT / "config" / robot / f"{name}.yaml", capfd) == []
