"""`robodyn demo` at a terminal, with the page: the arm keeps running until Ctrl-C."""

import http.client
import io
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest
from open_sockets import ROS_SETTINGS, beyond_loopback, sockets_of_session
from rich.console import Console
from ros_harness import own_domain
from safety import safe

pytest.importorskip("viser", reason="viser is not installed: pip install '.[dashboard]'")

from robodyn_ros.nodes import demo  # noqa: E402


def read_until(terminal, pattern, longest=150.0):
    """Return the terminal's output up to a pattern."""
    shown, end = "", time.monotonic() + longest
    while not (found := re.search(pattern, shown)):
        assert time.monotonic() < end, shown[-3000:]
        shown += os.read(terminal, 65536).decode(errors="replace")
    return found


PROGRAMS = {"robodyn_ros.nodes.composed", "robodyn_ros.cli demo", "robodyn_ros.cli view"}


def test_the_arm_keeps_running_until_ctrl_c_and_opens_no_socket_beyond_loopback(
    tmp_path, monkeypatch
):
    for name in ROS_SETTINGS:  # as a user starts it
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "robodyn_ros.cli", "demo", "--composed", "--duration", "6"]
    process = subprocess.Popen(
        [*command, "--push", "link_5:40", "--picture", str(tmp_path / "demo.png")],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        cwd=tmp_path,
    )
    os.close(theirs)
    try:
        shown = read_until(ours, r"(?s).*yours to push")[0]
        # A busy machine may spoil the verdict
        expected = 0 if "pushes found with their link, no false alarm" in shown else 1
        port = int(re.findall(r"127\.0\.0\.1:(\d+)", shown)[-1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20.0)
        connection.request("GET", "/")
        assert connection.getresponse().status == 200
        assert process.poll() is None
        found = set(sockets_of_session(process.pid))
        assert {socket[0] for socket in found} >= PROGRAMS, found
        safe(not beyond_loopback(found), beyond_loopback(found))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(40.0) == expected
        with pytest.raises(OSError):
            http.client.HTTPConnection("127.0.0.1", port, timeout=2.0).connect()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        os.close(ours)


def test_a_page_without_a_port_is_not_started():
    console = Console(file=io.StringIO())
    with demo.page_process(None, "", console) as page:
        assert page is None
    assert console.file.getvalue() == ""


def page_that_prints(lines, monkeypatch):
    """Return a page whose process prints these lines and ends, and the console it writes to."""
    prints = "; ".join(f"print({line!r}, file=sys.{where})" for where, line in lines)
    command = [sys.executable, "-c", f"import sys; {prints}"]
    real = subprocess.Popen
    console = Console(file=io.StringIO(), width=200)
    with monkeypatch.context() as patch:
        patch.setattr(demo.subprocess, "Popen", lambda _, **o: real(command, **o))
        return demo.PageProcess("", 8080, console), console


def test_a_page_that_fails_or_moves_says_so(monkeypatch):
    """The process prints what `robodyn view` would."""

    def status_of(*lines):
        page, console = page_that_prints(lines, monkeypatch)
        end = time.monotonic() + 30.0
        while "ended" not in page.status and time.monotonic() < end:
            time.sleep(0.01)
        page.process.wait(10.0)
        return page.status, console.file.getvalue()

    error = ("stderr", "error: no dynamics_node names its robot")
    ended = f"live page: ended, {error[1]}"
    assert status_of(error) == (ended, f"{ended}\n")
    same, moved = (("stdout", f"live page: http://127.0.0.1:{port}") for port in (8080, 8081))
    assert status_of(same) == ("live page: ended", "")
    assert status_of(moved) == ("live page: ended", f"{moved[1]}\n")


def test_a_page_is_said_to_start_until_it_says_something(monkeypatch):
    monkeypatch.setattr(demo.Thread, "start", lambda _: None)  # nobody reads what it says
    page, console = page_that_prints((), monkeypatch)
    assert page.status == "live page: http://127.0.0.1:8080 starts"
    page.process.communicate(timeout=10.0)
    assert console.file.getvalue() == ""
