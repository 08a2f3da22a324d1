"""The detector alone, for a robot that already publishes its joint states and takes torques.

    ros2 launch robodyn_ros detector_only.launch.py effort:=joint_states joint_states:=/ur/states
    ros2 launch robodyn_ros detector_only.launch.py arm:=fr3 guard:=true

arm names a file of config/arms, or is the path of one: topic, parameters and what the guard asks.
Without robot and urdf it waits for the robot_description topic. It sends no commands. With
guard:=true, guard_node beside it asks the driver, ros2_control or MoveIt to stop on a collision.
A node that ends is started again, with its files: what was set meanwhile is lost.

Never run beside a real arm or its driver; recordings of six were analysed offline: docs/ros.md.

The first start compiles kernels for some seconds; `robodyn warmup` does that ahead.
"""

from pathlib import Path

import yaml
from ament_index_python.packages import get_package_share_path
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = get_package_share_path("robodyn_ros") / "config"
RESPAWN_DELAY = 2.0  # [s], so that a node that refuses its parameters does not flood the log
ARGUMENTS = [
    DeclareLaunchArgument(
        "arm",
        default_value="",
        description="an arm of config/arms, e.g. fr3, or a path; never run beside a real one",
    ),
    DeclareLaunchArgument("robot", default_value="", description="name of a built-in arm"),
    DeclareLaunchArgument("urdf", default_value="", description="or path of a URDF"),
    DeclareLaunchArgument(
        "params",
        default_value="",
        description="path of the parameter file; empty: that of the arm, or none",
    ),
    DeclareLaunchArgument(
        "guard", default_value="false", description="start guard_node, which stops the arm"
    ),
    DeclareLaunchArgument(
        "guard_params",
        default_value="",
        description="its parameter file, on top of those of arm and params, else of guard.yaml",
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
        "joint_states",
        default_value="",
        description="topic, sensor_msgs/JointState; empty: that of the arm, else joint_states",
    ),
    DeclareLaunchArgument(
        "commands",
        default_value="effort_controller/commands",
        description="topic of the commanded torques, std_msgs/Float64MultiArray",
    ),
    DeclareLaunchArgument(
        "use_sim_time", default_value="false", description="use the /clock topic"
    ),
    DeclareLaunchArgument(
        "respawn", default_value="true", description="start a node again when it has ended"
    ),
]


def generate_launch_description():
    said = LogInfo(msg="this launch file was never run beside a real arm, see docs/ros.md")
    return LaunchDescription([*ARGUMENTS, said, OpaqueFunction(function=start)])


def start(context):
    """Return the nodes; arguments win over the parameter file."""
    given = {**context.launch_configurations}
    arm = arm_file(given["arm"])
    given["joint_states"] = given["joint_states"] or topic_of(arm) or "joint_states"
    own = {"use_sim_time": LaunchConfiguration("use_sim_time")}
    if given["urdf"]:
        own |= {"robot.name": "", "robot.urdf": str(Path(given["urdf"]).resolve())}
    elif given["robot"]:
        own["robot.name"] = given["robot"]
    effort = {"effort.source": given["effort"]} if given["effort"] else {}
    known = CONFIG / given["robot"] / "dynamics_node.yaml"
    file = given["params"] or (str(known) if given["robot"] and known.exists() else "")
    files = [*filter(None, [arm, file])]
    nodes = [node("dynamics_node", files, own | effort, given)]
    if IfCondition(given["guard"]).evaluate(context):
        nodes.append(node("guard_node", guard_files(given, files), own, given))
    return nodes


def arm_file(arm):
    """Return the parameter file of an arm, given its name or a path; empty without one."""
    if not arm:
        return ""
    known = CONFIG / "arms" / f"{arm}.yaml"
    path = known if known.exists() else Path(arm).resolve()
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in known.parent.glob("*.yaml")))
        raise RuntimeError(f"arm:={arm} is neither a file nor one of {names}")
    return str(path)


def topic_of(file):
    """Return the topic of the joint states that an arm's file names."""
    sections = yaml.safe_load(Path(file).read_text(encoding="utf-8")) if file else {}
    own = sections.get("/**/detector_only", {})
    return own.get("ros__parameters", {}).get("joint_states", "")


def node(name, files, own, given):
    """Return a node; with its full name, so that arguments win over the files."""
    return Node(
        package="robodyn_ros",
        executable=name,
        name=name,
        namespace=given["namespace"],
        parameters=[*files, own],
        remappings=[
            ("joint_states", given["joint_states"]),
            ("effort_controller/commands", given["commands"]),
        ],
        output="screen",
        respawn=LaunchConfiguration("respawn"),
        respawn_delay=RESPAWN_DELAY,
    )


def guard_files(given, files):
    """Return the parameter files of guard_node; a later one wins."""
    own = [file for file in files if "guard_node:" in Path(file).read_text(encoding="utf-8")]
    return [*(own or [str(CONFIG / "guard.yaml")]), *filter(None, [given["guard_params"]])]
