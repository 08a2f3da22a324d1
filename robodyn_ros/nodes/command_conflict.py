"""Rivals: whether somebody else commands the arm, too."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from .local_topics import LocalPublisher
from .runtime import STATE_IN

KEPT = 64  # own commands that may still be on their way back


class Rivals:
    """Listens to the own topic while others are known to publish there, and only then.

    A second publisher alone says little: that of a process that was killed is remembered by the
    middleware for some 20 s. So what counts is a command that is none of the own.
    found: is called with the names of the others.
    """

    def __init__(self, node: Node, outlet: LocalPublisher, found: Callable[[str], None]) -> None:
        self._node, self._found = node, found
        self._topic = outlet.publisher.topic_name
        self._own: deque[bytes] = deque(maxlen=KEPT)
        self._ear: Any = None

    def said(self, command: Float64MultiArray) -> None:
        """The own command that goes out now."""
        if self._ear is not None:
            self._own.append(command.data.tobytes())

    def look(self) -> str:
        """Find out whether others publish there, too; their names."""
        others = self._node.count_publishers(self._topic) > 1
        if others and self._ear is None:
            self._ear = self._node.create_subscription(
                Float64MultiArray, self._topic, self._heard, STATE_IN
            )
        elif not others and self._ear is not None:
            self._node.destroy_subscription(self._ear)
            self._ear = None
            self._own.clear()
        return self._names() if others else ""

    def _heard(self, command: Float64MultiArray) -> None:
        if command.data.tobytes() not in self._own:
            self._found(self._names())

    def _names(self) -> str:
        """The nodes that publish there, without this one."""
        known = self._node.get_publishers_info_by_topic(self._topic)
        names = [info.node_name for info in known]
        if self._node.get_name() in names:
            names.remove(self._node.get_name())
        return ", ".join(names)
