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
def rest():
    for _ in range(3000):  # a signal just before a long sleep would wait for its end
        time.sleep(0.01)
with interrupts.ended_quietly():
{body}
"""
BODIES = {
    "asleep": "print('ready', flush=True); rest()",
    "held": """with interrupts.held():
    with interrupts.held():
        print('ready', flush=True)
        time.sleep(0.5)
    print('finished', flush=True)
rest()""",
    "held, and asked": """with interrupts.held():
    print('ready', flush=True)
    for _ in range(300):
        time.sleep(0.1)
        interrupts.raise_held()""",
    "made an error of": """print('ready', flush=True)
try:
    rest()
except BaseException:
    raise RobodynError('no compiled object') from None""",
    # The callback's exception is lost in C, as in the compiler
    "lost in C": """def called():
    print('ready', flush=True)
    time.sleep(0.5)
ctypes.CFUNCTYPE(None)(called)()
rest()""",
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


@pytest.fixture(scope="module")
def environment():
    pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")
    from source_tree import own_domain

    return os.environ | {"ROS_DOMAIN_ID": str(own_domain()), "PYTHONUNBUFFERED": "1"}


def alive(session):
    """Return the processes of a session."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.getsid(int(entry)) == session:
                found.append(entry)
        except ProcessLookupError:
            pass
    return found


@pytest.mark.parametrize(
    "number, whole_group",
    [(signal.SIGINT, True), (signal.SIGTERM, False)],
    ids=["Ctrl-C", "SIGTERM to the command alone"],
)
def test_a_piped_demo_ends_with_its_nodes(environment, tmp_path, number, whole_group):
    process = subprocess.Popen(
        [sys.executable, "-m", "robodyn_ros.cli", "demo", "--composed", "--headless"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=environment,
        cwd=tmp_path,
    )
    try:
        while "[demo_node]: ready" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.5)  # spinning
        (os.killpg if whole_group else os.kill)(process.pid, number)
        _, err = process.communicate(timeout=40.0)
        own = [line for line in err.splitlines() if not line.startswith("[")]  # no node's log
        assert own == [INTERRUPTED[number].strip()], err
        assert process.returncode == 128 + number
        assert alive(process.pid) == []
    finally:
        if alive(process.pid):
            os.killpg(process.pid, signal.SIGKILL)


def test_a_closed_pipe_ends_the_echo(environment):
    """As `robodyn echo … | head -1`: no traceback."""
    publisher = """
import time
from robodyn_ros.nodes.terminal import open_terminal
from std_msgs.msg import Bool
with open_terminal() as (node, _):
    to = node.create_publisher(Bool, 'flag', 10)
    while True:
        to.publish(Bool(data=True))
        time.sleep(0.01)
"""
    talker = subprocess.Popen([sys.executable, "-c", publisher], env=environment)
    command = [sys.executable, "-m", "robodyn_ros.cli", "echo", "flag"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)
    try:
        assert process.stdout.readline() == "data: True\n"
        process.stdout.close()
        assert process.wait(20.0) == 1
        assert process.stderr.read() == ""
    finally:
        for one in (talker, process):
            one.kill()
            one.wait()
