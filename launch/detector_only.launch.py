"""The detector alone, for a robot that already publishes its joint states and takes torques.

    ros2 launch robodyn_ros detector_only.launch.py effort:=joint_states joint_states:=/ur/states
    ros2 launch robodyn_ros detector_only.launch.py guard:=true

Without robot and urdf it waits for the robot_description topic. It sends no commands. With
guard:=true, guard_node beside it asks the driver, ros2_control or MoveIt to stop on a collision.

The first start compiles kernels for some seconds; `robodyn warmup` does that ahead.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_path
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = get_package_share_path("robodyn_ros") / "config"
ARGUMENTS = [
    DeclareLaunchArgument("robot", default_value="", description="name of a built-in arm"),
    DeclareLaunchArgument("urdf", default_value="", description="or path of a URDF"),
    DeclareLaunchArgument(
        "params",
        default_value="",
        description="path of the parameter file; empty: that of the built-in arm, or none",
    ),
    DeclareLaunchArgument(
        "guard", default_value="false", description="start guard_node, which stops the arm"
    ),
    DeclareLaunchArgument(
        "guard_params",
        default_value="",
        description="its parameter file; empty: params if that has its section, else guard.yaml",
    ),
    DeclareLaunchArgument(
        "namespace", default_value="", description="namespace of the nodes, e.g. left"
    ),
    DeclareLaunchArgument(
        "effort",
        default_value="",
        choices=["", "command", "joint_states"],
        description="source of the torque; empty: as in the parameter file, else command",
    ),
    DeclareLaunchArgument(
        "joint_states", default_value="joint_states", description="topic, sensor_msgs/JointState"
    ),
    DeclareLaunchArgument(
        "commands",
        default_value="effort_controller/commands",
        description="topic of the commanded torques, std_msgs/Float64MultiArray",
    ),
    DeclareLaunchArgument(
        "use_sim_time", default_value="false", description="use the /clock topic"
    ),
]


def generate_launch_description():
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])


def start(context):
    """Return the nodes; arguments win over the parameter file."""
    given = context.launch_configurations
    own = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    if given["urdf"]:
        own |= {"robot.name": "", "robot.urdf": str(Path(given["urdf"]).resolve())}
    elif given["robot"]:
        own["robot.name"] = given["robot"]
    effort = {"effort.source": given["effort"]} if given["effort"] else {}
    known = CONFIG / given["robot"] / "dynamics_node.yaml"
    file = given["params"] or (str(known) if given["robot"] and known.exists() else "")
    nodes = [node("dynamics_node", file, own | effort, given)]
    if IfCondition(given["guard"]).evaluate(context):
        nodes.append(node("guard_node", guard_file(given, file), own, given))
    return nodes


def node(name, file, own, given):
    """Return a node; with its full name, so that arguments win over the file."""
    return Node(
        package="robodyn_ros",
        executable=name,
        name=name,
        namespace=given["namespace"],
        parameters=[*filter(None, [file]), own],
        remappings=[
            ("joint_states", given["joint_states"]),
            ("effort_controller/commands", given["commands"]),
        ],
        output="screen",
    )


def guard_file(given, file):
    """Return the parameter file of guard_node."""
    if given["guard_params"]:
        return given["guard_params"]
    has_section = file and "guard_node:" in Path(file).read_text(encoding="utf-8")
    return file if has_section else str(CONFIG / "guard.yaml")
