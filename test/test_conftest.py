"""How the tests are distributed, and what a run says about skipped ones."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import LONG, WALL_CLOCK, named
from source_tree import ROOT
from untested import untested

NOTE = """
import os
import pytest

@pytest.mark.parametrize("k", range(6))
def test_it(k):
    with open({log!r}, "a") as log:
        log.write(f"{{__file__}} {{os.environ['PYTEST_XDIST_WORKER']}} {{os.nice(0)}}\\n")

def test_skipped():
    pytest.skip("no chromium here")
"""


# As launch_testing brings it along where ROS 2 is sourced: it does not even load under pytest 8
PLUGIN = """
def pytest_pycollect_makemodule(path, parent):
    raise RuntimeError("loaded")
"""


@pytest.mark.parametrize("name", ["launch_testing", "launch_ros", "launch_pytest"])
def test_plugins_of_a_sourced_ros_do_not_collect(name, tmp_path):
    described = tmp_path / "its_plugin-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: its_plugin\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[pytest11]\n{name} = its_plugin\n")
    (tmp_path / "its_plugin.py").write_text(PLUGIN)
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "test/sensing/test_stuck.py"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "test_stuck.py::" in done.stdout, done.stdout + done.stderr


def run_there(folder, workers):
    """Run the tests below this folder as ours are run; return what is said."""
    for name in ("conftest.py", "untested.py"):
        shutil.copy(ROOT / "test" / name, folder / "test")
    shutil.copy(ROOT / "pyproject.toml", folder)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", str(workers), "-q"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_wall_clock_tests_share_a_worker_and_come_first(tmp_path):
    """xdist has no public way to distribute tests like this: a new one might ignore ours."""
    log, tests = tmp_path / "log", tmp_path / "test"
    names = [name for name in WALL_CLOCK if name.endswith(".py")][:4]
    others = [f"nodes/test_other_{k}.py" for k in range(3)]
    for name in (*names, *others):
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        (tests / name).write_text(NOTE.format(log=str(log)))
    said = run_there(tmp_path, 2)
    told = f"Not tested on this machine: pages in a browser ({len(names) + 3} skipped)."
    assert told in said
    rows = [line.split() for line in log.read_text().splitlines()]
    workers, niceness = {}, {}
    for file, worker, nice in rows:
        workers.setdefault(file, set()).add(worker)
        niceness.setdefault(file, set()).add(int(nice))
    assert len(rows) == 6 * (len(names) + 3)
    clocked = [str(tests / name) for name in names]
    (one,) = set.union(*(workers[file] for file in clocked))
    in_order = [file for file, worker, _ in rows if worker == one]
    assert set(in_order[: 6 * len(names)]) == set(clocked)
    assert all(len(used) == 1 for used in workers.values())  # a file's fixtures are made once
    usual = min(min(found) for found in niceness.values())
    assert all(niceness[file] == {usual} for file in clocked)


AGAIN = """
from pathlib import Path

def test_late():
    seen = Path({seen!r})
    late, _ = not seen.exists(), seen.touch()
    assert not late, "3 s late"
"""


def test_what_was_run_again_is_told_with_its_reason(tmp_path):
    name = next(name for name in WALL_CLOCK if name.endswith(".py"))
    file = tmp_path / "test" / name
    file.parent.mkdir(parents=True)
    file.write_text(AGAIN.format(seen=str(tmp_path / "seen")))
    said = run_there(tmp_path, 1)
    assert "1 rerun" in said
    assert f"Run again: test/{name}::test_late\n    AssertionError: 3 s late" in said


def test_every_name_of_the_lists_is_a_test():
    listed = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:xdist"]
    files = sorted({f"test/{name.partition('::')[0]}" for name in (*WALL_CLOCK, *LONG)})
    done = subprocess.run([*listed, *files], cwd=ROOT, capture_output=True, text=True, timeout=300)
    tests = [line for line in done.stdout.splitlines() if "::" in line]
    for name in (*WALL_CLOCK, *LONG):
        assert any(named(test, (name,)) for test in tests), name


def test_what_was_not_tested_is_said_in_one_paragraph():
    assert untested([]) == ""
    reasons = [
        "Skipped: no chromium here: apt install chromium",
        "Skipped: chromium is not installed",
        "Skipped: no network namespaces here: [Errno 2] No such file or directory: 'ip'",
        "Skipped: launch_ros is not installed: the launch files need a ROS 2 installation",
        "Skipped: sros2, which makes the keys, comes with ROS 2 only",
    ]
    assert untested(reasons) == (
        "Not tested on this machine: pages in a browser (2 skipped), nodes on three hosts "
        "(1 skipped), launch files (1 skipped), encrypted topics (1 skipped). To add what can be "
        "installed: sudo apt install chromium iproute2. Launch files and encrypted topics need "
        "a ROS 2 installation, sourced."
    )
    assert "a new reason (1 skipped)" in untested(["a new reason"])
