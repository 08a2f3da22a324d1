"""The live page beside the demo, as a process of its own, where viser is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from .terminal import stay_here

MISSING = "no live page: `pip install 'robodyn_ros[dashboard]'` brings it"


class PageProcess:
    """`robodyn view` for the nodes of a demo."""

    def __init__(self, namespace: str) -> None:
        command = [sys.executable, "-m", "robodyn_ros.cli", "view", "--namespace", namespace]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.said = "live page: starting"
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        """It says where it is once it is ready; what else it says keeps its pipe from filling."""
        for line in self.process.stdout or ():
            if line.startswith("live page:"):
                self.said = line.strip()
        self.said = "live page: ended"

    def stop(self) -> None:
        """End it, and wait for that."""
        self.process.terminate()
        try:
            self.process.wait(10.0)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextmanager
def page_process(wanted: bool, namespace: str, console: Any) -> Iterator[PageProcess | None]:
    """The page while this is open; None if it is not wanted or cannot be had."""
    if wanted and importlib.util.find_spec("viser") is None:
        console.print(MISSING, markup=False)
        wanted = False
    if not wanted:
        yield None
        return
    stay_here()
    page = PageProcess(namespace)
    try:
        yield page
    finally:
        page.stop()
