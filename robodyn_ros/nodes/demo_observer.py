"""DemoObserver: collects the truth and the detector's states from the topics of a demo."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from sensor_msgs.msg import JointState

from ..detection.fault import PAYLOAD
from ..errors import RobodynError
from .codec import (
    read_collision_state,
    read_controller_state,
    read_effort,
    read_fault_state,
    read_payload,
    read_wrench,
    seconds,
)
from .demo_events import (
    DetectorState,
    Event,
    PushSpans,
    ScriptedPush,
    compare,
    with_forces,
)
from .demo_faults import FaultEvent, FaultSpan, Name, compare_faults, in_span
from .local_topics import LocalSubscription
from .node_settings import RobotSettings
from .runtime import LATCHED, STATE_IN

THRESHOLDS = ("monitor.contact.base", "monitor.collision.base")
FAULT_FIELDS = ("at", "kind", "value")
PUSH_FIELDS = ("at", "link", "force")
ROBOT_FIELDS = ("name", "urdf", "root", "tip", "lock", "strict")  # friction does not matter here


class DemoObserver:
    """Collects residuals, detector states and the truth from the topics of a demo."""

    def __init__(self, node: Node) -> None:
        self.names: list[str] = []
        self.t: list[float] = []  # [s]
        self.r: list[np.ndarray] = []
        self.truth: list[tuple[float, np.ndarray]] = []  # time [s], external joint torque (n,)
        self.pushes = PushSpans()  # in the truth
        self.states: list[DetectorState] = []  # one per change of level or link
        self.forces: list[tuple[float, float]] = []  # time [s], estimated force [N]
        self.mode = self.reason = ""  # of the controller
        self.contact = self.collision = np.zeros(0)  # thresholds at rest
        self.script: list[ScriptedPush] = []
        self.faults: list[FaultSpan] = []  # that the plant had
        self.scripted_faults = 0
        self.gripped: list[float] = []  # [kg], payloads of the script, one after the other
        self.told_faults: list[Name] = []
        self.masses: list[tuple[float, float]] = []  # time [s], payload of the detector [kg]
        # Until its thresholds were asked for
        self._detector: AsyncParameterClient | None = AsyncParameterClient(node, "dynamics_node")
        self._plant, self._asked_plant = AsyncParameterClient(node, "simulator_node"), False
        self.subscriptions = [
            LocalSubscription(node, kind, topic, callback, qos)
            for kind, topic, callback, qos in (
                (JointState, "dynamics_node/residual", self._on_residual, STATE_IN),
                (JointState, "simulator_node/external_torque", self._on_truth, STATE_IN),
                (WrenchStamped, "dynamics_node/external_wrench", self._on_wrench, STATE_IN),
                (DiagnosticArray, "dynamics_node/collision_state", self._on_detector, LATCHED),
                (DiagnosticArray, "controller_node/state", self._on_controller, LATCHED),
                (DiagnosticArray, "dynamics_node/fault", self._on_name, LATCHED),
                (InertiaStamped, "dynamics_node/payload", self._on_payload, LATCHED),
                (DiagnosticArray, "simulator_node/fault", self._on_injected, LATCHED),
            )
        ]

    @property
    def elapsed(self) -> float:
        """Time [s] since the first residual."""
        return self.t[-1] - self.t[0] if self.t else 0.0

    def events(self) -> list[Event]:
        """Return every push with the detector's report, and every false alarm, in order."""
        if not self.t:
            return []
        start, states = self.t[0], with_forces(self.states, self.forces)
        found = compare(start, self.pushes.found, states, self.script, self.contact)
        # What a fault does to the residual is no false alarm
        return [x for x in found if x.pushed or not in_span(start + x.t, self.faults)]

    def fault_events(self) -> list[FaultEvent]:
        """Return every fault and payload with its name, and every false name, in order."""
        if not self.t:
            return []
        held = [span for span in self.faults if span.kind == PAYLOAD]
        for span, mass in zip(held, self.gripped):
            span.mass = mass
        return compare_faults(self.t[0], self.faults, self.told_faults, self.masses)

    @property
    def faults_over(self) -> bool:
        """Whether all scripted faults were seen, and those that end are over."""
        return len(self.faults) >= self.scripted_faults and all(
            span.end < math.inf for span in self.faults
        )

    def add_truth(self, t: float, tau_ext: np.ndarray) -> None:
        """Take the true external torque (n,) at the time t [s]."""
        self.truth.append((t, tau_ext))
        self.pushes.add(t, tau_ext)

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
            answer = self._detector.get_parameters(list(THRESHOLDS))
            answer.add_done_callback(self._on_thresholds)
            self._detector = None
        if not self._asked_plant and self._plant.services_are_ready():
            names = self._plant.get_parameters(["pushes.names", "faults.names"])
            names.add_done_callback(self._on_push_names)
            self._asked_plant = True

    def _on_thresholds(self, answer: Any) -> None:
        n = len(self.names)
        found = (np.array(value.double_array_value) for value in answer.result().values)
        self.contact, self.collision = (np.broadcast_to(x, n) for x in found)

    def _on_push_names(self, answer: Any) -> None:
        pushes, faults = (list(filter(None, x.string_array_value)) for x in answer.result().values)
        self.scripted_faults, names = len(faults), pushes
        if faults:
            fields = [f"faults.{name}.{key}" for name in faults for key in FAULT_FIELDS]
            self._plant.get_parameters(fields).add_done_callback(self._on_faults)
        if names:
            fields = [f"robot.{key}" for key in ROBOT_FIELDS]
            fields += [f"pushes.{name}.{key}" for name in names for key in PUSH_FIELDS]
            self._plant.get_parameters(fields).add_done_callback(self._on_pushes)

    def _on_pushes(self, answer: Any) -> None:
        values = [parameter_value_to_python(value) for value in answer.result().values]
        robot, pushes = values[: len(ROBOT_FIELDS)], values[len(ROBOT_FIELDS) :]
        rows = zip(pushes[::3], pushes[1::3], pushes[2::3], strict=True)
        script = [ScriptedPush(at, link, math.hypot(*force)) for at, link, force in rows]
        self.script = sorted(_with_joints(script, robot), key=lambda push: push.at)

    def _on_faults(self, answer: Any) -> None:
        values = [parameter_value_to_python(value) for value in answer.result().values]
        rows = sorted(zip(values[::3], values[1::3], values[2::3], strict=True))
        self.gripped = [float(value[0]) for _, kind, value in rows if kind == PAYLOAD]

    def _on_truth(self, message: JointState) -> None:
        self.add_truth(*read_effort(message))

    def _on_wrench(self, message: WrenchStamped) -> None:
        t, _, wrench = read_wrench(message)
        force = math.hypot(*wrench[:3])
        if force > 0.0:
            self.forces.append((t, force))

    def _on_detector(self, message: DiagnosticArray) -> None:
        report = read_collision_state(message)
        last = self.states[-1] if self.states else None
        news = (report.level, report.link, report.where)
        if last is None or (last.level, last.link, last.where) != news:
            state = DetectorState(
                report.t, report.level, report.link, report.joints, where=report.where
            )
            self.states.append(state)

    def _on_name(self, message: DiagnosticArray) -> None:
        for report in read_fault_state(message):
            self.told_faults.append(Name(report.t, report.kind, report.joint, report.text))

    def _on_payload(self, message: InertiaStamped) -> None:
        held = read_payload(message)
        self.masses.append((seconds(message.header.stamp), held.mass if held else 0.0))

    def _on_injected(self, message: DiagnosticArray) -> None:
        """Begin and end the spans of the plant's faults, as the plant reports them."""
        acting = [one for one in read_fault_state(message) if one.kind]
        now = {(one.kind, one.joint, one.text) for one in acting}
        t = seconds(message.header.stamp)
        for span in self.faults:
            key = (span.kind, span.joint, span.text)
            if span.end == math.inf and key not in now:
                span.end = t
            elif span.end == math.inf:
                now.remove(key)
        self.faults += [FaultSpan(t, *key) for key in sorted(now)]

    def _on_controller(self, message: DiagnosticArray) -> None:
        self.mode, self.reason, _ = read_controller_state(message)


def _with_joints(script: list[ScriptedPush], robot: list[Any]) -> list[ScriptedPush]:
    """Return the pushes with moving link and its joint; as they are if the robot is not known."""
    name, urdf, root, tip, lock, strict = robot
    settings = RobotSettings(name, urdf, root, tip, tuple(x for x in lock or () if x), strict)
    if not (name or urdf):  # it came by a topic
        return script
    try:
        model = settings.load("")
        rows = [model.frame(push.link).body for push in script]
    except (RobodynError, OSError):
        return script
    return [
        replace(push, link=model.link_names[row], joint=int(model.coordinate[row]))
        if row >= 0
        else push
        for push, row in zip(script, rows, strict=True)
    ]
