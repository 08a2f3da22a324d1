"""composed_nodes: plant, controller, detector and demo in one process.

What they say to each other goes by plain calls; everybody else hears it on the topics as usual.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rclpy.clock import Clock, ClockType

from .arm_node import ArmNode
from .controller_node import ControllerNode
from .demo_node import DemoNode
from .dynamics_node import DynamicsNode
from .runtime import run
from .simulator_node import SimulatorNode


def connect(nodes: Sequence[ArmNode]) -> None:
    """Let nodes call each other where one publishes what another hears.

    A node may still wait for its robot's description: then once more a little later.
    """
    outlets = [outlet for node in nodes for outlet in node.outlets]
    for node in nodes:
        for inlet in node.inlets:
            for outlet in outlets:
                inlet.plug_into(outlet)
    if not all(node.robot for node in nodes):

        def once_more() -> None:
            again.cancel()
            connect(nodes)

        wall = Clock(clock_type=ClockType.STEADY_TIME)
        again: Any = nodes[0].create_timer(0.1, once_more, clock=wall)


def main(args: list[str] | None = None) -> int:
    """Run all of them until a signal comes."""
    # The detector before the controller: a joint state belongs to the command before it
    return run(SimulatorNode, DynamicsNode, ControllerNode, DemoNode, args=args, made=connect)


if __name__ == "__main__":
    raise SystemExit(main())
