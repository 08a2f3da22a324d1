"""composed_nodes: plant, controller, detector and demo in one process.

They reach each other by plain calls; other processes hear the topics as usual.
"""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.clock import Clock, ClockType

from .arm_node import ArmNode
from .controller_node import ControllerNode
from .demo_node import DemoNode
from .dynamics_node import DynamicsNode
from .local_topics import LocalQueue
from .runtime import run
from .simulator_node import SimulatorNode

RETRY = 0.1  # [s] after which a node that waited for its robot is connected


def connect(nodes: Sequence[ArmNode], queue: LocalQueue | None = None) -> None:
    """Let nodes call each other where one publishes what another subscribes to.

    A node may still wait for its robot's description: then again a little later.
    """
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

        steady = Clock(clock_type=ClockType.STEADY_TIME)
        timer = nodes[0].create_timer(RETRY, retry, clock=steady)


def main(args: list[str] | None = None) -> int:
    """Run all of them until a signal arrives; return the exit code."""
    return run(SimulatorNode, DynamicsNode, ControllerNode, DemoNode, args=args, made=connect)


if __name__ == "__main__":
    raise SystemExit(main())
