"""The shape of each joint's friction: what least squares cannot find, by trying."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .design import Rigid
from .friction import FrictionShape
from .log import Array

WIDTHS = (0.003, 0.005, 0.01, 0.02, 0.04)  # [rad/s or m/s]
PRESLIDING = (0.0, 5e-5, 1e-4, 2e-4, 4e-4)  # [rad or m]
FADING = (1.5, 3.0, 6.0, 12.0, 24.0)  # [s/rad or s/m]


def best_shape(
    parts: Sequence[Rigid],
    shape: FrictionShape,
    x: Array,
    terms: tuple[str, ...],
    presliding: bool = True,
) -> FrictionShape:
    """The shape that explains most of what the rigid bodies of x leave of the torque."""
    if "coulomb" not in terms:
        return shape
    inertial = x[: parts[0].Y_g.shape[-1]]
    loads = [part.gravity(inertial) for part in parts]
    left = [part.tau - part.Y @ x[: part.Y.shape[-1]] for part in parts]
    ways = PRESLIDING if presliding else (0.0,)
    found = []
    for j in range(shape.width.size):

        def error(tried: FrictionShape, j: int = j) -> float:
            rows = [_unit(part, g, j, tried, terms) for part, g in zip(parts, loads, strict=True)]
            A, b = np.vstack(rows), np.concatenate([y[:, j] for y in left])
            return float(np.linalg.norm(b - A @ np.linalg.lstsq(A, b, rcond=None)[0]))

        best = min(_tried(shape.of_joint(j), width=WIDTHS, presliding=ways), key=error)
        if "stribeck" in terms:
            best = min(_tried(best, fading=FADING), key=error)
        found.append(best)
    return FrictionShape.joined(found)


def _tried(shape: FrictionShape, **values: Sequence[float]) -> list[FrictionShape]:
    """The shape with each combination of these values."""
    shapes = [shape]
    for name, choices in values.items():
        shapes = [replace(s, **{name: np.array([v])}) for s in shapes for v in choices]
    return shapes


def _unit(part: Rigid, load: Array, j: int, shape: FrictionShape, terms: tuple[str, ...]) -> Array:
    """(kept, terms): unit friction torques of joint j alone."""
    samples = part.samples
    one = slice(j, j + 1)
    columns = shape.columns(1.0 / samples.rate, samples.qd[:, one], load[:, one], terms)
    return samples.filtered(columns[:, 0])
