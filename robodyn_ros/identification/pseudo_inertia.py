"""How far a body is from a nominal one, by their pseudo-inertias P (see `inertial`).

Seen from a nominal body P0 = S S^T, another one is Z = S^-1 P S^-T: a symmetric matrix without
units, 1 where nothing differs, the same in whatever frame and unit the parameters are given, and
positive definite for every possible body [Wensing2018].
"""

from __future__ import annotations

import numpy as np

from ..model.inertial import parameters_of, pseudo_inertia
from .log import Array

FLATTEST = 1e-3  # of a nominal body's largest extent: the least it is taken to have
UPPER = np.triu_indices(4)
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(0.5))  # so that |z| is |Z|


def root(parameters: Array) -> Array:
    """S with S S^T = P of a nominal body, made possible and not quite flat if need be."""
    P = pseudo_inertia(parameters)
    m, mc = max(float(P[3, 3]), 1e-6), P[3, :3]
    c = mc / m
    values, vectors = np.linalg.eigh(P[:3, :3] - np.outer(mc, c))
    extent = max(float(values[-1]), m * 1e-6)
    spread = vectors * np.sqrt(np.maximum(values, FLATTEST * extent))
    S = np.zeros((4, 4))
    S[:3, :3] = spread
    S[:3, 3] = c * np.sqrt(m)
    S[3, 3] = np.sqrt(m)
    return S


def from_nominal(S: Array) -> Array:
    """T (10, 10): parameters = T z, with z the ten entries of Z above, scaled to its norm."""
    T = np.empty((10, 10))
    for k, (a, b) in enumerate(zip(*UPPER, strict=True)):
        Z = np.zeros((4, 4))
        Z[a, b] = Z[b, a] = TWICE[k]
        T[:, k] = parameters_of(S @ Z @ S.T)
    return T


NOTHING_CHANGED = np.eye(4)[UPPER]  # z of the nominal body itself
