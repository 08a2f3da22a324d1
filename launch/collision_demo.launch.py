"""The collision demo: a simulated arm with its controller and its detector, pushed by a script.

    ros2 launch robodyn_ros collision_demo.launch.py plant:=mujoco rviz:=true

An argument that is given wins over the parameter file; one that is empty leaves it to the file.
Like `robodyn demo` it stays on this machine, unless the environment says how far ROS is to reach.
"""

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
from rclpy.utilities import get_rmw_implementation_identifier

SHARE = get_package_share_path("robodyn_ros")
NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # old name, new
ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="", description="a built-in arm, by its name"),
    DeclareLaunchArgument("urdf", default_value="", description="or the path of an arm's URDF"),
    DeclareLaunchArgument(
        "plant",
        default_value="",
        choices=["", "rigid", "elastic", "mujoco"],
        description="how the arm is simulated",
    ),
    DeclareLaunchArgument(
        "params",
        default_value=str(SHARE / "config" / "demo.yaml"),
        description="path of the parameter file, for all nodes",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="of the nodes, e.g. left"),
    DeclareLaunchArgument(
        "rviz", default_value="false", description="whether to show the arm and the force in RViz"
    ),
    DeclareLaunchArgument(
        "record",
        default_value="",
        description="folder, not yet there, for a bag of all topics",
    ),
    DeclareLaunchArgument(
        "composed", default_value="false", description="whether to run all nodes in one process"
    ),
]


def generate_launch_description():
    here = [SetEnvironmentVariable(*setting) for setting in on_this_machine(os.environ).items()]
    return LaunchDescription([*ARGUMENTS, *here, OpaqueFunction(function=start)])


def on_this_machine(environment):
    """What keeps the demo on the loopback interface; nothing if the user has said how far."""
    if any(name in environment for name in (RANGE, *PROFILES)):
        return {}
    if "fastrtps" not in get_rmw_implementation_identifier():
        return {RANGE: "LOCALHOST"}
    # LOCALHOST would leave the ports of Fast DDS open to others
    profile = str(SHARE / "config" / "fastdds_loopback.xml")
    return {RANGE: "SYSTEM_DEFAULT", **dict.fromkeys(PROFILES, profile)}


def start(context):
    """The nodes, and who looks on, for the arguments that were given."""
    given = context.launch_configurations
    namespace = "/" + given["namespace"].strip("/")
    composed = LaunchConfiguration("composed")
    nodes = {
        "package": "robodyn_ros",
        "namespace": namespace,
        "parameters": [given["params"], overrides(given, namespace)],
        "output": "screen",
        "on_exit": Shutdown(reason="a node has ended"),
    }
    actions = [
        *(Node(executable=node, condition=UnlessCondition(composed), **nodes) for node in NODES),
        Node(executable="composed_nodes", condition=IfCondition(composed), **nodes),
    ]
    if IfCondition(given["rviz"]).evaluate(context):
        actions += view(given, namespace)
    if given["record"]:
        topics = f"^({namespace.rstrip('/')}/.*|/diagnostics|/clock)$"
        bag = ["ros2", "bag", "record", "--output", given["record"], "--regex", topics]
        actions.append(ExecuteProcess(cmd=bag))
    return actions


def overrides(given, namespace):
    """Path of a file with the parameters that the arguments set.

    Under the nodes' full names: rcl takes sections in the order in which their names first appear
    in any file, so that one for /** could lose against the sections of the user's file.
    """
    robot, plant = {}, {}
    if given["urdf"]:
        robot = {"robot.name": "", "robot.urdf": str(Path(given["urdf"]).resolve())}
    elif given["robot"]:
        robot = {"robot.name": given["robot"]}
    if given["plant"]:
        plant = {"plant.kind": given["plant"]}
    own = {node: robot | (plant if node == "simulator_node" else {}) for node in NODES}
    sections = {
        f"{namespace.rstrip('/')}/{node}": {"ros__parameters": dict(values)}
        for node, values in own.items()
        if values
    }
    with NamedTemporaryFile("w", prefix="robodyn_", suffix=".yaml", delete=False) as file:
        yaml.safe_dump(sections, file)
    return file.name


def view(given, namespace):
    """The arm's frames, and RViz."""
    common = {
        "namespace": namespace,
        "remappings": [("/tf", "tf"), ("/tf_static", "tf_static")],  # each arm has its own
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


def description(given):
    """The arm's URDF as text."""
    robot = {"name": given["robot"], "urdf": given["urdf"]}
    if not any(robot.values()):
        sections = yaml.safe_load(Path(given["params"]).read_text(encoding="utf-8"))
        for section in sections.values():
            robot |= section["ros__parameters"].get("robot", {})
    path = robot["urdf"] or SHARE / "urdf" / f"{robot['name']}.urdf"
    return Path(path).read_text(encoding="utf-8")
