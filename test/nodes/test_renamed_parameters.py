"""Old parameter names: refused by every node and by the reader of files, with the new ones."""

import importlib

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from rcl_interfaces.srv import SetParameters  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from ros_harness import bench  # noqa: E402

from robodyn_ros.errors import ArgumentError  # noqa: E402
from robodyn_ros.nodes.node_settings import SETTINGS  # noqa: E402
from robodyn_ros.recording import node_yaml  # noqa: E402
from robodyn_ros.renamed_parameters import RENAMED  # noqa: E402
from robodyn_ros.settings import leaves, yaml_section  # noqa: E402

NAMES = {node: {name for name, _, _ in leaves(kind())} for node, kind in SETTINGS.items()}


def expect_all(error):
    for old, new in RENAMED.items():
        assert f"{old} is now {new}" in str(error)


@pytest.fixture
def old_file(tmp_path):
    """Return a parameter file with all old names."""
    path = tmp_path / "old.yaml"
    path.write_text(yaml_section("/**", dict.fromkeys(RENAMED, 0.5)), encoding="utf-8")
    return path


@pytest.mark.parametrize("old", RENAMED)
def test_the_old_name_is_gone_and_the_new_one_exists(old):
    new, _, node = RENAMED[old].partition(" of ")
    assert not any(old in names for names in NAMES.values())
    assert new in NAMES[node or "dynamics_node"]


@pytest.mark.parametrize("node", SETTINGS)
def test_nodes_refuse_old_names(node, old_file):
    module = importlib.import_module(f"robodyn_ros.nodes.{node}")
    kind = getattr(module, "".join(word.title() for word in node.split("_")))
    args = ["-p", "robot.name:=lwr_iii", "--params-file", str(old_file)]
    with pytest.raises(ArgumentError) as caught, bench(kind, args=args):
        pass
    expect_all(caught.value)


def test_the_reader_of_files_refuses_old_names(old_file):
    pytest.importorskip("ruamel.yaml")
    with pytest.raises(ArgumentError) as caught:
        node_yaml.from_file(old_file)
    expect_all(caught.value)


def test_a_running_node_names_the_new_one():
    from robodyn_ros.nodes.demo_node import DemoNode

    wanted = [Parameter(old, value=0.5).to_parameter_msg() for old in RENAMED]
    request = SetParameters.Request(parameters=wanted)
    with bench(DemoNode, args=["-p", "robot.name:=lwr_iii"]) as there:
        answer = there.call(SetParameters, "demo_node/set_parameters", request)
    for (old, new), result in zip(RENAMED.items(), answer.results, strict=True):
        assert not result.successful and result.reason == f"{old} is now {new}"
