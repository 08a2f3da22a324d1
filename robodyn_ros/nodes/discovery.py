"""Where the demo and the terminal look for nodes: on this machine, in a domain of their own.

Imported before anything that compiles, so that a second demo is refused at once.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import get_rmw_implementation_identifier

from ..errors import ArgumentError
from ..resources import share_path

DEMO_DOMAIN = "77"  # of the demo, unless ROS_DOMAIN_ID is set
DEMO_NODES = ("simulator_node", "controller_node", "dynamics_node", "demo_node")
DISCOVERY_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # old name, new
DISCOVERY_TIME = 1.0  # [s] to hear of other nodes
DISCOVERY_POLL = 0.05  # [s]


def use_loopback() -> None:
    """Restrict ROS to this machine and to the demo's domain, unless the environment is set.

    With LOCALHOST alone, Fast DDS answers no other machine but still opens its ports to them: a
    profile restricts it to the loopback interface.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", DEMO_DOMAIN)
    given = any(name in os.environ for name in (DISCOVERY_RANGE, *PROFILES))
    if given or "fastrtps" not in get_rmw_implementation_identifier():
        os.environ.setdefault(DISCOVERY_RANGE, "LOCALHOST")
        return
    os.environ[DISCOVERY_RANGE] = "SYSTEM_DEFAULT"  # as in the profile; LOCALHOST would add to it
    for name in PROFILES:
        os.environ[name] = str(share_path("config", "fastdds_loopback.xml"))


@contextmanager
def only_demo() -> Iterator[None]:
    """Be the only demo in this domain, from its start on, or raise: two would command one arm.

    The socket is a name that one process at a time can have, without a file. It belongs to the
    loopback interface's network namespace, and a process that ends, however it does, frees it.
    """
    use_loopback()
    with socket.socket(socket.AF_UNIX) as taken:
        try:
            taken.bind(f"\0robodyn_demo_{os.environ['ROS_DOMAIN_ID']}")
        except OSError:
            raise ArgumentError(_second_demo()) from None
        if already := running_nodes(DEMO_NODES):
            raise ArgumentError(_second_demo(f" ({', '.join(already)})"))
        yield


def _second_demo(nodes: str = "") -> str:
    domain = int(os.environ["ROS_DOMAIN_ID"])
    other = domain + 1 if domain < 101 else 1  # higher ones may share ports with programs
    return (
        f"a demo already runs in domain {domain}{nodes}: end it, or start this one in another "
        f"domain: `ROS_DOMAIN_ID={other} robodyn demo`"
    )


def here() -> str:
    """Return where nodes are looked for, for people."""
    return f"in domain {os.environ.get('ROS_DOMAIN_ID', '0')} (ROS_DOMAIN_ID)"


def running_nodes(names: Sequence[str]) -> list[str]:
    """Return which nodes of these names, without a namespace, run in this domain."""
    use_loopback()
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    node = Node("robodyn_discovery", context=context, start_parameter_services=False)
    try:
        found: set[str] = set()
        end = time.monotonic() + DISCOVERY_TIME
        while not found and time.monotonic() < end:
            time.sleep(DISCOVERY_POLL)
            pairs = node.get_node_names_and_namespaces()
            found = {name for name, namespace in pairs if namespace == "/" and name in names}
        return [name for name in names if name in found]
    finally:
        node.destroy_node()
        context.try_shutdown()
