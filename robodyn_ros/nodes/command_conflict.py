"""CommandConflict: detects another node that commands the arm."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from .local_topics import LocalPublisher
from .runtime import STATE_IN

OWN_KEPT = 1000  # latest own commands, which may still arrive: a busy machine delays them


class CommandConflict:
    """Subscribes to the node's own command topic while other nodes publish on it.

    A second publisher is no proof, since the middleware remembers that of a killed process for
    some 20 s; a foreign command is. report: called with the names of the other nodes.
    """

    def __init__(
        self, node: Node, publisher: LocalPublisher, report: Callable[[str], None]
    ) -> None:
        self._node, self._report = node, report
        self._topic = publisher.topic
        self._own: deque[bytes] = deque(maxlen=OWN_KEPT)
        self._subscription: Any = None

    def sent(self, command: Float64MultiArray) -> None:
        """Remember a command of the node itself."""
        if self._subscription is not None:
            self._own.append(command.data.tobytes())

    def poll(self) -> str:
        """Return the names of other nodes that publish commands, or an empty text."""
        others = self._node.count_publishers(self._topic) > 1
        if others and self._subscription is None:
            self._subscription = self._node.create_subscription(
                Float64MultiArray, self._topic, self._on_command, STATE_IN
            )
        elif not others and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            self._own.clear()
        return self._names() if others else ""

    def _on_command(self, command: Float64MultiArray) -> None:
        if command.data.tobytes() not in self._own:
            self._report(self._names() or "one that has ended")

    def _names(self) -> str:
        infos = self._node.get_publishers_info_by_topic(self._topic)
        names = [info.node_name for info in infos]
        if self._node.get_name() in names:
            names.remove(self._node.get_name())
        return ", ".join(names)
