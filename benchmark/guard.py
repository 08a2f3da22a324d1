"""How soon the guard asks to stop: from the joint state that shows a push to the cancel request.

    python benchmark/guard.py [--quick] [--rate 500] [--json FILE] [--check]

This process is the driver: it publishes joint states of an arm at rest with measured torque,
pushes it again and again, and answers the request to cancel. A push begins once the detector says
CLEAR and the guard is armed, and lasts until the request, two seconds at most: a machine that
keeps this process waiting for 20 ms leaves a gap in the joint states. After it the detector is
UNKNOWN for 0.2 s, and if the arm is pushed by then, for up to a second, as the effort may have
the wrong scale. Pushes with such gaps are counted apart.

dynamics_node and guard_node run in one process (guarded_detector), then in two. A delay counts
from the publication of the joint state whose verdict is the first COLLISION to the arrival of the
request here, so both ways between the processes are part of it. On a shared machine run it more
than once.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from action_msgs.srv import CancelGoal
from diagnostic_msgs.msg import DiagnosticArray
from figures import Figure, figures_table, finish, options
from rich.console import Console
from sensor_msgs.msg import JointState
from soak_processes import NodeProcess, stay_apart
from std_msgs.msg import Bool

import robodyn_ros as rd
from robodyn_ros.nodes.codec import read_collision_state
from robodyn_ros.nodes.runtime import LATCHED, STATE_OUT, JointStateMessage, spin
from robodyn_ros.nodes.terminal import open_terminal

ACTION = "arm/follow"
ROBOT = "lwr_iii"
PUSH = 20.0  # [N m], on joint 2
PUSH_TIME, LONGEST_PUSH, PAUSE = 0.1, 2.0, 0.4  # [s]
GAP = 0.02  # [s] between joint states, beyond which the observer starts anew
PARAMETERS = """
/**/dynamics_node:
  ros__parameters:
    robot: {{name: {robot}}}
    rate: {rate}
    effort: {{source: joint_states}}
    sensing: {{silence: 0.2}}
    monitor: {{contact: {{base: [1.0]}}, collision: {{base: [2.0]}}}}
/**/guard_node:
  ros__parameters:
    robot: {{name: {robot}}}
    guard: {{rearm_after: 0.1}}
    means: {{names: [cancel], cancel: {{kind: cancel, target: {action}}}}}
"""


class Driver:
    """An arm at rest that is pushed every half second."""

    def __init__(self, node, rate: float) -> None:
        self.model = rd.load_robot(ROBOT)
        n = self.model.n
        self.q = np.linspace(-0.6, 0.8, n)
        self.g = rd.gravity_torque(self.model, self.q)
        self.message = JointStateMessage(self.model.joint_names, "position", "velocity", "effort")
        self.publisher = node.create_publisher(JointState, "joint_states", STATE_OUT)
        node.create_service(CancelGoal, f"{ACTION}/_action/cancel_goal", self._on_cancel)
        topic = "dynamics_node/collision_state"
        node.create_subscription(DiagnosticArray, topic, self._on_verdict, LATCHED)
        node.create_subscription(Bool, "guard_node/armed", self._on_armed, LATCHED)
        self.published: dict[float, float] = {}  # stamp: when [s]
        self.shown: float | None = None  # stamp of the first COLLISION of this push
        self.asked: float | None = None  # when the request of this push came [s]
        self.delays: list[float] = []  # [s]
        self.clear = self.armed = self.active = self.pushed = False
        self.ended: list[tuple[bool, bool]] = []  # pushes: without a gap, stopped
        self.since = self.last = time.perf_counter()  # of the push or the pause; the last sample
        self.on_time = True  # no gap in this push
        node.create_timer(1.0 / rate, self.step)

    @property
    def known(self) -> bool:
        """Whether a push would be seen and stopped."""
        return self.clear and self.armed

    def step(self) -> None:
        now = time.perf_counter()
        lasted, gap, self.last = now - self.since, now - self.last, now
        if self.pushed:
            self.on_time = self.on_time and gap <= GAP
            if lasted > (LONGEST_PUSH if self.asked is None else PUSH_TIME):
                self.pushed, self.since = False, now
                self.ended.append((self.on_time, self.asked is not None))
        elif self.known and self.active and lasted > PAUSE:
            self.pushed, self.since, self.on_time = True, now, True
            self.published.clear()
            self.shown = self.asked = None
        self.q += 1e-14
        self.message.position[:] = self.q
        self.message.effort[:] = self.g
        if self.pushed:
            self.message.effort[1] -= PUSH
        t = round(time.time(), 6)
        message = self.message.at(t)
        self.published[t] = time.perf_counter()
        self.publisher.publish(message)

    def _on_verdict(self, message: DiagnosticArray) -> None:
        report = read_collision_state(message)
        self.clear = report.level is rd.Level.CLEAR
        if self.pushed and self.shown is None and report.level is rd.Level.COLLISION:
            self.shown = round(report.t, 6)
            self._count()

    def _on_armed(self, message: Bool) -> None:
        self.armed = message.data

    def _on_cancel(self, _: CancelGoal.Request, response: CancelGoal.Response):
        self.asked = time.perf_counter()
        self._count()
        return response

    def _count(self) -> None:
        """Both messages are there, in whatever order."""
        if self.shown is not None and self.asked is not None and self.shown in self.published:
            self.delays.append(self.asked - self.published[self.shown])
            self.shown = -1.0  # counted


def measure(rate: float, nodes: Sequence[str], seconds: float) -> tuple[np.ndarray, Driver]:
    """Return the delays [ms], and the driver with its counts."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "guard.yaml"
        path.write_text(PARAMETERS.format(robot=ROBOT, rate=rate, action=ACTION))
        for name in nodes:
            module = [sys.executable, "-m", f"robodyn_ros.nodes.{name}", "--ros-args"]
            process = NodeProcess([*module, "--params-file", str(path)], Path(folder) / name)
            process.start()
            stack.callback(process.stop)
        node, executor = stack.enter_context(open_terminal())
        driver = Driver(node, rate)
        spin(executor, lambda: driver.known, 90.0)
        spin(executor, lambda: False, 2.0)
        driver.active = True
        spin(executor, lambda: False, seconds)
        return 1e3 * np.array(driver.delays), driver


def figures(rate: float, seconds: float) -> Iterator[Figure]:
    """All lines, one after the other."""
    ways = (
        ("detector and guard in one process", ["guarded_detector"], 5.0),
        ("detector and guard in two processes", ["dynamics_node", "guard_node"], 10.0),
    )
    for name, nodes, bar in ways:
        delays, driver = measure(rate, nodes, seconds)
        p50, p99 = np.percentile(delays, [50, 99]) if len(delays) else (np.inf, np.inf)
        measured = f"{p99:.2f} ms (median {p50:.2f}, worst {delays.max(initial=0.0):.2f})"
        yield Figure(f"{name}: 99 %", measured, f"< {bar:g} ms", p99 < bar)
        seen = [stopped for on_time, stopped in driver.ended if on_time]
        late = [stopped for on_time, stopped in driver.ended if not on_time]
        yield Figure(
            f"{name}: stops of pushes",
            f"{sum(seen)} of {len(seen)}",
            "all",
            all(seen) and len(seen) > 0,
            f"and {sum(late)} of {len(late)} with gaps in the joint states",
        )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--rate", type=float, default=500.0, help="of joint states [Hz]")
    arguments = parser.parse_args()
    stay_apart()
    console, found = Console(), []
    with console.status("pushing"):
        for figure in figures(arguments.rate, 30.0 if arguments.quick else 120.0):
            console.print(f"{figure.figure}: {figure.measured}", highlight=False)
            found.append(figure)
    title = f"{ROBOT}, joint states at {arguments.rate:g} Hz, {os.cpu_count()} cores"
    console.print(figures_table(found, title))
    finish(found, arguments)


if __name__ == "__main__":
    main()
