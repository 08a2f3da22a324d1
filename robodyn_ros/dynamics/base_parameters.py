"""Base parameters: the combinations of the bodies' parameters that the torque can tell apart.

Some parameters move nothing, others only together. On enough random states, a column of the
regressor that is a combination of columns before it brings nothing new; its parameter joins
theirs. Columns run from the base outwards, so that a body's parameters go over to bodies nearer
the base, as is usual since [Gautier1990].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike
from .regressor import PARAMETERS, regressor, rotor_columns

STATES = 40  # per body that a coordinate moves: four rows for each of its ten columns
DEPENDENT = 1e-8  # what is left of a column, relative to it, when it is a combination of others
ROUNDING = 1e-12  # size of a column, relative to the largest, that should be zero
NEGLIGIBLE = 1e-9  # what a coefficient may miss a whole number by


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Which columns of a regressor are independent, and how the others' parameters join them."""

    names: tuple[str, ...]  # of all P parameters, e.g. mx3: the third body's first moment in x
    independent: tuple[int, ...]  # the columns that are kept
    grouping: Array  # (rank, P): base parameters = grouping @ parameters

    @property
    def rank(self) -> int:
        """How many base parameters there are."""
        return len(self.independent)

    def regressor(self, Y: ArrayLike) -> Array:
        """The independent columns of a regressor (…, P): (…, rank)."""
        Y = self._fitting("Y", Y)
        return Y[..., list(self.independent)]

    def combine(self, parameters: ArrayLike) -> Array:
        """(rank,): the base parameters of these P parameters."""
        return self._fitting("parameters", parameters) @ self.grouping.T

    def _fitting(self, name: str, value: ArrayLike) -> Array:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim == 0 or array.shape[-1] != len(self.names):
            raise ArgumentError(
                f"{name} must have {len(self.names)} columns, for {self.names[0]} to "
                f"{self.names[-1]}, got shape {array.shape}"
            )
        return array

    def lines(self) -> list[str]:
        """Each base parameter as a sum of parameters, e.g. 'Izz1 + Iyy2 + 0.16 m3'."""
        return [
            self._sum(row, kept) for row, kept in zip(self.grouping, self.independent, strict=True)
        ]

    def _sum(self, row: Array, kept: int) -> str:
        text = self.names[kept]
        for k in np.flatnonzero(row):
            if k != kept:
                size = "" if abs(row[k]) == 1.0 else f"{abs(row[k]):.4g} "
                text += f" {'-' if row[k] < 0.0 else '+'} {size}{self.names[k]}"
        return text

    def __str__(self) -> str:
        head = f"{self.rank} base parameters of {len(self.names)}"
        return "\n".join([head, *self.lines()])


def base_parameters(model: RobotModel, *, rotors: bool = False, seed: int = 0) -> BaseParameters:
    """The base parameters of a robot; with its rotor inertias (Ia1, …) behind them if asked for.

    The same robot and `seed` give the same answer.
    """
    bodies = len(model.link_names)
    names = [name + str(i + 1) for i in range(bodies) for name in PARAMETERS]
    names += [f"Ia{k + 1}" for k in range(model.n)] if rotors else []
    random = np.random.default_rng(seed)
    states = STATES * -(-bodies // model.n)  # mimic joints have bodies, but no rows of their own
    q, qd, qdd = random.uniform(-np.pi, np.pi, (3, states, model.n))
    Y = regressor(model, q, qd, qdd)
    if rotors:
        Y = np.concatenate([Y, rotor_columns(model, qdd)], axis=-1)
    independent, echelon = _echelon(Y.reshape(-1, len(names)))
    return BaseParameters(tuple(names), tuple(independent), _grouping(independent, echelon))


def _echelon(Y: Array) -> tuple[list[int], Array]:
    """Columns that are no combination of those before them, and all columns, (rank, P), along the
    directions that each of these adds: the modified Gram-Schmidt method, without the idle columns.

    Sums are taken by einsum: threads that work out such small products mostly wait for each other.
    """
    rest = Y.copy()
    size = np.sqrt(np.einsum("ij,ij->j", Y, Y))
    least = DEPENDENT * size + ROUNDING * size.max()
    independent, rows = [], []
    for k in range(Y.shape[1]):
        length = np.sqrt(np.einsum("i,i", rest[:, k], rest[:, k]))
        if length > least[k]:
            direction = rest[:, k] / length
            row = np.einsum("i,ij->j", direction, rest)
            row[:k] = 0.0
            rest -= np.outer(direction, row)
            independent.append(k)
            rows.append(row)
    return independent, np.array(rows)


def _grouping(independent: list[int], echelon: Array) -> Array:
    """All columns as combinations of the independent ones."""
    found = np.linalg.solve(echelon[:, independent], echelon)
    whole = np.round(found)
    grouping = np.where(np.abs(found - whole) < NEGLIGIBLE, whole, found)
    grouping[:, independent] = np.eye(len(independent))
    return grouping
