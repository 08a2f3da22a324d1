"""Ctrl-C, SIGTERM and a closed terminal: one line at most, the usual exit code, no orphan."""

import os
import signal
import subprocess
import sys
import time

import pytest

# A program under `ended_quietly`. It prints "ready" where it is to be interrupted.
PROGRAM = """
import ctypes, os, signal, sys, time
from robodyn_ros import interrupts
from robodyn_ros.errors import RobodynError
with interrupts.ended_quietly():
{body}
"""
BODIES = {
    "asleep": "print('ready', flush=True); time.sleep(30)",
    "held": """with interrupts.held():
    with interrupts.held():
        print('ready', flush=True)
        time.sleep(0.5)
    print('finished', flush=True)
time.sleep(30)""",
    "held, and asked": """with interrupts.held():
    print('ready', flush=True)
    for _ in range(300):
        time.sleep(0.1)
        interrupts.raise_held()""",
    "made an error of": """print('ready', flush=True)
try:
    time.sleep(30)
except BaseException:
    raise RobodynError('no compiled object') from None""",
    # The callback's exception is lost in C, as in the compiler
    "lost in C": """def called():
    print('ready', flush=True)
    time.sleep(0.5)
ctypes.CFUNCTYPE(None)(called)()
time.sleep(30)""",
}
INTERRUPTED = {signal.SIGINT: "interrupted\n", signal.SIGTERM: "terminated\n"}


def started(*command):
    """Start a program, whose Ctrl-C is not ignored as in a shell's background; read to "ready"."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    return process


@pytest.mark.parametrize("number", INTERRUPTED, ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("body", BODIES)
def test_a_program_ends_with_one_line(body, number):
    text = "\n".join("    " + line for line in BODIES[body].splitlines())
    process = started("-c", PROGRAM.format(body=text))
    assert process.stdout.readline() == "ready\n"
    begun = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20.0)
    assert (process.returncode, err) == (128 + number, INTERRUPTED[number])
    assert out == ("finished\n" if body == "held" else "")
    assert time.monotonic() - begun < 10.0  # it did not sleep on


def test_signals_keep_their_meaning_outside():
    before = [signal.getsignal(number) for number in INTERRUPTED]
    from robodyn_ros import interrupts

    with pytest.raises(KeyboardInterrupt), interrupts.held():
        os.kill(os.getpid(), signal.SIGINT)
        interrupted = False
        try:
            time.sleep(0.01)
            interrupts.raise_held()
        except interrupts.Interrupted as error:
            interrupted = error.number == signal.SIGINT
        assert interrupted
    with interrupts.ended_quietly():
        pass
    assert [signal.getsignal(number) for number in INTERRUPTED] == before
    with interrupts.held():
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.take_held() == [signal.SIGTERM]  # handled: it does not come back
