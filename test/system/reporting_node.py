"""A node of the package that prints a line at every change of its state: `… controller_node`.

A line is JSON: `at` [s] of this machine's monotonic clock, `is` the state, and `why`. SIGUSR1
pushes the plant or clears the controller, SIGUSR2 gives the controller a short timeout.
"""

import json
import signal
import sys
import time

from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.demo_node import DemoNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.runtime import run
from robodyn_ros.nodes.simulator_node import SimulatorNode

TORQUE = (0.0, 0.0, 5.0)  # [N m] about the axis of joint 6, more than twice the threshold
PUSH_DURATION = 0.4  # [s]
SHORT_TIMEOUT = 0.02  # [s]
NO_FORCE = (0.0, 0.0, 0.0)


class Reporter:
    """Prints changes of state, with the time since the last valid sample and its step."""

    state, heard, stamp, gap = None, 0.0, 0.0, 0.0

    def report(self, state, reason=""):
        now = time.monotonic()
        if state != self.state:
            self.state = state
            told = {"at": now, "is": state, "why": reason}
            print(json.dumps({**told, "silence": now - self.heard, "gap": self.gap}), flush=True)

    def begin_stop(self):
        missed, samples = self.statistics.missed, self.statistics.samples
        self.report("STOPPING", f"missed {missed} of {samples}")
        super().begin_stop()


class SampleReporter(Reporter):
    """Reports after each sample; `condition` returns state and reason."""

    def on_sample(self, sample):
        if sample.status.valid:
            self.heard, self.gap, self.stamp = time.monotonic(), sample.t - self.stamp, sample.t
        super().on_sample(sample)
        self.report(*self.condition())


class Controller(SampleReporter, ControllerNode):
    def configure(self, model):
        super().configure(model)
        cleared, shortened = Trigger.Response(), Parameter("arm.timeout", value=SHORT_TIMEOUT)
        signal.signal(signal.SIGUSR1, lambda *_: self.clear(Trigger.Request(), cleared))
        signal.signal(signal.SIGUSR2, lambda *_: self.set_parameters([shortened]))

    def condition(self):
        return self.arm.mode.name, self.arm.reason


class Detector(SampleReporter, DynamicsNode):
    def condition(self):
        return self.monitor.verdict.level.name, self.monitor.verdict.cause


class Plant(Reporter, SimulatorNode):
    def configure(self, model):
        super().configure(model)
        signal.signal(signal.SIGUSR1, lambda *_: self.push())

    def push(self):
        self.plant.push("link_6", NO_FORCE, duration=PUSH_DURATION, torque=TORQUE, axes="link")

    def step(self):
        self.gap = min(self.silent, 1e9)
        held = self.silent > self.settings.command_timeout
        super().step()
        self.report("HELD" if held else "DRIVEN")


NODES = {
    "controller_node": Controller,
    "dynamics_node": Detector,
    "simulator_node": Plant,
    "demo_node": DemoNode,
}

if __name__ == "__main__":
    raise SystemExit(run(NODES[sys.argv[1]], args=sys.argv[2:]))
