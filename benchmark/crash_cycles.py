"""kill -9 and restart of each node while the arm moves, again and again.

    python benchmark/crash_cycles.py [--cycles 100] [--latched 10] [--rate 500] [--seed 1]
                                     [--json FILE] [--check] [--checkpoint FILE]

Plant, controller and detector run as processes of their own. Each is killed and started anew so
many times; looked at are: how long after the start of its process the first valid output comes,
whether the torque that acts on the arm ever changes faster than it may, whether an alarm is
invented, and whether the arm goes on. Then the same while the arm gives way to a push and waits to
be cleared: that must outlast a restart of the detector, of the plant and of the controller, and a
controller that starts while the push lasts must give way at once.

The arm differs from the model as in the demo, friction included. In half of the restarts it also
carries a payload and its sensors are noisy: then the torque that acts is not judged, whose
readings have steps of their own, but that which is commanded.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from checkpoint import OPTION, Checkpoint
from diagnostic_msgs.msg import DiagnosticArray
from figures import Figure, figures_table, finish, options
from geometry_msgs.msg import WrenchStamped
from rclpy.qos import QoSProfile
from rich.console import Console
from rich.progress import track
from sensor_msgs.msg import JointState
from soak_processes import (
    NodeProcess,
    node_command,
    stay_apart,
    stopped_in_the_end,
    withheld_time,
    write_parameters,
)
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robodyn_ros.model.robots import load_robot
from robodyn_ros.nodes.codec import read_collision_state, seconds
from robodyn_ros.nodes.demo import DEMO_NODES, NODES
from robodyn_ros.nodes.runtime import LATCHED, STATE_IN, spin
from robodyn_ros.nodes.terminal import open_terminal
from robodyn_ros.resources import share_path

ROBOT = "lwr_iii"
SOON = 2.0  # [s] from the start of a process to its first valid output
RATE_MAX = 1000.0  # [N m/s], the controller's tau_rate_max
ROUNDING = 1e-3  # of stamps
# [s], how late commands may be on a busy machine. Those that come late come together, two or more
# in a period, of which the last acts at once: then the torque moves by all that it was to change
# meanwhile. No pause, however long, is an excuse for more than that.
LATE = 0.02
KNOWN = 0.1  # [s] after which it is known what was commanded, whichever came first
KEPT = 1000  # latest commands
MOVING = 0.05  # [rad/s]
LONGEST = 60.0  # [s] for anything to happen on a busy machine
REST = 3.0  # [s] for which an arm that waits to be cleared must stay at rest
DEAD = (0.1, 0.5)  # [s], how long a node stays dead
TOUCHED = ("CONTACT", "COLLISION")
GOES_ON = "cleared, the arm goes on"
DEEP = QoSProfile(depth=5000)  # nothing is missed
NOISY = "with noise and payload"
CARRIED = {"payload.link": "link_7", "payload.mass": 1.0}  # [kg]


class Onlooker:
    """What is heard of the nodes since the last `forget`, and when.

    exact: whether the torque that acts is reported without noise.
    """

    def __init__(self, node: Any, rate: float, exact: bool = True) -> None:
        self.period, self.exact = 1.0 / rate, exact
        self.limit = load_robot(ROBOT).tau_max * (1.0 + 1e-9)
        # First and latest output of each node, [s] of the monotonic clock
        self.first: dict[str, float] = {}
        self.latest = dict.fromkeys(NODES, 0.0)
        self.level = self.mode = ""
        self.alarms: list[str] = []
        self.invalid = 0
        self._died = 0.0  # [s] of the monotonic clock, when a node did last
        self.speed = self.step = 0.0  # [rad/s]; largest change of torque, as a share of the limit
        self.worst = ""  # which change that was
        self._applied: tuple[float, np.ndarray] | None = None  # torque, and since when it acts
        self._given: tuple[float, np.ndarray] | None = None
        self._stamps: dict[bytes, float] = {}  # [s], which sample a commanded torque answers
        # Changes of the torque that acts, to be judged: when, from what to what, after how long
        self._changes: deque[tuple[float, np.ndarray, np.ndarray, float]] = deque()
        node.create_subscription(JointState, "joint_states", self.on_state, DEEP)
        node.create_subscription(JointState, "controller_node/reference", self.on_reference, DEEP)
        node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self._command, 10
        )
        node.create_subscription(JointState, "dynamics_node/residual", self._residual, STATE_IN)
        node.create_subscription(
            DiagnosticArray, "dynamics_node/collision_state", self._word, LATCHED
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)
        self.push = node.create_publisher(WrenchStamped, "simulator_node/push", 10)
        self._clear = node.create_client(Trigger, "controller_node/clear")

    def clear(self) -> None:
        """Let the arm go on."""
        if self._clear.service_is_ready():
            self._clear.call_async(Trigger.Request())

    def died(self) -> None:
        """A node has just been killed; what it said may still be on its way."""
        self._died = time.monotonic()

    def begins(self, node: str) -> None:
        """A node's successor begins, where it likes; what the others do goes on."""
        self.judge_all()
        self.first.clear()
        if node == "controller_node":
            self._given = None
            self._stamps.clear()
        if node == "simulator_node":
            self._applied = None

    def unheard(self) -> None:
        """What was said about the arm before now does not count."""
        self.level = self.mode = ""

    def _valid(self, node: str, values: np.ndarray, limit: Any = np.inf) -> None:
        """First outputs count if they are numbers within their limits."""
        self.latest[node] = time.monotonic()
        if values.size and (np.abs(values) <= limit).all():
            self.first.setdefault(node, self.latest[node])
        else:
            self.invalid += 1

    def on_state(self, message: JointState) -> None:
        t, tau = seconds(message.header.stamp), np.array(message.effort)
        self._valid("simulator_node", np.array([*message.position, *message.velocity, *tau]))
        self.speed = float(np.abs(message.velocity).max())
        if not self.exact:
            return
        if self._applied is None or (tau != self._applied[1]).any():  # else no command came
            if self._applied is not None:
                self._changes.append((t, self._applied[1], tau, t - self._applied[0]))
            self._applied = t, tau
        while self._changes and t > self._changes[0][0] + KNOWN:
            self._judge(*self._changes.popleft())

    def _judge(self, t: float, before: np.ndarray, tau: np.ndarray, dt: float) -> None:
        """A change of the torque that acts, dt [s] after the last one. From one command to another
        it is as lawful as theirs, which may come two in a period.
        """
        answers = [self._stamps.get(x.tobytes()) for x in (before, tau)]
        if None not in answers:
            dt = max(dt, answers[1] - answers[0])
        self._compare("acting", t, tau - before, min(dt, LATE))

    def on_reference(self, message: JointState) -> None:
        t, tau = seconds(message.header.stamp), np.array(message.effort)
        if self._given is not None:
            self._compare("commanded", t, tau - self._given[1], t - self._given[0])
        self._given = t, tau
        self._stamps[tau.tobytes()] = t
        if len(self._stamps) > KEPT:
            del self._stamps[next(iter(self._stamps))]

    def _compare(self, which: str, t: float, change: np.ndarray, dt: float) -> None:
        """Torque that has changed within dt [s]."""
        k = int(np.argmax(np.abs(change)))
        share = abs(change[k]) / (RATE_MAX * dt) if dt > 0.0 else 0.0
        if share > self.step:
            after = time.monotonic() - self._died
            self.step = float(share)
            self.worst = (
                f"{which}, joint {k + 1}: {change[k]:+.2f} N m in {1e3 * dt:.1f} ms, "
                f"{after:.2f} s after a kill"
            )

    def judge_all(self) -> None:
        """Do not wait for what may still come."""
        while self._changes:
            self._judge(*self._changes.popleft())

    def _command(self, message: Float64MultiArray) -> None:
        self._valid("controller_node", np.array(message.data), self.limit)

    def _residual(self, message: JointState) -> None:
        self._valid("dynamics_node", np.array(message.effort))

    def _word(self, message: DiagnosticArray) -> None:
        report = read_collision_state(message)
        level = report.level.name
        if level in TOUCHED and self.level not in TOUCHED:
            after = time.monotonic() - self._died
            self.alarms.append(f"{level} of {' '.join(report.joints)} {after:.2f} s after")
        self.level = level

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            facts = {item.key: item.value for item in status.values}
            self.mode = facts.get("mode", self.mode)


@dataclass
class Crashes:
    """What became of one node's restarts; `who`: which, and with what arm."""

    who: str
    taken: list[float] = field(default_factory=list)  # [s], from start to first valid output
    used: list[float] = field(default_factory=list)  # [s] of processor time until then
    back: list[float] = field(default_factory=list)  # [s], from start until the arm moves on
    step: float = 0.0  # largest change of the torque, as a share of what is allowed
    worst: str = ""  # which change that was
    alarms: list[str] = field(default_factory=list)
    invalid: int = 0
    lost: int = 0  # cycles after which the arm did not go on
    late: list[str] = field(default_factory=list)  # starts that took too long, and on what machine


class Scene:
    """The three processes and the one who looks on."""

    def __init__(self, processes: dict[str, NodeProcess], seen: Onlooker, executor: Any) -> None:
        self.processes, self.seen, self.executor = processes, seen, executor

    def wait(self, condition: Callable[[], bool], longest: float = LONGEST) -> bool:
        """Let time pass until something is true; whether it became true."""
        spin(self.executor, condition, longest, every=0.005)
        return condition()

    def pause(self, span: float) -> None:
        """Let time pass [s]."""
        spin(self.executor, lambda: False, span)

    def under_way(self) -> bool:
        """Whether the arm moves and nothing is wrong; clears what has to be cleared."""
        seen = self.seen
        if seen.mode == "SAFE_HOLD":
            seen.clear()
        return seen.mode == "TRACKING" and seen.level == "CLEAR" and seen.speed > MOVING

    def crash(self, node: str, dead: float) -> None:
        """Kill a node, wait, start it anew."""
        self.seen.died()
        self.processes[node].kill()
        # What it said before may still be on its way
        self.wait(lambda: time.monotonic() - self.seen.latest[node] > dead)
        self.seen.begins(node)
        self.processes[node].start()

    def push(self, link: str, torque: float) -> None:
        """Push about a link's axis until told otherwise; 0 ends it."""
        message = WrenchStamped()
        message.header.frame_id = link
        message.wrench.torque.z = torque
        self.wait(lambda: self.seen.push.get_subscription_count() > 0)
        self.seen.push.publish(message)


@contextmanager
def scene(
    rate: float, speed: float = 0.3, noisy: bool = False, **controller: Any
) -> Iterator[Scene]:
    """The demo without its script, under way. speed: of demo_node. noisy: sensors, and a payload
    that all know.
    """
    own: dict[str, dict[str, Any]] = {node: {"rate": rate, "robot.name": ROBOT} for node in NODES}
    for node in NODES:
        own[node] |= CARRIED if noisy else {}
    own["demo_node"] = {"robot.name": ROBOT, "speed": speed}
    own["simulator_node"] |= {"pushes.names": [""], "push_duration": 600.0, "plant.noise": noisy}
    own["controller_node"] |= controller
    with tempfile.TemporaryDirectory() as folder:
        files = [
            share_path("config", "demo.yaml"),
            write_parameters(Path(folder, "own.yaml"), own),
        ]
        log = Path(folder, "log")
        processes = {
            node: NodeProcess(node_command(f"robodyn_ros.nodes.{node}", files), log)
            for node in DEMO_NODES
        }
        with stopped_in_the_end(list(processes.values())), open_terminal() as (node, executor):
            for process in processes.values():
                process.start()
            there = Scene(processes, Onlooker(node, rate, exact=not noisy), executor)
            if not there.wait(there.under_way):
                raise SystemExit("the arm does not move: " + log.read_text()[-2000:])
            yield there


def crashes(there: Scene, node: str, found: Crashes, count: int, seed: int) -> Iterator[Crashes]:
    """Crash a node again and again, from as often as was found; what came of it, each time."""
    seen = there.seen
    seen.step, seen.worst, seen.invalid = found.step, found.worst, found.invalid
    seen.alarms = found.alarms
    for cycle in range(len(found.back), count):
        # Each cycle has numbers of its own, however many came before it in this sitting
        random = np.random.default_rng([seed, NODES.index(node), not seen.exact, cycle])
        try:
            _crash(there, node, found, random)
        finally:  # also of a cycle that is cut short
            seen.judge_all()
            found.step, found.worst, found.invalid = seen.step, seen.worst, seen.invalid
        yield found


def _crash(there: Scene, node: str, found: Crashes, random: np.random.Generator) -> None:
    seen = there.seen
    there.pause(random.uniform(0.0, 0.3))
    there.crash(node, random.uniform(*DEAD))
    process, before = there.processes[node], withheld_time()
    came = there.wait(lambda: node in seen.first)
    taken = seen.first.get(node, math.inf) - process.started
    used = process.resources().cpu if came else 0.0
    found.taken.append(taken)
    found.used.append(used)
    if taken > SOON:
        withheld = withheld_time() - before
        found.late.append(
            f"{taken:.2f} s ({used:.2f} of the processor, {withheld:.2f} withheld by the host)"
        )
    seen.unheard()
    found.lost += not there.wait(there.under_way)
    found.back.append(time.monotonic() - process.started)


class Latched:
    """An arm that waits to be cleared, and whether it still does after restarts."""

    def __init__(self, there: Scene, rest: float = REST) -> None:
        self.there, self.seen, self.rest = there, there.seen, rest

    def tries(self) -> Iterator[tuple[str, bool]]:
        """Once with each node: what should be, and whether it is."""
        there = self.there
        told = self._pushed()
        self._restarted("controller_node")
        there.wait(lambda: self._waits or self.seen.mode == "TRACKING")  # it may hold at first
        again = told and not there.wait(lambda: not self._waits, 2.0)
        yield "gives way still: restart of controller_node, while the push lasts", again
        self._freed()
        for node in ("dynamics_node", "simulator_node"):
            self._restarted(node)
            back = there.wait(lambda: self.seen.level == "CLEAR")
            kept = told and back and self._still(self.rest)
            yield f"gives way still: restart of {node}, after the push", kept
        yield GOES_ON, self._goes_on()
        told = self._pushed()
        self._freed()
        self._restarted("controller_node")
        kept = told and self._still(self.rest)
        yield "gives way still: restart of controller_node, after the push", kept
        yield GOES_ON, self._goes_on()

    @property
    def _waits(self) -> bool:
        """Whether the arm does nothing until it is cleared."""
        return self.seen.mode in ("REACTING", "SAFE_HOLD")

    def _pushed(self) -> bool:
        self.there.push("link_6", 8.0)
        return self.there.wait(lambda: self.seen.mode == "REACTING")

    def _freed(self) -> None:
        """The push ends, and the detector says so."""
        self.seen.level = ""
        self.there.push("link_6", 0.0)
        self.there.wait(lambda: self.seen.level == "CLEAR")

    def _restarted(self, node: str) -> None:
        """It is killed, and its successor is heard; what is known is what was said since then."""
        self.there.crash(node, 0.3)
        self.there.wait(lambda: node in self.seen.first)  # before, it knows of no arm
        self.seen.unheard()

    def _still(self, span: float) -> bool:
        """Whether it comes to rest, and stays there for so long."""
        there, seen = self.there, self.seen
        if not there.wait(lambda: self._waits and seen.speed < MOVING, 10.0):
            return False
        return not there.wait(lambda: not self._waits or seen.speed > MOVING, span)

    def _goes_on(self) -> bool:
        self.seen.clear()
        return self.there.wait(self.there.under_way)


# What an arm needs to wait to be cleared after a push
WAITING = {"arm.resume_after": 0.0, "arm.reaction": "stop"}


def latched(
    there: Scene, count: int, rest: float = REST, kept: Checkpoint | None = None
) -> Iterator[Figure]:
    """Yield whether the arm keeps waiting to be cleared after each restart.

    rest: [s] for which it must stay at rest.
    """
    kept, seen = kept or Checkpoint(None, {}), there.seen
    state = kept.state.setdefault("latched", {"rounds": 0, "found": {}, "step": 0.0, "worst": ""})
    seen.step, seen.worst = state["step"], state["worst"]
    rounds = range(state["rounds"], count)
    try:
        for done in track(rounds, "waits to be cleared", count, rounds.start):
            for what, so in Latched(there, rest).tries():
                state["found"].setdefault(what, []).append(so)
            state["rounds"] = done + 1
            _keep(kept, state, seen)
    finally:
        seen.judge_all()
        _keep(kept, state, seen)
    for what, so in state["found"].items():
        yield Figure(what, f"{sum(so)} of {len(so)}", "all", all(so))
    yield _step("waits to be cleared", state["step"], state["worst"])


def _keep(kept: Checkpoint, state: dict[str, Any], seen: Onlooker) -> None:
    state["step"], state["worst"] = seen.step, seen.worst
    kept.save()


def _step(who: str, step: float, worst: str) -> Figure:
    """Of the torque that is commanded, and of that which acts."""
    passed = step <= 1.0 + ROUNDING
    return Figure(f"{who}: torque step", f"{step:.2f} of the limit", "≤ 1", passed, worst)


def figures(found: Crashes) -> Iterator[Figure]:
    """The lines of one node."""
    taken, used = np.array(found.taken), np.array(found.used)
    yield Figure(
        f"{found.who}: start to first valid output, worst",
        f"{taken.max():.2f} s",
        f"≤ {SOON:g} s",
        bool(taken.max() <= SOON),
        f"{len(found.back)} cycles, median {np.median(taken):.2f} s; "
        f"processor {used.max():.2f} s; "
        f"arm under way after {np.median(found.back):.1f} s; {(taken > SOON).sum()} late"
        + "".join(f", {one}" for one in found.late),
    )
    yield _step(found.who, found.step, found.worst)
    wrong = len(found.alarms), found.invalid, found.lost
    yield Figure(
        f"{found.who}: alarms, invalid outputs, arm did not go on",
        ", ".join(str(x) for x in wrong),
        "0, 0, 0",
        not any(wrong),
        "; ".join(found.alarms),
    )


def start_of_numba() -> float:
    """[s] that a process takes to import what every node imports, at least: a yardstick."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import numba"], check=True)
    return time.monotonic() - begun


def crash_all(arguments: argparse.Namespace, kept: Checkpoint, console: Console) -> list[Figure]:
    """All restarts of all nodes, first without noise and payload; the scenes that are needed."""
    result = []
    half = arguments.cycles // 2
    for noisy, count in ((False, half), (True, arguments.cycles - half)):
        found = {node: _found(kept, f"{node} {NOISY}" if noisy else node) for node in NODES}
        if any(len(one.back) < count for one in found.values()):
            with scene(arguments.rate, noisy=noisy) as there:
                for node in NODES:
                    _crash_one(there, node, found[node], count, arguments.seed, kept)
        for one in found.values() if count else ():
            lines = list(figures(one))
            for figure in lines:
                console.print(f"{figure.figure}: {figure.measured}; {figure.note}")
            result += lines
    return result


def _found(kept: Checkpoint, who: str) -> Crashes:
    return Crashes(**kept.state.get(who, {"who": who}))


def _crash_one(
    there: Scene, node: str, found: Crashes, count: int, seed: int, kept: Checkpoint
) -> None:
    kept.state[found.who] = vars(found)
    runs = crashes(there, node, found, count, seed)
    try:
        for _ in track(runs, f"kill -9 {found.who}", count, len(found.back)):
            kept.save()
    finally:
        kept.save()


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--cycles", type=int, default=100, help="of each node")
    parser.add_argument("--latched", type=int, default=10, help="times that each waits")
    parser.add_argument("--rate", type=float, default=500.0, help="[Hz]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, help=OPTION)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.cycles, arguments.latched = 4, 1
    what = {name: getattr(arguments, name) for name in ("cycles", "latched", "rate", "seed")}
    kept, console = Checkpoint(arguments.checkpoint, {"program": "crashes", **what}), Console()
    stay_apart()
    found = crash_all(arguments, kept, console)
    yardsticks = [start_of_numba() for _ in range(5)]
    with scene(arguments.rate, **WAITING) as there:
        found += list(latched(there, arguments.latched, kept=kept))
    console.print(figures_table(found, f"{arguments.rate:g} Hz, {os.cpu_count()} cores"))
    console.print(
        f"For comparison: importing numba alone took {np.median(yardsticks):.2f} s (median)"
    )
    finish(found, arguments)


if __name__ == "__main__":
    main()
