"""What the scripts that draw the pictures share: saving one, and drawing all of a script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt


def save(figure, path: Path) -> Path:
    """Write a figure and let go of it."""
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def draw_all(*draws: Callable[[Path], Path | None]) -> None:
    """Draw into the folder named on the command line, else into images/; print what was drawn."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for draw in draws:
        path = draw(folder)  # None where the data for it is missing
        if path is not None:
            print(path)
