"""The package as others install it: by pip, by colcon, and from the source tree."""

import os
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
print(share_path("urdf"))
print(share_path("launch"))
print(share_path("config"))
print(" ".join(urdf_names()))
"""


def run(*command, cwd, env=None):
    """Run a command; return what it printed, or fail with all of it."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


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


def check_install(prefix, script, cwd):
    """Check that code, shared files, index marker and command were all installed into prefix."""
    site_packages = package_folder(prefix).parent
    env = environment(site_packages)
    code, urdf, launch, config, names = run(
        sys.executable, "-c", QUESTIONS, cwd=cwd, env=env
    ).splitlines()
    share = prefix / "share" / "robodyn_ros"
    assert Path(code) == site_packages / "robodyn_ros" / "__init__.py"
    assert [Path(urdf), Path(launch), Path(config)] == [
        share / "urdf",
        share / "launch",
        share / "config",
    ]
    assert names.split()
    assert tuple(names.split()) == urdf_names()
    assert (share / "package.xml").read_bytes() == (ROOT / "package.xml").read_bytes()
    assert (prefix / "share/ament_index/resource_index/packages/robodyn_ros").is_file()
    assert "Usage" in run(script, "--help", cwd=cwd, env=env)
    assert not {"test", "benchmark"} & {path.name for path in site_packages.iterdir()}


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
    check_install(prefix, prefix / "bin" / "robodyn", elsewhere)


def colcon(*arguments, source, tmp_path):
    env = environment(COLCON_HOME=str(tmp_path / "colcon_home"))
    command = [sys.executable, "-m", "colcon", "--log-base", tmp_path / "log", *arguments]
    return run(*command, "--base-paths", source.parent, cwd=tmp_path, env=env)


def test_colcon_takes_it_for_an_ament_python_package(source, tmp_path):
    name, _, kind = colcon("list", source=source, tmp_path=tmp_path).split()
    assert (name, kind) == ("robodyn_ros", "(ros.ament_python)")


def test_colcon_builds_it(source, elsewhere, tmp_path):
    folders = ["--build-base", tmp_path / "build", "--install-base", tmp_path / "install"]
    colcon("build", *folders, source=source, tmp_path=tmp_path)
    prefix = tmp_path / "install" / "robodyn_ros"
    check_install(prefix, prefix / "lib" / "robodyn_ros" / "robodyn", elsewhere)


def test_package_xml_is_valid_and_versions_agree():
    warnings = []
    package = parse_package(str(ROOT / "package.xml"), warnings=warnings)
    package.validate(warnings=warnings)
    assert warnings == []
    assert package.get_build_type() == "ament_python"
    setup_version = run(sys.executable, "setup.py", "--version", cwd=ROOT).split()[-1]
    assert package.version == setup_version == robodyn_ros.__version__


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
