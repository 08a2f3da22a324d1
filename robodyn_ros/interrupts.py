"""Ctrl-C and its like: a command ends with one line and the usual exit code, at any moment.

Python raises a signal's exception anywhere, also in a callback from C++, which cannot pass it on,
or between the start of a process and the note of it. Where that does harm, signals are held.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_TIME = 0.05  # [s] until a signal whose exception was lost is sent again

_arrived: list[int] = []  # numbers of the signals that arrived while they were held
_raised: list[int] = []  # of those that were raised


class Interrupted(BaseException):
    """A signal arrived; no `Exception`, like KeyboardInterrupt, so that nothing handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@contextmanager
def ended_quietly() -> Iterator[None]:
    """End the process after a signal: one line on stderr, exit code 128 + its number."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {number: signal.getsignal(number) for number in SIGNALS}
    hook = sys.unraisablehook
    for number in SIGNALS:
        if number != signal.SIGHUP or previous[number] is not signal.SIG_IGN:  # nohup
            signal.signal(number, _raise)
    sys.unraisablehook = _send_again
    try:
        yield
    except BaseException:
        if not _raised:
            raise
        # Whatever it became on its way: a compiler in C++ makes an error of its own of it
        previous = dict.fromkeys(SIGNALS, signal.SIG_DFL)  # a second one ends it at once
        print("terminated" if _raised[0] == signal.SIGTERM else "interrupted", file=sys.stderr)
        sys.exit(128 + _raised[0])
    finally:
        _raised.clear()
        sys.unraisablehook = hook
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def held() -> Iterator[None]:
    """Hold signals back until the end of this context, or until `raise_held` is called."""
    nested = signal.getsignal(signal.SIGINT) is _hold
    if nested or threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {
        number: signal.signal(number, _hold)
        for number in SIGNALS
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        if _arrived:
            signal.raise_signal(take_held()[0])


def raise_held() -> None:
    """Raise `Interrupted` if a signal is held."""
    if _arrived:
        raise Interrupted(_arrived[0])


def take_held() -> list[int]:
    """Return the numbers of the signals that are held, and hold them no longer."""
    taken = _arrived.copy()
    _arrived.clear()
    return taken


def _raise(number: int, _: FrameType | None) -> None:
    _raised.append(number)
    raise Interrupted(number)


def _hold(number: int, _: FrameType | None) -> None:
    _arrived.append(number)


def _send_again(lost: Any) -> None:
    """Send a signal again whose exception was raised where none can be, as in a destructor."""
    if not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)
        return

    def send() -> None:
        if _raised:  # else the process ends already
            signal.pthread_kill(threading.main_thread().ident or 0, _raised[0])

    timer = threading.Timer(REPEAT_TIME, send)
    timer.daemon = True
    timer.start()
