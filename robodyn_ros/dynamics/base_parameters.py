"""Base parameters: the combinations of the bodies' parameters that the torque depends on.

On random states, a column of the regressor that depends on columns before it is grouped with them.
Columns run from the base outwards: bodies are grouped with those nearer the base, [Gautier1990].
"""

from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike
from .regressor import PARAMETERS, regressor, rotor_columns

STATES_PER_BODY = 40  # per body that a coordinate moves: four rows for each of its ten columns
DEPENDENT = 1e-8  # largest remainder, relative to the column, of a dependent column
ZERO_COLUMN = 1e-12  # largest norm, relative to the largest column, of a column of zeros
ROUNDING = 1e-9  # distance at which a coefficient is rounded to a whole number


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Independent columns of a regressor, and the grouping of all P parameters into them."""

    names: tuple[str, ...]  # of all P parameters, e.g. mx3: the third body's first moment in x
    independent: tuple[int, ...]  # indices of the independent columns
    grouping: Array  # (rank, P): base parameters = grouping @ parameters

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return len(self.independent)

    def regressor(self, Y: ArrayLike) -> Array:
        """Return the independent columns (…, rank) of a regressor (…, P)."""
        Y = self._fitting("Y", Y)
        return Y[..., list(self.independent)]

    def combine(self, parameters: ArrayLike) -> Array:
        """Return the base parameters (rank,) of P parameters."""
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
        """Return each base parameter as a sum of parameters, e.g. 'Izz1 + Iyy2 + 0.16 m3'."""
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
    """Return the base parameters of a robot, for a random `seed`; `rotors` adds Ia1, …."""
    bodies = len(model.link_names)
    names = [name + str(i + 1) for i in range(bodies) for name in PARAMETERS]
    names += [f"Ia{k + 1}" for k in range(model.n)] if rotors else []
    random = np.random.default_rng(seed)
    states = STATES_PER_BODY * -(-bodies // model.n)  # mimic joints have no rows of their own
    q, qd, qdd = random.uniform(-np.pi, np.pi, (3, states, model.n))
    Y = regressor(model, q, qd, qdd)
    if rotors:
        Y = np.concatenate([Y, rotor_columns(model, qdd)], axis=-1)
    independent, echelon = _echelon(Y.reshape(-1, len(names)))
    return BaseParameters(tuple(names), tuple(independent), _grouping(independent, echelon))


def _echelon(Y: Array) -> tuple[list[int], Array]:
    """Return the independent columns, and all columns (rank, P) along their directions.

    The modified Gram-Schmidt method, which skips dependent columns. Sums use einsum: for products
    this small, the threads of BLAS mostly wait for each other.
    """
    rest = Y.copy()
    size = np.sqrt(np.einsum("ij,ij->j", Y, Y))
    smallest = DEPENDENT * size + ZERO_COLUMN * size.max()
    independent, rows = [], []
    for k in range(Y.shape[1]):
        length = np.sqrt(np.einsum("i,i", rest[:, k], rest[:, k]))
        if length > smallest[k]:
            direction = rest[:, k] / length
            row = np.einsum("i,ij->j", direction, rest)
            row[:k] = 0.0
            rest -= np.outer(direction, row)
            independent.append(k)
            rows.append(row)
    return independent, np.array(rows)


def _grouping(independent: list[int], echelon: Array) -> Array:
    found = np.linalg.solve(echelon[:, independent], echelon)
    whole = np.round(found)
    grouping = np.where(np.abs(found - whole) < ROUNDING, whole, found)
    grouping[:, independent] = np.eye(len(independent))
    return grouping
