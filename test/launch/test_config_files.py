"""The parameter files: complete, commented, and taken over by real nodes, also in a namespace."""

import re

import pytest
import yaml
from ros_harness import bench

from robodyn_ros.detection.guard.settings import MeansSettings
from robodyn_ros.model.robots import load_robot
from robodyn_ros.nodes.controller_node import ControllerNode, ControllerSettings
from robodyn_ros.nodes.demo_node import DemoNode, DemoSettings
from robodyn_ros.nodes.dynamics_node import DynamicsNode, DynamicsSettings
from robodyn_ros.nodes.guard_node import GuardNode, GuardNodeSettings
from robodyn_ros.nodes.simulation_setup import FaultSettings, PushSettings
from robodyn_ros.nodes.simulator_node import SimulatorNode, SimulatorSettings
from robodyn_ros.resources import share_path
from robodyn_ros.settings import leaves

ROBOTS = ("lwr_iii", "kuka_lwr4")
MEANS_ROWS = [name for name, _, _ in leaves(MeansSettings())]
NODES = {
    "simulator_node": (SimulatorNode, SimulatorSettings()),
    "controller_node": (ControllerNode, ControllerSettings()),
    "dynamics_node": (DynamicsNode, DynamicsSettings()),
    "demo_node": (DemoNode, DemoSettings()),
    "guard_node": (GuardNode, GuardNodeSettings()),
}
TABLES = {
    "simulator_node": {"pushes.names", "faults.names", "obstacles.names"},
    "guard_node": {"means.names"}
    | {f"means.{means}.{row}" for means in ("moveit", "cancel") for row in MEANS_ROWS},
}
each_file = pytest.mark.parametrize(
    ("robot", "node"), [(robot, node) for robot in ROBOTS for node in NODES]
)


def text_of(*parts):
    return share_path("config", *parts).read_text(encoding="utf-8")


def flat(values, prefix=""):
    """Yield dotted names and values of nested parameters."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def sections(*parts):
    """Return the parameters of each section of a file, by dotted names."""
    loaded = yaml.safe_load(text_of(*parts))
    return {key: dict(flat(section["ros__parameters"])) for key, section in loaded.items()}


def as_set(value):
    """Return a value of a file as a parameter set has it: "" stands for an empty list."""
    return tuple(x for x in value if x != "") if isinstance(value, list) else value


@each_file
def test_a_file_has_every_parameter_of_its_node_and_no_other(robot, node):
    declared = {name for name, _, _ in leaves(NODES[node][1])} | TABLES.get(node, set())
    assert {key: set(found) for key, found in sections(robot, f"{node}.yaml").items()} == {
        f"/**/{node}": declared  # this form of the name holds in every namespace
    }


@each_file
def test_every_parameter_has_a_comment_with_its_unit(robot, node):
    lines = iter(text_of(robot, f"{node}.yaml").splitlines())
    for name, _, about in leaves(NODES[node][1]):
        key = name.rpartition(".")[2]
        line = next(line for line in lines if re.match(rf" +{key}: [^#]", line))
        comment = line.partition("  # ")[2]
        assert comment, f"{name} has no comment"
        assert about.unit in comment, f"{name}: the comment does not say [{about.unit}]"
        assert about.fixed == comment.endswith("(fixed)"), name
        assert all(choice in comment for choice in about.choices), name


@each_file
def test_a_node_in_a_namespace_takes_its_file_over(robot, node):
    make, _ = NODES[node]
    path = share_path("config", robot, f"{node}.yaml")
    with bench(make, args=["--params-file", str(path), "-r", "__ns:=/left"]) as running:
        (started,) = running.nodes
        assert started.get_fully_qualified_name() == f"/left/{node}"
        assert started.robot.name == robot
        taken = {name: value for name, value, _ in leaves(started.settings)}
    (given,) = sections(robot, f"{node}.yaml").values()
    for name, value in taken.items():
        assert as_set(given[name]) == value, name


SCENARIOS = [("scenarios", f"{name}.yaml") for name in ("payload", "faults", "all")]


@pytest.mark.parametrize("path", [("demo.yaml",), *SCENARIOS], ids="/".join)
def test_the_demo_names_only_parameters_that_exist(path):
    for key, given in sections(*path).items():
        node = key.removeprefix("/**/")
        known = {name for name, _, _ in leaves(NODES[node][1])} | TABLES.get(node, set())
        for table, row in (("pushes", PushSettings), ("faults", FaultSettings)):
            names = given.get(f"{table}.names", ()) if node == "simulator_node" else ()
            rows = [name for name, _, _ in leaves(row())]
            known |= {f"{table}.{name}.{row}" for name in names for row in rows}
        assert set(given) <= known


@pytest.mark.parametrize("path", SCENARIOS, ids="/".join)
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_scenario_fits_both_arms(path, robot):
    model, (given, *_) = load_robot(robot), sections(*path).values()
    for name in given["faults.names"]:
        row = {key: given.get(f"faults.{name}.{key}") for key in ("kind", "joint", "value")}
        joint, value = row["joint"] or "", tuple(row["value"] or ())
        FaultSettings(kind=row["kind"], joint=joint, value=value).what(model)
        assert joint in ("", *model.joint_names)


def test_the_demo_pushes_links_of_both_arms_and_its_nodes_start():
    given = sections("demo.yaml")["/**/simulator_node"]
    links = {given[f"pushes.{name}.link"] for name in given["pushes.names"]}
    assert len(links) >= 3
    for robot in ROBOTS:
        assert links <= set(load_robot(robot).link_names)
    path = str(share_path("config", "demo.yaml"))
    makers = [make for name, (make, _) in NODES.items() if name != "guard_node"]
    with bench(*makers, args=["--params-file", path]) as running:
        simulator, controller, dynamics, demo = running.nodes
        assert list(simulator.script) == given["pushes.names"]
        assert demo.settings.active
        assert controller.settings.arm.resume_after > 0.0
        contact, collision = (
            getattr(dynamics.settings.monitor, level).base for level in ("contact", "collision")
        )
        assert all(low < high for low, high in zip(contact, collision, strict=True))


def test_gazebo_commands_the_joints_in_the_models_order():
    loaded = yaml.safe_load(text_of("gazebo_controllers.yaml"))
    for robot in ROBOTS:
        joints = loaded["effort_controller"]["ros__parameters"]["joints"]
        assert joints == list(load_robot(robot).joint_names)
    manager = loaded["controller_manager"]["ros__parameters"]
    assert manager["effort_controller"]["type"] == "effort_controllers/JointGroupEffortController"
