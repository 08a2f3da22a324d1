"""`robodyn demo`: the nodes of collision_demo.launch.py, where there is no launch system.

Plant, controller, detector and demo_node run as processes. This one only subscribes, and in the
end compares the detector's states with the external torque that the plant publishes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState

from ..errors import ArgumentError, RobodynError
from .runtime import LATCHED, STATE_IN, seconds, spin, spin_until_signal
from .terminal import looking, stay_here

NODES = ("simulator_node", "controller_node", "dynamics_node")
DEMO_NODES = (*NODES, "demo_node")
FELT = 1e-6  # [N m or N]: the truth is 0 but for rounding
AFTER = 0.3  # [s] after a push within which it may still be told
START = 60.0  # [s] that the nodes may take to start
LONGER = 10.0  # [s] for which an arm that is on its way back may finish that
GIVING_WAY = ("REACTING", "RESUMING")
LEVELS = ("contact", "collision")
TOUCHED = ("CONTACT", "COLLISION")


@dataclass(frozen=True)
class Demo:
    """What is to be shown."""

    params: Path
    duration: float  # [s]
    composed: bool = False
    namespace: str = ""
    log: Path | None = None  # where the nodes' own messages go instead of to the terminal
    overrides: dict[str, Any] = field(default_factory=dict)  # node -> {parameter: value}


@dataclass(frozen=True)
class Word:
    """What the detector said at one instant."""

    t: float  # [s]
    level: str
    link: str
    joints: str
    force: float  # [N]


@dataclass
class Event:
    """A push, or an alarm without one, and what was told about it."""

    t: float  # [s], since the first residual
    pushed: bool
    link: str = ""  # what was pushed, and with which force [N], if the script says so
    force: float | None = None
    told: Word | None = None
    delay: float | None = None  # [s]


class Onlooker:
    """Keeps all that is worth showing of the topics."""

    def __init__(self, node: Node) -> None:
        self.names: list[str] = []
        self.t: list[float] = []  # [s]
        self.r: list[np.ndarray] = []
        self.pushed: list[tuple[float, float]] = []  # time, largest external joint torque
        self.words: list[Word] = []
        self._forces: list[float] = []  # since the detector last changed its mind
        self.mode = self.reason = ""
        self.contact = self.collision = np.zeros(0)  # thresholds at rest
        self.script: list[tuple[float, str, float]] = []  # time [s], link, force [N] of each push
        self._detector = AsyncParameterClient(node, "dynamics_node")
        self._plant = AsyncParameterClient(node, "simulator_node")
        node.create_subscription(JointState, "dynamics_node/residual", self._residual, STATE_IN)
        node.create_subscription(
            JointState, "simulator_node/external_torque", self._truth, STATE_IN
        )
        node.create_subscription(
            DiagnosticStatus, "dynamics_node/collision_state", self._word, LATCHED
        )
        node.create_subscription(DiagnosticArray, "/diagnostics", self._diagnosed, 10)

    @property
    def elapsed(self) -> float:
        """[s], since the first residual."""
        return self.t[-1] - self.t[0] if self.t else 0.0

    def _residual(self, message: JointState) -> None:
        if not self.names:
            self.names = list(message.name)
            self.contact = self.collision = np.ones(len(self.names))
            asked = self._detector.get_parameters([f"monitor.{level}.base" for level in LEVELS])
            asked.add_done_callback(self._thresholds)
            asked = self._plant.get_parameters(["pushes.names"])
            asked.add_done_callback(self._names_of_pushes)
        self.t.append(seconds(message.header.stamp))
        self.r.append(np.array(message.effort))

    def _thresholds(self, answer: Any) -> None:
        n = len(self.names)
        contact, collision = (np.array(v.double_array_value) for v in answer.result().values)
        self.contact, self.collision = (np.broadcast_to(x, n) for x in (contact, collision))

    def _names_of_pushes(self, answer: Any) -> None:
        names = [name for name in answer.result().values[0].string_array_value if name]
        fields = [f"pushes.{name}.{key}" for name in names for key in ("at", "link", "force")]
        if fields:
            self._plant.get_parameters(fields).add_done_callback(self._pushes)

    def _pushes(self, answer: Any) -> None:
        values = answer.result().values
        for at, link, force in zip(values[::3], values[1::3], values[2::3], strict=True):
            size = math.hypot(*force.double_array_value)
            self.script.append((at.double_value, link.string_value, size))
        self.script.sort()

    def _truth(self, message: JointState) -> None:
        size = float(np.abs(np.frombuffer(message.effort)).max())
        self.pushed.append((seconds(message.header.stamp), size))

    def _word(self, message: DiagnosticStatus) -> None:
        facts = {item.key: item.value for item in message.values}
        word = Word(
            float(facts["stamp"]),
            message.message,
            facts["link"],
            facts["joints"],
            float(facts["force"]),
        )
        last = self.words[-1] if self.words else None
        if last is None or (last.level, last.link) != (word.level, word.link):
            self.words.append(word)
            self._forces = []
        self._forces.append(word.force)
        self.words[-1] = replace(self.words[-1], force=float(np.median(self._forces)))

    def _diagnosed(self, message: DiagnosticArray) -> None:
        for status in message.status:
            facts = {item.key: item.value for item in status.values}
            self.mode = facts.get("mode", self.mode)
            self.reason = facts.get("reason", self.reason)

    def events(self) -> list[Event]:
        """Every push and what was told about it, and every alarm without a push."""
        if not self.t:
            return []
        zero = self.t[0]
        spans = _spans(self.pushed)
        found = [Event(begin - zero, pushed=True) for begin, _ in spans]
        if len(spans) <= len(self.script):
            for event, (_, link, force) in zip(found, self.script, strict=False):
                event.link, event.force = link, force
        begun = False  # whether an alarm is on already
        for word in self.words:
            touched = word.level in TOUCHED
            of = [k for k, (a, b) in enumerate(spans) if a <= word.t <= b + AFTER]
            if touched and of:
                event, (begin, end) = found[of[-1]], spans[of[-1]]
                if event.told is None:
                    event.delay = word.t - begin
                # The longer it lasts, the better it is known
                if event.told is None or (word.t <= end and (word.link or not event.told.link)):
                    event.told = word
            elif touched and not begun:
                found.append(Event(word.t - zero, pushed=False, told=word))
            begun = touched
        return sorted(found, key=lambda event: event.t)


def _spans(truth: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Beginning and end of each time in which something touched the arm."""
    spans: list[tuple[float, float]] = []
    before = -np.inf
    for t, size in truth:
        if size > FELT:
            if spans and t - spans[-1][1] < AFTER:
                spans[-1] = (spans[-1][0], t)
            else:
                spans.append((max(before, t - 0.05), t))
        before = t
    return spans


@contextmanager
def running(demo: Demo) -> Iterator[list[subprocess.Popen]]:
    """The nodes as processes; stopped by a signal and waited for in the end."""
    stay_here()
    modules = ["composed"] if demo.composed else DEMO_NODES
    with tempfile.TemporaryDirectory() as folder, ExitStack() as files_open:
        said = files_open.enter_context(demo.log.open("w")) if demo.log else None
        changes = Path(folder, "overrides.yaml")
        changes.write_text(_as_yaml(demo.overrides, demo.namespace), encoding="utf-8")
        files = ["--params-file", str(demo.params), "--params-file", str(changes)]
        if demo.namespace:
            files += ["-r", f"__ns:=/{demo.namespace}"]
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.{name}", "--ros-args", *files],
                stdout=said,
                stderr=said,
            )
            for name in modules
        ]
        try:
            yield processes
        finally:
            for process in processes:
                if process.poll() is None:
                    os.kill(process.pid, signal.SIGINT)
            for process in processes:
                try:
                    process.wait(10.0)
                except subprocess.TimeoutExpired:
                    process.kill()


def _as_yaml(overrides: dict[str, Any], namespace: str) -> str:
    """Parameters of each node; JSON is YAML, and rcl reads it.

    By the nodes' full names: those win over patterns in the user's file, whatever their order.
    """
    prefix = f"/{namespace}" if namespace else ""
    lines = [
        f"{prefix}/{node}:\n  ros__parameters:\n"
        + "".join(f"    {name}: {json.dumps(value)}\n" for name, value in values.items())
        for node, values in overrides.items()
        if values
    ]
    return "".join(lines) or "/nobody:\n  ros__parameters:\n    none: 0\n"


def watch(demo: Demo, show: Any, stay: Any = None) -> Onlooker:
    """Run the nodes and look on; show(onlooker) is called some times a second.

    stay: if given, called in the end; the nodes then go on until a signal.
    """
    with running(demo) as processes, looking() as (node, executor):
        onlooker = Onlooker(node)
        begun = time.monotonic()

        def over() -> bool:
            for process in processes:
                if process.poll() is not None:
                    raise RobodynError(f"a node ended by itself, exit code {process.returncode}")
            if not onlooker.t and time.monotonic() - begun > START:
                raise RobodynError(f"no residual came within {START:g} s: see the nodes' messages")
            show(onlooker)
            late = onlooker.elapsed - demo.duration
            return late >= (LONGER if onlooker.mode in GIVING_WAY else 0.0)

        spin(executor, over)
        if stay is not None:
            for subscription in list(node.subscriptions):  # what comes now is not to be judged
                node.destroy_subscription(subscription)
            stay(onlooker)
            spin_until_signal(executor, lambda: any(p.poll() is not None for p in processes))
    return onlooker


def parse_push(text: str, at: float) -> dict[str, Any]:
    """LINK:NEWTON or LINK:FX,FY,FZ as the parameters of a scripted push."""
    link, _, force = text.partition(":")
    try:
        numbers = [float(x) for x in force.split(",")]
    except ValueError:
        numbers = []
    if not link or len(numbers) not in (1, 3):
        raise ArgumentError(f"--push {text}: write LINK:NEWTON or LINK:FX,FY,FZ, e.g. link_5:40")
    vector = numbers if len(numbers) == 3 else [numbers[0], 0.0, 0.0]
    return {"at": at, "link": link, "force": vector}
