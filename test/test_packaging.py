"""The package as others install it: by pip, by colcon, and from the source tree."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from catkin_pkg.package import parse_package
from source_tree import ROOT, source_files

import robodyn_ros
from robodyn_ros.errors import ResourceError, RobodynError
from robodyn_ros.resources import share_path, urdf_names

# What an installed package must answer, asked in an interpreter of its own.
QUESTIONS = """
import robodyn_ros
from robodyn_ros.resources import share_path, urdf_names
print(robodyn_ros.__file__)
print(share_path("urdf").parent)
print(" ".join(urdf_names()))
"""
SHARED = ["config", "launch", "rviz", "urdf"]  # folders
NODES = {"simulator_node", "controller_node", "dynamics_node", "demo_node", "guard_node"}
COMMANDS = {"robodyn", *NODES, "composed_nodes", "guarded_detector", "demo_report"}


def run(*command, cwd, env=None, code=0):
    """Run a command; return what it printed, or fail with all of it for another exit code."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def source(tmp_path):
    """Return a copy of the source, so that nothing is built in the source tree."""
    copy = tmp_path / "source" / "robodyn_ros"
    for path in source_files():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, copy / path)
    return copy


@pytest.fixture
def elsewhere(tmp_path):
    """Return a folder to run installed code in that holds no code itself."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def environment(site_packages=None, **settings):
    """Return the environment for a child process, which sees the given site-packages first."""
    env = {**os.environ, **settings}
    env.pop("AMENT_PREFIX_PATH", None)
    if site_packages:
        paths = [str(site_packages), env.get("PYTHONPATH")]
        env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        env["NUMBA_DISABLE_JIT"] = "1"  # what is installed is asked, not what it computes
    return env


def check_install(prefix, cwd):
    """Check that code, shared files, index marker and commands were all installed into prefix."""
    site_packages = package_folder(prefix).parent
    env = environment(site_packages)
    code, share, names = run(sys.executable, "-c", QUESTIONS, cwd=cwd, env=env).splitlines()
    assert Path(code) == site_packages / "robodyn_ros" / "__init__.py"
    assert Path(share) == prefix / "share" / "robodyn_ros"
    assert names.split()
    assert tuple(names.split()) == urdf_names()
    assert shared_files(Path(share)) == shared_files(ROOT)
    assert (Path(share) / "package.xml").read_bytes() == (ROOT / "package.xml").read_bytes()
    assert (prefix / "share/ament_index/resource_index/packages/robodyn_ros").is_file()
    assert executables(prefix / "bin") == COMMANDS
    assert "Usage" in run(prefix / "bin" / "robodyn", "--help", cwd=cwd, env=env)
    assert not {"test", "benchmark"} & {path.name for path in site_packages.iterdir()}


def check_ros2_run(prefix, cwd):
    """Check what `ros2 run` and launch look for: executables in lib/robodyn_ros that work."""
    folder = prefix / "lib" / "robodyn_ros"
    assert executables(folder) == COMMANDS
    env = environment(package_folder(prefix).parent)
    assert "Usage" in run(folder / "robodyn", "--help", cwd=cwd, env=env)
    asked = run(folder / "robodyn", "info", "no robot", cwd=cwd, env=env, code=1)
    assert "no robot" in asked  # one argument, and the exit code


def shared_files(share):
    """Return the files below the shared folders of a source tree or of an installation."""
    found = {p.relative_to(share) for folder in SHARED for p in (share / folder).rglob("*.*")}
    return {path for path in found if "__pycache__" not in path.parts}


def executables(folder):
    return {path.name for path in folder.iterdir() if os.access(path, os.X_OK)}


def package_folder(prefix):
    """Return the one folder below prefix that holds the installed package."""
    (marker,) = prefix.rglob("robodyn_ros/resources.py")
    return marker.parent


@pytest.mark.parametrize("option", ["--prefix", "--target"])
def test_pip_installs_everything(option, source, elsewhere, tmp_path):
    prefix = tmp_path / "prefix"
    # --ignore-installed, or pip would first remove the package from the environment we run in.
    quietly = ["--no-deps", "--no-build-isolation", "--no-index", "--ignore-installed", "--quiet"]
    pip = [sys.executable, "-m", "pip", "install", *quietly]
    run(*pip, option, prefix, source, cwd=elsewhere, env=environment())
    check_install(prefix, elsewhere)
    if option == "--prefix":  # with --target pip leaves out data files for lib/
        check_ros2_run(prefix, elsewhere)


def colcon(*arguments, source, tmp_path):
    env = environment(COLCON_HOME=str(tmp_path / "colcon_home"))
    command = [sys.executable, "-m", "colcon", "--log-base", tmp_path / "log", *arguments]
    return run(*command, "--base-paths", source.parent, cwd=tmp_path, env=env)


def test_colcon_takes_it_for_an_ament_python_package(source, tmp_path):
    name, _, kind = colcon("list", source=source, tmp_path=tmp_path).split()
    assert (name, kind) == ("robodyn_ros", "(ros.ament_python)")


def test_colcon_builds_it(source, elsewhere, tmp_path):
    colcon_build(source=source, tmp_path=tmp_path)
    prefix = tmp_path / "install" / "robodyn_ros"
    check_install(prefix, elsewhere)
    check_ros2_run(prefix, elsewhere)


def test_a_sourced_colcon_workspace_has_the_commands(source, elsewhere, tmp_path):
    colcon_build("--symlink-install", source=source, tmp_path=tmp_path)
    setup = tmp_path / "install" / "local_setup.sh"
    ask = f". {setup}; for name in {' '.join(COMMANDS)}; do command -v $name; done"
    found = run("sh", "-c", ask, cwd=elsewhere, env=environment()).split()
    prefix = tmp_path / "install" / "robodyn_ros"
    assert {Path(path) for path in found} == {prefix / "bin" / name for name in COMMANDS}
    assert executables(prefix / "lib" / "robodyn_ros") == COMMANDS


def colcon_build(*options, source, tmp_path):
    folders = ["--build-base", tmp_path / "build", "--install-base", tmp_path / "install"]
    colcon("build", *options, *folders, source=source, tmp_path=tmp_path)


def test_package_xml_is_valid_and_versions_agree():
    warnings = []
    package = parse_package(str(ROOT / "package.xml"), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert package.get_build_type() == "ament_python"
    setup_version = run(sys.executable, "setup.py", "--version", cwd=ROOT).split()[-1]
    assert package.version == setup_version == robodyn_ros.__version__


def test_package_xml_names_what_the_launch_files_use():
    package = parse_package(str(ROOT / "package.xml"))
    named = {dependency.name for dependency in package.exec_depends}
    files = [*ROOT.glob("launch/*.py"), *ROOT.glob("urdf/*.xacro"), *ROOT.glob("config/*.yaml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    packages = (
        r'package="(\w+)"|FindPackageShare\("(\w+)|<plugin>(\w+)/|type: (\w+)/|^ *import (\w+)'
    )
    used = {name for found in re.findall(packages, text, re.MULTILINE) for name in found if name}
    assert {"rviz2", "gz_ros2_control", "effort_controllers", "ros_gz_sim", "xacro"} <= used
    used = {"python3-yaml" if name == "yaml" else name for name in used}
    assert used - {"robodyn_ros", *sys.stdlib_module_names} <= named


def test_package_xml_names_the_ros_packages_that_the_code_imports():
    package = parse_package(str(ROOT / "package.xml"))
    named = {dependency.name for dependency in package.exec_depends}
    text = "\n".join(
        path.read_text(encoding="utf-8") for path in ROOT.joinpath("robodyn_ros").rglob("*.py")
    )
    imported = set(re.findall(r"^ *(?:from|import) (\w+)", text, re.MULTILINE))
    used = {name for name in imported if re.fullmatch(r"rclpy|\w+_(msgs|srvs|interfaces)", name)}
    assert {"rclpy", "sensor_msgs", "std_srvs", "rcl_interfaces"} <= used
    assert used - named == {"control_msgs"}  # the action is offered where it is installed


def test_gazebo_is_installed_only_if_asked_for():
    package = parse_package(str(ROOT / "package.xml"))
    package.evaluate_conditions({})
    always = {found.name for found in package.exec_depends if found.evaluated_condition}
    gazebo = {found.name for found in package.exec_depends} - always
    assert {"rclpy", "launch_ros", "rviz2"} <= always
    assert {"ros_gz_sim", "gz_ros2_control", "controller_manager", "xacro"} <= gazebo
    package.evaluate_conditions({"ROBODYN_GAZEBO": "1"})
    assert all(found.evaluated_condition for found in package.exec_depends)
    text = ROOT.joinpath("launch", "gazebo.launch.py").read_text(encoding="utf-8")
    assert all(f'"{name}"' in text.split("ARGUMENTS")[0] for name in gazebo)


def test_messages_name_packages_that_pip_installs_whoever_installed_ours():
    setup = ROOT.joinpath("setup.py").read_text(encoding="utf-8")
    asked = {}
    for path in sorted(ROOT.joinpath("robodyn_ros").rglob("*.py")):
        for text in re.findall(r"pip install ([^`\"]+)", path.read_text(encoding="utf-8")):
            asked |= dict.fromkeys(shlex.split(text), path.name)
    assert {"rosbags", "plotly", "viser>=1.1,<2", "mujoco>=3.17,<5"} <= set(asked)
    for package, file in asked.items():  # no extras of ours but [ros]: colcon knows none
        assert package in (".", "robodyn_ros[ros]") or f'"{package}"' in setup, (package, file)


def test_every_command_leads_to_a_function_that_exists():
    tree = ast.parse(ROOT.joinpath("setup.py").read_text(encoding="utf-8"))
    (commands,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "COMMANDS"
    )
    assert set(commands) == COMMANDS
    for target in commands.values():
        module, _, function = target.partition(":")
        text = ROOT.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        named = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
        assert function in named, target


def test_share_path_prefers_the_source_tree():
    assert share_path("urdf") == ROOT / "urdf"
    assert urdf_names()
    for name in urdf_names():
        assert share_path("urdf", f"{name}.urdf").is_file()


def test_share_path_names_what_is_missing_and_where_it_looked():
    with pytest.raises(ResourceError, match=r"urdf/no_such_robot\.urdf") as caught:
        share_path("urdf", "no_such_robot.urdf")
    assert str(ROOT) in str(caught.value)
    assert "pip install" in str(caught.value)
    assert isinstance(caught.value, RobodynError)
    assert isinstance(caught.value, FileNotFoundError)
