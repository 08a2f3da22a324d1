"""What the motion did not tell, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .identified import Identified

UNKNOWN = 0.7  # of its deviation before the data: a parameter of which they told little
STILL = 0.05  # [rad/s or m/s]


def sentences(found: Identified) -> list[str]:
    """One for each kind of ignorance; none if the motion told everything."""
    return [*_base(found), *_standard(found), *_joints(found)]


def _base(found: Identified) -> Iterator[str]:
    """Combinations that a motion could tell, and this one tells worse than the nominal model."""
    rank, squares = found.base.rank, found.least_squares
    P = len(found.base.names)
    before = np.linalg.norm(found.base.grouping @ found.consistent.spread[:P, :P], axis=1)
    weak = [
        line
        for line, deviation, first in zip(
            found.base.lines(), squares.deviation[:rank], before, strict=True
        )
        if deviation > UNKNOWN * first
    ]
    if weak:
        yield (
            f"The motion tells {len(weak)} of {rank} base parameters no better than the nominal "
            f"model does: {'; '.join(weak)}."
        )


def _standard(found: Identified) -> Iterator[str]:
    """Parameters of single bodies that stay as they were."""
    shows = np.any(found.base.grouping != 0.0, axis=0)
    bodies = found.parameters[: found.design.inertial]
    rows = list(zip(bodies, shows, strict=False))  # rotors stand behind the bodies
    near = [p.name for p, shown in rows if shown and p.told < 1.0 - UNKNOWN**2]
    idle = [p.name for p, shown in rows if not shown]
    if near:
        yield f"These stay near the nominal model for want of data: {_by_link(near)}."
    if idle:
        yield f"No motion shows these, for no torque depends on them: {_by_link(idle)}."


def _by_link(names: list[str]) -> str:
    """'mx of a', 'my of a', 'm of b' as 'mx, my of a; m of b'."""
    links: dict[str, list[str]] = {}
    for name in names:
        parameter, _, link = name.partition(" of ")
        links.setdefault(link, []).append(parameter)
    return "; ".join(f"{', '.join(those)} of {link}" for link, those in links.items())


def _joints(found: Identified) -> Iterator[str]:
    used = [fit for fit in found.fits if not fit.held_out]
    fastest = np.max([np.abs(fit.qd).max(axis=0) for fit in used], axis=0)
    still = [
        f"{name} (at most {speed:.2g} rad/s or m/s)"
        for name, speed in zip(found.nominal.joint_names, fastest, strict=True)
        if speed < STILL
    ]
    if still:
        yield f"These hardly moved: {', '.join(still)}."
