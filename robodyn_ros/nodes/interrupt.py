"""A spin that a signal ends, so that what was begun is ended in order."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from typing import Any

from .runtime import LOOK, spin


def spin_until_signal(
    executor: Any, until: Callable[[], bool], longest: float = math.inf, every: float = LOOK
) -> bool:
    """Spin until something is true, at most so long [s]; whether SIGINT or SIGTERM ended it."""
    signals: list[int] = []
    previous = {
        number: signal.signal(number, lambda received, _: signals.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        spin(executor, lambda: bool(signals) or until(), longest, every=every)
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return bool(signals)
