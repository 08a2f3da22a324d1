"""A node of the package that writes a line whenever what it does changes: `… controller_node`.

A line is JSON: `at` [s] of this machine's monotonic clock, `is` what it does now, and why. At
SIGUSR1 somebody pushes the plant.
"""

import json
import signal
import sys
import time

from robodyn_ros.nodes.controller_node import ControllerNode
from robodyn_ros.nodes.demo_node import DemoNode
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.runtime import run
from robodyn_ros.nodes.simulator_node import SimulatorNode

# [N m] about the axis of joint 6, more than twice what makes a collision, and for how long [s]
TORQUE, PUSHED = (0.0, 0.0, 5.0), 0.4
NO_FORCE = (0.0, 0.0, 0.0)


class Reporter:
    """Writes changes, and how long ago the last good sample came, or command."""

    state, heard, stamp, gap = None, 0.0, 0.0, 0.0

    def report(self, state, reason=""):
        now = time.monotonic()
        if state != self.state:
            self.state = state
            told = {"at": now, "is": state, "why": reason}
            print(json.dumps({**told, "silence": now - self.heard, "gap": self.gap}), flush=True)

    def begin_stop(self):
        self.report("STOPPING", f"missed {self.pace.missed} of {self.pace.samples}")
        super().begin_stop()

    def sample(self, sample):
        self.heard, self.gap, self.stamp = time.monotonic(), sample.t - self.stamp, sample.t


class Controller(Reporter, ControllerNode):
    def sampled(self, sample):
        self.sample(sample)
        super().sampled(sample)
        self.report(self.arm.mode.name, self.arm.reason)

    def unseen(self, *args, **more):
        super().unseen(*args, **more)
        self.report(self.arm.mode.name, self.arm.reason)


class Detector(Reporter, DynamicsNode):
    def sampled(self, sample):
        self.sample(sample)
        super().sampled(sample)
        self.report(self.monitor.state.level.name, self.monitor.state.reason)

    def unseen(self, *args, **more):
        super().unseen(*args, **more)
        self.report(self.monitor.state.level.name, self.monitor.state.reason)


class Plant(Reporter, SimulatorNode):
    def configure(self, model):
        super().configure(model)
        signal.signal(signal.SIGUSR1, lambda *_: self.pushed())

    def pushed(self):
        self.plant.push("link_6", NO_FORCE, duration=PUSHED, torque=TORQUE, axes="link")

    def _step(self):
        self.gap = min(self.silent, 1e9)
        held = self.silent > self.settings.command_timeout
        super()._step()
        self.report("HELD" if held else "DRIVEN")


NODES = {
    "controller_node": Controller,
    "dynamics_node": Detector,
    "simulator_node": Plant,
    "demo_node": DemoNode,
}

if __name__ == "__main__":
    raise SystemExit(run(NODES[sys.argv[1]], args=sys.argv[2:]))
