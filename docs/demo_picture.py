"""Draw the plot of `robodyn demo` again, from a run in simulated time.

python docs/demo_picture.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

from drawing import draw_all

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmark"))

from demo_seeds import run

from robodyn_ros.nodes.demo_view import plot


def demo(folder: Path) -> Path:
    """The demo as config/demo.yaml has it."""
    path = folder / "demo.png"
    plot(run(), path)
    return path


if __name__ == "__main__":
    draw_all(demo)
