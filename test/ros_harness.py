"""Real nodes in a test: each test has its own ROS domain, on this machine only."""

import os
from contextlib import contextmanager

import pytest

os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from source_tree import own_domain  # noqa: E402

from robodyn_ros.nodes.runtime import make_executor, shut_down, spin  # noqa: E402


class Bench:
    """Nodes on one executor, and a node of the test that talks to them."""

    def __init__(self, executor, nodes, node):
        self.executor, self.nodes, self.node = executor, nodes, node

    def until(self, condition, longest=10.0):
        """Spin until the condition holds; fail after `longest` [s]."""
        spin(self.executor, condition, longest, every=0.002)
        assert condition(), f"it did not happen within {longest:g} s"

    def run(self, seconds):
        """Spin for this time [s]."""
        spin(self.executor, lambda: False, seconds, every=min(seconds, 0.002))

    def collect(self, kind, topic, qos=10):
        """Return a list that fills with the messages of a topic."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def call(self, kind, name, request=None):
        """Return the response of a service."""
        client = self.node.create_client(kind, name)
        self.until(client.service_is_ready)
        future = client.call_async(request or kind.Request())
        self.until(future.done)
        return future.result()

    @staticmethod
    def set(node, **values):
        """Set parameters of a node, dots written as __; return the result."""
        named = [Parameter(name.replace("__", "."), value=v) for name, v in values.items()]
        return node.set_parameters_atomically(named)


@contextmanager
def bench(*makers, args=()):
    """Make nodes with these ROS arguments; yield a Bench that spins them."""
    context_args = ["--ros-args", *args] if args else []
    rclpy.init(
        args=context_args,
        domain_id=own_domain(),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    executor, nodes = make_executor(), []
    try:
        nodes = [make() for make in makers]
        talker = Node("talker", use_global_arguments=False)
        nodes.append(talker)
        for node in nodes:
            executor.add_node(node)
        yield Bench(executor, nodes[:-1], talker)
    finally:
        shut_down(executor, nodes)


__all__ = ["Bench", "bench", "own_domain", "spin"]
