"""Design: the linear equations tau = A x that a set of logs gives.

x holds the ten standard parameters per link, a rotor inertia per joint unless they are known, and
the friction terms of each joint. All samples of a joint are reduced once to its normal equations:
weights per joint can then change at no cost. A good motion's condition number is below 100, so
that squaring it costs four digits of sixteen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..dynamics.regressor import regressor
from ..model.robot import RobotModel
from .friction import FrictionShape
from .log import Array
from .samples import Samples


@dataclass(frozen=True, eq=False)
class Rigid:
    """A log with what rigid bodies make of it."""

    samples: Samples
    Y: Array  # (kept, n, 10 N [+ n]): of the standard parameters, and of rotors to be found
    Y_g: Array  # (thin, n, 10 N): of gravity alone, at every few samples from the first on
    tau: Array  # (kept, n), less that of rotors that are known

    def gravity(self, inertial: Array) -> Array:
        """(T, n): torque of gravity with these standard parameters, at every sample."""
        samples = self.samples
        thin = samples.t[:: samples.kept.step]
        g = self.Y_g @ inertial
        return np.column_stack([np.interp(samples.t, thin, column) for column in g.T])

    def friction(self, shape: FrictionShape, inertial: Array, terms: Sequence[str]) -> Array:
        """(kept, n, terms): unit friction torques, filtered as the torque was."""
        samples = self.samples
        if not terms:
            return np.zeros((*self.tau.shape, 0))
        g = self.gravity(inertial)
        return samples.filtered(shape.columns(1.0 / samples.rate, samples.qd, g, terms))


def rigid_part(model: RobotModel, samples: Samples, rotors: bool) -> Rigid:
    """The regressor of a log; rotors: whether their inertias are to be found."""
    Y, tau = samples.regressor(model), samples.tau[samples.kept]
    inertial = 10 * len(model.link_names)
    if not rotors:
        tau = tau - Y[:, :, inertial:] @ model.rotor_inertia
        Y = Y[:, :, :inertial]
    still = np.zeros(model.n)
    Y_g = regressor(model, samples.q[:: samples.kept.step], still, still)
    return Rigid(samples, Y, Y_g, tau)


@dataclass(frozen=True, eq=False)
class Design:
    """The normal equations of each joint j: (x, -1)^T G[j] (x, -1) is its squared error."""

    G: list[Array]  # (P + 1, P + 1) each: of the unknowns, then of the torque
    count: int  # of samples
    independent: float  # how many of them are
    inertial: int  # how many of the unknowns are the bodies': 10 N
    rigid: int  # the bodies' and the rotors'
    terms: tuple[str, ...]

    @property
    def unknowns(self) -> int:
        return int(self.G[0].shape[0]) - 1

    @property
    def n(self) -> int:
        return len(self.G)

    @property
    def torque(self) -> Array:
        """(n,): root mean square torque of each joint."""
        return np.sqrt([G[-1, -1] / self.count for G in self.G])

    def errors(self, x: Array) -> Array:
        """(n,): root mean square torque error of each joint."""
        return root_mean_squares(self.G, x, self.count)

    def weighted(self, sigma: Array) -> tuple[Array, Array]:
        """Matrix and right-hand side of the normal equations, each joint in units of its noise."""
        G = np.sum([one / s**2 for one, s in zip(self.G, sigma, strict=True)], axis=0)
        return G[:-1, :-1], G[:-1, -1]

    def of_term(self, term: str) -> slice:
        """Where the unknowns of a friction term stand."""
        first = self.rigid + self.n * self.terms.index(term)
        return slice(first, first + self.n)


def reduced(
    parts: Sequence[Rigid], shape: FrictionShape, inertial: Array, terms: tuple[str, ...]
) -> Design:
    """The equations of all logs together, with friction of this shape."""
    n = parts[0].tau.shape[1]
    friction = [part.friction(shape, inertial, terms) for part in parts]
    squares = []
    for j in range(n):
        rows = [
            np.concatenate([part.Y[:, j], only_joint(F[:, j], j, n), part.tau[:, j, None]], axis=1)
            for part, F in zip(parts, friction, strict=True)
        ]
        squares.append(normal(np.vstack(rows)))
    kept = [len(part.tau) for part in parts]
    share = [part.samples.independence for part in parts]
    Y, Y_g = parts[0].Y, parts[0].Y_g
    independent = float(np.dot(kept, share))
    return Design(squares, sum(kept), independent, Y_g.shape[-1], Y.shape[-1], terms)


def normal(rows: Array) -> Array:
    """rows^T rows."""
    return np.asarray(rows.T @ rows)


def root_mean_squares(G: Sequence[Array], x: Array, count: int) -> Array:
    """(n,): root mean square of the errors that x leaves."""
    v = np.append(x, -1.0)
    return np.sqrt([max(float(v @ one @ v), 0.0) / count for one in G])


def only_joint(columns: Array, j: int, n: int) -> Array:
    """Columns (T, terms) of joint j among those of all joints: (T, terms n), term by term."""
    wide = np.zeros((len(columns), columns.shape[1], n))
    wide[:, :, j] = columns
    return wide.reshape(len(columns), -1)
