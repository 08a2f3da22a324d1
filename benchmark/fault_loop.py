"""What naming causes costs a detector's loop: two nodes side by side, of which one names.

    python benchmark/fault_loop.py [--quick] [--rate 500] [--json FILE] [--check]

This process is the arm: it moves with a payload that the detectors do not know, so a case is open
all the time, with a decision every 0.1 s. Each sample goes to both nodes, in turns who is
first; a delay counts from the publication of a joint state to the residual with its stamp. On a
shared machine run it more than once.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from figures import Figure, figures_table, finish, options
from rich.console import Console
from sensor_msgs.msg import JointState
from soak_processes import NodeProcess, node_command, stay_apart, write_parameters

import robodyn_ros as rd
from robodyn_ros.nodes.codec import read_fault_state, seconds
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN, STATE_OUT, JointStateMessage, spin
from robodyn_ros.nodes.terminal import open_terminal

ROBOT, HELD = "lwr_iii", 1.5  # [kg]
WAYS = ("on", "off")
SETTLE = 3.0  # [s] after the payload was named
SLOWER = 1.1  # 99 % with names over that without: a tenth is the scatter of two equal nodes


class Arm:
    """An arm with a payload, and what it hears of each detector."""

    def __init__(self, node, rate: float) -> None:
        model = rd.load_robot(ROBOT)
        angle = np.arange(0.0, 2.0 * np.pi, 1.0 / rate)[:, None] + np.arange(model.n)
        self.q, self.qd = 0.6 + 0.3 * np.sin(angle), 0.3 * np.cos(angle)
        loaded = model.replace(payload=rd.Payload(model.link_names[-1], HELD))
        self.tau = rd.inverse_dynamics(loaded, self.q, self.qd, -0.3 * np.sin(angle))
        self.message = JointStateMessage(model.joint_names, "position", "velocity", "effort")
        self.count, self.name = 0, ""
        self.sent: dict[str, dict[float, float]] = {way: {} for way in WAYS}
        self.delays: dict[str, list[float]] = {way: [] for way in WAYS}
        self.to = {}
        for way in WAYS:
            self.to[way] = node.create_publisher(JointState, f"/{way}/joint_states", STATE_OUT)
            node.create_subscription(
                JointState,
                f"/{way}/dynamics_node/residual",
                lambda message, way=way: self._on_residual(way, seconds(message.header.stamp)),
                STATE_IN,
            )
        topic = "/on/dynamics_node/fault"
        node.create_subscription(DiagnosticArray, topic, self._on_fault, LATCHED)
        node.create_timer(1.0 / rate, self.step)

    def step(self) -> None:
        k, t = self.count % len(self.q), round(time.time(), 6)
        self.message.position[:], self.message.velocity[:] = self.q[k], self.qd[k]
        self.message.effort[:] = self.tau[k]
        message = self.message.at(t)
        for way in WAYS if self.count % 2 else reversed(WAYS):
            self.sent[way][t] = time.perf_counter()
            self.to[way].publish(message)
        self.count += 1

    def _on_residual(self, way: str, t: float) -> None:
        begun = self.sent[way].pop(round(t, 6), None)
        if begun is not None:
            self.delays[way].append(1e3 * (time.perf_counter() - begun))

    def _on_fault(self, message: DiagnosticArray) -> None:
        self.name = read_fault_state(message)[0].kind


def measure(rate: float, duration: float) -> Iterator[Figure]:
    """Run both nodes and compare them."""
    common = {"robot": {"name": ROBOT}, "rate": rate, "effort": {"source": "joint_states"}}
    limits = {"contact": {"base": [1.0]}, "collision": {"base": [2.0]}}
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        for way in WAYS:
            own = {**common, "monitor": {**limits, "faults": {"enabled": way == "on"}}}
            path = write_parameters(Path(name) / f"{way}.yaml", {f"{way}/dynamics_node": own})
            command = node_command(
                "robodyn_ros.nodes.dynamics_node", [path], "-r", f"__ns:=/{way}"
            )
            process = NodeProcess(command, Path(name) / f"{way}.log")
            process.start()
            stack.callback(process.stop)
        node, executor = stack.enter_context(open_terminal())
        arm = Arm(node, rate)
        spin(executor, lambda: arm.name == "payload" and all(arm.delays.values()), 90.0)
        spin(executor, lambda: False, SETTLE)
        for delays in arm.delays.values():
            delays.clear()
        spin(executor, lambda: False, duration)
    (p50, p99), (q50, q99) = (np.percentile(arm.delays[way], [50, 99]) for way in WAYS)
    note = f"{len(arm.delays['on'])} samples; named {arm.name or 'nothing'}"
    yield Figure("median, causes named (not named)", f"{p50:.3f} ({q50:.3f}) ms", "(none)", True)
    good = p99 <= SLOWER * q99 and arm.name == "payload"
    measured = f"{p99:.3f} ({q99:.3f}) ms"
    yield Figure("99 %, causes named (not named)", measured, f"≤ {SLOWER:g} times", good, note)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, default=500.0, help="of joint states [Hz]")
    arguments = parser.parse_args()
    stay_apart()
    found = list(measure(arguments.rate, 20.0 if arguments.quick else 120.0))
    title = f"{ROBOT}, joint states at {arguments.rate:g} Hz, {os.cpu_count()} cores"
    Console().print(figures_table(found, title))
    finish(found, arguments)


if __name__ == "__main__":
    main()
