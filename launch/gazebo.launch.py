"""An arm in Gazebo with gz_ros2_control, our controller and detector, and the demo motion.

    ros2 launch robodyn_ros gazebo.launch.py robot:=kuka_lwr4 motion:=demo

Push it in Gazebo with the mouse ("Apply force and torque"), or place an obstacle. It needs
packages of Gazebo and ros2_control that nothing else here needs, see docs/ros.md.

Never run with a real Gazebo. Tests expand this file with stand-ins for the packages of Gazebo and
ros2_control, and simulate the URDF and the parameters that it hands out.

The first start compiles kernels for some seconds; `robodyn warmup` does that ahead.
"""

from importlib.util import find_spec

from ament_index_python.packages import get_package_share_path, get_packages_with_prefixes
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    IncludeLaunchDescription,
    LogInfo,
    OpaqueFunction,
)
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, SetParameter
from launch_ros.substitutions import FindPackageShare

SHARE = get_package_share_path("robodyn_ros")
RATE = 1000.0  # [Hz], of Gazebo's steps and of gazebo_controllers.yaml
NEEDED = (
    *("controller_manager", "effort_controllers", "gz_ros2_control", "joint_state_broadcaster"),
    *("ros_gz_bridge", "ros_gz_sim", "xacro"),
)
ARGUMENTS = [
    DeclareLaunchArgument(
        "robot",
        default_value="lwr_iii",
        choices=["lwr_iii", "kuka_lwr4"],
        description="built-in arm, in a Gazebo with which this file was never run",
    ),
    DeclareLaunchArgument(
        "params",
        default_value="",
        description="path of a parameter file for our nodes; empty: those of the arm",
    ),
    DeclareLaunchArgument(
        "motion",
        default_value="hold",
        choices=["hold", "demo"],
        description="hold the pose until a trajectory comes, or move from posture to posture",
    ),
    DeclareLaunchArgument("world", default_value="empty.sdf", description="Gazebo's world file"),
    DeclareLaunchArgument("gui", default_value="true", description="show Gazebo's window"),
    DeclareLaunchArgument(
        "rviz", default_value="false", description="show the arm and the force in RViz"
    ),
]


def generate_launch_description():
    return LaunchDescription(
        [
            *ARGUMENTS,
            LogInfo(msg="this launch file was never run with a real Gazebo, see docs/ros.md"),
            SetParameter("use_sim_time", True),
            OpaqueFunction(function=start),
        ]
    )


def start(context):
    """Return Gazebo with the arm, the bridge, and our nodes."""
    if missing := missing_packages():
        packages = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-')}" for name in missing)
        raise RuntimeError(f"gazebo.launch.py needs more packages: sudo apt install {packages}")
    given = context.launch_configurations
    demo = [ours(given, "demo_node", active=True)] if given["motion"] == "demo" else []
    server = [] if IfCondition(given["gui"]).evaluate(context) else ["-s"]  # the server alone
    return [
        IncludeLaunchDescription(
            PathJoinSubstitution([FindPackageShare("ros_gz_sim"), "launch", "gz_sim.launch.py"]),
            launch_arguments={"gz_args": " ".join(["-r", *server, given["world"]])}.items(),
        ),
        Node(
            package="ros_gz_sim",
            executable="create",
            arguments=["-topic", "robot_description", "-name", given["robot"]],
        ),
        Node(
            package="ros_gz_bridge",
            executable="parameter_bridge",
            arguments=["/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock"],
        ),
        Node(
            package="robot_state_publisher",
            executable="robot_state_publisher",
            parameters=[{"robot_description": description(given["robot"])}],
        ),
        Node(
            package="controller_manager",
            executable="spawner",
            # Both at once: the arm is held until our commands arrive
            arguments=["joint_state_broadcaster", "effort_controller", "--activate-as-group"],
        ),
        ours(given, "controller_node"),
        ours(given, "dynamics_node"),
        *demo,
        Node(
            package="rviz2",
            executable="rviz2",
            arguments=["--display-config", str(SHARE / "rviz" / "robodyn.rviz")],
            condition=IfCondition(LaunchConfiguration("rviz")),
        ),
    ]


def missing_packages():
    """Return which packages of Gazebo and ros2_control are not installed."""
    installed = get_packages_with_prefixes()
    return [name for name in NEEDED if name not in installed and not find_spec(name)]


def ours(given, node, **changed):
    """Return one of our nodes; its robot comes from the robot_description topic."""
    file = given["params"] or str(SHARE / "config" / given["robot"] / f"{node}.yaml")
    changed |= {"robot.name": "", "robot.urdf": "", "use_sim_time": True}
    changed |= {} if node == "demo_node" else {"rate": RATE}
    return Node(
        package="robodyn_ros",
        executable=node,
        name=node,
        namespace="/",  # full name: `changed` wins over the file
        parameters=[file, changed],
        output="screen",
    )


def description(robot):
    """Return the URDF that Gazebo simulates: without rotors, which Gazebo does not know, and
    without friction, like an arm with torque sensors behind its gears.
    """
    import xacro  # here, so that --show-args needs no Gazebo

    document = xacro.process_file(
        str(SHARE / "urdf" / f"{robot}.ros2_control.xacro"),
        mappings={"controllers": str(SHARE / "config" / "gazebo_controllers.yaml")},
    )
    for tag in ("transmission", "dynamics"):
        for element in document.getElementsByTagName(tag):
            element.parentNode.removeChild(element)
    return document.toxml()
