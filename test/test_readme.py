"""Every command in a `bash` block of README and docs is run; documents name what exists.

Their Python is run by `test_documents.py`, the guide `your_arm.md` by `test_guide.py`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from documents import PAGES, blocks_of
from source_tree import ROOT, own_domain, users_environment

import robodyn_ros as rd
from robodyn_ros.resources import share_path
from robodyn_ros.settings import leaves

FOLLOWED = ROOT / "docs" / "your_arm.md"  # by test_guide.py
COMMANDS = [
    line
    for page in PAGES
    if page != FOLLOWED
    for block in blocks_of(page)
    if block.language == "bash"
    for line in block.lines
]


@pytest.fixture(scope="module", autouse=True)
def as_a_user():
    with users_environment():
        yield


def run(*command, **options):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # as if not started by make itself
        environment.pop(name, None)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


# Commands that look at running nodes, and those that start them or need a recording of them
LOOKS = ("robodyn topics", "robodyn echo", "robodyn param", "robodyn record")
NODES = (*LOOKS, "robodyn demo", "robodyn residual", "robodyn report", "robodyn tune")
ROBODYN = [c for c in COMMANDS if c.startswith("robodyn") and "robodyn view" not in c]


def into(folder, words):
    """Return the words of a command that writes into this folder."""
    if "--out" in words:
        out = words.index("--out") + 1
        words[out] = str(folder / words[out])
    return words


@pytest.mark.parametrize("command", [c for c in ROBODYN if c.startswith(NODES)])
def test_commands_of_nodes_run(command, running_demo, recorded, monkeypatch, tmp_path):
    words = into(tmp_path, command.split())
    if command.startswith("robodyn demo"):
        pytest.importorskip("rclpy", reason="ROS 2 is not installed")
        monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
        words += ["--picture", str(tmp_path / "demo.png")]
    elif command.startswith(LOOKS):
        monkeypatch.setenv("ROS_DOMAIN_ID", running_demo())
    elif "run" in words:
        words[words.index("run")] = str(recorded(tmp_path))
    assert run(sys.executable, "-m", "robodyn_ros.cli", *words[1:]).strip()


@pytest.mark.parametrize("command", [c for c in ROBODYN if not c.startswith(NODES)])
def test_commands_without_nodes_run(command, tmp_path):
    words = into(tmp_path, command.split())
    if "run.csv" in words:
        words[words.index("run.csv")] = str(recorded_motion(tmp_path))
    assert run(sys.executable, "-m", "robodyn_ros.cli", *words[1:]).strip()


def test_the_page_can_be_seen(running_demo, monkeypatch):
    (command,) = (c for c in COMMANDS if c.startswith("robodyn view"))
    monkeypatch.setenv("ROS_DOMAIN_ID", running_demo())
    pytest.importorskip("viser", reason="viser is not installed")
    page = subprocess.Popen(
        [sys.executable, "-m", "robodyn_ros.cli", *command.split()[1:]],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = page.stdout.readline().split()[-1]
        with urllib.request.urlopen(address, timeout=30) as answer:
            assert b"<html" in answer.read()
        page.send_signal(signal.SIGINT)
        assert page.wait(30) == 0
    finally:
        page.kill()  # unless it has ended


@pytest.fixture(scope="module")
def recorded(running_demo, tmp_path_factory):
    """A function that copies a bag of the demo, recorded at its first call, into a folder."""
    bags = []

    def copy(folder):
        if not bags:
            os.environ["ROS_DOMAIN_ID"] = running_demo()
            bags.append(tmp_path_factory.mktemp("bag") / "run")
            options = ["--out", str(bags[0]), "--duration", "5"]
            run(sys.executable, "-m", "robodyn_ros.cli", "record", *options)
        return shutil.copytree(bags[0], folder / "run")

    return copy


def recorded_motion(folder):
    """Write the log of a motion as a user might record it; return its path."""
    model = rd.robots.kuka_lwr4()
    motion = rd.excitation(model, duration=10.0, tries=1, qd_max=1.0, qdd_max=4.0)
    t = np.arange(1000) / 100.0
    q, qd, qdd, _ = motion.at(t)
    tau = rd.inverse_dynamics(model, q, qd, qdd) + rd.friction_torque(model, qd, width=0.01)
    rd.Log(t, q, qd, tau).to_csv(folder / "run.csv")
    return folder / "run.csv"


@pytest.fixture(scope="module")
def running_demo():
    """A function that returns the domain of the demo's nodes, started at its first call."""
    rooms = ExitStack()
    domain = []

    def start():
        pytest.importorskip("rclpy", reason="ROS 2 is not installed")
        from robodyn_ros.nodes.demo import Demo, running
        from robodyn_ros.nodes.demo_observer import DemoObserver
        from robodyn_ros.nodes.runtime import spin
        from robodyn_ros.nodes.terminal import open_terminal

        if not domain:
            domain.append(str(own_domain()))
            os.environ["ROS_DOMAIN_ID"] = domain[0]
            rooms.enter_context(running(Demo(share_path("config", "demo.yaml"), 0.0, True)))
            with open_terminal() as (node, executor):
                seen = DemoObserver(node)
                spin(executor, lambda: bool(seen.t), 90.0)
            assert seen.t, "the nodes did not start"
        return domain[0]

    yield start
    rooms.close()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_targets_exist(command):
    """They are not run from here, or `make test` would run itself."""
    assert run("make", "--dry-run", *command.split()[1:]).strip()


def test_no_command_is_left_out():
    assert len(COMMANDS) > 20 and len(set(COMMANDS)) == len(COMMANDS)
    assert all(command.startswith(("robodyn ", "make ")) for command in COMMANDS)


def test_the_demo_does_what_the_makefile_says(monkeypatch, tmp_path):
    planned = run("make", "--dry-run", "demo", "ARGS=--headless").strip().splitlines()[-1]
    assert planned.split() == [".venv/bin/robodyn", "demo", "--headless"]
    pytest.importorskip("rclpy", reason="ROS 2 is not installed")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    picture = tmp_path / "demo.png"
    options = ["--headless", "--composed", "--duration", "18", "--picture", str(picture)]
    out = run(sys.executable, "-m", "robodyn_ros.cli", "demo", *options)
    assert "4 of 4 pushes found with their link, no false alarm, the arm resumed" in out
    assert picture.stat().st_size > 20_000


def test_the_tour_shows_what_is_computed():
    out = run(sys.executable, "-m", "robodyn_ros.cli", "tour")
    assert "inverse dynamics" in out and "N + 2 sweeps" in out


def test_the_architecture_names_functions_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    hops = re.findall(r"^\| \d+ \| `(.+?)` \| `(.+?)` \|", page, re.MULTILINE)
    assert len(hops) == 22
    for file, function in hops:
        kind, _, name = function.rpartition(".")
        source = (ROOT / "robodyn_ros" / file).read_text(encoding="utf-8")
        assert f"def {name}(" in source, function
        assert not kind or f"class {kind}" in source, function
    for file in re.findall(r"`((?:sensing|detection|control|nodes|recording)/\S+\.py)`", page):
        assert (ROOT / "robodyn_ros" / file).is_file(), file


def test_the_limits_for_measured_data_are_documented():
    page = (ROOT / "docs" / "ros.md").read_text(encoding="utf-8")
    for name, value, about in leaves(rd.SensingSettings()):
        default = value if isinstance(value, str) else f"{value:g}"
        fixed = " (fixed)" if about.fixed else ""
        row = f"| `{name}` | {default} | {about.unit} | {about.text}{fixed} |"
        assert row in page, row


@pytest.mark.parametrize(
    ("script", "pictures"),
    [
        ("figures", {"lwr_iii.png", "torque_split_2r.png"}),
        ("control_figures", {"profiles.png", "reactions.png", "elastic.png"}),
        ("adaptive_figures", {"adaptive_lu_meng.png", "adaptive_payload.png"}),
    ],
)
def test_figures_can_be_drawn_again(script, pictures, tmp_path):
    drawn = run(sys.executable, f"docs/{script}.py", str(tmp_path)).split()
    assert {Path(path).name for path in drawn} >= pictures
    assert all(Path(path).stat().st_size > 20_000 for path in drawn)
