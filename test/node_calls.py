"""Calls to services and timers of nodes in this process, without the middleware."""

from __future__ import annotations

from typing import Any


def call_service(node: Any, name: str, request: Any = None) -> Any:
    """Call a node's service `~/name`; return the response."""
    full = f"{node.get_fully_qualified_name()}/{name}"
    (service,) = (s for s in node.services if s.srv_name in (full, f"~/{name}"))
    return service.callback(request or service.srv_type.Request(), service.srv_type.Response())


def fire_timer(node: Any, period: float) -> None:
    """Fire the node's only timer with this period [s]."""
    (timer,) = (t for t in node.timers if abs(1e-9 * t.timer_period_ns - period) < 1e-9)
    timer.callback()


def fire_timers(node: Any) -> None:
    """Fire all timers of a node once."""
    for timer in list(node.timers):
        timer.callback()
