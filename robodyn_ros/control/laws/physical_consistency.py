"""Projection of inertial parameters to the nearest physically consistent body.

A body is consistent if its pseudo-inertia P (see `model.rigid_body`) is positive semidefinite: a
convex set. A projection to it in the metric of the adaptation gains never raises the Lyapunov
function. With a body P0 = L L^T as the unit of all changes, as in [Lee2018], the metric

    |dtheta|^2 = |L^-1 dP L^-T|^2      (Frobenius)

makes the projection simple: raise the eigenvalues.
"""

import numpy as np

from ...model.rigid_body import Array, parameters_of, pseudo_inertia

MIN_EIGENVALUE = 1e-9  # of a whitened pseudo-inertia; 1 is that of the unit body
BISECTIONS = 60  # of the search for a body of a given mass


class ConsistentBodies:
    """Consistent bodies of a mass [kg] in a range; gain (10, 10): inverse metric of P0 (4, 4)."""

    def __init__(self, unit: Array, low: float = 0.0, high: float = np.inf) -> None:
        self.low, self.high = low, max(high, 2.0 * MIN_EIGENVALUE * float(unit[3, 3]))
        self._L = np.linalg.cholesky(unit)
        self._whiten = np.linalg.inv(self._L)
        units = np.array([self._whitened(e).ravel() for e in np.eye(10)])
        self.gain = np.asarray(np.linalg.inv(units @ units.T), dtype=np.float64)

    def nearest(self, parameters: Array) -> Array:
        """Return the consistent parameters (10,) nearest to `parameters` (10,)."""
        X = self._whitened(parameters)
        inside = self._consistent(X)
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

    def _consistent(self, X: Array) -> Array:
        values, vectors = np.linalg.eigh(X)
        if values[0] >= MIN_EIGENVALUE:
            return X
        return (vectors * np.maximum(values, MIN_EIGENVALUE)) @ vectors.T

    def _with_mass(self, X: Array, mass: float, step: float) -> Array:
        """Return the nearest X with this mass: along the gradient of the mass, by bisection."""
        a = self._L[3]
        gradient = np.outer(a, a) / (a @ a) ** 2
        near, far = 0.0, step
        while (self._mass(self._consistent(X + far * gradient)) - mass) * step < 0.0:
            near, far = far, 2.0 * far
        for _ in range(BISECTIONS):
            middle = 0.5 * (near + far)
            reached = (self._mass(self._consistent(X + middle * gradient)) - mass) * step >= 0.0
            near, far = (near, middle) if reached else (middle, far)
        return self._consistent(X + far * gradient)


def nearest_load(parameters: Array, reach: float, low: float, high: float) -> Array:
    """Return the nearest [m, mc] (4,) of a load whose centre is within `reach` [m] and whose mass
    [kg] is within its bounds, in the metric  dm^2 + |dmc|^2 / reach^2.
    """
    mass, moment = float(parameters[0]), parameters[1:]
    size = float(np.linalg.norm(moment))
    if size > reach * mass:
        mass = 0.5 * (mass + size / reach)  # projected to the cone
    mass = min(max(mass, low), high)
    if size > reach * mass:
        moment = moment * (reach * mass / size)
    return np.concatenate([[mass], moment])
