"""composed_nodes: plant, controller, detector and demo in one process, by direct calls."""

from __future__ import annotations

from collections.abc import Sequence

from .arm_node import ArmNode
from .controller_node import ControllerNode
from .demo_node import DemoNode
from .dynamics_node import DynamicsNode
from .local_topics import LocalQueue
from .node_kernels import LATER, START
from .runtime import run
from .simulator_node import SimulatorNode

RETRY_TIME = 0.1  # [s] until nodes that still waited for their robot are connected


def connect(nodes: Sequence[ArmNode], queue: LocalQueue | None = None) -> None:
    """Connect publishers and subscriptions of these nodes; again later if one has no robot yet."""
    queue = queue or LocalQueue()
    publishers = [publisher for node in nodes for publisher in node.local_publishers]
    for node in nodes:
        for subscription in node.local_subscriptions:
            for publisher in publishers:
                subscription.connect(publisher, queue)
    if not all(node.robot for node in nodes):

        def retry() -> None:
            timer.cancel()
            connect(nodes, queue)

        timer = nodes[0].create_timer(RETRY_TIME, retry, clock=nodes[0].steady_clock)


def main(args: list[str] | None = None) -> int:
    """Run all of them until a signal arrives; return the exit code."""
    nodes = (SimulatorNode, DynamicsNode, ControllerNode, DemoNode)
    return run(*nodes, args=args, made=connect, kernels=START, later=LATER)


if __name__ == "__main__":
    raise SystemExit(main())
