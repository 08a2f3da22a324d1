"""The linear equations tau = A x of a set of logs, and their weighted least-squares solution.

x holds ten standard parameters per link, rotor inertias unless known, and friction per joint.
The samples of a joint become its normal equations once. Each joint's equations are weighted
by its own residual; weights and solution are computed in turn [Gautier1997]. A good excitation has
a condition number below 100: squaring it costs four digits of sixteen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from ..sensing.log import Array
from .friction import FrictionShape
from .samples import Samples

MAX_ITERATIONS = 10  # of reweighting
NOISE_FLOOR = 1e-4  # least noise, as a share of a joint's torque: bounds the weight of exact data
SINGULAR = 1e-12  # eigenvalues below this share of the largest count as 0
HIDDEN = 1e-3  # share of an unknown in singular directions above which it is undetermined


@dataclass(frozen=True, eq=False)
class LogEquations:
    """Rigid-body regressor and measured torque of one log."""

    samples: Samples
    Y: Array  # (kept, n, 10 N [+ n]), regressor of the standard parameters [and rotor inertias]
    inertial: int  # 10 N, number of standard parameters
    tau: Array  # (kept, n) [N m or N], without the torque of known rotor inertias
    known: Array  # (kept, n) [N m or N], that torque

    def rigid(self, x: Array) -> Array:
        """Return the torque (T, n) [N m or N] of rigid bodies, the first unknowns in x."""
        samples, known = self.samples, self.Y @ x[: self.Y.shape[-1]] + self.known
        kept = samples.t[samples.kept]
        return np.column_stack([np.interp(samples.t, kept, column) for column in known.T])

    def friction(self, shape: FrictionShape, x: Array, terms: Sequence[str]) -> Array:
        """Return unit friction torques (kept, n, terms), filtered as the measured torque."""
        if not terms:
            return np.zeros((*self.tau.shape, 0))
        load, samples = self.rigid(x), self.samples
        return samples.filtered(shape.columns(1.0 / samples.rate, samples.qd, load, terms))

    def joint_friction(
        self, j: int, shape: FrictionShape, load: Array, terms: Sequence[str]
    ) -> Array:
        """Return unit friction torques (kept, terms) of joint j; `shape` is that of joint j."""
        samples, one = self.samples, slice(j, j + 1)
        columns = shape.columns(1.0 / samples.rate, samples.qd[:, one], load[:, one], terms)
        return samples.filtered(columns[:, 0])


def log_equations(model: RobotModel, samples: Samples, rotors: bool) -> LogEquations:
    """Return the equations of a log; rotors: whether rotor inertias are unknowns."""
    Y, tau = samples.regressor(model), samples.tau[samples.kept]
    inertial = 10 * len(model.link_names)
    known = np.zeros_like(tau)
    if not rotors:
        known = Y[:, :, inertial:] @ model.rotor_inertia
        Y = Y[:, :, :inertial]
    return LogEquations(samples, Y, inertial, tau - known, known)


@dataclass(frozen=True, eq=False)
class Design:
    """Normal equations of each joint j: (x, -1)^T G[j] (x, -1) is its squared torque error."""

    G: list[Array]  # (P + 1, P + 1) each: unknowns, then the torque
    count: int  # number of samples
    independent: float  # number of statistically independent samples
    inertial: int  # 10 N, number of standard parameters
    rigid: int  # number of standard parameters and rotor inertias
    terms: tuple[str, ...]  # friction terms

    @property
    def unknowns(self) -> int:
        """Number of unknowns P."""
        return int(self.G[0].shape[0]) - 1

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.G)

    @property
    def torque(self) -> Array:
        """Root mean square torque of each joint (n,) [N m or N]."""
        return np.sqrt([G[-1, -1] / self.count for G in self.G])

    def errors(self, x: Array) -> Array:
        """Return each joint's root mean square torque error (n,) [N m or N]."""
        v = np.append(x, -1.0)
        return np.sqrt([max(float(v @ G @ v), 0.0) / self.count for G in self.G])

    def weighted(self, sigma: Array) -> tuple[Array, Array]:
        """Return matrix and right-hand side of the normal equations, joints weighted by noise."""
        G = np.sum([one / s**2 for one, s in zip(self.G, sigma, strict=True)], axis=0)
        return G[:-1, :-1], G[:-1, -1]

    def of_term(self, term: str) -> slice:
        """Return the position of a friction term among the unknowns."""
        first = self.rigid + self.n * self.terms.index(term)
        return slice(first, first + self.n)


def normal_equations(
    logs: Sequence[LogEquations], shape: FrictionShape, x: Array, terms: tuple[str, ...]
) -> Design:
    """Return the normal equations of all logs, with friction of this shape; x: for its load."""
    n = logs[0].tau.shape[1]
    friction = [log.friction(shape, x, terms) for log in logs]
    G = []
    for j in range(n):
        rows = [
            np.concatenate([log.Y[:, j], spread_over(F[:, j], j, n), log.tau[:, j, None]], axis=1)
            for log, F in zip(logs, friction, strict=True)
        ]
        G.append(gram(np.vstack(rows)))
    kept = [len(log.tau) for log in logs]
    independent = float(np.dot(kept, [log.samples.independence for log in logs]))
    return Design(G, sum(kept), independent, logs[0].inertial, logs[0].Y.shape[-1], terms)


def gram(rows: Array) -> Array:
    return np.asarray(rows.T @ rows)


def spread_over(columns: Array, j: int, n: int) -> Array:
    """Return columns (T, terms) of joint j among zeros of all joints (T, terms n), by term."""
    wide = np.zeros((len(columns), columns.shape[1], n))
    wide[:, :, j] = columns
    return wide.reshape(len(columns), -1)


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Weighted least-squares solution: base parameters and friction terms."""

    x: Array  # (P,), 0 for columns outside the base
    columns: npt.NDArray[np.int64]  # columns of the base, then of friction
    deviation: Array  # (columns,), standard deviation of x there; inf where not excited
    sigma: Array  # (n,) [N m or N], torque noise of each joint
    condition: float  # condition number of the weighted equations, columns of length 1


def solve(design: Design, base: npt.NDArray[np.int64]) -> LeastSquares:
    """Fit the base columns and friction; reweight by the residuals until the weights settle."""
    columns = np.concatenate([base, np.arange(design.rigid, design.unknowns)])
    floor = NOISE_FLOOR * np.maximum(design.torque, NOISE_FLOOR)
    sigma = np.ones(design.n)
    x = np.zeros(design.unknowns)
    for _ in range(MAX_ITERATIONS):
        G, h = design.weighted(sigma)
        inverse = scaled_inverse(G[np.ix_(columns, columns)])
        x[columns] = inverse.matrix @ h[columns]
        before, sigma = sigma, np.maximum(design.errors(x), floor)
        if np.allclose(sigma, before, rtol=1e-3):
            break
    # Neighbouring samples of a filtered signal are not independent.
    inflation = np.sqrt(design.count / design.independent)
    return LeastSquares(x, columns, inflation * inverse.deviation, sigma, inverse.condition)


class Inverse(NamedTuple):
    """Pseudo-inverse of a matrix of normal equations."""

    matrix: Array
    deviation: Array  # of each unknown for unit noise; inf where it is not determined
    condition: float  # condition number of the equations with columns of length 1


def scaled_inverse(G: Array) -> Inverse:
    """Return the pseudo-inverse of normal equations with their columns scaled to length 1."""
    size = np.sqrt(np.diag(G))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(G / size / size[:, None])
    use = values > SINGULAR * values[-1]
    half = vectors[:, use] / np.sqrt(values[use]) / size[:, None]
    matrix = half @ half.T
    hidden = np.linalg.norm(vectors[:, ~use], axis=1) > HIDDEN
    deviation = np.where(hidden, np.inf, np.sqrt(np.diag(matrix)))
    return Inverse(matrix, deviation, float(np.sqrt(values[-1] / values[use][0])))
