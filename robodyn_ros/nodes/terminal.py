"""`robodyn topics`, `echo` and `param`: a look at running nodes without the `ros2` command."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier

from ..errors import ArgumentError
from ..resources import share_path
from .runtime import make_executor, shut_down, spin

DOMAIN = "77"  # of the demo, unless ROS_DOMAIN_ID says otherwise
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # old name, new
PATIENCE = 5.0  # [s] to find what is asked for
SETTLED = 1.0  # [s] without a new topic: all are found
OWN_TOPICS = 2  # that every node has: /rosout, /parameter_events


def stay_here() -> None:
    """Talk on this machine only and, unless told otherwise, in the demo's domain.

    With LOCALHOST strangers are not answered, but Fast DDS opens its ports to them all the same:
    so it is told to use the loopback interface, unless the user has told it something else.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    told = any(name in os.environ for name in (RANGE, *PROFILES))
    if told or "fastrtps" not in get_rmw_implementation_identifier():
        os.environ.setdefault(RANGE, "LOCALHOST")
        return
    os.environ[RANGE] = "SYSTEM_DEFAULT"  # as the profile says; LOCALHOST would add to it
    for name in PROFILES:
        os.environ[name] = str(share_path("config", "fastdds_loopback.xml"))


@contextmanager
def looking() -> Iterator[tuple[Node, Any]]:
    """A node to look around with, and its executor."""
    stay_here()
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, executor = Node("robodyn_terminal"), make_executor()
    executor.add_node(node)
    try:
        yield node, executor
    finally:
        shut_down(executor, [node])


def topics() -> list[tuple[str, str, int]]:
    """Name, type and number of publishers of every topic that somebody else publishes."""
    seen: list[Any] = [[]]
    since = [time.monotonic()]
    with looking() as (node, executor):

        def settled() -> bool:
            """Whether nothing new has been discovered for a while."""
            names = node.get_topic_names_and_types()
            if names != seen[0]:
                seen[0], since[0] = names, time.monotonic()
            return len(names) > OWN_TOPICS and time.monotonic() - since[0] > SETTLED

        spin(executor, settled, PATIENCE)
        found = [(name, kinds[0], node.count_publishers(name)) for name, kinds in seen[0]]
    return sorted(row for row in found if row[2])


def echo(topic: str, count: int = 0) -> Iterator[str]:
    """Messages of a topic as text, so many, or without end; `residual` finds ~/residual."""
    waiting: list[Any] = []
    with looking() as (node, executor):
        name, kind = _find_topic(node, executor, topic)
        node.create_subscription(kind, name, waiting.append, _matching(node, name))
        left = count or -1
        quiet_since = time.monotonic()
        while left != 0:
            spin(executor, lambda: bool(waiting), 0.5)
            if not waiting and time.monotonic() - quiet_since > PATIENCE and count:
                raise ArgumentError(f"nothing came on {name} for {PATIENCE:g} s")
            for message in waiting[: left if left > 0 else None]:
                yield _text(message)
                left -= 1
                quiet_since = time.monotonic()
            waiting.clear()


def get_parameters(node_name: str, names: list[str] | None = None) -> dict[str, Any]:
    """Parameters of a node by name, all of them unless told."""
    with looking() as (node, executor):
        client = _client(node, executor, node_name)
        if not names:
            listed = _answer(executor, client.list_parameters([], 10))
            names = sorted(listed.result.names)
        values = _answer(executor, client.get_parameters(names)).values
    return {
        name: parameter_value_to_python(value) for name, value in zip(names, values, strict=True)
    }


def set_parameter(node_name: str, name: str, value: Any) -> tuple[bool, str]:
    """Set a parameter; whether the node took it, or why not."""
    with looking() as (node, executor):
        client = _client(node, executor, node_name)
        wanted: ParameterMessage = Parameter(name, value=value).to_parameter_msg()
        result = _answer(executor, client.set_parameters([wanted])).results[0]
    return result.successful, result.reason


def _find_topic(node: Node, executor: Any, topic: str) -> tuple[str, Any]:
    """The full name and message class of a topic, by its name or the end of it."""
    found: dict[str, str] = {}

    def there() -> bool:
        for name, types in node.get_topic_names_and_types():
            if name == topic or name.endswith("/" + topic.lstrip("/")):
                found[name] = types[0]
        return bool(found)

    spin(executor, there, PATIENCE)
    if len(found) != 1:
        names = ", ".join(sorted(found)) or "none"
        raise ArgumentError(f"topics that fit '{topic}': {names}; `robodyn topics` lists all")
    ((name, kind),) = found.items()
    package, _, message = kind.partition("/msg/")
    return name, getattr(import_module(f"{package}.msg"), message)


def _matching(node: Node, topic: str) -> QoSProfile:
    """A subscription that any publisher serves, and that gets what a latched one holds."""
    publishers = node.get_publishers_info_by_topic(topic)
    qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
    if all(p.qos_profile.reliability == ReliabilityPolicy.RELIABLE for p in publishers):
        qos.reliability = ReliabilityPolicy.RELIABLE
        latched = DurabilityPolicy.TRANSIENT_LOCAL
        if all(p.qos_profile.durability == latched for p in publishers):
            qos.durability = latched
    return qos


def _client(node: Node, executor: Any, name: str) -> AsyncParameterClient:
    client = AsyncParameterClient(node, name)
    spin(executor, client.services_are_ready, PATIENCE)
    if not client.services_are_ready():
        raise ArgumentError(f"there is no node '{name}' here; is it running, in this domain?")
    return client


def _answer(executor: Any, future: Any) -> Any:
    spin(executor, future.done, PATIENCE)
    if not future.done():
        raise ArgumentError(f"no answer within {PATIENCE:g} s")
    return future.result()


def _text(message: Any, indent: str = "") -> str:
    """A message as indented lines."""
    lines = []
    for field in message.get_fields_and_field_types():
        value = getattr(message, field)
        if hasattr(value, "get_fields_and_field_types"):
            lines += [f"{indent}{field}:", _text(value, indent + "  ")]
        elif isinstance(value, list) and value and hasattr(value[0], "get_fields_and_field_types"):
            lines.append(f"{indent}{field}:")
            lines += [f"{indent}- " + _text(item, indent + "  ").lstrip() for item in value]
        elif isinstance(value, (str, bytes, bool, int, float)):
            lines.append(f"{indent}{field}: {value!r}")
        else:
            lines.append(f"{indent}{field}: {list(value)}")
    return "\n".join(lines)
