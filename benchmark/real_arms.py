"""Recordings of six real arms: touches, free motion, collisions, wrong conventions of the effort.

    python benchmark/real_arms.py [--quick] [--check] [--json FILE] [--only touches,motion]

Everything goes through the public pipeline: `load_urdf`, `tune`, `detect`; tuned on some postures
or files, judged on others. The recordings are not part of the package: they lie in ../shared/data
or in the folder that ROBODYN_DATA names. docs/real_arms.md tells what the figures mean.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import real_dummy
import real_effort
import real_motion
import real_touches
import real_ur10e
import recorded_arms
from figures import Figure, finish, options
from real_figures import real_table
from rich.console import Console

WIDTH = 150  # characters of the table
Part = Callable[[Console, bool], Sequence[Figure]]


# Name, files, and what makes the figures
PARTS: dict[str, tuple[Sequence[str], Part]] = {
    "touches": (real_touches.NEEDS, real_touches.figures),
    "ur10e": (real_ur10e.NEEDS, real_ur10e.figures),
    "motion": (("panda", "fr3"), real_motion.figures),
    "effort": (("kuka_med7", "ur3"), real_effort.figures),
    "dummy": (real_dummy.NEEDS, real_dummy.figures),
}


def main() -> None:
    parser = options(__doc__ or "")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--no-pictures", action="store_true", help="do not draw docs/images")
    arguments = parser.parse_args()
    console, start, rows = Console(width=WIDTH), time.perf_counter(), list[Figure]()
    for name in arguments.only.split(","):
        files, part = PARTS[name]
        why = recorded_arms.missing(*files)
        if why:
            console.print(f"{name} skipped: {why}")
            continue
        try:
            rows += part(console, arguments.quick)
        except ModuleNotFoundError as reason:
            console.print(f"{name} skipped: {reason}")
    seconds = time.perf_counter() - start
    console.print(real_table(rows, f"Recordings of real arms, {seconds:.0f} s"))
    if not arguments.no_pictures:
        import real_pictures

        for path in real_pictures.draw_all(console):
            console.print(f"drawn: {path}")
    finish(rows, arguments)


if __name__ == "__main__":
    main()
