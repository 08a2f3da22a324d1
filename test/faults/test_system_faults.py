"""Rows 28, 31 and 34 with three real processes and real signals."""

import signal
import subprocess
import sys

import pytest
from fault_processes import (
    CONTROLLER,
    DETECTOR,
    SIMULATOR,
    arm_in_motion,
    ends_by,
    memory_of,
)
from fault_rig import Case, cases

MEMORY = 15e6  # [bytes] that a process may grow by while a peer stands still

SLOW = """
import sys, time
from robodyn_ros.nodes import terminal
from sensor_msgs.msg import JointState
from robodyn_ros.nodes.runtime import spin
with terminal.looking() as (node, executor):
    for topic in ("joint_states", "dynamics_node/residual", "controller_node/reference"):
        node.create_subscription(JointState, topic, lambda m: time.sleep(0.05), 10)
    print("ready", flush=True)
    spin(executor, lambda: False)
"""


@pytest.fixture(scope="module")
def running_arm(tmp_path_factory):
    """One arm for all: each case begins with it in motion, and all three processes alive."""
    with arm_in_motion(tmp_path_factory.mktemp("system") / "nodes.log") as look:
        yield look


# row 28


def simulator_killed(look):
    look.kill(SIMULATOR)
    look.until(lambda: look.level == "UNKNOWN" and look.mode == "SAFE_HOLD")
    look.says("dynamics_node", "stopped")
    look.restart(SIMULATOR)
    look.moves()


def controller_killed(look):
    look.kill(CONTROLLER)
    look.says("simulator_node", "no commands: holding")
    look.restart(CONTROLLER)
    look.moves()


def detector_killed(look):
    look.kill(DETECTOR)
    look.until(lambda: look.mode == "SAFE_HOLD")
    look.restart(DETECTOR)
    look.moves()


# row 31


def slow_consumer(look):
    """A reliable subscriber that takes 50 ms a message, and is then stopped altogether."""
    slow = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True)
    try:
        assert slow.stdout.readline() == "ready\n"
        look.let(1.0)
        before = [memory_of(process.pid) for process in look.processes]
        unharmed(look, slow)
        grown = [memory_of(p.pid) - b for p, b in zip(look.processes, before, strict=True)]
        assert max(grown) < MEMORY, grown
    finally:
        slow.kill()
        slow.wait()


def unharmed(look, process):
    """A process is stopped, and the loop goes on."""
    usual = pace(look)
    process.send_signal(signal.SIGSTOP)
    assert pace(look) > 0.5 * usual > 0.0, "the loop stands still with it"


def pace(look):
    """Joint states in a second, as the onlooker hears them: fewer on a busy machine."""
    count = len(look.stamps)
    look.let(1.0)
    return len(look.stamps) - count


def detector_stopped(look):
    """The others do not wait for it; when it goes on, it says that it had lost sight."""
    before = memory_of(look.processes[CONTROLLER].pid)
    try:
        unharmed(look, look.processes[DETECTOR])
        look.until(lambda: look.mode == "SAFE_HOLD")
        assert memory_of(look.processes[CONTROLLER].pid) - before < MEMORY
    finally:
        look.forget()
        look.signal(DETECTOR, signal.SIGCONT)
    look.until(lambda: look.level == "CLEAR" and "UNKNOWN" in look.levels)
    assert look.levels == {"UNKNOWN", "CLEAR"}
    look.moves()


def controller_stopped(look):
    """The plant holds itself; afterwards a safe hold, latched."""
    look.signal(CONTROLLER, signal.SIGSTOP)
    look.let(1.3)
    look.says("simulator_node", "no commands: holding")
    look.forget()
    look.signal(CONTROLLER, signal.SIGCONT)
    look.until(lambda: look.mode == "SAFE_HOLD")
    look.moves()


CASES = [
    Case(28, "kill -9 of the simulator", "S U", simulator_killed),
    Case(28, "kill -9 of the controller", "S", controller_killed),
    Case(28, "kill -9 of the detector", "S", detector_killed),
    Case(31, "slow consumer", "unharmed", slow_consumer),
    Case(31, "SIGSTOP of the detector", "unharmed", detector_stopped),
    Case(31, "SIGSTOP of the controller", "S", controller_stopped),
    Case(34, "SIGTERM", "ramp", lambda look: ends_by(look, CONTROLLER, signal.SIGTERM)),
    Case(34, "SIGINT", "ramp", lambda look: ends_by(look, CONTROLLER, signal.SIGINT)),
]


@cases(*CASES)
def test_system(case, running_arm):
    running_arm.moves()
    case.play(running_arm)
