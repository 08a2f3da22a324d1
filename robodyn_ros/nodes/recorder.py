"""The ROS side of `robodyn record`: takes messages as bytes and hands them to a sink.

No executor is asked: the middleware's own threads fill deep queues, and these are emptied many
times a second. A stalled disk or a busy interpreter costs nothing as long as it is shorter than
the queues; what is lost all the same shows in the publishers' own counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ..errors import ArgumentError, RobodynError
from .runtime import signals_caught, spin
from .terminal import looking

DEMO_TOPICS = (
    "joint_states",
    "effort_controller/commands",
    "simulator_node/external_torque",
    "simulator_node/push",
    "controller_node/reference",
    "controller_node/joint_trajectory",
    "dynamics_node/residual",
    "dynamics_node/collision",
    "dynamics_node/collision_state",
    "dynamics_node/external_wrench",
    "dynamics_node/markers",
    "robot_description",
    "/diagnostics",
    "/clock",
)
QUEUE = 10000  # messages of a topic that may wait: ten seconds at 1 kHz
LOOK = 0.2  # [s] between two looks for new topics
PAUSE = 0.002  # [s] between two rounds of emptying the queues
SHOWN = 0.25  # [s] between two words of progress
PATIENCE = 30.0  # [s] without any topic
ANSWER = 1.0  # [s] for the detector to tell its parameters


class Sink(Protocol):
    """Where messages go."""

    def knows(self, kind: str) -> bool: ...

    def add(self, topic: str, kind: str, reliable: bool, latched: bool) -> None: ...

    def write(self, topic: str, when: int, raw: bytes) -> None: ...

    def remember(self, key: str, value: str) -> None: ...


@dataclass
class Heard:
    """What came on one topic."""

    topic: str
    kind: str
    count: int = 0
    missing: int | None = 0  # None: several publishers, whose counts cannot be told apart
    last: int = 0  # the publisher's count of the latest message

    def take(self, number: int | None) -> None:
        """A message has come with its publisher's count."""
        if number is None:
            self.missing = None
        elif self.missing is not None and self.count and number > self.last:
            self.missing += number - self.last - 1
        self.count += 1
        self.last = number or 0


class Recorder:
    """Subscribes to what there is of the wanted topics and empties the queues into a sink."""

    def __init__(self, node: Node, sink: Sink, topics: Sequence[str], namespace: str = "") -> None:
        self.node, self.sink = node, sink
        prefix = "/" + namespace.strip("/") + "/" if namespace.strip("/") else "/"
        self.wanted = {t if t.startswith("/") else prefix + t for t in topics or DEMO_TOPICS}
        self.heard: dict[str, Heard] = {}
        self.strange: dict[str, str] = {}  # topics whose type nobody can describe
        self._subscriptions: list[tuple[Heard, Any]] = []

    def look(self) -> None:
        """Subscribe to wanted topics that have appeared."""
        for topic, kinds in self.node.get_topic_names_and_types():
            if topic not in self.wanted or topic in self.heard or topic in self.strange:
                continue
            if not self.sink.knows(kinds[0]):
                self.strange[topic] = kinds[0]
                continue
            self._subscribe(topic, kinds[0])
        for heard in self.heard.values():
            if self.node.count_publishers(heard.topic) > 1:
                heard.missing = None

    def drain(self) -> int:
        """Take all that waits; how many messages."""
        taken = 0
        for heard, subscription in self._subscriptions:
            with subscription.handle:
                for _ in range(QUEUE):
                    got = subscription.handle.take_message(subscription.msg_type, True)
                    if got is None:
                        break
                    raw, info = got
                    heard.take(info.get("publication_sequence_number"))
                    when = info.get("received_timestamp") or time.time_ns()
                    self.sink.write(heard.topic, when, raw)
                    taken += 1
        return taken

    def _subscribe(self, topic: str, kind: str) -> None:
        package, _, name = kind.partition("/msg/")
        try:
            message = getattr(import_module(f"{package}.msg"), name)
        except (ImportError, AttributeError):
            self.strange[topic] = kind
            return
        qos = _quality(self.node, topic)
        reliable = qos.reliability == ReliabilityPolicy.RELIABLE
        latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self.sink.add(topic, kind, reliable, latched)
        self.heard[topic] = Heard(topic, kind)
        # A subscription that no executor knows: its queue is emptied by hand
        subscription = self.node.create_subscription(message, topic, _nobody, qos, raw=True)
        self._subscriptions.append((self.heard[topic], subscription))


def record(
    sink: Sink,
    topics: Sequence[str] = (),
    namespace: str = "",
    duration: float | None = None,
    show: Callable[[Recorder, float], None] = lambda recorder, elapsed: None,
) -> Recorder:
    """Record until Ctrl-C, SIGTERM, or for so long [s] since the first message."""
    with signals_caught() as signalled, looking() as (asking, executor):
        node = Node("robodyn_recorder")
        try:
            recorder = Recorder(node, sink, topics, namespace)
            _run(recorder, asking, executor, duration, show, signalled)
        finally:
            node.destroy_node()
    return recorder


def _run(
    recorder: Recorder,
    asking: Node,
    executor: Any,
    duration: float | None,
    show: Callable[[Recorder, float], None],
    ended: Callable[[], bool],
) -> None:
    begun, first = time.monotonic(), None
    looked = shown = 0.0
    asked = False
    while not ended():
        now = time.monotonic()
        if now - looked > LOOK:
            recorder.look()
            looked = now
        taken = recorder.drain()
        if taken and first is None:
            first = now
        if first is not None and duration is not None and now - first >= duration:
            break
        if first is None and now - begun > PATIENCE:
            raise ArgumentError(
                f"nothing came for {PATIENCE:g} s: do the nodes run, in this domain?"
            )
        if not asked and (topic := _detector(recorder)):
            asked = True
            _remember(recorder.sink, asking, executor, topic)
        if now - shown > SHOWN:
            shown = now
            show(recorder, now - first if first is not None else 0.0)
        if not taken:
            time.sleep(PAUSE)
    recorder.drain()


def _quality(node: Node, topic: str) -> QoSProfile:
    """As reliable as the publishers are, with a deep queue; latched if they are."""
    publishers = [p.qos_profile for p in node.get_publishers_info_by_topic(topic)]
    qos = QoSProfile(depth=QUEUE)
    if any(p.reliability == ReliabilityPolicy.BEST_EFFORT for p in publishers):
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
    latched = DurabilityPolicy.TRANSIENT_LOCAL
    if publishers and all(p.durability == latched for p in publishers):
        qos.durability = latched
    return qos


def _detector(recorder: Recorder) -> str:
    """The name of the node whose residual is recorded, once something came of it."""
    for heard in recorder.heard.values():
        if heard.topic.endswith("/residual") and heard.count:
            return heard.topic.rpartition("/")[0]
    return ""


def _remember(sink: Sink, node: Node, executor: Any, name: str) -> None:
    """Keep the detector's parameters and the URDF that they name with the recording."""
    client = AsyncParameterClient(node, name)
    spin(executor, client.services_are_ready, ANSWER)
    if not client.services_are_ready():
        return
    listed = client.list_parameters([], 10)
    spin(executor, listed.done, ANSWER)
    if not listed.done():
        return
    names = list(listed.result().result.names)
    answer = client.get_parameters(names)
    spin(executor, answer.done, ANSWER)
    if not answer.done():
        return
    pairs = zip(names, answer.result().values, strict=True)
    values = {key: _plain(parameter_value_to_python(value)) for key, value in pairs}
    sink.remember("robodyn_ros.dynamics_node", json.dumps(values))
    urdf = values.get("robot.urdf")
    if urdf and Path(urdf).is_file():
        sink.remember("robodyn_ros.robot_description", Path(urdf).read_text(encoding="utf-8"))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (str, bool, int, float, type(None))) else list(value)


def _nobody(raw: bytes) -> None:
    raise RobodynError("a recorder's subscription is emptied by hand")
