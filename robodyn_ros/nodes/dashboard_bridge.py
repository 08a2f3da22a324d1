"""LiveArm: a running arm as its nodes show it, and hands to push, move and tune it.

Topics are not waited for: an onlooker that woke up for every message at 1 kHz would take time from
the nodes. Their queues are short, best-effort, and emptied once a frame. Nothing here blocks:
services and parameters are asked for, and answers are looked for in the next frames.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..model.robots import load_robot
from .node_settings import RobotSettings
from .runtime import LATCHED, make_executor, seconds, shut_down, spin_until_signal
from .terminal import stay_here

NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")
SERVICES = {
    ("controller_node", "enable"): SetBool,
    ("controller_node", "clear"): Trigger,
    ("simulator_node", "reset"): Trigger,
    ("dynamics_node", "reset"): Trigger,
}
FEW, MANY = 4, 100  # messages that a queue holds: where the latest will do, and where all count
PATIENCE = 3.0  # [s] for an answer
LOOK = 1.0  # [s] between two looks whether a node has come or gone

Answer = Callable[[bool, str], None]
Array = np.ndarray


class Feed(Protocol):
    """Receiver of the messages: `dashboard.feed.Feed`."""

    mode: str

    def take_state(self, t: float, names: Sequence[str], q: Array, tau: Array) -> None: ...

    def take_reference(self, t: float, names: Sequence[str], q: Array, qd: Array) -> None: ...

    def take_residual(self, t: float, names: Sequence[str], r: Array) -> None: ...

    def take_truth(self, names: Sequence[str], tau_ext: Array) -> None: ...

    def take_word(self, level: str, link: str, force: float, joints: str, reason: str) -> None: ...

    def take_force(self, link: str, force: Array) -> None: ...

    def take_push(self, link: str, force: Array, torque: Array) -> None: ...

    def take_parameters(
        self, node: str, values: dict[str, Any], *, whole: bool = False
    ) -> None: ...


def best_effort(depth: int) -> QoSProfile:
    """A subscription that never holds a publisher up."""
    return QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)


@dataclass
class Question:
    """Something that was asked, and whom to tell the answer."""

    future: Any
    read: Callable[[Any], tuple[bool, str]]
    answer: Answer
    until: float  # [s]


class LiveArm:
    """Made by `live_arm`. All its methods are to be called by one thread."""

    def __init__(self, ears: Node, node: Node, executor: Any, read_only: bool) -> None:
        self._node, self._executor = node, executor
        self._questions: list[Question] = []
        self._clients = {name: AsyncParameterClient(node, name) for name in NODES}
        self._present: set[str] = set()
        self._looked = 0.0
        self._listen(ears)
        if not read_only:
            self._pusher = node.create_publisher(WrenchStamped, "simulator_node/push", 10)
            self._mover = node.create_publisher(
                JointTrajectory, "controller_node/joint_trajectory", 10
            )
            self._services = {
                key: node.create_client(kind, "/".join(key)) for key, kind in SERVICES.items()
            }

    def _listen(self, ears: Node) -> None:
        def hear(kind: Any, topic: str, depth: int) -> Any:
            return ears.create_subscription(kind, topic, lambda _: None, best_effort(depth))

        self._states = hear(JointState, "joint_states", FEW)
        self._references = hear(JointState, "controller_node/reference", FEW)
        self._truths = hear(JointState, "simulator_node/external_torque", FEW)
        self._wrenches = hear(WrenchStamped, "dynamics_node/external_wrench", FEW)
        self._residuals = hear(JointState, "dynamics_node/residual", MANY)
        self._words = hear(DiagnosticStatus, "dynamics_node/collision_state", MANY)
        self._pushes = hear(WrenchStamped, "simulator_node/push", MANY)
        self._diagnostics = hear(DiagnosticArray, "/diagnostics", MANY)
        self._events = ears.create_subscription(
            ParameterEvent, "/parameter_events", lambda _: None, MANY
        )
        self._descriptions = ears.create_subscription(
            String, "robot_description", lambda _: None, LATCHED
        )
        space = ears.get_namespace().rstrip("/")
        self._full = {f"{space}/{name}": name for name in NODES}

    def find_robot(self, robot: str, urdf: str, longest: float) -> tuple[RobotModel, str]:
        """The arm, and its URDF (path, text or nothing): as told, or as dynamics_node has it."""
        if robot or urdf:
            return load_robot(urdf or robot), urdf
        client = self._clients["dynamics_node"]
        asked: list[Any] = []
        found: list[Any] = []

        def known() -> bool:
            if not asked and client.services_are_ready():
                fields = ("name", "urdf", "root", "tip", "lock")
                asked.append(client.get_parameters([f"robot.{field}" for field in fields]))
            if asked and asked[0].done() and not found:
                found.extend(parameter_value_to_python(v) for v in asked[0].result().values)
            if found and not (found[0] or found[1]):
                found[1:2] = [message.data for message in _taken(self._descriptions)][-1:] or [""]
            return bool(found and (found[0] or found[1]))

        if spin_until_signal(self._executor, known, longest):
            raise KeyboardInterrupt
        if not (found and (found[0] or found[1])):
            raise ArgumentError(
                "no dynamics_node tells which arm it is: start the nodes, or give --namespace, "
                "or --robot or --urdf"
            )
        name, urdf, root, tip, lock = found
        locked = tuple(joint for joint in lock or () if joint)
        return RobotSettings(name, "", root, tip, locked).load(urdf), "" if name else urdf

    def run(self, feed: Feed, draw: Callable[[], None], rate: float) -> None:
        """Let the feed know what is heard, and draw, so many times a second, until a signal."""
        spin_until_signal(self._executor, lambda: self._frame(feed, draw), every=1.0 / rate)

    def _frame(self, feed: Feed, draw: Callable[[], None]) -> bool:
        self._hear(feed)
        self._look_for_nodes(feed)
        self._look_for_answers()
        draw()
        return False

    def _hear(self, feed: Feed) -> None:
        """Empty the queues into the feed."""
        for message in _taken(self._states):
            q, tau = np.array(message.position), np.array(message.effort)
            feed.take_state(seconds(message.header.stamp), message.name, q, tau)
        for message in _taken(self._references):
            q, qd = np.array(message.position), np.array(message.velocity)
            feed.take_reference(seconds(message.header.stamp), message.name, q, qd)
        for message in _taken(self._residuals):
            r = np.array(message.effort)
            feed.take_residual(seconds(message.header.stamp), message.name, r)
        for message in _taken(self._truths):
            feed.take_truth(message.name, np.array(message.effort))
        for message in _taken(self._wrenches):
            feed.take_force(message.header.frame_id, _vector(message.wrench.force))
        for message in _taken(self._words):
            facts = {item.key: item.value for item in message.values}
            size = float(facts.get("force") or 0.0)
            told = (facts.get(key, "") for key in ("joints", "reason"))
            feed.take_word(message.message, facts.get("link", ""), size, *told)
        for message in _taken(self._pushes):
            force, torque = _vector(message.wrench.force), _vector(message.wrench.torque)
            feed.take_push(message.header.frame_id, force, torque)
        for message in _taken(self._diagnostics):
            self._hear_diagnostics(feed, message)
        for message in _taken(self._events):
            self._hear_event(feed, message)

    def _hear_diagnostics(self, feed: Feed, message: DiagnosticArray) -> None:
        for status in message.status:
            if self._full.get("/" + status.name) == "controller_node":
                facts = {item.key: item.value for item in status.values}
                feed.mode = facts.get("mode", "")

    def _hear_event(self, feed: Feed, message: ParameterEvent) -> None:
        node = self._full.get(message.node)
        if node is not None:
            told = [*message.new_parameters, *message.changed_parameters]
            values = {p.name: parameter_value_to_python(p.value) for p in told}
            feed.take_parameters(node, values)

    def _look_for_nodes(self, feed: Feed) -> None:
        """Ask a node that has come for all its parameters."""
        if time.monotonic() - self._looked < LOOK:
            return
        self._looked = time.monotonic()
        for name, client in self._clients.items():
            if not client.services_are_ready():
                self._present.discard(name)
            elif name not in self._present:
                self._present.add(name)
                self._ask_all(feed, name)

    def _ask_all(self, feed: Feed, node: str) -> None:
        """All parameters of a node; another try later if it does not answer."""
        client = self._clients[node]

        def listed(answer: Any) -> tuple[bool, str]:
            names = sorted(answer.result.names)

            def told(answer: Any) -> tuple[bool, str]:
                values = map(parameter_value_to_python, answer.values)
                feed.take_parameters(node, dict(zip(names, values, strict=True)), whole=True)
                return True, ""

            self._ask(client.get_parameters(names), told, again)
            return True, ""

        def again(done: bool, _: str) -> None:
            if not done:
                self._present.discard(node)

        self._ask(client.list_parameters([], 10), listed, again)

    def _ask(self, future: Any, read: Callable[[Any], tuple[bool, str]], answer: Answer) -> None:
        self._questions.append(Question(future, read, answer, time.monotonic() + PATIENCE))

    def _look_for_answers(self) -> None:
        waiting, self._questions = self._questions, []
        for question in waiting:
            if question.future.done():
                question.answer(*question.read(question.future.result()))
            elif time.monotonic() > question.until:
                question.future.cancel()
                question.answer(False, f"no answer within {PATIENCE:g} s")
            else:
                self._questions.append(question)

    def push(self, link: str, force: np.ndarray, torque: np.ndarray, answer: Answer) -> None:
        """Push a simulated arm: force and torque at the link's origin, in its axes."""
        if not self._pusher.get_subscription_count():
            answer(
                False, "no simulator_node listens: only a simulated arm can be pushed from here"
            )
            return
        message = WrenchStamped()
        message.header.frame_id = link
        for vector, values in ((message.wrench.force, force), (message.wrench.torque, torque)):
            vector.x, vector.y, vector.z = (float(x) for x in values)
        self._pusher.publish(message)
        answer(True, "")

    def follow(self, points: Sequence[tuple], names: Sequence[str], answer: Answer) -> None:
        """Let the arm move: (time, q, qd, qdd) point by point, of these joints."""
        if not self._mover.get_subscription_count():
            answer(False, "no controller_node listens")
            return
        message = JointTrajectory(joint_names=list(names))
        for t, q, qd, qdd in points:
            whole, part = divmod(round(t * 1e9), 1_000_000_000)
            message.points.append(
                JointTrajectoryPoint(
                    positions=[float(x) for x in q],
                    velocities=[float(x) for x in qd],
                    accelerations=[float(x) for x in qdd],
                    time_from_start=Duration(sec=whole, nanosec=part),
                )
            )
        self._mover.publish(message)
        answer(True, "")

    def call(self, node: str, service: str, answer: Answer, data: bool | None = None) -> None:
        """Ask a node for something: enable (with data), clear, reset."""
        client = self._services[node, service]
        if not client.service_is_ready():
            answer(False, f"{node} is not there")
            return
        request = client.srv_type.Request()
        if data is not None:
            request.data = bool(data)
        self._ask(client.call_async(request), lambda said: (said.success, said.message), answer)

    def set(self, node: str, values: dict[str, Any], answer: Answer) -> None:
        """Set parameters of a node, all or none."""
        client = self._clients[node]
        if not client.services_are_ready():
            answer(False, f"{node} is not there")
            return
        wanted = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]

        def read(said: Any) -> tuple[bool, str]:
            return said.result.successful, said.result.reason

        self._ask(client.set_parameters_atomically(wanted), read, answer)


def _taken(subscription: Any) -> Iterator[Any]:
    """What waits in a queue; not more than fits in, or a fast sender would never end it."""
    for _ in range(MANY):
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is None:
            return
        yield taken[0]


def _vector(vector: Any) -> np.ndarray:
    return np.array([vector.x, vector.y, vector.z])


@contextmanager
def live_arm(namespace: str = "", read_only: bool = False) -> Iterator[LiveArm]:
    """The arm whose nodes run in this namespace."""
    stay_here()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    executor = make_executor()
    # The one that hears is on no executor: its queues are emptied by hand
    ears = Node("robodyn_view_ears", namespace=namespace, start_parameter_services=False)
    node = Node("robodyn_view", namespace=namespace, start_parameter_services=False)
    executor.add_node(node)
    try:
        yield LiveArm(ears, node, executor, read_only)
    finally:
        ears.destroy_node()
        shut_down(executor, [node])
