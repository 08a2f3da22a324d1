"""The terms of joint friction, and the search for the parameters that it is not linear in.

    viscous qd + s (coulomb + stribeck exp(-|qd| fading) + load |rigid torque|) + offset

This is the law of `dynamics/friction.py`, with its state s; `stribeck` is the static friction less
the Coulomb friction, negative where friction grows less than linearly with speed. The load is the
torque that the gear passes on. The offset is the torque sensor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.compile import U1, kernel
from ..dynamics.dispatch import for_kernel
from ..dynamics.friction import next_sign
from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..sensing.log import Array

if TYPE_CHECKING:
    from .regression import LogEquations

TERMS = ("viscous", "coulomb", "stribeck", "offset", "load")
# Candidates of the grid search for a FrictionShape
WIDTHS = (0.003, 0.005, 0.01, 0.02, 0.04)  # [rad/s or m/s]
PRESLIDING = (0.0, 5e-5, 1e-4, 2e-4, 4e-4)  # [rad or m]
FADING = (0.75, 1.5, 3.0, 6.0, 12.0, 24.0)  # [s/rad or s/m]


@kernel("int64(float64, vector, matrix, matrix)")
def _integrate(dt, p, qd, s):
    n = U(qd.shape[1])
    for j in range(n):
        state = 0.0
        for i in range(U(qd.shape[0])):
            before = qd[i - U1, j] if i > 0 else 0.0
            state = next_sign(p, j, n, state, before, i > 0, qd[i, j], dt)
            s[i, j] = state
    return 0


def smooth_sign(dt: float, qd: Array, width: Array, presliding: Array) -> Array:
    """Return s (T, n) of qd (T, n) every dt [s]; width [rad/s or m/s], presliding [rad or m]."""
    rows = np.zeros((at.FRICTION_ROWS, qd.shape[1]))
    rows[int(at.WIDTH)], rows[int(at.PRESLIDING)] = width, presliding
    s = np.empty(qd.shape)
    _integrate(dt, rows.ravel(), for_kernel(qd), s)
    return s


@dataclass(frozen=True, eq=False)
class FrictionShape:
    """Parameters that friction is not linear in, (n,) each."""

    width: Array  # [rad/s or m/s], velocity range over which dry friction changes sign
    presliding: Array  # [rad or m], travel over which it changes sign; 0: at once
    fading: Array  # [s/rad or s/m], decay of the Stribeck term with speed
    loaded: Array  # 1 where the load is enough to show in the friction, else 0

    @classmethod
    def first_guess(cls, loaded: Array) -> FrictionShape:
        """Return the shape with which the search starts."""
        n = loaded.size
        return cls(np.full(n, 0.01), np.zeros(n), np.full(n, 3.0), loaded)

    def columns(self, dt: float, qd: Array, load: Array, terms: Sequence[str]) -> Array:
        """Return the torque (T, n, terms) of a unit of each term, under the rigid torque load."""
        s = smooth_sign(dt, qd, self.width, self.presliding)
        units = {
            "viscous": lambda: qd,
            "coulomb": lambda: s,
            "stribeck": lambda: s * np.exp(-np.abs(qd) * self.fading),
            "offset": lambda: np.ones_like(s),
            "load": lambda: s * np.abs(load) * self.loaded,
        }
        return np.stack([units[term]() for term in terms], axis=-1)

    def of_joint(self, j: int) -> FrictionShape:
        """Return the shape of joint j alone."""
        return FrictionShape(*(getattr(self, field.name)[j : j + 1] for field in fields(self)))

    @classmethod
    def joined(cls, shapes: Sequence[FrictionShape]) -> FrictionShape:
        """Return the shapes of several joints as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(s, name) for s in shapes]) for name in names))


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Identified friction of each joint, (n,) each."""

    viscous: Array  # [N m s/rad or N s/m]
    coulomb: Array  # [N m or N]
    stribeck: Array  # [N m or N], dry friction at the onset of motion minus coulomb
    offset: Array  # [N m or N]
    load: Array  # share of the rigid torque
    shape: FrictionShape

    def torque(self, dt: float, qd: Array, load: Array) -> Array:
        """Return the friction torque (T, n) [N m or N] at qd (T, n), under a rigid torque."""
        return self.weighted(self.shape.columns(dt, qd, load, TERMS))

    def weighted(self, columns: Array) -> Array:
        """Return the torque (T, n) [N m or N] of unit columns (T, n, TERMS)."""
        table = np.stack([getattr(self, term) for term in TERMS])
        return np.asarray(np.einsum("tjk,kj->tj", columns, table))


def nominal_friction(model: RobotModel, term: str) -> Array:
    """Return a term (n,) of the nominal model."""
    known = {
        "viscous": model.viscous,
        "coulomb": model.coulomb,
        "stribeck": model.stiction - model.coulomb,
        "offset": model.friction_offset,
        "load": model.friction_load,
    }
    return known[term]


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the friction terms in the order of TERMS; reject unknown ones."""
    for term in terms:
        if term not in TERMS:
            raise ArgumentError(f"friction has the terms {', '.join(TERMS)}, not {term!r}")
    if "coulomb" not in terms and {"stribeck", "load"} & set(terms):
        raise ArgumentError("the friction terms stribeck and load need coulomb beside them")
    return tuple(term for term in TERMS if term in terms)


def search_shape(
    logs: Sequence[LogEquations],
    shape: FrictionShape,
    x: Array,
    terms: tuple[str, ...],
    presliding: bool = True,
) -> FrictionShape:
    """Return the shape that best explains the torque which rigid bodies x leave unexplained."""
    loads = [log.rigid(x) for log in logs]
    unexplained = [log.tau - log.Y @ x[: log.Y.shape[-1]] for log in logs]
    distances = PRESLIDING if presliding else (0.0,)
    found = []
    for j in range(shape.width.size):

        def error(candidate: FrictionShape, j: int = j) -> float:
            rows = [
                log.joint_friction(j, candidate, load, terms)
                for log, load in zip(logs, loads, strict=True)
            ]
            A, b = np.vstack(rows), np.concatenate([y[:, j] for y in unexplained])
            return float(np.linalg.norm(b - A @ np.linalg.lstsq(A, b, rcond=None)[0]))

        best = min(_candidates(shape.of_joint(j), width=WIDTHS, presliding=distances), key=error)
        if "stribeck" in terms:
            best = min(_candidates(best, fading=FADING), key=error)
        found.append(best)
    return FrictionShape.joined(found)


def _candidates(shape: FrictionShape, **values: Sequence[float]) -> list[FrictionShape]:
    shapes = [shape]
    for name, choices in values.items():
        shapes = [replace(s, **{name: np.array([v])}) for s in shapes for v in choices]
    return shapes
