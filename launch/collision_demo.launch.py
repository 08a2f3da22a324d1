"""The collision demo: a simulated arm with controller, detector, demo motion and scripted pushes.

    ros2 launch robodyn_ros collision_demo.launch.py plant:=mujoco rviz:=true dashboard:=true
    ros2 launch robodyn_ros collision_demo.launch.py scenario:=faults

The nodes log each push as they feel it; after the last one demo_report prints the pushes that the
plant made and what the detector told of them, and the arm moves on until Ctrl-C. A first start
compiles for some seconds; `robodyn warmup` does that ahead.
Arguments win over the parameter file; an empty argument leaves the value to the file. Like
`robodyn demo`, ROS is restricted to this machine unless the environment sets its range.
"""

import atexit
import os
from pathlib import Path
from tempfile import NamedTemporaryFile

import yaml
from ament_index_python.packages import get_package_share_path
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    ExecuteProcess,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition, UnlessCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.substitutions import ExecutableInPackage
from rclpy.utilities import get_rmw_implementation_identifier

SHARE = get_package_share_path("robodyn_ros")
STOP_TIMEOUT = "20"  # [s] for a process to end after Ctrl-C: a busy machine, or one that compiles
NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # old name, new
ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="", description="name of a built-in arm"),
    DeclareLaunchArgument("urdf", default_value="", description="or path of a URDF"),
    DeclareLaunchArgument(
        "plant",
        default_value="",
        choices=["", "rigid", "elastic", "mujoco"],
        description="kind of simulation",
    ),
    DeclareLaunchArgument(
        "ideal",
        default_value="false",
        choices=["true", "false"],
        description="no model error, friction or sensor noise",
    ),
    DeclareLaunchArgument(
        "seed", default_value="", description="random seed of model error and sensor noise"
    ),
    DeclareLaunchArgument(
        "scenario",
        default_value="collisions",
        choices=["collisions", "payload", "faults", "all"],
        description="what happens to the arm",
    ),
    DeclareLaunchArgument(
        "params",
        default_value=str(SHARE / "config" / "demo.yaml"),
        description="path of the parameter file, for all nodes",
    ),
    DeclareLaunchArgument(
        "namespace", default_value="", description="namespace of the nodes, e.g. left"
    ),
    DeclareLaunchArgument(
        "rviz", default_value="false", description="show the arm and the force in RViz"
    ),
    DeclareLaunchArgument(
        "dashboard", default_value="false", description="serve the live page and print its address"
    ),
    DeclareLaunchArgument(
        "record",
        default_value="",
        description="new folder for a bag of all topics",
    ),
    DeclareLaunchArgument(
        "composed", default_value="false", description="run all nodes in one process"
    ),
]


def generate_launch_description():
    here = [SetEnvironmentVariable(*setting) for setting in on_this_machine(os.environ).items()]
    return LaunchDescription([*ARGUMENTS, *here, OpaqueFunction(function=start)])


def on_this_machine(environment):
    """Return the environment that restricts ROS to the loopback interface, unless it is set."""
    if any(name in environment for name in (RANGE, *PROFILES)):
        return {}
    if "fastrtps" not in get_rmw_implementation_identifier():
        return {RANGE: "LOCALHOST"}
    # With LOCALHOST, Fast DDS would still open its ports to other machines
    profile = str(SHARE / "config" / "fastdds_loopback.xml")
    return {RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, profile)}


def start(context):
    """Return the nodes, and RViz, the page and the recorder as the arguments ask for."""
    given = context.launch_configurations
    namespace = "/" + given["namespace"].strip("/")
    composed = LaunchConfiguration("composed")
    common = {
        "package": "robodyn_ros",
        "namespace": namespace,
        "output": "screen",
        "sigterm_timeout": STOP_TIMEOUT,
    }
    nodes = common | {
        "parameters": [given["params"], *scenario(given), overrides(given, namespace)],
        "on_exit": Shutdown(reason="a node has ended"),
    }
    actions = [
        *(Node(executable=node, condition=UnlessCondition(composed), **nodes) for node in NODES),
        Node(executable="composed_nodes", condition=IfCondition(composed), **nodes),
        Node(executable="demo_report", **common),
    ]
    if IfCondition(given["rviz"]).evaluate(context):
        actions += view(given, namespace)
    if IfCondition(given["dashboard"]).evaluate(context):
        actions.append(page(namespace))
    if given["record"]:
        topics = f"^({namespace.rstrip('/')}/.*|/diagnostics|/clock)$"
        bag = ["ros2", "bag", "record", "--output", given["record"], "--regex", topics]
        actions.append(ExecuteProcess(cmd=bag))
    return actions


def scenario(given):
    """Return the parameter file of the scenario, in a list, or none for the pushes."""
    name = given["scenario"]
    return [] if name == "collisions" else [str(SHARE / "config" / "scenarios" / f"{name}.yaml")]


def overrides(given, namespace):
    """Return the path of a file with the parameters that the arguments set.

    Sections have the nodes' full names: rcl takes sections in the order in which their names first
    appear in any file, so that a section for /** could lose against those of the user's file.
    """
    robot, plant, known = {}, {}, {}
    if given["urdf"]:
        robot = {"robot.name": "", "robot.urdf": str(Path(given["urdf"]).resolve())}
    elif given["robot"]:
        robot = {"robot.name": given["robot"]}
    if given["plant"]:
        plant = {"plant.kind": given["plant"]}
    if given["plant"] == "elastic":  # torque sensors behind the drives, a law for elastic joints
        plant["plant.effort"] = "joint"
        known |= {"controller_node": {"arm.controller": "elastic"}}
        known |= {"dynamics_node": {"effort.side": "link", "effort.friction": "none"}}
    if given["ideal"] == "true":
        plant |= {f"plant.model_error.{name}": 0.0 for name in ("mass", "com", "friction")}
        plant |= {"plant.friction": False, "plant.noise": False}
        known.setdefault("controller_node", {})["arm.friction"] = False
        known.setdefault("dynamics_node", {})["effort.friction"] = "none"
    if given["seed"]:
        plant["plant.seed"] = int(given["seed"])
    known["simulator_node"] = plant
    own = {node: robot | known.get(node, {}) for node in NODES}
    sections = {
        f"{namespace.rstrip('/')}/{node}": {"ros__parameters": dict(values)}
        for node, values in own.items()
        if values
    }
    with NamedTemporaryFile("w", prefix="robodyn_", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(sections, file)
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return file.name


def view(given, namespace):
    """Return robot_state_publisher and RViz."""
    common = {
        "namespace": namespace,
        "remappings": [("/tf", "tf"), ("/tf_static", "tf_static")],  # one per arm
    }
    return [
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": description(given)}],
            **common,
        ),
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["--display-config", str(SHARE / "rviz" / "robodyn.rviz")],
            **common,
        ),
    ]


def page(namespace):
    """Return `robodyn view`, in the domain of the nodes: its own default is another one."""
    command = ExecutableInPackage("robodyn", "robodyn_ros")
    domain = {"ROS_DOMAIN_ID": os.environ.get("ROS_DOMAIN_ID", "0")}
    return ExecuteProcess(
        cmd=[command, "view", "--namespace", namespace],
        name="robodyn_view",
        additional_env=domain,
        output="screen",
        sigterm_timeout=STOP_TIMEOUT,
    )


def description(given):
    """Return the arm's URDF as text."""
    robot = {"name": given["robot"], "urdf": given["urdf"]}
    if not any(robot.values()):
        sections = yaml.safe_load(Path(given["params"]).read_text(encoding="utf-8"))
        for section in sections.values():
            robot |= section["ros__parameters"].get("robot", {})
    path = robot["urdf"] or SHARE / "urdf" / f"{robot['name']}.urdf"
    return Path(path).read_text(encoding="utf-8")
