"""Listens to joint states and the robot's description, for `robodyn doctor`."""

from __future__ import annotations

import time
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ..errors import ArgumentError
from .runtime import LATCHED, spin
from .terminal import ANSWER_TIMEOUT, find_topic, matching_qos, open_terminal

DEPTH = 1000  # [messages]


def listen(topic: str, seconds: float) -> tuple[str, list[tuple[float, Any]], str]:
    """Return the topic, the joint states of this time [s] with their times of receipt, and the
    URDF on robot_description, or ''. topic: may be an ending.
    """
    states: list[tuple[float, Any]] = []
    described: list[str] = []
    with open_terminal("robodyn_doctor") as (node, executor):
        name, kind = find_topic(node, executor, topic)
        if kind is not JointState:
            raise ArgumentError(f"{name} has messages of {kind.__name__}, not JointState")
        qos = matching_qos(node, name, DEPTH)
        node.create_subscription(kind, name, lambda m: states.append((time.time(), m)), qos)
        place = name.rpartition("/")[0]
        for where in {f"{place}/robot_description", "/robot_description"}:
            node.create_subscription(String, where, lambda m: described.append(m.data), LATCHED)
        spin(executor, lambda: bool(states), ANSWER_TIMEOUT)
        if not states:
            raise ArgumentError(f"no message on {name} for {ANSWER_TIMEOUT:g} s")
        spin(executor, lambda: False, seconds)
    return name, states, described[-1] if described else ""
