"""`robodyn param load`: a parameter file for a node that runs."""

import subprocess
import sys

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from source_tree import own_domain  # noqa: E402

from robodyn_ros.errors import ArgumentError  # noqa: E402
from robodyn_ros.nodes import terminal  # noqa: E402

CONTACT, COLLISION = "monitor.contact.base", "monitor.collision.base"
FILE = """/**:
  ros__parameters:
    arm: {damping: 3.0}
/**/dynamics_node:
  ros__parameters:
    use_sim_time: false
    robot: {name: lwr_iii}
    monitor:
      contact: {base: [20.0]}
      collision: {base: [40.0]}
"""


def test_a_file_is_loaded_as_ros_reads_it(tmp_path, monkeypatch):
    """Wildcards, other nodes' parameters, and those that have the value already."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    path = tmp_path / "arm.yaml"
    command = [sys.executable, "-m", "robodyn_ros.nodes.dynamics_node", "--ros-args"]
    node = subprocess.Popen([*command, "-p", "robot.name:=lwr_iii", "-r", "__ns:=/left"])
    load = terminal.load_parameters
    monkeypatch.setattr(
        terminal, "ANSWER_TIMEOUT", 60.0
    )  # for a node that starts on a busy machine
    try:
        path.write_text(FILE)
        assert load("left/dynamics_node", path) == ([CONTACT, COLLISION], {})
        assert load("left/dynamics_node", path) == ([], {})
        path.write_text(FILE.replace("robot: {name: lwr_iii}", "rate: 100.0"))
        changed, refused = load("left/dynamics_node", path)
        assert changed == [] and "read-only" in refused["rate"]
        path.write_text(FILE.replace("contact", "contakt"))
        with pytest.raises(ArgumentError, match="is monitor.contact.base meant"):
            load("left/dynamics_node", path)
        path.write_text("dynamics_node: [")
        with pytest.raises(ArgumentError, match="cannot read the parameters"):
            load("left/dynamics_node", path)
        path.write_text("dynamics_node:\n  ros__parameters: {monitor.gain: [50, 60.5]}\n")
        with pytest.raises(ArgumentError, match="write all numbers of a list with a point"):
            load("left/dynamics_node", path)
        path.write_text("/other:\n  ros__parameters: {x: 1}\n")
        with pytest.raises(ArgumentError, match="no parameters of left/dynamics_node"):
            load("left/dynamics_node", path)
        with pytest.raises(ArgumentError, match="there is no parameter file"):
            load("left/dynamics_node", tmp_path / "none.yaml")
    finally:
        node.terminate()
        node.wait(30.0)


def test_the_domain_is_named_where_no_node_is_found(monkeypatch):
    domain = str(own_domain())
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    monkeypatch.setattr(terminal, "ANSWER_TIMEOUT", 0.2)
    asked = (lambda: terminal.get_parameters("nobody"), lambda: next(terminal.echo("nothing", 1)))
    for ask in asked:
        with pytest.raises(ArgumentError, match=rf"in domain {domain} \(ROS_DOMAIN_ID\)"):
            ask()
