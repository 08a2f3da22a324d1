"""A second demo in the same domain is refused; other nodes do not matter."""

import subprocess
import sys

import pytest
from ros_harness import bench, own_domain

from rclpy.node import Node  # isort: skip

from robodyn_ros.errors import ArgumentError  # isort: skip
from robodyn_ros.nodes import discovery  # isort: skip


def enter(there, monkeypatch, discovery_time):
    """Enter the domain of these nodes; return it."""
    domain = there.node.context.get_domain_id()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    monkeypatch.setattr(discovery, "DISCOVERY_TIME", discovery_time)
    return domain


def test_a_second_demo_is_refused_with_the_remedy(monkeypatch):
    with bench(lambda: Node("dynamics_node")) as there:
        domain = enter(there, monkeypatch, 20.0)  # [s], on a busy machine; in the end it is quick
        with pytest.raises(ArgumentError) as refused, discovery.only_demo():
            pass
    text = str(refused.value)
    assert f"domain {domain} (dynamics_node)" in text and "\n" not in text
    assert "`ROS_DOMAIN_ID=" in text and f"ROS_DOMAIN_ID={domain} " not in text


def test_other_nodes_and_other_namespaces_do_not_matter(monkeypatch):
    with bench(lambda: Node("camera"), lambda: Node("dynamics_node", namespace="left")) as there:
        enter(there, monkeypatch, 20.0)
        assert discovery.running_nodes(["camera"]) == ["camera"]
        enter(there, monkeypatch, 1.0)
        with discovery.only_demo():
            pass


def test_a_demo_without_nodes_yet_is_alone_until_it_ends(monkeypatch):
    """As while it compiles. A process of its own is the first: what it leaves behind is seen."""
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))
    monkeypatch.setattr(discovery, "DISCOVERY_TIME", 0.0)
    hold = """
import sys
from robodyn_ros.nodes.discovery import only_demo
with only_demo():
    print("alone", flush=True)
    sys.stdin.read()
"""
    first = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert first.stdout.readline() == "alone\n"
        with pytest.raises(ArgumentError, match=": end it, or "), discovery.only_demo():
            pass
    finally:
        first.kill()
        first.communicate()
    with discovery.only_demo():
        pass
