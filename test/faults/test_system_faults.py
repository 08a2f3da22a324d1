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
    no_torque,
)
from fault_rig import Case, cases

STOPPED = 5.0  # [s] for which a peer is stopped
MEASURED = 1.2  # [s] for which rates are counted: at least one message of /diagnostics
MEMORY = 0.5e6  # [bytes] that a process may grow by meanwhile: 2500 messages kept are 0.8 MB

SLOW = """
import sys, time
from robodyn_ros.nodes import terminal
from sensor_msgs.msg import JointState
from robodyn_ros.nodes.runtime import spin
with terminal.open_terminal() as (node, executor):
    for topic in ("joint_states", "dynamics_node/residual", "controller_node/reference"):
        node.create_subscription(JointState, topic, lambda m: time.sleep(0.05), 10)
    print("ready", flush=True)
    spin(executor, lambda: False)
"""


@pytest.fixture(scope="module")
def running_arm(tmp_path_factory):
    """One arm for all cases: each begins with it in motion and all processes alive."""
    with arm_in_motion(tmp_path_factory.mktemp("system") / "nodes.log") as look:
        yield look


# row 28


def simulator_killed(look):
    look.kill(SIMULATOR)
    look.until(lambda: look.level == "UNKNOWN" and look.mode == "SAFE_HOLD")
    look.says("dynamics_node", "nothing received on")
    # A verdict on a sample from before the kill may be heard after it, but none after UNKNOWN
    assert look.changes in (["UNKNOWN"], ["CLEAR", "UNKNOWN"])
    look.restart(SIMULATOR)
    look.moves()


def controller_killed(look):
    look.kill(CONTROLLER)
    look.says("simulator_node", "no commands: holding")
    assert look.level == "CLEAR"  # the torque is measured: who commands does not matter
    look.restart(CONTROLLER)
    look.moves()


def detector_killed(look):
    look.kill(DETECTOR)
    look.until(lambda: look.mode == "SAFE_HOLD")
    look.restart(DETECTOR)
    look.moves()


# row 31


def slow_consumer(look):
    """A reliable subscriber that takes 50 ms per message, and is then stopped."""
    slow = subprocess.Popen([sys.executable, "-c", SLOW], stdout=subprocess.PIPE, text=True)
    try:
        assert slow.stdout.readline() == "ready\n"
        unharmed(look, slow, SIMULATOR, CONTROLLER, DETECTOR)
        assert look.mode in ("TRACKING", "HOLDING")
    finally:
        slow.kill()
        slow.wait()


def unharmed(look, process, *others):
    """Stop a process; the others keep their rates and their memory.

    What is kept for the stopped one grows all the time, in both halves of it. What is taken once
    does not, as when the middleware forgets a process that was killed before.
    """
    usual, memory = rates(look), [memory_of(look.processes[one].pid) for one in others]
    process.send_signal(signal.SIGSTOP)
    look.let(0.5 * STOPPED)
    middle = [memory_of(look.processes[one].pid) for one in others]
    look.let(0.5 * STOPPED - MEASURED)
    now = rates(look)
    end = [memory_of(look.processes[one].pid) for one in others]
    grown = [2 * min(b - a, c - b) for a, b, c in zip(memory, middle, end, strict=True)]
    assert all(n > 0.7 * u > 0.0 for n, u in zip(now, usual, strict=True)), (now, usual)
    assert max(grown) < MEMORY, (memory, middle, end)


def rates(look):
    """Return the samples per second [Hz] of the controller, by their stamps, and of this process,
    which are fewer on a busy machine.
    """
    look.facts.pop("controller_node", None)
    count = len(look.stamps)
    look.let(MEASURED)
    heard = (len(look.stamps) - count) / MEASURED
    look.until(lambda: "controller_node" in look.facts)
    return float(look.facts["controller_node"]["rate [Hz]"]), heard


def detector_stopped(look):
    """The others do not wait for it; continued, it first reports UNKNOWN."""
    try:
        unharmed(look, look.processes[DETECTOR], SIMULATOR, CONTROLLER)
        look.until(lambda: look.mode == "SAFE_HOLD")
    finally:
        look.forget()
        look.signal(DETECTOR, signal.SIGCONT)
    look.until(lambda: look.level == "CLEAR" and "UNKNOWN" in look.levels)
    assert look.levels == {"UNKNOWN", "CLEAR"}
    look.moves()


def controller_stopped(look):
    """The plant brakes; afterwards the controller is in a latched safe hold."""
    look.signal(CONTROLLER, signal.SIGSTOP)
    look.let(1.3)
    look.says("simulator_node", "no commands: holding")
    look.forget()
    look.signal(CONTROLLER, signal.SIGCONT)
    look.until(lambda: look.mode == "SAFE_HOLD")
    look.moves()


# row 34


def ends(number, *which):
    def play(look):
        ends_by(look, number, *which)
        if CONTROLLER in which:
            no_torque(look)
        else:
            look.until(lambda: look.mode == "SAFE_HOLD")

    return play


ALL = SIMULATOR, CONTROLLER, DETECTOR
CASES = [
    Case(28, "kill -9 of the simulator", "S U", simulator_killed),
    Case(28, "kill -9 of the controller", "S", controller_killed),
    Case(28, "kill -9 of the detector", "S", detector_killed),
    Case(31, "slow consumer", "unharmed", slow_consumer),
    Case(31, "SIGSTOP of the detector", "unharmed", detector_stopped),
    Case(31, "SIGSTOP of the controller", "S", controller_stopped),
    Case(34, "SIGTERM", "ramp", ends(signal.SIGTERM, CONTROLLER)),
    Case(34, "SIGINT", "ramp", ends(signal.SIGINT, CONTROLLER)),
    Case(34, "SIGTERM of the detector", "S", ends(signal.SIGTERM, DETECTOR)),
    Case(34, "SIGINT of the simulator", "S", ends(signal.SIGINT, SIMULATOR)),
    Case(34, "SIGINT of all at once", "ramp", ends(signal.SIGINT, *ALL)),
]


@cases(*CASES)
def test_system(case, running_arm):
    running_arm.moves()
    running_arm.told.clear()
    case.play(running_arm)
    if case.row != 34:  # without torque it may hit a joint stop before the plant brakes
        assert running_arm.told <= {"UNKNOWN", "CLEAR"}
