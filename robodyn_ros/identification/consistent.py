"""Physically consistent parameters: a semidefinite program.

    min |W (A x - tau)|^2 + |z - z0|^2
    with  Z_i >= LEAST for each link,  rotor inertias and friction >= 0

The data are in units of their noise, and x = T z: a link's Z of `pseudo_inertia` differs from the
nominal one by about `prior`. Where data speak they win, where they say nothing the nominal model
stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, RobodynError
from ..model.robot import RobotModel
from .design import Design, normal
from .friction import nominal_friction
from .log import Array
from .pseudo_inertia import TWICE, UPPER, from_nominal, root

LEAST = 1e-3  # of a nominal body, left in every direction
# Friction and rotors may be so large that they give all of a joint's torque at
SLOW, GENTLE = 0.1, 1.0  # [rad/s or m/s] and [rad/s^2 or m/s^2]


@dataclass(frozen=True, eq=False)
class Consistent:
    """Parameters of possible bodies, (P,) each, and how far off they may be."""

    x: Array
    deviation: Array  # standard deviation with the data
    spread: Array  # (P, P), T: its columns are what may differ without the data

    @property
    def before(self) -> Array:
        """(P,): standard deviation without the data."""
        return np.asarray(np.linalg.norm(self.spread, axis=1))


def solve_consistent(model: RobotModel, design: Design, sigma: Array, prior: float) -> Consistent:
    """The most likely parameters that a robot can have."""
    if not 0.0 < prior < np.inf:
        raise ArgumentError(f"prior must be positive and finite, got {prior!r}")
    G, h = design.weighted(sigma)
    T, x0 = _prior(model, design, prior)
    share = design.independent / design.count
    H = share * T.T @ G @ T + np.eye(x0.size)
    b = share * T.T @ h + np.linalg.solve(T, x0)
    R = np.asarray(np.linalg.cholesky(H).T, dtype=np.float64)
    y = np.asarray(np.linalg.solve(R.T, b), dtype=np.float64)
    z = _program(R, y, T, prior, design)
    deviation = np.linalg.norm(T @ np.linalg.inv(R), axis=1)
    return Consistent(T @ z, deviation, T)


def _prior(model: RobotModel, design: Design, prior: float) -> tuple[Array, Array]:
    """T, whose columns are what may differ, each a standard deviation large; the nominal x."""
    inertial = model.inertial_parameters()
    T = np.zeros((design.unknowns, design.unknowns))
    for i, nominal in enumerate(inertial.reshape(-1, 10)):
        ten = slice(10 * i, 10 * i + 10)
        T[ten, ten] = prior * from_nominal(root(nominal))
    usual = np.maximum(design.torque, 1e-6)
    doubt = {"viscous": usual / SLOW, "load": np.ones(design.n)}
    spread, x0 = [], [inertial]
    if design.rigid > design.inertial:
        spread.append(usual / GENTLE)
        x0.append(model.rotor_inertia)
    for term in design.terms:
        spread.append(doubt.get(term, usual))
        x0.append(nominal_friction(model, term))
    rest = slice(design.inertial, None)
    T[rest, rest] = np.diag(np.concatenate([np.zeros(0), *spread]))
    return T, np.concatenate(x0)


def possible_body(A: Array, b: Array) -> Array:
    """(10,): parameters of a possible body, or nearly none at all, that minimize |A p - b|."""
    ball = root(np.array([1.0, 0.0, 0.0, 0.0, 0.004, 0.0, 0.0, 0.004, 0.0, 0.004]))
    T = from_nominal(ball)
    G = normal(np.column_stack([A @ T, b]))
    H = G[:-1, :-1] + 1e-12 * np.trace(G) * np.eye(10)  # of what never shows there is none
    R = np.linalg.cholesky(H).T
    cp = _cvxpy()
    Z = cp.Variable((4, 4), symmetric=True)
    z = cp.multiply(1.0 / TWICE, Z[UPPER])
    _solve(cp, R @ z - np.linalg.solve(R.T, G[:-1, -1]), [Z >> 1e-6 * np.eye(4)])
    return np.asarray(T @ z.value)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise ArgumentError(
            "consistent parameters need cvxpy: pip install 'robodyn_ros[identification]'"
        ) from None
    return cvxpy


def _solve(cp: Any, error: Any, limits: list[Any]) -> None:
    """Give the variables the values of the least error within limits."""
    problem = cp.Problem(cp.Minimize(cp.sum_squares(error)), limits)
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RobodynError(f"no consistent parameters found: the solver says {problem.status}")


def _program(R: Array, b: Array, T: Array, prior: float, design: Design) -> Array:
    """z that minimizes |R z - b| among those of possible robots."""
    cp = _cvxpy()
    links = [cp.Variable((4, 4), symmetric=True) for _ in range(design.inertial // 10)]
    rest = cp.Variable(design.unknowns - design.inertial)
    z = cp.hstack([*(cp.multiply(1.0 / (prior * TWICE), Z[UPPER]) for Z in links), rest])
    limits: list[Any] = [Z >> LEAST * np.eye(4) for Z in links]
    limits += [(T @ z)[columns] >= 0.0 for columns in _not_negative(design)]
    if "stribeck" in design.terms:
        onset = (T @ z)[design.of_term("coulomb")] + (T @ z)[design.of_term("stribeck")]
        limits.append(onset >= 0.0)
    _solve(cp, R @ z - b, limits)
    return np.asarray(z.value)


def _not_negative(design: Design) -> list[slice]:
    terms = [term for term in ("viscous", "coulomb", "load") if term in design.terms]
    rotors = [slice(design.inertial, design.rigid)] if design.rigid > design.inertial else []
    return rotors + [design.of_term(term) for term in terms]
