"""JointFriction: what friction takes from each joint, as identification finds it.

    viscous qd + s (coulomb + stribeck exp(-|qd| fading) + load |g(q)|) + offset

with s of `dry_friction`. The first three terms are [Khalil2019] (7.26). The curve of a gear often
bends down at speed: then `stribeck` is negative. Its teeth rub more under load, of which gravity
is most: g(q) is the torque that carries the arm. The offset is the sensor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dry_friction import smooth_sign
from .log import Array

TERMS = ("viscous", "coulomb", "stribeck", "offset", "load")


@dataclass(frozen=True, eq=False)
class FrictionShape:
    """What friction is not linear in, (n,) each."""

    width: Array  # [rad/s or m/s], in which dry friction changes its sign
    presliding: Array  # [rad or m], over which it does so; 0: at once
    fading: Array  # [s/rad or s/m]: how fast the Stribeck term fades with speed
    loaded: Array  # 1 where gravity loads the joint enough to show in its friction, else 0

    @classmethod
    def first_guess(cls, loaded: Array) -> FrictionShape:
        n = loaded.size
        return cls(np.full(n, 0.01), np.zeros(n), np.full(n, 3.0), loaded)

    def columns(self, dt: float, qd: Array, load: Array, terms: Sequence[str]) -> Array:
        """(T, n, terms): the torque of a unit of each term, at velocities qd every dt [s]."""
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
        """That of joint j alone."""
        return FrictionShape(*(getattr(self, field.name)[j : j + 1] for field in fields(self)))

    @classmethod
    def joined(cls, shapes: Sequence[FrictionShape]) -> FrictionShape:
        """Those of several joints as one."""
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(s, name) for s in shapes]) for name in names))


@dataclass(frozen=True, eq=False)
class JointFriction:
    """The friction found, (n,) each."""

    viscous: Array  # [N m s/rad or N s/m]
    coulomb: Array  # [N m or N]
    stribeck: Array  # [N m or N], what dry friction at the onset of motion differs from coulomb
    offset: Array  # [N m or N]
    load: Array  # share of the torque that carries the arm
    shape: FrictionShape

    def torque(self, dt: float, qd: Array, g: Array) -> Array:
        """(T, n) [N m or N] at velocities qd (T, n) every dt [s]; g (T, n): gravity's torque."""
        columns = self.shape.columns(dt, qd, g, TERMS)
        return np.asarray(np.einsum("tjk,kj->tj", columns, self.table()))

    def table(self) -> Array:
        """(terms, n), in the order of TERMS."""
        return np.stack([getattr(self, term) for term in TERMS])


def nominal_friction(model: RobotModel, term: str) -> Array:
    """(n,): a term as the nominal model has it; 0 where it knows of no such thing."""
    known = {
        "viscous": model.viscous,
        "coulomb": model.coulomb,
        "stribeck": model.stiction - model.coulomb,
    }
    return known.get(term, np.zeros(model.n))


def check_terms(terms: Sequence[str]) -> tuple[str, ...]:
    for term in terms:
        if term not in TERMS:
            raise ArgumentError(f"friction has the terms {', '.join(TERMS)}, not {term!r}")
    if "coulomb" not in terms and {"stribeck", "load"} & set(terms):
        raise ArgumentError("the friction terms stribeck and load need coulomb beside them")
    return tuple(term for term in TERMS if term in terms)
