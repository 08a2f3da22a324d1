"""How the tests share the cores, and what a run says in the end."""

import contextlib
import os
import signal
import textwrap
from importlib.metadata import PackageNotFoundError, version

import pytest
from untested import untested

# Tests of nodes that keep real time, in groups. A group runs on one worker, one test after the
# other: two at once would make each other late. Each test has two reruns, a while later, as a
# guard against a machine that stalls; the summary lists them. Failures that lateness cannot
# explain (test/safety.py) are not repeated.
WALL_CLOCK = {
    "several processes": (
        "faults/test_composed_faults.py",
        "faults/test_system_faults.py",
        "nodes/test_processes.py::test_three",
        "nodes/test_processes.py::test_two",
        "system/test_crash_cycles.py::test_restarts",
        "system/test_namespaces.py",
        "system/test_soak.py::test_a_slice",
    ),
    "one process": (
        "dashboard/test_browser.py",
        "dashboard/test_dashboard_bridge.py",
        "dashboard/test_demo_page.py",
        "recording/test_recorder.py",
        "test_guide.py",
        "test_readme.py::test_commands_run",
        "test_readme.py::test_the_demo",
        "test_readme.py::test_the_page",
        "test_security.py::test_the_demo",
    ),
}
NICE = 10  # of workers that run other tests


def group_of(nodeid):
    """Return the wall-clock group of a test, or None."""
    name = nodeid.removeprefix("test/")
    return next((group for group, names in WALL_CLOCK.items() if name.startswith(names)), None)


def scope_of(nodeid):
    """Return what runs on one worker: a group, a file that may share fixtures, or a test alone."""
    path = nodeid.partition("::")[0]
    return group_of(nodeid) or (path if path.count("/") > 1 else nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute by `scope_of`, in the order of collection."""
    from xdist.scheduler import LoadScopeScheduling

    class ByScope(LoadScopeScheduling):
        def _split_scope(self, nodeid):  # test_conftest.py sees whether xdist still asks it
            return scope_of(nodeid)

    config.option.loadscopereorder = False
    return ByScope(config, log)


def pytest_configure():
    """Restore SIGINT: a shell that runs the tests in the background has them ignore it, and so
    would all processes that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    """Name the releases that are tested."""
    found = {}
    for name in (
        "numba",
        "numpy",
        "scipy",
        "typer",
        "rich",
        "ros-jazzy-rclpy",
        "ros-kilted-rclpy",
    ):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return ", ".join(" ".join(item) for item in found.items())


def pytest_collection_modifyitems(items):
    """Put wall-clock tests first: they take the longest."""
    for item in items:
        if group_of(item.nodeid):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5, rerun_except="Unsafe"))
    items.sort(key=lambda item: group_of(item.nodeid) is None)


def pytest_runtest_setup(item):
    """Let other tests yield to the wall-clock tests of other workers."""
    niceness = os.nice(0)
    other = "PYTEST_XDIST_WORKER" in os.environ and group_of(item.nodeid) is None
    if other and niceness < NICE:
        os.nice(NICE - niceness)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say in one paragraph, after all others, what was not tested, and what would add it."""
    yield
    skipped = terminalreporter.stats.get("skipped", [])
    text = untested(report.longrepr[2] for report in skipped)
    if text:
        terminalreporter.line(textwrap.fill(text, 99))
