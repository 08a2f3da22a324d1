"""Entry points of the nodes: a signal that arrives before a node runs ends it without a traceback.

Importing a node takes a second. From `runtime.run` on the node itself handles signals.
"""

from __future__ import annotations

import os
import signal
from importlib import import_module
from typing import Any


def _end(*_: Any) -> None:
    os._exit(0)  # nothing runs yet, or nothing runs any more


def _run(module: str) -> int:
    """Import a module of this package and return the exit code of its `main`."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    code: int = import_module(f".{module}", __package__).main()
    return code


def simulator_node() -> int:
    """Run simulator_node."""
    return _run("simulator_node")


def controller_node() -> int:
    """Run controller_node."""
    return _run("controller_node")


def dynamics_node() -> int:
    """Run dynamics_node."""
    return _run("dynamics_node")


def demo_node() -> int:
    """Run demo_node."""
    return _run("demo_node")


def guard_node() -> int:
    """Run guard_node."""
    return _run("guard_node")


def guarded_detector() -> int:
    """Run dynamics_node and guard_node in one process."""
    return _run("guarded_detector")


def composed_nodes() -> int:
    """Run all of them in one process."""
    return _run("composed")


def demo_report() -> int:
    """Run demo_report."""
    return _run("demo_report")
