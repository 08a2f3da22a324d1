"""How the tests share the cores."""

import signal

import pytest

# Tests of nodes that keep real time. One after the other, on one worker: two at once would make
# each other late. On a shared machine nobody promises them a core, so each has two more chances,
# a while later, which the summary tells; what is broken fails three times. What no lateness
# explains (test/safety.py) has none.
WALL_CLOCK = (
    "dashboard/test_browser.py",
    "dashboard/test_demo_page.py",
    "faults/test_composed_faults.py",
    "faults/test_system_faults.py",
    "nodes/test_processes.py",
    "recording/test_recorder.py",
    "system/",
    "test_guide.py",
    "test_readme.py::test_commands_run",
    "test_readme.py::test_the_demo",
    "test_readme.py::test_the_page",
    "test_security.py::test_the_demo",
)


def pytest_configure():
    """A shell that runs the tests in the background has them ignore SIGINT, and so would all that
    they start, also what they mean to end by it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.removeprefix("test/").startswith(WALL_CLOCK):
            item.add_marker(pytest.mark.xdist_group("wall clock"))
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5, rerun_except="Unsafe"))
