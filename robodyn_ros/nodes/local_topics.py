"""Topics that cost nothing while nobody listens, and become plain calls within one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile


class LocalPublisher:
    """A publisher that says nothing while nobody listens, and calls who is in the same process."""

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile) -> None:
        self.publisher = node.create_publisher(kind, topic, qos)
        self.latched = qos.durability == DurabilityPolicy.TRANSIENT_LOCAL
        self.near: list[Callable[[Any], None]] = []  # callbacks in this process
        self.heard = self.latched  # whether others listen

    def publish(self, message: Any) -> None:
        """To those in this process at once, to all others by the middleware."""
        self.call(message)
        self.send(message)

    def call(self, message: Any) -> None:
        """To those in this process only."""
        for callback in self.near:
            callback(message)

    def send(self, message: Any) -> None:
        """To all others only."""
        if self.heard:
            self.publisher.publish(message)

    @property
    def wanted(self) -> bool:
        """Whether anybody listens."""
        return self.heard or bool(self.near)

    def look(self) -> None:
        """Find out whether others listen."""
        self.heard = self.latched or self.publisher.get_subscription_count() > 0


class LocalSubscription:
    """A subscription, or a place in the list of an outlet nearby."""

    def __init__(
        self, node: Node, kind: Any, topic: str, callback: Callable, qos: QoSProfile
    ) -> None:
        self.node, self.callback = node, callback
        self.subscription = node.create_subscription(kind, topic, callback, qos)

    def plug_into(self, outlet: LocalPublisher) -> bool:
        """Be called by an outlet of the same topic; the subscription is not needed then."""
        if self.subscription is None:
            return False
        if self.subscription.topic_name != outlet.publisher.topic_name:
            return False
        self.node.destroy_subscription(self.subscription)
        self.subscription = None
        outlet.near.append(self.callback)
        return True
