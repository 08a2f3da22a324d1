"""The launch files under the real launch system: which nodes start, with which parameters.

Probes stand in for all executables. Each makes the nodes it was started for, so that the real rcl
decides between parameter file and arguments, and writes down what came out.
"""

import json
import os
import subprocess
import sys

import pytest
from source_tree import ROOT

# Not `launch`: where that is missing, this folder would be found under its name
for module in ("rclpy", "launch_ros", "launch_testing"):
    pytest.importorskip(
        module, reason=f"{module} is not installed: the launch files need a ROS 2 installation"
    )

from ament_index_python.packages import get_packages_with_prefixes  # noqa: E402
from ros_harness import own_domain  # noqa: E402

from robodyn_ros.model.robots import load_robot  # noqa: E402
from robodyn_ros.model.urdf import load_urdf  # noqa: E402

OURS = ["simulator_node", "controller_node", "dynamics_node", "demo_node"]
GUARD = "guard_node"
REPORT = "demo_report"  # prints the table at the end of the demo
MODULES = {**{name: name for name in OURS}, "composed_nodes": "composed", REPORT: REPORT}
OWN = ["plant.kind: elastic", "react_to: contact", "effort.source: command", "speed: 0.1"]
THEIRS = {
    "robot_state_publisher": ["robot_state_publisher"],
    "rviz2": ["rviz2"],
    "ros_gz_sim": ["create"],
    "ros_gz_bridge": ["parameter_bridge"],
    "controller_manager": ["spawner"],
    **dict.fromkeys(["effort_controllers", "gz_ros2_control", "joint_state_broadcaster"], []),
}
# The shell ignores the signals by which launch ends all when one ends, until this one is done
PROBE = """#!/bin/sh
trap '' INT TERM
exec "{python}" "{script}" "$0" "$@"
"""
SCRIPT = """
import json, os, sys
from pathlib import Path
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
executable, args = Path(sys.argv[1]).name, sys.argv[2:]
made = os.environ["MADE"].split() if executable == "composed_nodes" else [executable]
rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
found = []
for name in made if executable not in ("ros2", "robodyn") else []:
    node = Node(name, automatically_declare_parameters_from_overrides=True)
    found.append({
        "executable": executable,
        "name": node.get_fully_qualified_name(),
        "parameters": {k: p.value for k, p in node.get_parameters_by_prefix("").items()},
        "joint_states": node.resolve_topic_name("joint_states"),
        "commands": node.resolve_topic_name("effort_controller/commands"),
    })
    node.destroy_node()
rclpy.shutdown()
profile = os.environ.get("FASTRTPS_DEFAULT_PROFILES_FILE", "")
domain = os.environ.get("ROS_DOMAIN_ID", "")
said = {"executable": executable, "args": args, "nodes": found}
said |= {"profile": profile, "domain": domain}
Path(os.environ["PROBED"], f"{executable}.json").write_text(json.dumps(said, default=list))
"""
GZ_SIM = """
import os
from pathlib import Path
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
def note(context):
    Path(os.environ["PROBED"], "gz_args").write_text(context.launch_configurations["gz_args"])
def generate_launch_description():
    return LaunchDescription([DeclareLaunchArgument("gz_args"), OpaqueFunction(function=note)])
"""
LAUNCH = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *arguments = sys.argv[1:]
given = [tuple(argument.split(":=", 1)) for argument in arguments]
service = LaunchService()
source = PythonLaunchDescriptionSource(path)
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given)])
)
sys.exit(service.run())
"""


def package(prefix, name):
    """Make a package known to the ament index and return its shared folder."""
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True, exist_ok=True)
    (index / name).touch()
    return prefix / "share" / name


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return an installation in which the source tree is the package's shared folder."""
    prefix = tmp_path / "prefix"
    package(prefix, "robodyn_ros").symlink_to(ROOT)
    paths = [str(prefix), *filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))]
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([*paths, sys.prefix]))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where launch writes its parameter files
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    )
    return prefix


def run(*command, seconds=60):
    """Run a command; return its exit code and all that it printed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
    )
    return done.returncode, done.stdout


@pytest.fixture
def launched(prefix, tmp_path, monkeypatch):
    """Return a function that runs a launch file with arguments and tells what was started."""
    script = tmp_path / "probe.py"
    script.write_text(SCRIPT)
    probe = PROBE.format(python=sys.executable, script=script)
    for name in [*OURS, GUARD, "composed_nodes", REPORT, "robodyn"]:
        executable(prefix / "lib" / "robodyn_ros" / name, probe)
    for name, executables in THEIRS.items():
        package(prefix, name)
        for one in executables:
            executable(prefix / "lib" / name / one, probe)
    gz_sim = prefix / "share" / "ros_gz_sim" / "launch" / "gz_sim.launch.py"
    gz_sim.parent.mkdir(parents=True)
    gz_sim.write_text(GZ_SIM)
    executable(tmp_path / "bin" / "ros2", probe)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    probed = tmp_path / "probed"
    probed.mkdir()
    monkeypatch.setenv("PROBED", str(probed))
    monkeypatch.setenv("MADE", " ".join(OURS))

    def launch(file, *arguments):
        if file == "detector_only.launch.py" and not any("respawn" in one for one in arguments):
            arguments += ("respawn:=false",)  # probes end at once
        code, text = run("-c", LAUNCH, ROOT / "launch" / file, *arguments)
        said = [json.loads(path.read_text()) for path in probed.glob("*.json")]
        assert "Traceback" not in text, text
        return {one["executable"]: one for one in said}, code, text

    return launch


def nodes_of(started):
    """Return what our nodes found, by their full names."""
    nodes = {*MODULES, GUARD} - {REPORT}
    ours = [one["nodes"] for name, one in started.items() if name in nodes]
    return {node["name"]: node for nodes in ours for node in nodes}


def parameters(nodes, name):
    """Return values that differ between files and arguments."""
    wanted = ("robot.name", "robot.urdf", "plant.kind", "effort.source", "active")
    found = nodes[name]["parameters"]
    return {key: found[key] for key in wanted if key in found}


def own_file(tmp_path):
    """Return a user's parameter file in the form that is hardest to win against."""
    path = tmp_path / "own.yaml"
    path.write_text(
        "/**:\n  ros__parameters: {robot.name: stanford}\n"
        + "".join(
            f"/**/{node}:\n  ros__parameters: {{robot.name: rx90, {more}}}\n"
            for node, more in zip(OURS, OWN)
        )
    )
    return path


def test_the_demo_starts_its_nodes_with_its_file(launched):
    started, code, text = launched("collision_demo.launch.py")
    assert code == 0, text
    assert set(started) == {*OURS, REPORT}
    nodes = nodes_of(started)
    assert set(nodes) == {f"/{name}" for name in OURS}
    assert parameters(nodes, "/simulator_node") == {"robot.name": "lwr_iii"}
    assert parameters(nodes, "/controller_node") == {"robot.name": "lwr_iii"}
    assert parameters(nodes, "/demo_node") == {"robot.name": "lwr_iii", "active": True}
    assert nodes["/simulator_node"]["parameters"]["pushes.names"]


def test_the_demo_leaves_no_file_behind(launched, tmp_path):
    started, code, text = launched("collision_demo.launch.py", "seed:=7")
    assert code == 0 and set(started) == {*OURS, REPORT}, text
    assert nodes_of(started)["/simulator_node"]["parameters"]["plant.seed"] == 7
    assert not list(tmp_path.glob("robodyn_*"))  # TMPDIR


@pytest.mark.parametrize(("asked", "profile"), [("", "fastdds_loopback.xml"), ("SUBNET", "")])
def test_the_demo_stays_on_this_machine_unless_told(asked, profile, launched, monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    if asked:
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", asked)
    started, _, text = launched("collision_demo.launch.py")
    assert {name: os.path.basename(started[name]["profile"]) for name in OURS} == dict.fromkeys(
        OURS, profile
    ), text


@pytest.mark.parametrize("composed", ["false", "true"])
def test_arguments_of_the_demo_win_over_any_file(composed, launched, tmp_path):
    started, _, _ = launched(
        "collision_demo.launch.py",
        f"composed:={composed}",
        f"params:={own_file(tmp_path)}",
        "robot:=kuka_lwr4",
        "plant:=mujoco",
        "ideal:=true",
        "seed:=7",
        "namespace:=left",
    )
    assert set(started) == {*(["composed_nodes"] if composed == "true" else OURS), REPORT}
    (report,) = started[REPORT]["nodes"]
    assert report["name"] == f"/left/{REPORT}"
    nodes = nodes_of(started)
    assert set(nodes) == {f"/left/{name}" for name in OURS}
    assert {node["parameters"]["robot.name"] for node in nodes.values()} == {"kuka_lwr4"}
    plant = nodes["/left/simulator_node"]["parameters"]
    assert plant["plant.kind"] == "mujoco" and plant["plant.seed"] == 7
    assert plant["plant.noise"] is False and plant["plant.model_error.mass"] == 0.0
    assert nodes["/left/dynamics_node"]["parameters"]["effort.friction"] == "none"
    assert {node["joint_states"] for node in nodes.values()} == {"/left/joint_states"}


def test_a_scenario_of_the_demo_comes_on_top_of_its_file(launched):
    started, _, _ = launched("collision_demo.launch.py", "scenario:=payload", "seed:=7")
    nodes = nodes_of(started)
    plant = nodes["/simulator_node"]["parameters"]
    assert plant["pushes.names"] == ["carrying", "empty"] and plant["faults.names"] == ["box"]
    assert plant["plant.noise"] is True and plant["plant.seed"] == 7
    assert nodes["/dynamics_node"]["parameters"]["payload.follow"] is True


def test_what_is_not_given_to_the_demo_is_left_to_the_file(launched, tmp_path):
    started, _, _ = launched("collision_demo.launch.py", f"params:={own_file(tmp_path)}")
    nodes = nodes_of(started)
    assert {node["parameters"]["robot.name"] for node in nodes.values()} == {"rx90"}
    assert nodes["/simulator_node"]["parameters"]["plant.kind"] == "elastic"


def test_a_urdf_for_the_demo_replaces_the_robot(launched, tmp_path):
    plain = (ROOT / "urdf" / "stanford.urdf").read_text(encoding="utf-8")
    urdf = tmp_path / "own.urdf"
    urdf.write_text(plain.replace("</robot>", "<!-- this: is no YAML -->\n</robot>"))
    started, _, _ = launched("collision_demo.launch.py", f"urdf:={urdf}", "rviz:=true")
    for node in nodes_of(started).values():
        robot = {key: node["parameters"][f"robot.{key}"] for key in ("name", "urdf")}
        assert robot == {"name": "", "urdf": str(urdf)}
    (publisher,) = started["robot_state_publisher"]["nodes"]
    assert load_urdf(publisher["parameters"]["robot_description"]).name == "stanford"


@pytest.mark.parametrize("robot", ["", "kuka_lwr4"])
def test_the_demo_shows_and_records(robot, launched):
    given = [f"robot:={robot}", "rviz:=True", "record:=bag", "namespace:=left"]
    started, _, _ = launched("collision_demo.launch.py", *given)
    (publisher,) = started["robot_state_publisher"]["nodes"]
    assert publisher["name"] == "/left/robot_state_publisher"
    shown = load_urdf(publisher["parameters"]["robot_description"]).name
    assert shown == (robot or "lwr_iii")  # that of the parameter file
    config = started["rviz2"]["args"][started["rviz2"]["args"].index("--display-config") + 1]
    assert os.path.samefile(config, ROOT / "rviz" / "robodyn.rviz")
    assert started["ros2"]["args"][:4] == ["bag", "record", "--output", "bag"]


@pytest.mark.parametrize("domain", ["", "31"])
def test_the_demo_serves_the_page_in_its_own_domain(domain, launched, monkeypatch):
    monkeypatch.delenv("ROS_DOMAIN_ID")
    if domain:
        monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    started, _, _ = launched("collision_demo.launch.py", "dashboard:=true", "namespace:=left")
    assert started["robodyn"]["args"] == ["view", "--namespace", "/left"]
    # Without a domain `robodyn view` would take the demo's, and the nodes take 0
    assert started["robodyn"]["domain"] == (domain or "0")


def test_a_wrong_choice_is_refused(launched):
    started, code, text = launched("collision_demo.launch.py", "plant:=wooden")
    assert code == 1
    assert "wooden" in text and "mujoco" in text
    assert started == {}


def test_the_detector_waits_for_a_description_unless_told(launched):
    started, _, _ = launched("detector_only.launch.py")
    nodes = nodes_of(started)
    assert set(started) == {"dynamics_node"}
    assert parameters(nodes, "/dynamics_node") == {}
    assert nodes["/dynamics_node"]["parameters"]["use_sim_time"] is False
    assert nodes["/dynamics_node"]["commands"] == "/effort_controller/commands"


def test_the_detector_is_connected_as_told(launched, tmp_path):
    started, _, _ = launched(
        "detector_only.launch.py",
        f"params:={own_file(tmp_path)}",
        "robot:=kuka_lwr4",
        "effort:=joint_states",
        "joint_states:=/arm/states",
        "commands:=torques",
        "namespace:=left",
        "use_sim_time:=true",
    )
    nodes = nodes_of(started)
    assert parameters(nodes, "/left/dynamics_node") == {
        "robot.name": "kuka_lwr4",
        "effort.source": "joint_states",
    }
    assert nodes["/left/dynamics_node"]["parameters"]["use_sim_time"] is True
    assert nodes["/left/dynamics_node"]["joint_states"] == "/arm/states"
    assert nodes["/left/dynamics_node"]["commands"] == "/left/torques"


def test_the_detector_knows_the_thresholds_of_the_built_in_arms(launched):
    started, _, _ = launched("detector_only.launch.py", "robot:=kuka_lwr4")
    found = nodes_of(started)["/dynamics_node"]["parameters"]
    assert found["monitor.collision.base"] == [5.0, 5.0, 2.0, 2.0, 1.2, 2.0, 1.0]


def test_a_named_arm_brings_topic_parameters_and_guard(launched, tmp_path):
    started, _, _ = launched("detector_only.launch.py", "arm:=fr3", "guard:=true")
    nodes = nodes_of(started)
    assert set(nodes) == {"/dynamics_node", "/guard_node"}
    assert nodes["/dynamics_node"]["joint_states"] == "/franka/joint_states"
    assert nodes["/dynamics_node"]["parameters"]["effort.side"] == "link"
    target = nodes["/guard_node"]["parameters"]["means.cancel.target"]
    assert target == "fr3_arm_controller/follow_joint_trajectory"
    tuned = tmp_path / "tuned.yaml"
    tuned.write_text("/**/dynamics_node:\n  ros__parameters: {monitor.contact.base: [9.0]}\n")
    started, _, _ = launched(
        "detector_only.launch.py", "arm:=ur_e_torque", f"params:={tuned}", "joint_states:=/states"
    )
    found = nodes_of(started)["/dynamics_node"]
    assert found["joint_states"] == "/states"
    assert found["parameters"]["effort.gravity"] == "removed"
    assert found["parameters"]["monitor.contact.base"] == [9.0]


def test_an_unknown_arm_is_refused(launched):
    started, code, text = launched("detector_only.launch.py", "arm:=wooden")
    assert code == 1 and started == {}
    assert "wooden" in text and "fr3" in text


@pytest.mark.parametrize("own", [False, True])
def test_the_guard_starts_beside_the_detector_if_asked(own, launched, tmp_path):
    arguments = ["guard:=true", "namespace:=left", "robot:=kuka_lwr4"]
    if own:
        section = "{means.names: [halt], means.halt.kind: trigger, means.halt.target: halt}"
        path = tmp_path / "both.yaml"
        path.write_text(f"/**/guard_node:\n  ros__parameters: {section}\n")
        arguments.append(f"params:={path}")
    started, _, _ = launched("detector_only.launch.py", *arguments)
    nodes = nodes_of(started)
    assert set(nodes) == {"/left/dynamics_node", "/left/guard_node"}
    found = nodes["/left/guard_node"]["parameters"]
    assert found["means.names"] == (["halt"] if own else ["moveit", "cancel"])
    assert found["robot.name"] == "kuka_lwr4"
    assert found["use_sim_time"] is False


def test_what_is_given_to_the_guard_comes_on_top_of_the_arms_file(launched, tmp_path):
    path = tmp_path / "guard.yaml"
    path.write_text(
        "/**/guard_node:\n  ros__parameters: {means.names: [moveit], guard.level: contact}\n"
    )
    given = ["arm:=fr3", "guard:=true", f"guard_params:={path}"]
    started, _, _ = launched("detector_only.launch.py", *given)
    found = nodes_of(started)["/guard_node"]["parameters"]
    assert (found["means.names"], found["guard.level"]) == (["moveit"], "contact")
    assert found["robot.lock"] == ["fr3_finger_joint1", "fr3_finger_joint2"]


def test_a_detector_that_has_ended_is_started_again(prefix, tmp_path):
    starts = tmp_path / "starts"
    # The second one ends by the signal that launch gets when it is ended
    executable(
        prefix / "lib" / "robodyn_ros" / "dynamics_node",
        f'#!/bin/sh\necho started >> "{starts}"\n'
        f'[ $(wc -l < "{starts}") = 1 ] && kill -9 $$\nkill -INT $PPID\nexec sleep 60\n',
    )
    run("-c", LAUNCH, ROOT / "launch" / "detector_only.launch.py")
    assert starts.read_text().splitlines() == ["started"] * 2


@pytest.mark.parametrize("file", ["gazebo.launch.py", "detector_only.launch.py"])
def test_what_was_never_run_says_so(file, launched):
    assert "was never run" in launched(file)[2]


def test_without_gazebo_its_launch_file_says_what_to_install(prefix):
    code, text = run("-c", LAUNCH, ROOT / "launch" / "gazebo.launch.py")
    assert code == 1 and "Traceback" not in text, text
    (line,) = (line for line in text.splitlines() if "apt install" in line)
    assert "ros-$ROS_DISTRO-ros-gz-sim" in line and "ros-$ROS_DISTRO-gz-ros2-control" in line


@pytest.mark.parametrize("robot", ["lwr_iii", "kuka_lwr4"])
def test_gazebo_gets_the_arm_and_our_nodes_the_same_one(robot, launched):
    pytest.importorskip("xacro", reason="xacro is not installed")
    started, _, _ = launched("gazebo.launch.py", f"robot:={robot}", "gui:=false")
    assert set(started) == {
        *("controller_node", "dynamics_node"),
        *("robot_state_publisher", "create", "parameter_bridge", "spawner"),
    }
    for node in nodes_of(started).values():
        found = node["parameters"]
        assert (found["robot.name"], found["robot.urdf"]) == ("", "")
        assert (found["rate"], found["use_sim_time"]) == (1000.0, True)
    spawned = started["spawner"]["args"][:3]
    assert spawned == ["joint_state_broadcaster", "effort_controller", "--activate-as-group"]
    (publisher,) = started["robot_state_publisher"]["nodes"]
    text = publisher["parameters"]["robot_description"]
    arm, plain = load_urdf(text), load_robot(robot)
    assert arm.joint_names == plain.joint_names
    assert (
        arm.inertial_parameters().tolist()
        == load_urdf(ROOT / "urdf" / f"{robot}.urdf").inertial_parameters().tolist()
    )
    assert not arm.rotor_inertia.any()  # Gazebo has none: the model must not have any either
    assert not arm.coulomb.any()
    assert text.count('<command_interface name="effort"') == plain.n
    assert str(ROOT / "config" / "gazebo_controllers.yaml").rpartition("/")[2] in text


def test_gazebo_can_run_without_a_window(launched, tmp_path):
    pytest.importorskip("xacro", reason="xacro is not installed")
    launched("gazebo.launch.py", "gui:=false", "world:=shapes.sdf", "motion:=demo")
    assert (tmp_path / "probed" / "gz_args").read_text() == "-r -s shapes.sdf"


def test_every_argument_is_described(prefix):
    ask = """
import sys
from launch import launch_description_sources as sources
for path in sys.argv[1:]:
    loaded = sources.get_launch_description_from_python_launch_file(path)
    for argument in loaded.get_launch_arguments():
        print(path, argument.name, argument.description)
"""
    files = sorted((ROOT / "launch").glob("*.launch.py"))
    code, text = run("-c", ask, *files)
    assert code == 0, text
    described = [line.split(maxsplit=2) for line in text.splitlines()]
    assert {line[0] for line in described} == set(map(str, files))
    for _, name, description in described:
        assert len(description.split()) >= 2 and "no description" not in description, name
    of_demo = {line[1] for line in described if "collision_demo" in line[0]}
    assert of_demo == {
        *("robot", "urdf", "plant", "params", "namespace", "composed"),
        *("rviz", "dashboard", "record", "seed", "ideal", "scenario"),
    }


def test_all_processes_of_the_demo_have_as_long_to_end(prefix):
    ask = """
import runpy, sys
from launch import LaunchContext
from launch.actions import ExecuteProcess
found, context = runpy.run_path(sys.argv[1]), LaunchContext()
for argument in found["ARGUMENTS"]:
    context.launch_configurations[argument.name] = ""
given = {"scenario": "collisions", "rviz": "false", "dashboard": "true"}
context.launch_configurations.update(given)
for process in found["start"](context):
    if isinstance(process, ExecuteProcess):
        (text,) = process._ExecuteLocal__sigterm_timeout
        print(getattr(process, "node_executable", "robodyn"), text.text)
"""
    code, text = run("-c", ask, ROOT / "launch" / "collision_demo.launch.py")
    assert code == 0, text
    processes = [*MODULES, "robodyn"]
    assert dict(line.split() for line in text.splitlines()) == dict.fromkeys(processes, "20")


def test_the_demo_runs_under_launch_testing(prefix):
    assert "robodyn_ros" in get_packages_with_prefixes()
    for name, module in MODULES.items():
        command = f'exec "{sys.executable}" -m robodyn_ros.nodes.{module} "$@"\n'
        executable(prefix / "bin" / name, f"#!/bin/sh\n{command}")
        shim = prefix / "lib" / "robodyn_ros" / name
        shim.parent.mkdir(parents=True, exist_ok=True)
        shim.symlink_to(ROOT / "robodyn_ros" / "nodes" / "shims" / name)
    test = ROOT / "test" / "launch" / "demo_case.py"
    code, text = run("-m", "launch_testing.launch_test", test, seconds=240)
    assert code == 0, text
    assert "OK" in text
