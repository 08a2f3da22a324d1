"""Weighted least squares on base parameters, with standard deviations.

Joints differ in the noise of their torques: each joint's equations are weighted by its own
residual, and the weights and the solution are found in turn [Gautier1997].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .design import Design
from .log import Array

ROUNDS = 10
LEAST = 1e-4  # of a joint's torque is noise, at least: so that a perfect fit still has a weight
SINGULAR = 1e-12  # relative: the square of what counts as nothing


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """The solution in terms of the base columns and all friction terms."""

    x: Array  # (P,), 0 where a column is not of the base
    columns: npt.NDArray[np.int64]  # those of the base, and of friction
    deviation: Array  # (columns,), standard deviation of x there
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
        inverse, condition = scaled_inverse(G[np.ix_(columns, columns)])
        x[columns] = inverse @ h[columns]
        before, sigma = sigma, np.maximum(design.errors(x), least)
        if np.allclose(sigma, before, rtol=1e-3):
            break
    # Neighbouring samples of a filtered signal are no independent witnesses.
    inflated = np.sqrt(design.count / design.independent)
    return LeastSquares(x, columns, inflated * np.sqrt(np.diag(inverse)), sigma, condition)


def scaled_inverse(G: Array) -> tuple[Array, float]:
    """The inverse of a matrix of normal equations, without directions of which they say nothing;
    and the condition number of the equations with columns of length 1.
    """
    size = np.sqrt(np.diag(G))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(G / size / size[:, None])
    use = values > SINGULAR * values[-1]
    half = vectors[:, use] / np.sqrt(values[use]) / size[:, None]
    return half @ half.T, float(np.sqrt(values[-1] / values[use][0]))
