"""What naming causes costs the detector's loop: two nodes side by side, of which one names.

    python benchmark/fault_loop.py [--quick] [--rate 500] [--json FILE] [--check]

An arm moves with a payload that the detectors do not know, so a case is open all the time, with a
decision every 0.1 s. Both are real nodes in this process; each sample goes to both by a plain
call, in turns who is first. What counts is all that a node does for a sample, publishing
included, in time of this thread's processor: what others take of a shared machine does not count.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import numpy as np
import rclpy
from figures import Figure, figures_table, finish, options
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rich.console import Console
from soak_processes import stay_apart

import robodyn_ros as rd
from robodyn_ros.nodes.detector_kernels import DETECTOR, NAMES
from robodyn_ros.nodes.dynamics_node import DynamicsNode
from robodyn_ros.nodes.runtime import JointStateMessage, compile_for_nodes

ROBOT, HELD = "lwr_iii", 1.5  # [kg]
GRIPPED, SETTLE = 1.0, 3.0  # [s] after the start; until then nothing is measured
MOST = 1.1  # times as much: the scatter between two equal nodes
PARAMETERS = {
    "robot.name": ROBOT,
    "effort.source": "joint_states",
    "monitor.contact.base": [1.0],
    "monitor.collision.base": [2.0],
}


def given(rate: float) -> list[str]:
    """The parameters of both nodes, as arguments."""
    every = {**PARAMETERS, "rate": rate}
    return [x for name, value in every.items() for x in ("-p", f"{name}:={value}")]


def detector(names: bool) -> DynamicsNode:
    """A detector that names causes, or not."""
    node = DynamicsNode()
    result = node.set_parameters_atomically([Parameter("monitor.faults.enabled", value=names)])
    if not result.successful:
        raise RuntimeError(result.reason)
    return node


def measure(rate: float, duration: float) -> tuple[dict[bool, np.ndarray], str]:
    """Return what each sample cost [us], with names and without, and the last name."""
    compile_for_nodes((*DETECTOR, *NAMES))  # or causes are named only once that is done
    model = rd.load_robot(ROBOT)
    t = np.arange(0.0, SETTLE + duration, 1.0 / rate)
    angle = t[:, None] + np.arange(model.n)
    q, qd, qdd = 0.6 + 0.3 * np.sin(angle), 0.3 * np.cos(angle), -0.3 * np.sin(angle)
    loaded = model.replace(payload=rd.Payload(model.link_names[-1], HELD))
    tau = rd.inverse_dynamics(model, q, qd, qdd)
    tau[t > GRIPPED] = rd.inverse_dynamics(loaded, q, qd, qdd)[t > GRIPPED]
    message = JointStateMessage(model.joint_names, "position", "velocity", "effort")
    nodes = {names: detector(names) for names in (True, False)}
    spent = {names: np.zeros(len(t)) for names in nodes}
    begun = time.time()
    for k, age in enumerate(t):
        time.sleep(max(begun + age - time.time(), 0.0))
        message.position[:], message.velocity[:], message.effort[:] = q[k], qd[k], tau[k]
        state = message.at(round(begun + age, 6))
        for names in (True, False) if k % 2 else (False, True):
            before = time.thread_time_ns()
            nodes[names].receive("joint_states", state)
            spent[names][k] = 1e-3 * (time.thread_time_ns() - before)
    fault = nodes[True].monitor.verdict.fault
    for node in nodes.values():
        node.destroy_node()
    return {names: row[t > SETTLE] for names, row in spent.items()}, fault.kind if fault else ""


def figures(spent: dict[bool, np.ndarray], name: str) -> Iterator[Figure]:
    """The median, which is not asked for, and the slowest hundredth: decisions are among them."""
    for place, title in ((50.0, "median"), (99.0, "99 %")):
        on, off = (float(np.percentile(spent[names], place)) for names in (True, False))
        note = f"{on / off:.2f} ×; {spent[True].size} samples, named {name or 'nothing'}"
        bar = f"≤ {MOST:g} ×" if place > 50.0 else "(none)"
        measured, good = f"{on:.0f}, {off:.0f} µs", on <= MOST * off and name == "payload"
        yield Figure(f"a sample, causes named and not: {title}", measured, bar, good, note)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, default=500.0, help="of joint states [Hz]")
    arguments = parser.parse_args()
    stay_apart()
    rclpy.init(
        args=["--ros-args", "--log-level", "fatal", *given(arguments.rate)],
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        spent, name = measure(arguments.rate, 20.0 if arguments.quick else 120.0)
    finally:
        rclpy.try_shutdown()
    found = list(figures(spent, name))
    title = f"{ROBOT}, joint states at {arguments.rate:g} Hz, {os.cpu_count()} cores"
    Console().print(figures_table(found, title))
    finish(found, arguments)


if __name__ == "__main__":
    main()
