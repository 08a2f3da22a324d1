"""How the tests share the cores."""

import os
import signal

import pytest

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


def group_of(item):
    """Return the wall-clock group of a test, or None."""
    name = item.nodeid.removeprefix("test/")
    return next((group for group, names in WALL_CLOCK.items() if name.startswith(names)), None)


def pytest_configure():
    """Restore SIGINT: a shell that runs the tests in the background has them ignore it, and so
    would all processes that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Put wall-clock tests into their groups, and first: they take the longest."""
    for item in items:
        group = group_of(item)
        if group is not None:
            item.add_marker(pytest.mark.xdist_group(group))
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5, rerun_except="Unsafe"))
    items.sort(key=lambda item: group_of(item) is None)


def pytest_runtest_setup(item):
    """Let other tests yield to the wall-clock tests of other workers."""
    niceness = os.nice(0)
    if "PYTEST_XDIST_WORKER" in os.environ and group_of(item) is None and niceness < NICE:
        os.nice(NICE - niceness)
