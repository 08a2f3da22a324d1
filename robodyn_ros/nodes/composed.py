"""composed_nodes: plant, controller and detector in one process, on one executor."""

from __future__ import annotations

from .controller_node import ControllerNode
from .dynamics_node import DynamicsNode
from .runtime import run
from .simulator_node import SimulatorNode


def main(args: list[str] | None = None) -> int:
    """Run all three until a signal comes."""
    return run(SimulatorNode, ControllerNode, DynamicsNode, args=args)


if __name__ == "__main__":
    raise SystemExit(main())
