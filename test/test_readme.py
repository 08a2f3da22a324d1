"""Every command and example of the README is run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from source_tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
COMMANDS = [
    line.split("#")[0].strip()
    for language, text in BLOCKS
    if language == "bash"
    for line in text.splitlines()
    if line.strip()
]


def run(*command, **options):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):  # as if not started by make itself
        environment.pop(name, None)
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        timeout=300,
        **options,
    ).stdout


@pytest.mark.parametrize("text", PYTHON, ids=lambda text: text.splitlines()[-1])
def test_python_examples_run(text):
    assert run(sys.executable, "-c", text).strip()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("robodyn")])
def test_commands_run(command):
    words = command.split()
    assert run(sys.executable, "-m", "robodyn_ros.cli", *words[1:]).strip()


@pytest.mark.parametrize("command", [c for c in COMMANDS if c.startswith("make")])
def test_make_targets_exist(command):
    """They are not run from here, or `make test` would run itself."""
    assert run("make", "--dry-run", *command.split()[1:]).strip()


def test_no_command_is_left_out():
    assert COMMANDS and PYTHON
    assert all(command.startswith(("robodyn ", "make ")) for command in COMMANDS)


def test_the_demo_does_what_the_makefile_says():
    demo = run("make", "--dry-run", "demo").strip().splitlines()[-1]
    assert demo.split()[:2] == [".venv/bin/robodyn", "tour"]
    out = run(sys.executable, "-m", "robodyn_ros.cli", "tour")
    assert "inverse dynamics" in out and "N + 2 sweeps" in out


def test_pictures_and_pages_exist():
    for target in re.findall(r"\]\(((?!http)[^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_figures_can_be_drawn_again(tmp_path):
    drawn = run(sys.executable, "docs/figures.py", str(tmp_path)).split()
    assert {Path(path).name for path in drawn} >= {"lwr_iii.png", "torque_split_2r.png"}
    assert all(Path(path).stat().st_size > 20_000 for path in drawn)
