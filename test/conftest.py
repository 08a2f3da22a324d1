"""How the tests share the cores, and what a run says in the end."""

import contextlib
import os
import signal
import textwrap
from importlib.metadata import PackageNotFoundError, version

import pytest
from untested import untested

# Tests of nodes that keep real time. They run first, one after the other on one worker: two at
# once would make each other late. Each has two reruns, a while later, as a guard against a
# machine that stalls; the summary lists them. Failures that lateness cannot explain
# (test/safety.py) are not repeated.
WALL_CLOCK = (
    "dashboard/test_browser.py",
    "dashboard/test_dashboard_bridge.py",
    "dashboard/test_demo_page.py",
    "faults/test_composed_faults.py",
    "faults/test_system_faults.py",
    "nodes/test_controller_node.py",
    "nodes/test_demo_trajectory.py::test_the_node_moves",
    "nodes/test_free_running.py",
    "nodes/test_guard_processes.py",
    "nodes/test_processes.py::test_three",
    "nodes/test_processes.py::test_two",
    "nodes/test_trajectory_requests.py",
    "recording/test_recorder.py",
    "system/test_crash_cycles.py::test_restarts",
    "system/test_namespaces.py",
    "system/test_soak.py::test_a_slice",
    "test_guide.py",
    "test_readme.py::test_commands_of_nodes",
    "test_readme.py::test_the_demo",
    "test_readme.py::test_the_page",
    "test_security.py::test_the_demo",
)
# Those of `make test-long`: they need a minute each, or a machine of their own. What they test is
# also tested in simulated time, or with fewer steps.
LONG = (
    "faults/test_composed_faults.py::test_composed[33",
    "faults/test_composed_faults.py::test_composed[34 SIGTERM",
    "faults/test_system_faults.py::test_system[28 kill -9 of the controller",
    "faults/test_system_faults.py::test_system[31 slow consumer",
    "faults/test_system_faults.py::test_system[31 SIGSTOP of the controller",
    "faults/test_system_faults.py::test_system[34 SIGTERM of the detector",
    "faults/test_system_faults.py::test_system[34 SIGINT of the simulator",
    "nodes/test_guard_processes.py::test_a_push_stops_the_driver_and_each_side_may_be_killed",
    "nodes/test_load_parameters.py::test_a_file_is_loaded_as_ros_reads_it",
    "nodes/test_processes.py::test_two",
    "system/test_crash_cycles.py::test_restarts",
    "system/test_namespaces.py",
    "system/test_soak.py::test_a_slice",
    "test_guide.py::test_the_guide_is_followed_to_its_end",
    "dynamics/test_compile_ahead.py::test_robodyn_warmup_says",
    "test_conftest.py::test_every_name_of_the_lists_is_a_test",
    "test_interrupts.py::test_a_piped_demo_ends_with_its_nodes[SIGTERM",
    "test_readme.py::test_commands_of_nodes_run[robodyn demo --robot kuka_lwr4",
    "test_readme.py::test_commands_of_nodes_run[robodyn demo --urdf",
    "test_readme.py::test_figures_can_be_drawn_again",
    "test_security.py::test_bandit",
    "test_security.py::test_the_demo_has_no_socket",  # test_demo_page.py looks, too
)
NICE = 10  # of workers that run other tests
SHOWN = 60  # lines of why a test was run again


def named(nodeid, names):
    """Return whether a list names this test, or a part of it that is a path, a test or a case."""
    return nodeid.removeprefix("test/").startswith(names)


def scope_of(nodeid):
    """Return what runs on one worker: all that keeps real time, a file that may share fixtures,
    or a test alone.
    """
    path = nodeid.partition("::")[0]
    if named(nodeid, WALL_CLOCK):
        return "wall clock"
    return path if path.count("/") > 1 else nodeid


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


@pytest.hookimpl(tryfirst=True)  # before marks are asked for
def pytest_collection_modifyitems(items):
    """Mark the tests of the lists above, and put those that keep real time first."""
    for item in items:
        if named(item.nodeid, WALL_CLOCK):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5, rerun_except="Unsafe"))
        if named(item.nodeid, LONG):
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: not named(item.nodeid, WALL_CLOCK))


def pytest_runtest_setup(item):
    """Let other tests yield to those that keep real time, on another worker."""
    niceness = os.nice(0)
    other = "PYTEST_XDIST_WORKER" in os.environ and not named(item.nodeid, WALL_CLOCK)
    if other and niceness < NICE:
        os.nice(NICE - niceness)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter):
    """Say why tests were run again; then in one paragraph, after all others, what was not tested,
    and what would add it.
    """
    yield
    for report in terminalreporter.stats.get("rerun", []):
        why = [line[1:].strip() for line in report.longreprtext.splitlines() if line[:1] == "E"]
        terminalreporter.line(f"Run again: {report.nodeid}")
        for line in filter(None, why[:SHOWN]):
            terminalreporter.line(f"    {line}")
    skipped = terminalreporter.stats.get("skipped", [])
    text = untested(report.longrepr[2] for report in skipped)
    if terminalreporter.config.option.markexpr == "not long":
        text = f"{text} Left to `make test-long`: tests that need minutes.".strip()
    if text:
        terminalreporter.line(textwrap.fill(text, 99))
