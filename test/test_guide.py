"""The guide "your own arm in ten minutes" is followed with an arm of another project."""

import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path

import pytest
from ros_harness import bench
from source_tree import ROOT, users_environment
from typer.testing import CliRunner

from robodyn_ros import cli
from robodyn_ros.nodes.demo import Demo, running
from robodyn_ros.nodes.dynamics_node import DynamicsNode

GUIDE = (ROOT / "docs" / "your_arm.md").read_text(encoding="utf-8")
LINES = [
    line.strip()
    for block in re.findall(r"```bash\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]
ROBOTS = Path(sysconfig.get_path("purelib"), "cmeel.prefix/share/example-robot-data/robots")
ARM = ROBOTS / "ur_description/urdf/ur5_robot.urdf"


@pytest.fixture
def desk(tmp_path):
    """A folder with the arm.urdf of another project."""
    if not ARM.is_file():
        pytest.skip("example-robot-data is not installed")
    shutil.copy(ARM, tmp_path / "arm.urdf")
    with users_environment():
        yield tmp_path


def words_of(line):
    """Return the command of the guide, run by this Python, and the file for its output."""
    line, _, out = line.partition(" > ")
    name, *words = shlex.split(line)
    assert name == "robodyn"
    if words[0] == "demo":
        words += ["--composed", "--headless"]  # there is no browser
    return [sys.executable, "-m", "robodyn_ros.cli", *words], out.strip()


@contextmanager
def arm_in_motion(folder):
    """Run the arm without pushes, as the guide asks before it records."""
    quiet = {"simulator_node": {"pushes.names": [""]}}
    with running(Demo(folder / "arm.yaml", 0.0, True, overrides=quiet)):
        yield


def follow(line, folder):
    command, out = words_of(line)
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    if out:
        (folder / out).write_text(done.stdout)
    return done.stdout


def test_its_first_steps_give_parameters_that_the_detector_takes(desk, monkeypatch):
    monkeypatch.chdir(desk)
    first = LINES[: next(k for k, line in enumerate(LINES) if line.startswith("robodyn demo"))]
    assert len(first) == 3
    for line in first:
        done = CliRunner().invoke(cli.app, shlex.split(line)[1:])
        assert done.exit_code == 0 and done.output, (line, done.output)
    with bench(DynamicsNode, args=["--params-file", "arm.yaml"]) as there:
        assert there.nodes[0].robot.n == 6


def test_the_guide_is_followed_to_its_end(desk):
    said = {}
    for line in LINES:
        if line.startswith("robodyn record"):
            with arm_in_motion(desk):
                said[line] = follow(line, desk)
        else:
            said[line] = follow(line, desk)
    told = next(text for line, text in said.items() if line.startswith("robodyn demo"))
    assert "3 of 3 pushes found with their link, no false alarm, the arm resumed" in told
    assert (desk / "report.html").stat().st_size > 100_000
    check_that_the_detector_takes(desk / "arm.yaml", desk / "tuned.yaml")


def check_that_the_detector_takes(*files):
    """The last step: the node runs with both files and uses the tuned thresholds."""
    args = [word for file in files for word in ("--params-file", str(file))]
    with bench(DynamicsNode, args=args) as there:
        (node,) = there.nodes
        thresholds = node.settings.monitor.contact.base
    tuned = re.search(r"base: \[([^]]*)\]", files[-1].read_text())
    assert tuned and thresholds == tuple(float(x) for x in tuned.group(1).split(","))
