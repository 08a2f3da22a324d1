"""guarded_detector: dynamics_node and guard_node in one process, by direct calls."""

from __future__ import annotations

from .composed import connect
from .detector_kernels import DETECTOR, NAMES
from .dynamics_node import DynamicsNode
from .guard_node import GuardNode
from .runtime import run


def main(args: list[str] | None = None) -> int:
    """Run both until a signal arrives; return the exit code."""
    return run(DynamicsNode, GuardNode, args=args, made=connect, kernels=DETECTOR, later=NAMES)


if __name__ == "__main__":
    raise SystemExit(main())
