"""The nearest body that can exist: where an adaptation steps back to when it has gone too far.

A body is possible if its pseudo-inertia P (see `inertial`) is not negative: a convex set. Seen
from the nearest point of a convex set, nothing in it has come farther away. So a step back to it,
in the metric of the adaptation gains, never raises the Lyapunov function. The metric is chosen so
that this nearest point is easy to find: with a body P0 = L L^T as the unit of all changes,

    |dtheta|^2 = |L^-1 dP L^-T|^2      (Frobenius)

it is found by lifting eigenvalues. [Lee2018] measures parameters of adaptive control so, for P0
the estimate itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...model.rigid_body import parameters_of, pseudo_inertia

Array = npt.NDArray[np.float64]

LEAST = 1e-9  # of the unit body: what is left of an estimate that would vanish
HALVINGS = 60


class PossibleBodies:
    """All bodies with a mass [kg] from low to high, in the metric of the unit body P0, (4, 4)."""

    def __init__(self, unit: Array, low: float = 0.0, high: float = np.inf) -> None:
        self.low, self.high = low, max(high, 2.0 * LEAST * float(unit[3, 3]))
        self._L = np.linalg.cholesky(unit)
        self._whiten = np.linalg.inv(self._L)
        units = np.array([self._whitened(e).ravel() for e in np.eye(10)])
        self.gain = np.asarray(np.linalg.inv(units @ units.T), dtype=np.float64)

    def nearest(self, parameters: Array) -> Array:
        """(10,): the parameters themselves if they are possible, else those nearest to them."""
        X = self._whitened(parameters)
        inside = self._lifted(X)
        mass = self._mass(inside)
        if self.low <= mass <= self.high:
            return parameters if inside is X else self._parameters(inside)
        wanted = min(max(mass, self.low), self.high)
        return self._parameters(self._with_mass(X, wanted, wanted - mass))

    def _whitened(self, parameters: Array) -> Array:
        return self._whiten @ pseudo_inertia(parameters) @ self._whiten.T

    def _parameters(self, X: Array) -> Array:
        return parameters_of(self._L @ X @ self._L.T)

    def _mass(self, X: Array) -> float:
        return float(self._L[3] @ X @ self._L[3])

    def _lifted(self, X: Array) -> Array:
        values, vectors = np.linalg.eigh(X)
        if values[0] >= LEAST:
            return X
        return (vectors * np.maximum(values, LEAST)) @ vectors.T

    def _with_mass(self, X: Array, mass: float, step: float) -> Array:
        """The nearest X with this mass: along the gradient of the mass, lifted, by bisection."""
        a = self._L[3]
        gradient = np.outer(a, a) / (a @ a) ** 2
        near, far = 0.0, step
        while (self._mass(self._lifted(X + far * gradient)) - mass) * step < 0.0:
            near, far = far, 2.0 * far
        for _ in range(HALVINGS):
            middle = 0.5 * (near + far)
            reached = (self._mass(self._lifted(X + middle * gradient)) - mass) * step >= 0.0
            near, far = (near, middle) if reached else (middle, far)
        return self._lifted(X + far * gradient)


def nearest_load(parameters: Array, reach: float, low: float, high: float) -> Array:
    """(4,): the nearest [m, mc] of a load whose centre is within `reach` [m] and whose mass [kg]
    is within its bounds, in the metric  dm^2 + |dmc|^2 / reach^2.
    """
    mass, moment = float(parameters[0]), parameters[1:]
    size = float(np.linalg.norm(moment))
    if size > reach * mass:
        mass = 0.5 * (mass + size / reach)  # the nearest point of the cone
    mass = min(max(mass, low), high)
    if size > reach * mass:
        moment = moment * (reach * mass / size)
    return np.concatenate([[mass], moment])
