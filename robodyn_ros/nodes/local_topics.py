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


class LocalQueue:
    """Deliveries within one process, first in, first out."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[list[Callback], Any]] = deque()
        self.delivering = False

    def deliver(self, callbacks: list[Callback], message: Any) -> None:
        """Call back with the message, after those that wait already."""
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
    """A publisher that is silent without subscribers and calls those in the same process."""

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile | int) -> None:
        self.publisher = node.create_publisher(kind, topic, qos)
        latched = DurabilityPolicy.TRANSIENT_LOCAL
        self.latched = isinstance(qos, QoSProfile) and qos.durability == latched
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
    """A subscription that is replaced by a plain call where the publisher is in this process."""

    def __init__(
        self, node: Node, kind: Any, topic: str, callback: Callback, qos: QoSProfile | int
    ) -> None:
        self.node, self.callback = node, callback
        self._subscription = node.create_subscription(kind, topic, callback, qos)
        self.topic = str(self._subscription.topic_name)

    def connect(self, publisher: LocalPublisher, queue: LocalQueue) -> None:
        """Receive from a publisher of the same topic by plain calls through this queue."""
        if self._subscription is None or self.topic != publisher.topic:
            return
        self.node.destroy_subscription(self._subscription)
        self._subscription = None
        publisher.queue = queue
        publisher.local.append(self.callback)

    def close(self) -> bool:
        """Unsubscribe; return False where plain calls serve it, which cost nothing."""
        if self._subscription is None:
            return False
        self.node.destroy_subscription(self._subscription)
        self._subscription = None
        return True
