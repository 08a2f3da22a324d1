"""Weighted least squares on base parameters, with standard deviations.

Joints differ in the noise of their torques: each joint's equations are weighted by its own
residual, and the weights and the solution are found in turn [Gautier1997].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .design import Design
from .log import Array

ROUNDS = 10
LEAST = 1e-4  # of a joint's torque is noise, at least: so that a perfect fit still has a weight
SINGULAR = 1e-12  # relative: the square of what counts as nothing
HIDDEN = 1e-3  # share of an unknown in directions of which the data say nothing


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The solution in terms of the base columns and all friction terms."""

    x: Array  # (P,), 0 where a column is not of the base
    columns: npt.NDArray[np.int64]  # those of the base, and of friction
    deviation: Array  # (columns,), standard deviation of x there; inf where nothing shows
    sigma: Array  # (n,) [N m or N], noise of each joint's torque
    condition: float  # of the weighted equations with columns of length 1


def solve(design: Design, base: npt.NDArray[np.int64]) -> LeastSquares:
    """Fit the base columns and friction; weights from the residuals, until they stay."""
    columns = np.concatenate([base, np.arange(design.rigid, design.unknowns)])
    least = LEAST * np.maximum(design.torque, LEAST)
    sigma = np.ones(design.n)
    x = np.zeros(design.unknowns)
    for _ in range(ROUNDS):
        G, h = design.weighted(sigma)
        inverse = scaled_inverse(G[np.ix_(columns, columns)])
        x[columns] = inverse.matrix @ h[columns]
        before, sigma = sigma, np.maximum(design.errors(x), least)
        if np.allclose(sigma, before, rtol=1e-3):
            break
    # Neighbouring samples of a filtered signal are no independent witnesses.
    inflated = np.sqrt(design.count / design.independent)
    return LeastSquares(x, columns, inflated * inverse.deviation, sigma, inverse.condition)


class Inverse(NamedTuple):
    """Of the matrix of normal equations, without directions of which they say nothing."""

    matrix: Array
    deviation: Array  # of each unknown with noise of size 1; inf where it lies in such a direction
    condition: float  # of the equations with columns of length 1


def scaled_inverse(G: Array) -> Inverse:
    """What normal equations say, and what they do not."""
    size = np.sqrt(np.diag(G))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(G / size / size[:, None])
    use = values > SINGULAR * values[-1]
    half = vectors[:, use] / np.sqrt(values[use]) / size[:, None]
    matrix = half @ half.T
    hidden = np.linalg.norm(vectors[:, ~use], axis=1) > HIDDEN
    deviation = np.where(hidden, np.inf, np.sqrt(np.diag(matrix)))
    return Inverse(matrix, deviation, float(np.sqrt(values[-1] / values[use][0])))
