"""run(): what a node's process does besides spinning."""

import gc

import pytest
from ros_harness import own_domain

from rclpy.node import Node  # isort: skip

from robodyn_ros.nodes import runtime  # isort: skip


class Brief(Node):
    """A node that ends once something is true."""

    def __init__(self):
        super().__init__("brief")
        self.create_timer(0.02, self.look)
        self.stopped, self.frozen, self.collected = False, 0, []
        gc.callbacks.append(self.collects)

    def collects(self, phase, info):
        if phase == "stop" and info["generation"] == 2:
            self.collected.append(gc.get_freeze_count())

    def look(self):
        self.frozen = gc.get_freeze_count()
        self.stopped = sum(count > 0 for count in self.collected) >= 2


@pytest.fixture
def domain(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(own_domain()))


def test_garbage_is_collected_without_a_look_at_what_was_there(domain, monkeypatch):
    monkeypatch.setattr(runtime, "GC_PERIOD", 0.05)
    made = []
    try:
        code = runtime.run(Brief, args=[], made=made.extend)
    finally:
        for node in made:
            gc.callbacks.remove(node.collects)
    assert code == 0
    assert made[0].frozen > 10_000  # all that the modules have made
    assert gc.get_freeze_count() == 0  # and as before in the end
