"""Topics that cost nothing without subscribers, and become plain calls within one process.

Nodes in one process share a queue of deliveries: a message reaches all its subscribers before any
message that they publish in response. So neither the order of the nodes nor recursion matters.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

Callback = Callable[[Any], None]

ECHOES_KEPT = 16  # latest local messages, to recognise those that arrive by the topic again


class LocalQueue:
    """Deliveries within one process, first in, first out."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[list[Callback], Any]] = deque()
        self.delivering = False

    def deliver(self, callbacks: list[Callback], message: Any) -> None:
        """Call back with the message, after all messages that wait already."""
        self._waiting.append((callbacks, message))
        if self.delivering:
            return
        self.delivering = True
        try:
            while self._waiting:
                callbacks, message = self._waiting.popleft()
                for callback in callbacks:
                    callback(message)
        finally:
            self.delivering = False


class LocalPublisher:
    """A publisher that does nothing without subscribers and calls those in the same process."""

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile | int) -> None:
        self.publisher = node.create_publisher(kind, topic, qos)
        durability = getattr(qos, "durability", DurabilityPolicy.VOLATILE)
        self.latched = durability == DurabilityPolicy.TRANSIENT_LOCAL
        self.local: list[Callback] = []  # subscribers in this process
        self.queue = LocalQueue()
        self._remote = self.latched  # whether other processes subscribe

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return str(self.publisher.topic_name)

    @property
    def wanted(self) -> bool:
        """Whether there are subscribers."""
        return self._remote or bool(self.local)

    def publish(self, message: Any) -> None:
        """Publish to this process and to all others."""
        self.publish_locally(message)
        self.publish_remotely(message)

    def publish_locally(self, message: Any) -> None:
        """Publish within this process only."""
        if self.local:
            self.queue.deliver(self.local, message)

    def publish_remotely(self, message: Any) -> None:
        """Publish to other processes only."""
        if self._remote:
            self.publisher.publish(message)

    def count_subscribers(self) -> None:
        """Find out whether other processes subscribe."""
        self._remote = self.latched or self.publisher.get_subscription_count() > 0


class LocalSubscription:
    """A subscription that publishers in this process serve by plain calls.

    keep_remote: receive from other processes, too, while a publisher in this one is connected.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        topic: str,
        callback: Callback,
        qos: QoSProfile | int,
        *,
        keep_remote: bool = False,
    ) -> None:
        self.node, self.callback, self.keep_remote = node, callback, keep_remote
        self.topic = node.resolve_topic_name(topic)
        self.is_open = True
        self._subscribe = lambda: node.create_subscription(kind, topic, self._on_remote, qos)
        self._remote: Any = self._subscribe()
        self._publishers: list[LocalPublisher] = []
        self._echoes: deque[Any] = deque(maxlen=ECHOES_KEPT)

    def connect(self, publisher: LocalPublisher, queue: LocalQueue) -> None:
        """Receive from a publisher of the same topic by plain calls through this queue."""
        if self.topic == publisher.topic and publisher not in self._publishers:
            self._publishers.append(publisher)
            publisher.queue = queue
            publisher.local.append(self._on_local)
            self.set_open(self.is_open)

    def set_open(self, is_open: bool) -> None:
        """Subscribe or unsubscribe; plain calls, which cost little, arrive in any case."""
        self.is_open = is_open
        needed = is_open and (self.keep_remote or not self._publishers)
        if needed and self._remote is None:
            self._remote = self._subscribe()
        elif not needed and self._remote is not None:
            self.node.destroy_subscription(self._remote)
            self._remote = None

    def _on_local(self, message: Any) -> None:
        if self.keep_remote:
            self._echoes.append(message)
        self.callback(message)

    def _on_remote(self, message: Any) -> None:
        if message in self._echoes:
            self._echoes.remove(message)
        else:
            self.callback(message)
