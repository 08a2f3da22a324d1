"""The nodes as real processes, and an observer: for the rows that need real signals.

Reaction times are tested elsewhere, in simulated time; timeouts here are long, because a machine
that runs tests is busy.
"""

import math
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safety import safe
from source_tree import users_environment

pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from diagnostic_msgs.msg import DiagnosticArray  # isort: skip
from sensor_msgs.msg import JointState  # isort: skip
from std_msgs.msg import Float64MultiArray  # isort: skip
from std_srvs.srv import Trigger  # isort: skip

from robodyn_ros.control.sample_timeline import SampleTimeline  # isort: skip
from robodyn_ros.nodes import terminal  # isort: skip
from robodyn_ros.nodes.demo import DEMO_NODES, Demo, running  # isort: skip
from robodyn_ros.nodes.codec import read_collision_state, seconds  # isort: skip
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN, spin  # isort: skip
from robodyn_ros.resources import share_path  # isort: skip
from robodyn_ros.sensing.settings import SensingSettings  # isort: skip

SIMULATOR, CONTROLLER, DETECTOR = range(3)  # as in DEMO_NODES
PARAMS = share_path("config", "demo.yaml")
RATE = 500.0  # [Hz]
START = 120.0  # [s], for three processes to start on a busy machine
PATIENT = {
    "simulator_node": {"pushes.names": [""], "command_timeout": 0.5},
    "controller_node": {"arm.timeout": 1.0, "detector_timeout": 1.0, "arm.reaction": "none"},
}


class Look:
    """Observer of the running nodes."""

    def __init__(self, node, executor, processes, log):
        self.node, self.executor, self.processes, self.log = node, executor, processes, log
        self.level, self.levels = "", set()
        self.changes = []  # levels in their order, each where it differs from the one before
        self.told = set()  # all levels since the case began
        self.facts, self.messages = {}, {}
        self.stamps, self.references, self.command = [], [], None
        node.create_subscription(
            DiagnosticArray, "dynamics_node/collision_state", self._word, LATCHED
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)
        node.create_subscription(JointState, "joint_states", self._state, STATE_IN)
        node.create_subscription(JointState, "dynamics_node/residual", self._residual, STATE_IN)
        node.create_subscription(JointState, "controller_node/reference", self._reference, 1000)
        node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self._commanded, STATE_IN
        )

    def _word(self, message):
        level = read_collision_state(message).level.name
        if level != self.level:
            self.changes.append(level)
        self.level = level
        self.levels.add(self.level)
        self.told.add(self.level)

    def _diagnosed(self, message):
        (status,) = message.status
        self.messages[status.name] = status.message
        self.facts[status.name] = {item.key: item.value for item in status.values}

    def _state(self, message):
        safe(np.isfinite([*message.position, *message.effort]).all(), message)
        self.stamps.append(seconds(message.header.stamp))

    def _residual(self, message):
        safe(np.isfinite(message.effort).all(), message)

    def _reference(self, message):
        safe(np.isfinite(message.effort).all(), message)
        numbers = (np.array(x) for x in (message.effort, message.position, message.velocity))
        self.references.append((seconds(message.header.stamp), *numbers))

    def _commanded(self, message):
        safe(np.isfinite(message.data).all(), message)
        self.command = np.array(message.data)

    @property
    def mode(self):
        return self.facts.get("controller_node", {}).get("mode", "")

    def until(self, condition, longest=40.0):
        spin(self.executor, condition, longest, every=0.01)
        said = self.log.read_text()[-2000:]
        assert condition(), (self.level, self.mode, dict(self.messages), said)

    def let(self, seconds_of_wall):
        spin(self.executor, lambda: False, seconds_of_wall, every=0.01)

    def call(self, service):
        client = self.node.create_client(Trigger, service)
        self.until(client.service_is_ready)
        future = client.call_async(Trigger.Request())
        self.until(future.done)
        return future.result()

    def moves(self):
        """Restart ended nodes, clear safe holds, and wait for CLEAR and a moving arm."""
        for which, process in enumerate(self.processes):
            if process.poll() is not None:
                self.restart(which)
        asked = [0.0]

        def well():
            if self.mode == "SAFE_HOLD" and time.monotonic() - asked[0] > 1.0:
                asked[0] = time.monotonic()
                client.call_async(Trigger.Request())
            return self.level == "CLEAR" and self.mode == "TRACKING"

        client = self.node.create_client(Trigger, "controller_node/clear")
        self.until(client.service_is_ready, START)
        self.forget()
        self.until(well)
        self.forget()

    def forget(self):
        """Forget all that was received so far."""
        self.level = ""
        for kept in (self.facts, self.messages, self.levels, self.changes):
            kept.clear()
        self.stamps.clear()
        self.references.clear()

    def says(self, node, text):
        """Wait until a node's diagnostics contain this text."""
        self.until(lambda: text in self.messages.get(node, ""))

    def restart(self, which):
        """Start a process again that has ended."""
        with self.log.open("a") as said:
            arguments = self.processes[which].args
            self.processes[which] = subprocess.Popen(arguments, stdout=said, stderr=said)

    def kill(self, which):
        self.processes[which].kill()
        self.processes[which].wait()

    def signal(self, which, number):
        os.kill(self.processes[which].pid, number)


@contextmanager
def arm_in_motion(log, composed=False, **changes):
    """Run the demo's nodes, in one process if composed; yield an observer once the arm moves."""
    overrides = {node: {**PATIENT.get(node, {}), **changes.get(node, {})} for node in DEMO_NODES}
    demo = Demo(PARAMS, 0.0, composed, log=log, overrides=overrides)
    with users_environment():
        terminal.use_loopback()  # as the demo does: by UDP, on the loopback interface
        with running(demo) as processes, terminal.open_terminal() as (node, executor):
            look = Look(node, executor, processes, log)
            look.moves()
            yield look
    safe("Traceback" not in log.read_text(), log.read_text())


def memory_of(pid):
    """Return the resident memory of a process [bytes]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ends_by(look, number, *which):
    """Send a signal to these processes while the arm moves: exit code 0, no traceback, and the
    controller's torque ramps down within its rate limit.
    """
    look.until(lambda: len(look.references) > 50)
    safe(np.abs(look.command).max() > 5.0, "nothing to carry", look.command)
    for one in which:
        look.signal(one, number)
    look.until(lambda: all(look.processes[one].poll() is not None for one in which))
    look.let(0.2)
    assert [look.processes[one].returncode for one in which] == len(which) * [0]
    safe("Traceback" not in look.log.read_text(), look.log.read_text())
    t, tau = (np.array(x) for x in list(zip(*look.references, strict=True))[:2])
    # What the onlooker missed counts with its time. After a stall the controller may go on blindly
    # before the next sample, whose stamp is one period on: for two of its mean periods
    steps = np.abs(np.diff(tau, axis=0)).max(axis=1)
    allowed = 1000.0 * np.maximum(np.diff(t), blind_steps(t)) + 1e-6
    safe((steps <= allowed).all(), "a torque step:", (steps / allowed).max())


def blind_steps(t):
    """Return for how long [s] the controller's torque may change at once without a sample, after
    each of the samples at these times but the last.
    """
    timeline, found = SampleTimeline(SensingSettings()), []
    timeline.period = 1.0 / RATE
    for gap in [1.0 / RATE, *np.diff(t[:-1])]:
        timeline.accept(0.0, gap, math.inf)
        found.append(timeline.torque_step)
    return np.array(found)


def no_torque(look):
    """Expect the last command to be zero; the observer may have missed the last steps."""
    np.testing.assert_allclose(look.command, 0.0, atol=2.5)
