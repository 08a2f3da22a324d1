"""The ten inertial parameters of a body in their other forms.

[m, mcx, mcy, mcz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz], I about the frame's origin, are one symmetric
matrix, the pseudo-inertia: the integral of [x; 1] [x; 1]^T dm,

    P = [[S, mc], [mc^T, m]],     S = 1/2 tr(I) 1 - I

Some distribution of mass has them if and only if P is not negative [Wensing2018].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

UPPER = np.triu_indices(3)
SYMMETRIC = np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])  # places of I among the ten


def pseudo_inertia(parameters: Array) -> Array:
    """(4, 4): the matrix P of ten parameters."""
    inertia = parameters[SYMMETRIC]
    P = np.empty((4, 4))
    P[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    P[:3, 3] = P[3, :3] = parameters[1:4]
    P[3, 3] = parameters[0]
    return P


def parameters_of(P: Array) -> Array:
    """(10,): the parameters of a pseudo-inertia."""
    inertia = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.concatenate([[P[3, 3]], P[:3, 3], inertia[UPPER]])


def bodies_of(parameters: Array) -> dict[str, Array]:
    """Masses, centres of mass and inertias about them, of the parameters (10 N,) of N bodies."""
    ten = parameters.reshape(-1, 10)
    mass = ten[:, 0].copy()
    com = ten[:, 1:4] / mass[:, None]
    squares = np.einsum("bi,bi->b", com, com)[:, None, None] * np.eye(3)
    outer = np.einsum("bi,bj->bij", com, com)
    inertia = ten[:, SYMMETRIC] - mass[:, None, None] * (squares - outer)
    return {"mass": mass, "com": com, "inertia": inertia}
