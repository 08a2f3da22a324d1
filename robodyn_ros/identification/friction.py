"""Joint friction: its terms, and the search for the parameters that it is not linear in.

    viscous qd + s (coulomb + stribeck exp(-|qd| fading) + load |g(q)|) + offset

The first three terms are [Khalil2019] (7.26); `stribeck` is negative where friction falls with
speed. Gear friction grows with the load, mostly gravity g(q). The offset is the torque sensor's.
s is the smooth sign of the velocity: after a reversal, gear teeth first bend (presliding), so it
follows Dahl's law with a smooth end value, or is tanh(qd / width) without presliding:

    ds/dt = |qd| / presliding (tanh(qd / width) - s)      in motion,
    ds/dt = -s / RELAXATION_TIME                          at rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.compile import kernel
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.log import Array

if TYPE_CHECKING:
    from .regression import LogEquations

TERMS = ("viscous", "coulomb", "stribeck", "offset", "load")
REST_SPEED = 1e-3  # [rad/s or m/s]: a filtered velocity below it is noise
RELAXATION_TIME = 1.0  # [s], time constant with which s decays at rest
# Candidates of the grid search for a FrictionShape
WIDTHS = (0.003, 0.005, 0.01, 0.02, 0.04)  # [rad/s or m/s]
PRESLIDING = (0.0, 5e-5, 1e-4, 2e-4, 4e-4)  # [rad or m]
FADING = (1.5, 3.0, 6.0, 12.0, 24.0)  # [s/rad or s/m]


@kernel("void(float64, matrix, vector, vector, matrix)")
def _integrate_dahl(dt, qd, width, presliding, s):
    for j in range(qd.shape[1]):
        s[0, j] = 0.0
        for i in range(1, qd.shape[0]):
            v = 0.5 * (qd[i, j] + qd[i - 1, j])
            if abs(v) > REST_SPEED:
                end = math.tanh(v / width[j])
                s[i, j] = end + (s[i - 1, j] - end) * math.exp(-abs(v) * dt / presliding[j])
            else:
                s[i, j] = s[i - 1, j] * math.exp(-dt / RELAXATION_TIME)


def smooth_sign(dt: float, qd: Array, width: Array, presliding: Array) -> Array:
    """Return s (T, n) of qd (T, n) every dt [s]; width [rad/s or m/s], presliding [rad or m]."""
    s = np.tanh(qd / width)
    bends = np.flatnonzero(presliding > 0.0)
    if bends.size:
        state = np.empty((len(qd), bends.size))
        bending = np.ascontiguousarray(qd[:, bends])
        _integrate_dahl(dt, bending, width[bends], presliding[bends], state)
        s[:, bends] = state
    return np.asarray(s)


@dataclass(frozen=True, eq=False)
class FrictionShape:
    """Parameters that friction is not linear in, (n,) each."""

    width: Array  # [rad/s or m/s], velocity range over which dry friction changes sign
    presliding: Array  # [rad or m], travel over which it changes sign; 0: at once
    fading: Array  # [s/rad or s/m], decay of the Stribeck term with speed
    loaded: Array  # 1 where gravity loads the joint enough to show in its friction, else 0

    @classmethod
    def first_guess(cls, loaded: Array) -> FrictionShape:
        """Return the shape with which the search starts."""
        n = loaded.size
        return cls(np.full(n, 0.01), np.zeros(n), np.full(n, 3.0), loaded)

    def columns(self, dt: float, qd: Array, load: Array, terms: Sequence[str]) -> Array:
        """Return the torque (T, n, terms) of a unit of each term, under gravity torque load."""
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
    load: Array  # share of the gravity torque
    shape: FrictionShape

    def torque(self, dt: float, qd: Array, g: Array) -> Array:
        """Return the friction torque (T, n) [N m or N] at qd (T, n), under gravity torque g."""
        return self.weighted(self.shape.columns(dt, qd, g, TERMS))

    def weighted(self, columns: Array) -> Array:
        """Return the torque (T, n) [N m or N] of unit columns (T, n, TERMS)."""
        table = np.stack([getattr(self, term) for term in TERMS])
        return np.asarray(np.einsum("tjk,kj->tj", columns, table))


def nominal_friction(model: RobotModel, term: str) -> Array:
    """Return a term (n,) of the nominal model; 0 for terms that a model does not have."""
    known = {
        "viscous": model.viscous,
        "coulomb": model.coulomb,
        "stribeck": model.stiction - model.coulomb,
    }
    return known.get(term, np.zeros(model.n))


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
    inertial = x[: logs[0].Y_g.shape[-1]]
    loads = [log.gravity(inertial) for log in logs]
    unexplained = [log.tau - log.Y @ x[: log.Y.shape[-1]] for log in logs]
    distances = PRESLIDING if presliding else (0.0,)
    found = []
    for j in range(shape.width.size):

        def error(candidate: FrictionShape, j: int = j) -> float:
            rows = [
                log.joint_friction(j, candidate, g, terms)
                for log, g in zip(logs, loads, strict=True)
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
