"""Address of the live page: a free port, and how to reach it without a browser. No ROS here."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
import webbrowser
from collections.abc import Mapping

from rich.console import Console

from ..errors import RobodynError

HOST = "127.0.0.1"
PAGE_PORT = 8080
PORTS_TRIED = 100
NO_PAGE = "no live page: install it with `pip install 'viser>=1.1,<2' pycollada`"


def free_port(first: int = PAGE_PORT) -> int:
    """Return the first port from this one on to which no program of this machine listens."""
    last = min(first + PORTS_TRIED - 1, 65535)
    for port in range(first, last + 1):
        with socket.socket() as probe:
            # As the page's server does, or a page that has just ended would count as running
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise RobodynError(f"no free port for the live page from {first} to {last}")


def page_url(port: int) -> str:
    """Return the address for a browser on this machine."""
    return f"http://{HOST}:{port}"


def page_notes(asked: int, port: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a line each if the port asked for is in use, and if this machine has no browser."""
    notes = []
    if port != asked:
        notes.append(f"port {asked} is in use: the live page takes {port}")
    if not has_browser(environment):
        tunnel = f"ssh -L {port}:{HOST}:{port} {socket.gethostname()}"
        notes.append(f"no browser here: on your own machine run `{tunnel}` and open it there")
    return notes


def has_browser(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether a browser with a window can be opened from here."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY")
    if sys.platform.startswith("linux") and not any(environment.get(name) for name in screens):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def announce_page(console: Console) -> int | None:
    """Print where the live page will be, at once; return its port, None if it is not installed."""
    if importlib.util.find_spec("viser") is None:
        console.print(NO_PAGE, markup=False)
        return None
    port = free_port(PAGE_PORT)
    address = f"live page: {page_url(port)}, some seconds after the nodes' start"
    for line in (address, *page_notes(PAGE_PORT, port)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return port
