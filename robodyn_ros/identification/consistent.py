"""Physically consistent parameters by a semidefinite program.

    min |W (A x - tau)|^2 + |z - z0|^2
    with  Z_i >= MIN_BODY for each link,  rotor inertias and friction >= 0

The data are weighted by their noise, and x = T z. Z = S^-1 P S^-T compares the pseudo-inertia P of
a link (see `model/rigid_body.py`) with that of its nominal body, P0 = S S^T: without unit and
independent of the frame [Wensing2018]. `prior` is its standard deviation: parameters that the data
do not determine stay near the nominal model.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, RobodynError, positive
from ..model.rigid_body import parameters_of, pseudo_inertia
from ..model.robot import RobotModel
from ..sensing.log import Array
from .friction import nominal_friction
from .regression import Design, gram

MIN_BODY = 1e-3  # least eigenvalue of Z: share of the nominal body that always remains
MIN_THICKNESS = 1e-3  # least second moment of a nominal body, as a share of its largest
# Prior standard deviation of friction and rotor inertias: they may produce all of a joint's torque
# at this velocity [rad/s or m/s] and this acceleration [rad/s^2 or m/s^2].
PRIOR_SPEED, PRIOR_ACCELERATION = 0.1, 1.0
UPPER = np.triu_indices(4)
SCALE = np.where(UPPER[0] == UPPER[1], 1.0, np.sqrt(0.5))  # so that |z| is the norm of Z
IDENTITY = np.eye(4)[UPPER]  # z of the nominal body


@dataclass(frozen=True, eq=False)
class Consistent:
    """Physically consistent parameters and their standard deviations, (P,) each."""

    x: Array
    deviation: Array  # with the data
    prior_factor: Array  # (P, P), T: factor of the covariance without the data

    @property
    def prior_deviation(self) -> Array:
        """Standard deviation (P,) without the data."""
        return np.asarray(np.linalg.norm(self.prior_factor, axis=1))


def solve_consistent(model: RobotModel, design: Design, sigma: Array, prior: float) -> Consistent:
    """Return the most likely physically consistent parameters; sigma (n,): torque noise."""
    positive("prior", prior)
    G, h = design.weighted(sigma)
    T, x0 = _prior(model, design, prior)
    share = design.independent / design.count
    H = share * T.T @ G @ T + np.eye(x0.size)
    b = share * T.T @ h + np.linalg.solve(T, x0)
    R = np.asarray(np.linalg.cholesky(H).T, dtype=np.float64)
    y = np.asarray(np.linalg.solve(R.T, b), dtype=np.float64)
    z = _solve_robot(R, y, T, prior, design)
    deviation = np.linalg.norm(T @ np.linalg.inv(R), axis=1)
    return Consistent(T @ z, deviation, T)


def consistent_body(A: Array, b: Array) -> Array:
    """Return parameters (10,) of a consistent, maybe massless body that minimize |A p - b|."""
    ball = pseudo_root(np.array([1.0, 0.0, 0.0, 0.0, 0.004, 0.0, 0.0, 0.004, 0.0, 0.004]))
    T = parameters_from_z(ball)
    G = gram(np.column_stack([A @ T, b]))
    H = G[:-1, :-1] + 1e-12 * np.trace(G) * np.eye(10)  # parameters that are not excited are 0
    R = np.linalg.cholesky(H).T
    cp = _cvxpy()
    Z = cp.Variable((4, 4), symmetric=True)
    z = cp.multiply(1.0 / SCALE, Z[UPPER])
    _minimize(cp, R @ z - np.linalg.solve(R.T, G[:-1, -1]), [Z >> 1e-6 * np.eye(4)])
    return np.asarray(T @ z.value)


def pseudo_root(parameters: Array) -> Array:
    """Return S (4, 4), S S^T = P of a nominal body (10,); a flat one is given some thickness."""
    P = pseudo_inertia(parameters)
    m, mc = max(float(P[3, 3]), 1e-6), P[3, :3]
    c = mc / m
    values, vectors = np.linalg.eigh(P[:3, :3] - np.outer(mc, c))
    extent = max(float(values[-1]), m * 1e-6)
    S = np.zeros((4, 4))
    S[:3, :3] = vectors * np.sqrt(np.maximum(values, MIN_THICKNESS * extent))
    S[:3, 3] = c * np.sqrt(m)
    S[3, 3] = np.sqrt(m)
    return S


def parameters_from_z(S: Array) -> Array:
    """Return T (10, 10): parameters = T z, with z the scaled upper triangle of Z."""
    T = np.empty((10, 10))
    for k, (a, b) in enumerate(zip(*UPPER, strict=True)):
        Z = np.zeros((4, 4))
        Z[a, b] = Z[b, a] = SCALE[k]
        T[:, k] = parameters_of(S @ Z @ S.T)
    return T


def _prior(model: RobotModel, design: Design, prior: float) -> tuple[Array, Array]:
    """Return T (P, P), whose columns are one standard deviation each, and the nominal x (P,)."""
    inertial = model.inertial_parameters()
    T = np.zeros((design.unknowns, design.unknowns))
    for i, nominal in enumerate(inertial.reshape(-1, 10)):
        ten = slice(10 * i, 10 * i + 10)
        T[ten, ten] = prior * parameters_from_z(pseudo_root(nominal))
    torque = np.maximum(design.torque, 1e-6)
    special = {"viscous": torque / PRIOR_SPEED, "load": np.ones(design.n)}
    deviations, x0 = [np.zeros(0)], [inertial]
    if design.rigid > design.inertial:
        deviations.append(torque / PRIOR_ACCELERATION)
        x0.append(model.rotor_inertia)
    for term in design.terms:
        deviations.append(special.get(term, torque))
        x0.append(nominal_friction(model, term))
    rest = slice(design.inertial, None)
    T[rest, rest] = np.diag(np.concatenate(deviations))
    return T, np.concatenate(x0)


def _solve_robot(R: Array, b: Array, T: Array, prior: float, design: Design) -> Array:
    """Return z (P,) of the physically consistent robot that minimizes |R z - b|."""
    cp = _cvxpy()
    links = [cp.Variable((4, 4), symmetric=True) for _ in range(design.inertial // 10)]
    rest = cp.Variable(design.unknowns - design.inertial)
    z = cp.hstack([*(cp.multiply(1.0 / (prior * SCALE), Z[UPPER]) for Z in links), rest])
    x = T @ z
    constraints: list[Any] = [Z >> MIN_BODY * np.eye(4) for Z in links]
    if design.rigid > design.inertial:
        constraints.append(x[design.inertial : design.rigid] >= 0.0)
    constraints += [
        x[design.of_term(term)] >= 0.0
        for term in ("viscous", "coulomb", "load")
        if term in design.terms
    ]
    if "stribeck" in design.terms:
        onset = x[design.of_term("coulomb")] + x[design.of_term("stribeck")]
        constraints.append(onset >= 0.0)
    _minimize(cp, R @ z - b, constraints)
    return np.asarray(z.value)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise ArgumentError(
            "consistent parameters need cvxpy: pip install cvxpy clarabel"
        ) from None
    return cvxpy


def _minimize(cp: Any, error: Any, constraints: list[Any]) -> None:
    problem = cp.Problem(cp.Minimize(cp.sum_squares(error)), constraints)
    problem.solve(solver=cp.CLARABEL)
    if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
        raise RobodynError(f"no consistent parameters found: the solver reports {problem.status}")
