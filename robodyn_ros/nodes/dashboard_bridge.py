"""DashboardBridge: the ROS side of the live page. It fills a feed and carries out requests.

The bridge does not wait for messages: waking up for every message at 1 kHz would take time from
the nodes. Its queues are short, best-effort, and emptied once a frame. Nothing here blocks:
services and parameters are requested, and answers are collected in later frames.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import InertiaStamped, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from ..detection.fault import HARMLESS_KINDS, JOINT_STOP
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..model.robots import load_robot
from ..trajectory.trajectory_msg import TrajectoryPoint
from . import codec
from .discovery import here
from .node_settings import RobotSettings
from .runtime import LATCHED, spin_until_signal
from .terminal import open_terminal

NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node", "guard_node")
SERVICES = {
    ("controller_node", "enable"): SetBool,
    ("controller_node", "clear"): Trigger,
    ("simulator_node", "reset"): Trigger,
    ("dynamics_node", "reset"): Trigger,
    ("dynamics_node", "tare"): Trigger,
    ("dynamics_node", "accept_payload"): Trigger,
    ("guard_node", "arm"): SetBool,
    ("guard_node", "expect"): SetBool,
}
LATEST_DEPTH = 4  # queue of a topic of which the latest message counts
EVERY_DEPTH = 100  # queue of a topic of which every message counts
ANSWER_TIMEOUT = 3.0  # [s]
FORCE_TIMEOUT = 0.1  # [s]: an estimated force that is older is unknown
NODE_POLL = 1.0  # [s] between two checks for new nodes

Answer = Callable[[bool, str], None]
Array = np.ndarray


class Feed(Protocol):
    """Receiver of the messages: `dashboard.feed.Feed`."""

    mode: str
    reason: str  # of the mode
    force: Array  # (3,) [N], estimated
    injected: tuple[str, ...]  # faults and payloads of a simulation
    payload: str  # in the detector's model

    def on_state(
        self, t: float, names: Sequence[str], q: Array, tau: Array, qd: Array | None = None
    ) -> None: ...

    def on_reference(self, t: float, names: Sequence[str], q: Array, qd: Array) -> None: ...

    def on_residual(self, t: float, names: Sequence[str], r: Array) -> None: ...

    def on_truth(self, names: Sequence[str], tau_ext: Array) -> None: ...

    def on_detector(
        self, level: str, link: str, force: float, joints: str, reason: str, where: str = ""
    ) -> None: ...

    def on_fault(self, kind: str, text: str, remedy: str, harmless: bool) -> None: ...

    def on_guard(self, mode: str, problem: str, last_stop: str, expected: list[str]) -> None: ...

    def on_wrench(self, link: str, force: Array) -> None: ...

    def on_push(self, link: str, force: Array, torque: Array) -> None: ...

    def on_parameters(self, node: str, values: dict[str, Any], *, whole: bool = False) -> None: ...


@dataclass
class Request:
    """A request whose answer has not come yet."""

    future: Any
    read: Callable[[Any], tuple[bool, str]]
    answer: Answer
    deadline: float  # [s]


class DashboardBridge:
    """Made by `open_bridge`. Call all methods from one thread."""

    def __init__(self, listener: Node, node: Node, executor: Any, read_only: bool) -> None:
        self._node, self._executor = node, executor
        self._requests: list[Request] = []
        self._clients = {name: AsyncParameterClient(node, name) for name in NODES}
        self._present: set[str] = set()
        self._description = ""  # the latest URDF on robot_description
        self._polled_at = 0.0  # [s]
        self._subscribe(listener)
        if not read_only:
            self._push = node.create_publisher(WrenchStamped, "simulator_node/push", 10)
            self._expect = node.create_publisher(WrenchStamped, "guard_node/expect", 10)
            self._trajectory = node.create_publisher(
                JointTrajectory, "controller_node/joint_trajectory", 10
            )
            self._services = {
                key: node.create_client(kind, "/".join(key)) for key, kind in SERVICES.items()
            }

    def _subscribe(self, listener: Node) -> None:
        def subscribe(kind: Any, topic: str, qos: Any) -> Any:
            return listener.create_subscription(kind, topic, lambda _: None, qos)

        best_effort = ReliabilityPolicy.BEST_EFFORT  # never holds a publisher up
        latest = QoSProfile(depth=LATEST_DEPTH, reliability=best_effort)
        every = QoSProfile(depth=EVERY_DEPTH, reliability=best_effort)
        self._states = subscribe(JointState, "joint_states", latest)
        self._references = subscribe(JointState, "controller_node/reference", latest)
        self._truths = subscribe(JointState, "simulator_node/external_torque", latest)
        self._wrench_time = -math.inf  # [s], of the last one
        self._wrenches = subscribe(WrenchStamped, "dynamics_node/external_wrench", latest)
        self._residuals = subscribe(JointState, "dynamics_node/residual", every)
        self._detector = subscribe(DiagnosticArray, "dynamics_node/collision_state", every)
        self._pushes = subscribe(WrenchStamped, "simulator_node/push", every)
        self._faults = subscribe(DiagnosticArray, "dynamics_node/fault", LATCHED)
        self._injected = subscribe(DiagnosticArray, "simulator_node/fault", LATCHED)
        self._payloads = subscribe(InertiaStamped, "dynamics_node/payload", LATCHED)
        self._controller = subscribe(DiagnosticArray, "controller_node/state", LATCHED)
        self._events = subscribe(ParameterEvent, "/parameter_events", EVERY_DEPTH)
        self._descriptions = subscribe(String, "robot_description", LATCHED)
        self._diagnostics = subscribe(DiagnosticArray, "/diagnostics", every)
        namespace = listener.get_namespace().rstrip("/")
        self._guard_name = f"{namespace}/guard_node".lstrip("/")
        self._full_names = {f"{namespace}/{name}": name for name in NODES}

    def find_robot(self, robot: str, urdf: str, longest: float) -> tuple[RobotModel, str]:
        """Return model and URDF (path, text or ''); dynamics_node's if found in `longest` [s]."""
        if robot or urdf:
            return load_robot(urdf or robot), urdf
        client = self._clients["dynamics_node"]
        asked: Any = None
        name = root = tip = ""
        lock: Sequence[str] | None = ()

        def known() -> bool:
            nonlocal asked, name, urdf, root, tip, lock
            if asked is None and client.services_are_ready():
                fields = ("name", "urdf", "root", "tip", "lock")
                asked = client.get_parameters([f"robot.{field}" for field in fields])
            if asked is not None and asked.done():
                values = asked.result().values
                name, urdf, root, tip, lock = map(parameter_value_to_python, values)
                for message in take_messages(self._descriptions):
                    self._description = message.data
                urdf = urdf or self._description
            return bool(name or urdf)

        if spin_until_signal(self._executor, known, longest=longest):
            raise KeyboardInterrupt
        if not (name or urdf):
            raise ArgumentError(
                f"no dynamics_node names its robot {here()}: start the nodes, or give "
                "--namespace, or --robot or --urdf"
            )
        locked = tuple(joint for joint in lock or () if joint)
        return RobotSettings(name, "", root, tip, locked).load(urdf), "" if name else urdf

    def run(self, feed: Feed, draw: Callable[[], None], rate: float) -> None:
        """Fill the feed and draw, at this rate [Hz], until a signal."""
        spin_until_signal(self._executor, lambda: self._frame(feed, draw), every=1.0 / rate)

    def _frame(self, feed: Feed, draw: Callable[[], None]) -> bool:
        self._receive(feed)
        self._poll_nodes(feed)
        self._collect_answers()
        draw()
        return False

    def _receive(self, feed: Feed) -> None:
        for message in take_messages(self._states):
            t, tau = codec.read_effort(message)
            q, qd = np.array(message.position), np.array(message.velocity)
            feed.on_state(t, message.name, q, tau, qd)
        for message in take_messages(self._references):
            q, qd = np.array(message.position), np.array(message.velocity)
            feed.on_reference(codec.seconds(message.header.stamp), message.name, q, qd)
        for message in take_messages(self._residuals):
            t, r = codec.read_effort(message)
            feed.on_residual(t, message.name, r)
        for message in take_messages(self._truths):
            feed.on_truth(message.name, codec.read_effort(message)[1])
        for message in take_messages(self._wrenches):
            self._wrench_time, link, wrench = codec.read_wrench(message)
            feed.on_wrench(link, wrench[:3])
        for message in take_messages(self._detector):
            report = codec.read_collision_state(message)
            joints, reason = " ".join(report.joints), report.cause or report.link_cause
            # An unknown force is not published
            known = abs(report.t - self._wrench_time) < FORCE_TIMEOUT
            size = (known and math.hypot(*feed.force)) or math.nan
            where = reason if report.fault == JOINT_STOP else report.where
            feed.on_detector(report.level.name, report.link, size, joints, reason, where)
        for message in take_messages(self._pushes):
            _, link, wrench = codec.read_wrench(message)
            feed.on_push(link, wrench[:3], wrench[3:])
        for message in take_messages(self._controller):
            feed.mode, feed.reason, _ = codec.read_controller_state(message)
        for message in take_messages(self._faults):
            for found in codec.read_fault_state(message)[:1]:
                harmless = found.kind in HARMLESS_KINDS
                feed.on_fault(found.kind, found.text, found.remedy, harmless)
        for message in take_messages(self._injected):
            reports = codec.read_fault_state(message)
            feed.injected = tuple(one.text for one in reports if one.kind)
        for message in take_messages(self._payloads):
            held = codec.read_payload(message)
            feed.payload = f"{held.mass:.2f} kg on {held.link}" if held else ""
        for message in take_messages(self._diagnostics):
            for status in message.status:
                if status.name == self._guard_name:
                    feed.on_guard(*codec.read_guard_health(status))
        for message in take_messages(self._events):
            node = self._full_names.get(message.node)
            if node is not None:
                changed = [*message.new_parameters, *message.changed_parameters]
                values = {p.name: parameter_value_to_python(p.value) for p in changed}
                feed.on_parameters(node, values)

    def _poll_nodes(self, feed: Feed) -> None:
        """Request all parameters of a node that has started."""
        if time.monotonic() - self._polled_at < NODE_POLL:
            return
        self._polled_at = time.monotonic()
        for name, client in self._clients.items():
            if not client.services_are_ready():
                self._present.discard(name)
            elif name not in self._present:
                self._present.add(name)
                self._request_parameters(feed, name)

    def _request_parameters(self, feed: Feed, node: str) -> None:
        """Request all parameters of a node; again at the next poll if it does not answer."""
        client = self._clients[node]

        def listed(answer: Any) -> tuple[bool, str]:
            names = sorted(answer.result.names)

            def received(answer: Any) -> tuple[bool, str]:
                values = map(parameter_value_to_python, answer.values)
                feed.on_parameters(node, dict(zip(names, values, strict=True)), whole=True)
                return True, ""

            self._request(client.get_parameters(names), received, retry)
            return True, ""

        def retry(done: bool, _: str) -> None:
            if not done:
                self._present.discard(node)

        self._request(client.list_parameters([], 10), listed, retry)

    def _request(
        self, future: Any, read: Callable[[Any], tuple[bool, str]], answer: Answer
    ) -> None:
        deadline = time.monotonic() + ANSWER_TIMEOUT
        self._requests.append(Request(future, read, answer, deadline))

    def _collect_answers(self) -> None:
        waiting, self._requests = self._requests, []
        for request in waiting:
            if request.future.done():
                request.answer(*request.read(request.future.result()))
            elif time.monotonic() > request.deadline:
                request.future.cancel()
                request.answer(False, f"no answer within {ANSWER_TIMEOUT:g} s")
            else:
                self._requests.append(request)

    def push(self, link: str, force: Array, torque: Array, answer: Answer) -> None:
        """Push a simulated arm: force and torque at the link's origin, in its axes."""
        if not self._push.get_subscription_count():
            answer(False, "simulator_node is not running: only a simulated arm can be pushed")
            return
        message = WrenchStamped()
        message.header.frame_id = link
        codec.set_wrench(message.wrench, [*force.tolist(), *torque.tolist()])
        self._push.publish(message)
        answer(True, "")

    def expect(self, link: str, force: float, answer: Answer) -> None:
        """Let guard_node expect a contact of a link, up to a force [N]."""
        if not self._expect.get_subscription_count():
            answer(False, "guard_node is not running")
            return
        message = WrenchStamped()
        message.header.frame_id = link
        codec.set_wrench(message.wrench, [0.0, 0.0, float(force), 0.0, 0.0, 0.0])
        self._expect.publish(message)
        answer(True, "")

    def follow(
        self, points: Sequence[TrajectoryPoint], names: Sequence[str], answer: Answer
    ) -> None:
        """Send a trajectory of these joints."""
        if not self._trajectory.get_subscription_count():
            answer(False, "controller_node is not running")
            return
        self._trajectory.publish(codec.trajectory_message(names, points))
        answer(True, "")

    def call(self, node: str, service: str, answer: Answer, data: bool | None = None) -> None:
        """Call a service of a node: enable (with data), clear, reset."""
        client = self._services[node, service]
        if not client.service_is_ready():
            answer(False, f"{node} is not running")
            return
        request = client.srv_type.Request()
        if data is not None:
            request.data = bool(data)
        future = client.call_async(request)
        self._request(future, lambda reply: (reply.success, reply.message), answer)

    def set(self, node: str, values: dict[str, Any], answer: Answer) -> None:
        """Set parameters of a node, all or none."""
        client = self._clients[node]
        if not client.services_are_ready():
            answer(False, f"{node} is not running")
            return
        wanted = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        future = client.set_parameters_atomically(wanted)
        self._request(future, lambda x: (x.result.successful, x.result.reason), answer)


def take_messages(subscription: Any) -> Iterator[Any]:
    """Yield the messages in a queue; at most its depth, since a fast sender keeps filling it."""
    for _ in range(EVERY_DEPTH):
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        if taken is None:
            return
        yield taken[0]


@contextmanager
def open_bridge(namespace: str = "", read_only: bool = False) -> Iterator[DashboardBridge]:
    """Connect to the nodes in this namespace."""
    with open_terminal("robodyn_view", namespace) as (node, executor):
        # On no executor, so that messages do not wake this process
        options: Any = {"namespace": namespace, "start_parameter_services": False}
        listener = Node("robodyn_view_listener", **options)
        try:
            yield DashboardBridge(listener, node, executor, read_only)
        finally:
            listener.destroy_node()
