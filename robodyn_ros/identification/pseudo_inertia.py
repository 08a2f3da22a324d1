"""Ten inertial parameters as a 4 x 4 pseudo-inertia matrix, positive for every possible body.

    P = [ Sigma  mc ]      Sigma = tr(J)/2 1 - J,     J: inertia about the frame's origin
        [ mc^T   m  ]

A distribution of mass exists exactly where P is positive definite [Wensing2018]. Seen from a
nominal body P0 = S S^T, another one is Z = S^-1 P S^-T: a symmetric matrix without units, 1 where
nothing differs, the same in whatever frame and unit the parameters are given.
"""

from __future__ import annotations

import numpy as np

from .log import Array

FLATTEST = 1e-3  # of a nominal body's largest extent: the least it is taken to have
UPPER = np.triu_indices(4)
TWICE = np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(0.5))  # so that |z| is |Z|


def pseudo_inertia(parameters: Array) -> Array:
    """(4, 4) of [m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz]."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = parameters
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(J) * np.eye(3) - J
    P[3, :3] = P[:3, 3] = x, y, z
    P[3, 3] = m
    return P


def parameters_of(P: Array) -> Array:
    """The ten parameters of a pseudo-inertia matrix."""
    J = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[3, :3], *J[np.triu_indices(3)]])


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
