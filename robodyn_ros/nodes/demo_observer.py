"""DemoObserver: compares the detector's states with the pushes that really happened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState

from ..detection.detector import Level
from .codec import read_collision_state, read_controller_state, read_effort, read_wrench
from .runtime import LATCHED, STATE_IN

NO_TORQUE = 1e-6  # [N m or N]: rounding error of the true external torque
REPORT_DELAY = 0.3  # [s] after a push within which a report still belongs to it
PUSH_ONSET = 0.05  # [s], longest time before the first sample of a push in which it began
LEVELS = ("contact", "collision")


@dataclass(frozen=True)
class DetectorState:
    """State of the detector at one instant."""

    t: float  # [s]
    level: Level
    link: str
    joints: tuple[str, ...]
    force: float = 0.0  # [N], median while the state lasts


@dataclass
class Event:
    """A push, or a false alarm, and the detector's report."""

    t: float  # [s], since the first residual
    pushed: bool  # false: an alarm without a push
    link: str = ""  # of a scripted push
    force: float | None = None  # [N], of a scripted push
    reported: DetectorState | None = None  # None: the push was missed
    delay: float | None = None  # [s], of the first report


class DemoObserver:
    """Collects residuals, detector states and the truth from the topics of a demo."""

    def __init__(self, node: Node) -> None:
        self.names: list[str] = []
        self.t: list[float] = []  # [s]
        self.r: list[np.ndarray] = []
        self.pushed: list[tuple[float, float]] = []  # time [s], largest external joint torque
        self.states: list[DetectorState] = []  # one per change of level or link
        self.forces: list[tuple[float, float]] = []  # time [s], estimated force [N]
        self.mode = self.reason = ""  # of the controller
        self.contact = self.collision = np.zeros(0)  # thresholds at rest
        self.script: list[tuple[float, str, float]] = []  # time [s], link, force [N] of each push
        # Until its thresholds were asked for
        self._detector: AsyncParameterClient | None = AsyncParameterClient(node, "dynamics_node")
        self._plant, self._asked_plant = AsyncParameterClient(node, "simulator_node"), False
        for kind, topic, callback, qos in (
            (JointState, "dynamics_node/residual", self._on_residual, STATE_IN),
            (JointState, "simulator_node/external_torque", self._on_truth, STATE_IN),
            (WrenchStamped, "dynamics_node/external_wrench", self._on_wrench, STATE_IN),
            (DiagnosticArray, "dynamics_node/collision_state", self._on_detector, LATCHED),
            (DiagnosticArray, "controller_node/state", self._on_controller, LATCHED),
        ):
            node.create_subscription(kind, topic, callback, qos)

    @property
    def elapsed(self) -> float:
        """Time [s] since the first residual."""
        return self.t[-1] - self.t[0] if self.t else 0.0

    def _on_residual(self, message: JointState) -> None:
        if not self.names:
            self.names = list(message.name)
            self.contact = self.collision = np.ones(len(self.names))
        self._ask_once_ready()
        t, r = read_effort(message)
        self.t.append(t)
        self.r.append(r)

    def _ask_once_ready(self) -> None:
        """Ask for thresholds and scripted pushes; a request to a service not yet found is lost."""
        if self._detector is not None and self._detector.services_are_ready():
            bases = [f"monitor.{level}.base" for level in LEVELS]
            self._detector.get_parameters(bases).add_done_callback(self._on_thresholds)
            self._detector = None
        if not self._asked_plant and self._plant.services_are_ready():
            names = self._plant.get_parameters(["pushes.names"])
            names.add_done_callback(self._on_push_names)
            self._asked_plant = True

    def _on_thresholds(self, answer: Any) -> None:
        n = len(self.names)
        found = (np.array(value.double_array_value) for value in answer.result().values)
        self.contact, self.collision = (np.broadcast_to(x, n) for x in found)

    def _on_push_names(self, answer: Any) -> None:
        names = [name for name in answer.result().values[0].string_array_value if name]
        fields = [f"pushes.{name}.{key}" for name in names for key in ("at", "link", "force")]
        if fields:
            self._plant.get_parameters(fields).add_done_callback(self._on_pushes)

    def _on_pushes(self, answer: Any) -> None:
        values = answer.result().values
        for at, link, force in zip(values[::3], values[1::3], values[2::3], strict=True):
            size = math.hypot(*force.double_array_value)
            self.script.append((at.double_value, link.string_value, size))
        self.script.sort()

    def _on_truth(self, message: JointState) -> None:
        t, tau_ext = read_effort(message)
        self.pushed.append((t, float(np.abs(tau_ext).max())))

    def _on_wrench(self, message: WrenchStamped) -> None:
        t, _, wrench = read_wrench(message)
        force = math.hypot(*wrench[:3])
        if force > 0.0:
            self.forces.append((t, force))

    def _on_detector(self, message: DiagnosticArray) -> None:
        report = read_collision_state(message)
        last = self.states[-1] if self.states else None
        if last is None or (last.level, last.link) != (report.level, report.link):
            state = DetectorState(report.t, report.level, report.link, report.joints)
            self.states.append(state)

    def _on_controller(self, message: DiagnosticArray) -> None:
        self.mode, self.reason, _ = read_controller_state(message)

    def _with_forces(self) -> list[DetectorState]:
        """Return the states with the median of the forces estimated while each lasted."""
        times = np.array([t for t, _ in self.forces])
        forces = np.array([force for _, force in self.forces])
        edges = [state.t for state in self.states] + [math.inf]
        first, last = np.searchsorted(times, edges[:-1]), np.searchsorted(times, edges[1:])
        return [
            replace(state, force=float(np.median(forces[a:b]))) if b > a else state
            for state, a, b in zip(self.states, first, last, strict=True)
        ]

    def events(self) -> list[Event]:
        """Return every push with the detector's report, and every false alarm, in order."""
        if not self.t:
            return []
        start = self.t[0]
        spans = _push_spans(self.pushed)
        found = [Event(begin - start, pushed=True) for begin, _ in spans]
        if len(spans) <= len(self.script):
            for event, (_, link, force) in zip(found, self.script, strict=False):
                event.link, event.force = link, force
        alarm = False  # whether the previous state was an alarm, too
        for state in self._with_forces():
            touched = state.level >= Level.CONTACT
            of = [k for k, (a, b) in enumerate(spans) if a <= state.t <= b + REPORT_DELAY]
            if touched and of:
                _report(found[of[-1]], *spans[of[-1]], state)
            elif touched and not alarm:
                found.append(Event(state.t - start, pushed=False, reported=state))
            alarm = touched
        return sorted(found, key=lambda event: event.t)


def _report(event: Event, begin: float, end: float, state: DetectorState) -> None:
    """Add a state to the push that lasts from begin to end [s]; later states know more."""
    first = event.reported
    if first is None:
        event.delay = state.t - begin
    if first is None or (state.t <= end and (state.link or not first.link)):
        event.reported = state


def _push_spans(truth: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return begin and end [s] of each push; those less than REPORT_DELAY apart are one."""
    spans: list[tuple[float, float]] = []
    before = -np.inf
    for t, size in truth:
        if size > NO_TORQUE:
            if spans and t - spans[-1][1] < REPORT_DELAY:
                spans[-1] = (spans[-1][0], t)
            else:
                spans.append((max(before, t - PUSH_ONSET), t))
        before = t
    return spans
