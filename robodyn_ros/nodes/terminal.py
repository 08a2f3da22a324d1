"""`robodyn topics`, `echo` and `param`: inspect running nodes without the `ros2` command."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions

from ..errors import ArgumentError
from ..interrupts import held
from ..settings import leaves
from .discovery import here, use_loopback
from .node_settings import SETTINGS
from .parameters import nearest, refused_arguments
from .runtime import make_executor, shut_down, spin

ANSWER_TIMEOUT = 5.0  # [s] to find a topic or node, or for an answer
SETTLING_TIME = 1.0  # [s] without a new topic after which discovery is complete
OWN_TOPICS = 2  # of every node: /rosout, /parameter_events
# Of every node, fixed once it runs
FIXED_PARAMETERS = ("use_sim_time", "start_type_description_service", "qos_overrides.")
ECHO_DEPTH = 100  # [messages], queue of `echo`
FIELDS_OF_MESSAGE = "get_fields_and_field_types"  # a method of every message


@contextmanager
def open_terminal(
    name: str = "robodyn_terminal", namespace: str = ""
) -> Iterator[tuple[Node, Executor]]:
    """Yield a node on this machine's loopback interface, and its executor.

    Signals are held: an exception must not pass through the executor's C++. `spin` raises them.
    """
    use_loopback()
    with held():
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        node = Node(name, namespace=namespace, start_parameter_services=False)
        executor = make_executor()
        executor.add_node(node)
        try:
            yield node, executor
        finally:
            shut_down(executor, [node])


def topics() -> list[tuple[str, str, int]]:
    """Return name, type and number of publishers of every topic that is published."""
    seen: list[Any] = []
    since = time.monotonic()
    with open_terminal() as (node, executor):

        def settled() -> bool:
            nonlocal seen, since
            names = node.get_topic_names_and_types()
            if names != seen:
                seen, since = names, time.monotonic()
            return len(names) > OWN_TOPICS and time.monotonic() - since > SETTLING_TIME

        spin(executor, settled, ANSWER_TIMEOUT)
        found = [(name, kinds[0], node.count_publishers(name)) for name, kinds in seen]
    return sorted(row for row in found if row[2])


def echo(topic: str, count: int = 0) -> Iterator[str]:
    """Yield `count` messages of a topic, or all if it is 0, as text; topic: may be an ending."""
    waiting: list[Any] = []  # rclpy takes no deque.append
    with open_terminal() as (node, executor):
        name, kind = find_topic(node, executor, topic)
        node.create_subscription(kind, name, waiting.append, matching_qos(node, name, ECHO_DEPTH))
        received = 0
        while not count or received < count:
            spin(executor, lambda: bool(waiting), ANSWER_TIMEOUT)
            if waiting:
                received += 1
                yield _text(waiting.pop(0))
            elif count:
                raise ArgumentError(f"no message on {name} for {ANSWER_TIMEOUT:g} s")


def get_parameters(node_name: str, names: list[str] | None = None) -> dict[str, Any]:
    """Return parameters of a node by name; by default all of them."""
    with open_terminal() as (node, executor):
        return ask_parameters(node, executor, node_name, names, ANSWER_TIMEOUT)


def ask_parameters(
    node: Node, executor: Executor, name: str, names: list[str] | None, timeout: float
) -> dict[str, Any]:
    """Return parameters of the node with this name; timeout: [s] for each answer."""
    client = _parameter_client(node, executor, name, timeout)
    if not names:
        listed = _answer(executor, client.list_parameters([], 10), timeout)
        names = sorted(listed.result.names)
    values = _answer(executor, client.get_parameters(names), timeout).values
    return {key: parameter_value_to_python(v) for key, v in zip(names, values, strict=True)}


def set_parameter(node_name: str, name: str, value: Any) -> tuple[bool, str]:
    """Set a parameter; return whether the node accepted it, and its reason if not."""
    with open_terminal() as (node, executor):
        client = _parameter_client(node, executor, node_name, ANSWER_TIMEOUT)
        wanted = Parameter(name, value=value).to_parameter_msg()
        result = _answer(executor, client.set_parameters([wanted]), ANSWER_TIMEOUT).results[0]
    return result.successful, result.reason


def load_parameters(node_name: str, path: Path) -> tuple[list[str], dict[str, str]]:
    """Set a node's parameters from a file; return the names that changed, and why others did not.

    Parameters that have the file's value already, or that only other nodes have, are left out.
    """
    given = file_parameters(node_name, path)
    elsewhere = {name for kind in SETTINGS.values() for name, _, _ in leaves(kind())}
    with open_terminal() as (node, executor):
        present = ask_parameters(node, executor, node_name, None, ANSWER_TIMEOUT)
        for name in given.keys() - present.keys() - elsewhere:
            about = f"{path}: {node_name} has no parameter {name}"
            raise ArgumentError(about + nearest(name, list(present)))
        news = {k: v for k, v in given.items() if k in present and _plain(present[k]) != v}
        wanted = [Parameter(k, value=v).to_parameter_msg() for k, v in news.items()]
        client = _parameter_client(node, executor, node_name, ANSWER_TIMEOUT)
        results = _answer(executor, client.set_parameters(wanted), ANSWER_TIMEOUT).results
    refused = {
        name: result.reason
        for name, result in zip(news, results, strict=True)
        if not result.successful
    }
    return [name for name in news if name not in refused], refused


def file_parameters(node_name: str, path: Path) -> dict[str, Any]:
    """Return the parameters of a file for the node with this name, as ROS itself reads it.

    A node of that name, in a context of its own, reads the file; it is not spun.
    """
    if not path.is_file():
        raise ArgumentError(f"there is no parameter file '{path}'")
    use_loopback()
    namespace, _, name = node_name.rpartition("/")
    context = Context()
    try:
        rclpy.init(
            args=["--ros-args", "--params-file", str(path)],
            context=context,
            signal_handler_options=SignalHandlerOptions.NO,
        )
        reader = Node(
            name,
            namespace=namespace,
            context=context,
            enable_rosout=False,
            start_parameter_services=False,
            automatically_declare_parameters_from_overrides=True,
        )
        found = reader.get_parameters_by_prefix("")
        reader.destroy_node()
    except (RuntimeError, ParameterException, rclpy_implementation.RCLError) as error:
        reason = refused_arguments(error).splitlines()[0]
        raise ArgumentError(f"cannot read the parameters '{path}': {reason}") from None
    finally:
        context.try_shutdown()
    values = {
        key: _plain(parameter.value)
        for key, parameter in found.items()
        if not key.startswith(FIXED_PARAMETERS)
    }
    if not values:
        raise ArgumentError(f"'{path}' has no parameters of {node_name}")
    return values


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (str, bool, int, float)) else list(value)


def message_class(kind: str) -> Any:
    """Return the class of a message type such as std_msgs/msg/Bool."""
    package, _, name = kind.partition("/msg/")
    return getattr(import_module(f"{package}.msg"), name)


def matching_qos(node: Node, topic: str, depth: int) -> QoSProfile:
    """Return a subscription's QoS that fits all publishers: reliable and latched if all are."""
    publishers = [p.qos_profile for p in node.get_publishers_info_by_topic(topic)]
    qos = QoSProfile(depth=depth)
    if any(p.reliability == ReliabilityPolicy.BEST_EFFORT for p in publishers):
        qos.reliability = ReliabilityPolicy.BEST_EFFORT
    latched = DurabilityPolicy.TRANSIENT_LOCAL
    if publishers and all(p.durability == latched for p in publishers):
        qos.durability = latched
    return qos


def find_topic(node: Node, executor: Any, topic: str) -> tuple[str, Any]:
    """Return the full name and message class of a topic, given its name or the end of it."""
    found: dict[str, str] = {}

    def discovered() -> bool:
        for name, types in node.get_topic_names_and_types():
            if name == topic or name.endswith("/" + topic.lstrip("/")):
                found[name] = types[0]
        return bool(found)

    spin(executor, discovered, ANSWER_TIMEOUT)
    if len(found) != 1:
        names = ", ".join(sorted(found)) or "none"
        raise ArgumentError(
            f"topics that match '{topic}' {here()}: {names}; `robodyn topics` lists all"
        )
    ((name, kind),) = found.items()
    return name, message_class(kind)


def _parameter_client(
    node: Node, executor: Executor, name: str, timeout: float
) -> AsyncParameterClient:
    client = AsyncParameterClient(node, name)
    spin(executor, client.services_are_ready, timeout)
    if not client.services_are_ready():
        raise ArgumentError(f"there is no node '{name}' {here()}; is it running?")
    return client


def _answer(executor: Any, future: Any, timeout: float) -> Any:
    spin(executor, future.done, timeout)
    if not future.done():
        raise ArgumentError(f"no answer within {timeout:g} s")
    return future.result()


def _text(message: Any, indent: str = "") -> str:
    lines = []
    for field in message.get_fields_and_field_types():
        value = getattr(message, field)
        if hasattr(value, FIELDS_OF_MESSAGE):
            lines += [f"{indent}{field}:", _text(value, indent + "  ")]
        elif isinstance(value, list) and value and hasattr(value[0], FIELDS_OF_MESSAGE):
            lines.append(f"{indent}{field}:")
            lines += [f"{indent}- " + _text(item, indent + "  ").lstrip() for item in value]
        elif isinstance(value, (str, bytes, bool, int, float)):
            lines.append(f"{indent}{field}: {value!r}")
        else:
            lines.append(f"{indent}{field}: {list(value)}")
    return "\n".join(lines)
