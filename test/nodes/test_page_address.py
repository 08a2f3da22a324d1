"""The address of the live page: printed at once, with a line for each thing in the way."""

import importlib.util
import io
import socket
import subprocess
import sys

import pytest
from rich.console import Console

from robodyn_ros.errors import RobodynError
from robodyn_ros.nodes import page_address
from robodyn_ros.nodes.page_address import announce_page, free_port, has_browser, page_notes


@pytest.fixture
def taken():
    """Return a port that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_port_in_use_is_left_out_and_named(taken):
    port = free_port(taken)
    assert taken < port < taken + page_address.PORTS_TRIED
    with socket.socket() as found:
        found.bind(("127.0.0.1", port))
    notes = page_notes(taken, port, {"DISPLAY": ":0"})
    assert notes[0] == f"port {taken} is in use: the live page takes {port}"


def test_no_free_port_is_an_error(taken, monkeypatch):
    monkeypatch.setattr(page_address, "PORTS_TRIED", 1)
    with pytest.raises(RobodynError, match=f"no free port .* from {taken}"):
        free_port(taken)


def test_without_a_screen_or_a_browser_a_line_says_how_to_reach_the_page(monkeypatch):
    assert not has_browser({})
    (note,) = page_notes(8080, 8080, {})
    assert note.startswith("no browser here") and "ssh -L 8080:127.0.0.1:8080 " in note
    monkeypatch.setattr(page_address.webbrowser, "get", lambda: None)
    assert page_notes(8080, 8080, {"DISPLAY": ":0"}) == []

    def missing():
        raise page_address.webbrowser.Error("could not locate runnable browser")

    monkeypatch.setattr(page_address.webbrowser, "get", missing)
    assert not has_browser({"WAYLAND_DISPLAY": "wayland-0"})


def test_the_address_is_printed_before_anything_starts(taken, monkeypatch):
    monkeypatch.setattr(page_address, "PAGE_PORT", taken)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    console = Console(file=io.StringIO(), width=40)  # lines are not wrapped
    port = announce_page(console)
    first, second, *_ = console.file.getvalue().splitlines()
    assert first.startswith(f"live page: http://127.0.0.1:{port}, ")
    assert second == f"port {taken} is in use: the live page takes {port}"


def test_without_viser_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    console = Console(file=io.StringIO(), width=200)
    assert announce_page(console) is None
    assert console.file.getvalue().strip() == page_address.NO_PAGE
    assert "pip install 'viser" in page_address.NO_PAGE


def test_neither_the_address_nor_discovery_waits_for_a_compiler():
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    ask = (
        "import sys, robodyn_ros.nodes.page_address, robodyn_ros.nodes.discovery\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stdout + done.stderr
