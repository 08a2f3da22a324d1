"""The detector alone, for a robot that already publishes its joint states and takes torques.

    ros2 launch robodyn_ros detector_only.launch.py effort:=joint_states joint_states:=/ur/states

Without robot and urdf it waits for the robot_description topic. It sends no commands.

The first start compiles kernels for some seconds; `robodyn warmup` does that ahead.
"""

from pathlib import Path

from ament_index_python.packages import get_package_share_path
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
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
        "namespace", default_value="", description="namespace of the node, e.g. left"
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
    """Return the node; arguments win over the parameter file."""
    given = context.launch_configurations
    own = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    if given["urdf"]:
        own |= {"robot.name": "", "robot.urdf": str(Path(given["urdf"]).resolve())}
    elif given["robot"]:
        own["robot.name"] = given["robot"]
    if given["effort"]:
        own["effort.source"] = given["effort"]
    known = CONFIG / given["robot"] / "dynamics_node.yaml"
    file = given["params"] or (str(known) if given["robot"] and known.exists() else "")
    return [
        Node(
            package="robodyn_ros",
            executable="dynamics_node",
            name="dynamics_node",  # full name: arguments win over the file
            namespace=given["namespace"],
            parameters=[*filter(None, [file]), own],
            remappings=[
                ("joint_states", given["joint_states"]),
                ("effort_controller/commands", given["commands"]),
            ],
            output="screen",
        )
    ]
