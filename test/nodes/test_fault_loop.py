"""The benchmark of what naming causes costs runs real nodes, and says when it is too much."""

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy", reason="ROS 2 is not installed: pip install '.[ros]'")

import fault_loop  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from source_tree import own_domain  # noqa: E402


def test_one_of_two_nodes_names_the_payload():
    rclpy.init(
        args=["--ros-args", "--log-level", "fatal", *fault_loop.given(500.0)],
        domain_id=own_domain(),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    try:
        spent, name = fault_loop.measure(500.0, 0.3)
    finally:
        rclpy.try_shutdown()
    assert name == "payload"
    assert all(len(row) >= 100 and row.min() > 0.0 for row in spent.values())


@pytest.mark.parametrize(
    ("more", "name", "good"), [(1.05, "payload", True), (1.3, "payload", False)]
)
def test_a_slower_hundredth_is_missed(more, name, good):
    off = np.linspace(80.0, 200.0, 1000)
    *_, slowest = fault_loop.figures({True: more * off, False: off}, name)
    assert slowest.passed is good
    *_, unnamed = fault_loop.figures({True: off, False: off}, "")
    assert not unnamed.passed  # without a case there is nothing to measure
