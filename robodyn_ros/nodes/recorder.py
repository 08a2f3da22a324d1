"""The ROS side of `robodyn record`: takes serialized messages and writes them to a sink.

No executor is used: the middleware's threads fill deep queues, which are emptied many times a
second. A stalled disk or a busy interpreter loses nothing while the queues have room; lost
messages show in the publishers' sequence numbers.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

from ..errors import ArgumentError, RobodynError
from .discovery import here
from .runtime import signals_caught
from .terminal import ask_parameters, matching_qos, message_class, open_terminal

NODE_TOPICS = (
    "joint_states",
    "effort_controller/commands",
    "simulator_node/external_torque",
    "simulator_node/fault",
    "simulator_node/push",
    "controller_node/reference",
    "controller_node/state",
    "controller_node/joint_trajectory",
    "controller_node/pose_target",
    "dynamics_node/residual",
    "dynamics_node/collision",
    "dynamics_node/collision_state",
    "dynamics_node/external_wrench",
    "dynamics_node/fault",
    "dynamics_node/markers",
    "dynamics_node/payload",
    "guard_node/armed",
    "guard_node/expect",
    "robot_description",
    "/diagnostics",
    "/clock",
)
QUEUE_DEPTH = 10000  # [messages], ten seconds at 1 kHz
TOPIC_POLL = 0.2  # [s] between two checks for new topics
CONNECTION_POLL = 0.02  # [s] between two checks for publishers
STEADY_COUNT, STEADY_PAUSE = 20, 0.5  # messages and longest pause [s] of a topic that is steady
IDLE_TIME = 0.002  # [s] to sleep when all queues are empty
PROGRESS_INTERVAL = 0.25  # [s]
START_TIMEOUT = 30.0  # [s] until the first message
ANSWER_TIMEOUT = 1.0  # [s] for the detector's parameters


class Sink(Protocol):
    """Receiver of the messages, such as a bag."""

    def knows(self, kind: str) -> bool:
        """Return whether messages of this type can be written."""

    def add(self, topic: str, kind: str, reliable: bool, latched: bool) -> None:
        """Add a topic."""

    def write(self, topic: str, when: int, raw: bytes) -> None:
        """Write a serialized message; when: time of receipt [ns]."""

    def remember(self, key: str, value: str) -> None:
        """Store a text with the recording."""


@dataclass
class TopicCount:
    """Messages of one topic, received and lost, and when it had no publisher.

    Times are those of the bag: wall time at receipt [s].
    """

    topic: str
    kind: str
    found: float = 0.0  # when it was subscribed to
    count: int = 0
    lost: int | None = 0  # None: unknown, as with several publishers
    number: int = 0  # sequence number of the latest message
    first: float = math.inf  # of the first message
    latest: float = -math.inf
    longest_pause: float = 0.0  # [s] between two messages
    absent: list[tuple[float, float]] = field(default_factory=list)  # without a publisher
    absent_since: float | None = -math.inf  # None: it has one

    def add(self, now: float, number: int | None) -> None:
        """Count a message with the publisher's sequence number."""
        self.connect(now, 1)
        if number is None:
            self.lost = None
        elif self.lost is not None and self.number and number > self.number:
            self.lost += number - self.number - 1
        if self.count:
            self.longest_pause = max(self.longest_pause, now - self.latest)
        self.count += 1
        self.number = number or 0
        self.first, self.latest = min(self.first, now), now

    def connect(self, now: float, publishers: int) -> None:
        """Note how many publishers are connected."""
        if publishers and self.absent_since is not None:
            self.absent.append((self.absent_since, now))
            self.absent_since = None
        elif not publishers and self.absent_since is None:
            self.absent_since, self.number = now, 0  # the next one counts from 1

    def missing(self, begin: float, end: float) -> dict[str, float]:
        """Return for how long [s] of this time it had no publisher: at the start, between, end."""
        last = () if self.absent_since is None else ((self.absent_since, math.inf),)
        parts = {"start": 0.0, "between": 0.0, "end": 0.0}
        for since, until in (*self.absent, *last):
            where = "start" if since <= begin else "end" if until >= end else "between"
            parts[where] += max(min(until, end) - max(since, begin), 0.0)
        return parts

    def silent(self, end: float) -> float:
        """Return for how long [s] a steady topic had no message in the end; 0 if it had.

        The publisher may have been killed, which the middleware notices many seconds later.
        """
        steady = self.count >= STEADY_COUNT and self.longest_pause <= STEADY_PAUSE
        pause = end - self.latest
        return pause if steady and pause > STEADY_PAUSE + self.longest_pause else 0.0


class Recorder:
    """Subscribes to the wanted topics as they appear, and empties the queues into a sink."""

    def __init__(self, node: Node, sink: Sink, topics: Sequence[str], namespace: str = "") -> None:
        self.node, self.sink = node, sink
        prefix = "/" + namespace.strip("/") + "/" if namespace.strip("/") else "/"
        self.wanted = {t if t.startswith("/") else prefix + t for t in topics or NODE_TOPICS}
        self.topics: dict[str, TopicCount] = {}
        self.unknown: dict[str, str] = {}  # topics of unknown type
        self.begin = self.end = math.inf  # [s], first message, end of the recording
        self._subscriptions: list[tuple[TopicCount, Any]] = []

    def poll_topics(self) -> None:
        """Subscribe to wanted topics that have appeared."""
        for topic, kinds in self.node.get_topic_names_and_types():
            if topic not in self.wanted or topic in self.topics or topic in self.unknown:
                continue
            if not self.sink.knows(kinds[0]):
                self.unknown[topic] = kinds[0]
                continue
            self._subscribe(topic, kinds[0])
        for count in self.topics.values():
            if self.node.count_publishers(count.topic) > 1:
                count.lost = None

    def poll_publishers(self) -> None:
        """Note which topics have publishers."""
        for count, subscription in self._subscriptions:
            count.connect(time.time(), subscription.get_publisher_count())

    def drain(self) -> int:
        """Write all waiting messages; return their number."""
        taken = 0
        for count, subscription in self._subscriptions:
            with subscription.handle:
                for _ in range(QUEUE_DEPTH):
                    got = subscription.handle.take_message(subscription.msg_type, True)
                    if got is None:
                        break
                    raw, info = got
                    when = info.get("received_timestamp") or time.time_ns()
                    count.add(1e-9 * when, info.get("publication_sequence_number"))
                    self.begin = min(self.begin, 1e-9 * when)
                    self.sink.write(count.topic, when, raw)
                    taken += 1
        return taken

    def _subscribe(self, topic: str, kind: str) -> None:
        try:
            message = message_class(kind)
        except (ImportError, AttributeError):
            self.unknown[topic] = kind
            return
        qos = matching_qos(self.node, topic, QUEUE_DEPTH)
        reliable = qos.reliability == ReliabilityPolicy.RELIABLE
        latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self.sink.add(topic, kind, reliable, latched)
        self.topics[topic] = TopicCount(topic, kind, time.time())
        # On no executor: its queue is emptied by `drain`
        subscription = self.node.create_subscription(message, topic, _not_called, qos, raw=True)
        self._subscriptions.append((self.topics[topic], subscription))


def record(
    sink: Sink,
    topics: Sequence[str] = (),
    namespace: str = "",
    duration: float = math.inf,
    show: Callable[[Recorder, float], None] = lambda recorder, elapsed: None,
) -> Recorder:
    """Record until SIGINT, SIGTERM, or for a duration [s] after the first message."""
    with open_terminal() as (asking, executor), signals_caught() as signalled:
        node = Node("robodyn_recorder")
        recorder = Recorder(node, sink, topics, namespace)
        begun, first = time.monotonic(), math.inf  # [s], first: of the first message
        polled = checked = shown = 0.0
        asked = False
        try:
            while not signalled():
                now = time.monotonic()
                if now - polled > TOPIC_POLL:
                    recorder.poll_topics()
                    polled = now
                if now - checked > CONNECTION_POLL:
                    recorder.poll_publishers()
                    checked = now
                taken = recorder.drain()
                if taken:
                    first = min(first, now)
                if now - first >= duration:
                    break
                if first == math.inf and now - begun > START_TIMEOUT:
                    raise ArgumentError(
                        f"no message for {START_TIMEOUT:g} s {here()}: do the nodes run there?"
                    )
                if not asked and (detector := _detector(recorder)):
                    asked = True
                    _store_parameters(sink, asking, executor, detector)
                if now - shown > PROGRESS_INTERVAL:
                    shown = now
                    show(recorder, max(now - first, 0.0))
                if not taken:
                    time.sleep(IDLE_TIME)
            recorder.drain()
            recorder.end = time.time()
        finally:
            node.destroy_node()
    return recorder


def _detector(recorder: Recorder) -> str:
    """Return the name of the node whose residual is recorded; empty before its first message."""
    for count in recorder.topics.values():
        if count.topic.endswith("/residual") and count.count:
            return count.topic.rpartition("/")[0]
    return ""


def _store_parameters(sink: Sink, node: Node, executor: Any, name: str) -> None:
    """Store the detector's parameters, and the URDF that they name, with the recording."""
    try:
        found = ask_parameters(node, executor, name, None, ANSWER_TIMEOUT)
    except ArgumentError:  # it does not answer
        return
    sink.remember("robodyn_ros.dynamics_node", json.dumps(found, default=list))
    urdf = found.get("robot.urdf")
    if urdf and Path(urdf).is_file():
        sink.remember("robodyn_ros.robot_description", Path(urdf).read_text(encoding="utf-8"))


def _not_called(raw: bytes) -> None:
    raise RobodynError("a recorder's subscription has no callback")
