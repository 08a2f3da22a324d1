"""How fast and how regularly the nodes' loop runs: plant, controller, plant, the detector beside.

    python benchmark/ros_loop.py [--quick] [--robot lwr_iii] [--json FILE] [--check]

The nodes run as in the demo, with config/demo.yaml but without its pushes. A cycle counts if the
plant had a fresh command for its step; latency is from a joint state's publication to the command
that answers it; both are what simulator_node itself reports on /diagnostics. A probe of its own
measures from a joint state to the residual with the same stamp. On a shared machine run it more
than once.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from figures import Figure, figures_table, finish, options
from rich.console import Console
from sensor_msgs.msg import JointState
from soak_processes import stay_apart

from robodyn_ros.nodes import composed as all_nodes  # noqa: F401  compile their kernels
from robodyn_ros.nodes.codec import seconds
from robodyn_ros.nodes.demo import DEMO_NODES, NODES, Demo, running
from robodyn_ros.nodes.runtime import STATE_IN, spin
from robodyn_ros.nodes.terminal import open_terminal
from robodyn_ros.resources import share_path

SETTLE = 4.0  # [s] after the start that are not measured
TICK = os.sysconf("SC_CLK_TCK")
STARTS = 5
HIGHEST = (1500.0, 2000.0, 2500.0, 3000.0, 4000.0)  # [Hz], tried in turn


class Probe:
    """Hears joint states, residuals and diagnostics, and when."""

    def __init__(self, node) -> None:
        self.heard: dict[float, float] = {}
        self.delays: list[float] = []
        self.facts: dict[str, str] = {}
        self.at = 0.0  # [s], when the facts came
        node.create_subscription(JointState, "joint_states", self._state, STATE_IN)
        node.create_subscription(JointState, "dynamics_node/residual", self._residual, STATE_IN)
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)

    def _state(self, message: JointState) -> None:
        self.heard[seconds(message.header.stamp)] = time.perf_counter()

    def _residual(self, message: JointState) -> None:
        begun = self.heard.pop(seconds(message.header.stamp), None)
        if begun is not None:
            self.delays.append(time.perf_counter() - begun)

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith("simulator_node"):
                self.facts = {item.key: item.value for item in status.values}
                self.at = time.perf_counter()

    def counts(self) -> tuple[int, int]:
        return int(self.facts["samples"]), int(self.facts["missed"])


@dataclass(frozen=True)
class Loop:
    """What was measured of one configuration."""

    rate: float  # [Hz], wanted
    fresh: float  # share of cycles with a fresh command
    reached: float  # [Hz]
    p50: float  # [ms], of the latency
    p99: float  # [ms]
    cores: float  # used by the nodes
    flag: float  # [ms], from joint state to residual at the probe, 99 %


def cpu_seconds(processes: list[subprocess.Popen]) -> float:
    """Processor time that these processes have used."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def measure(robot: str, rate: float, composed: bool, duration: float, look: bool = True) -> Loop:
    """Run the loop at this rate. look: whether the probe listens to every sample, too."""
    own = {node: {"rate": rate, "robot.name": robot} for node in NODES}
    own["demo_node"] = {"robot.name": robot}
    own["simulator_node"]["pushes.names"] = [""]
    demo = Demo(share_path("config", "demo.yaml"), duration, composed, overrides=own)
    with running(demo) as processes, open_terminal() as (node, executor):
        probe = Probe(node) if look else Quiet(node)
        spin(
            executor, lambda: "samples" in probe.facts and probe.counts()[0] > SETTLE * rate, 90.0
        )
        probe.delays.clear()
        begun, (samples, missed), used = probe.at, probe.counts(), cpu_seconds(processes)
        spin(executor, lambda: probe.at - begun >= duration, duration + 5.0)
        span, cores = probe.at - begun, cpu_seconds(processes) - used
        more, lost = probe.counts()
        p50, p99, _ = (float(x) for x in probe.facts["latency p50, p99, max [ms]"].split(","))
    cycles = more - samples
    return Loop(
        rate,
        1.0 - (lost - missed) / cycles,
        cycles / span,
        p50,
        p99,
        cores / span,
        1e3 * float(np.percentile(probe.delays, 99)) if probe.delays else 0.0,
    )


class Quiet(Probe):
    """Only the diagnostics: a listener at full rate takes time from the nodes."""

    def _state(self, message: JointState) -> None:
        """Not looked at."""

    def __init__(self, node) -> None:
        self.delays, self.facts, self.at = [], {}, 0.0
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)


def start_times(robot: str) -> list[float]:
    """[s] from the start of dynamics_node's process to its first residual, of several starts."""
    own = {node: {"robot.name": robot} for node in DEMO_NODES}
    demo = Demo(share_path("config", "demo.yaml"), 0.0, overrides=own)
    place, heard, taken = NODES.index("dynamics_node"), [], []
    with running(demo) as processes, open_terminal() as (node, executor):
        node.create_subscription(
            JointState,
            "dynamics_node/residual",
            lambda message: heard.append(time.perf_counter()),
            STATE_IN,
        )
        spin(executor, lambda: len(heard) > 100, 90.0)
        for _ in range(STARTS):
            arguments = processes[place].args
            processes[place].terminate()
            processes[place].wait(10.0)
            spin(executor, lambda: False, 0.5)
            heard.clear()
            begun = time.perf_counter()
            processes[place] = subprocess.Popen(arguments)
            spin(executor, lambda: bool(heard), 60.0, every=0.01)
            taken.append(heard[0] - begun)
            spin(executor, lambda: False, 1.0)
    return taken


def figures(robot: str, duration: float) -> Iterator[Figure]:
    """All lines, one after the other."""
    one = measure(robot, 1000.0, True, duration, look=False)
    name = "1 kHz, composed in one process"
    yield share(name, one, 0.995)
    yield latency(name, one, 1.0)
    yield Figure(f"{name}: processor", f"{one.cores:.2f} cores", "≤ 0.5", one.cores <= 0.5)
    three = measure(robot, 1000.0, False, duration, look=False)
    yield share("1 kHz, three processes", three, 0.97)
    yield latency("1 kHz, three processes", three, 3.0)
    slow = measure(robot, 500.0, False, duration)
    yield share("500 Hz, three processes", slow, 0.99)
    yield Figure(
        "from joint state to flag and residual: 99 %",
        f"{slow.flag:.2f} ms",
        "≤ 5 ms",
        slow.flag <= 5.0,
    )
    highest = 0.0
    for rate in HIGHEST:
        found = measure(robot, rate, True, duration / 2.0, look=False)
        if found.fresh < 0.99 or found.reached < 0.99 * rate:
            break
        highest = rate
    yield Figure(
        "highest rate with 99 % of cycles, composed",
        f"{highest:.0f} Hz",
        "> 1500 Hz",
        highest > 1500.0,
    )
    taken = start_times(robot)
    middle = float(np.median(taken))
    yield Figure(
        "start to first residual, kernels cached: median",
        f"{middle:.2f} s",
        "≤ 3 s",
        middle <= 3.0,
        f"{len(taken)} starts, {min(taken):.2f} to {max(taken):.2f} s: discovery takes its turn",
    )


def share(name: str, loop: Loop, bar: float) -> Figure:
    measured = f"{loop.fresh:.2%} of {loop.reached:.0f} Hz"
    held = loop.fresh >= bar and loop.reached >= 0.99 * loop.rate
    return Figure(f"{name}: cycles with a fresh command", measured, f"≥ {bar:.1%}", held)


def latency(name: str, loop: Loop, bar: float) -> Figure:
    measured = f"{loop.p99:.2f} ms (median {loop.p50:.2f})"
    return Figure(f"{name}: latency, 99 %", measured, f"≤ {bar:g} ms", loop.p99 <= bar)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--robot", default="lwr_iii")
    arguments = parser.parse_args()
    stay_apart()
    console = Console()
    found = []
    with console.status("running the nodes, one configuration after the other"):
        for figure in figures(arguments.robot, 5.0 if arguments.quick else 20.0):
            console.print(f"{figure.figure}: {figure.measured}", highlight=False)
            found.append(figure)
    console.print(figures_table(found, f"{arguments.robot}, {os.cpu_count()} cores"))
    finish(found, arguments)


if __name__ == "__main__":
    main()
