"""Identified: what was found, how sure it is, and what it is good for."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..dynamics.base_parameters import BaseParameters
from ..dynamics.newton_euler import gravity_torque
from ..dynamics.regressor import PARAMETERS
from ..model.robot import RobotModel
from ..model.urdf_writer import to_urdf
from .consistent import Consistent
from .design import Design
from .fit import Fit
from .friction import JointFriction
from .least_squares import LeastSquares
from .log import Array

UNKNOWN = 0.7  # of its deviation before the data: a parameter of which they told little
UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
TERM_UNITS = {
    "viscous": "N m s/rad",
    "coulomb": "N m",
    "stribeck": "N m",
    "offset": "N m",
    "load": "1",
}


class Parameter(NamedTuple):
    """One line of the table."""

    name: str
    unit: str
    nominal: float  # nan where the model has no such thing
    value: float
    deviation: float  # standard deviation
    told: float  # 1: by the data alone, 0: by the nominal model alone


@dataclass(frozen=True, eq=False)
class Identified:
    """A robot as its logs show it."""

    nominal: RobotModel
    model: RobotModel
    friction: JointFriction
    base: BaseParameters
    least_squares: LeastSquares
    consistent: Consistent
    design: Design
    fits: list[Fit]  # one for each log, those used first

    @property
    def errors(self) -> dict[str, Array]:
        """For each log by name: each joint's torque error as a share of its torque, (n,)."""
        return {fit.name: fit.relative for fit in self.fits}

    @property
    def largest_errors(self) -> Array:
        """(n,) [N m or N]: each joint's largest torque error over all logs."""
        return np.max([fit.largest for fit in self.fits], axis=0)

    def friction_torque(self, t: Array, q: Array, qd: Array) -> Array:
        """(T, n) [N m or N]: friction and offset over a log, evenly sampled.

        Each sample knows only those before it: it is what a detector can take off online.
        """
        dt = float(np.median(np.diff(t)))
        g = gravity_torque(self.model, q)
        return self.friction.torque(dt, np.ascontiguousarray(qd, dtype=np.float64), g)

    @property
    def parameters(self) -> list[Parameter]:
        """All standard parameters, rotors and friction terms, each with its deviation."""
        links = self.nominal.link_names
        names = [f"{name} of {link}" for link in links for name in PARAMETERS]
        units = list(UNITS) * len(links)
        nominal = list(self.nominal.inertial_parameters())
        if self.design.rigid > self.design.inertial:
            names += [f"rotor of {joint}" for joint in self.nominal.joint_names]
            units += ["kg m^2"] * self.nominal.n
            nominal += list(self.nominal.rotor_inertia)
        for term in self.design.terms:
            names += [f"{term} of {joint}" for joint in self.nominal.joint_names]
            units += [TERM_UNITS[term]] * self.nominal.n
            nominal += list(getattr(self.nominal, term, np.full(self.nominal.n, np.nan)))
        found = self.consistent
        told = 1.0 - (found.deviation / found.before) ** 2
        rows = zip(names, units, nominal, found.x, found.deviation, told, strict=True)
        return [Parameter(*row) for row in rows]

    @property
    def base_table(self) -> list[tuple[str, float, float]]:
        """Each base parameter as a combination: its least-squares value and deviation."""
        squares, rank = self.least_squares, self.base.rank
        values = squares.x[squares.columns[:rank]]
        return list(zip(self.base.lines(), values, squares.deviation[:rank], strict=True))

    @property
    def unexcited(self) -> str:
        """What the motion did not tell, in sentences."""
        lines = []
        weak = [
            f"{line} (found {value:.3g}, deviation {deviation:.2g})"
            for line, value, deviation in self.base_table
            if deviation > UNKNOWN * abs(value)
        ]
        if weak:
            lines.append(
                f"{len(weak)} of {self.base.rank} base parameters are hardly told by the motion: "
                + "; ".join(weak)
            )
        kept = [p.name for p in self.parameters[: self.design.inertial] if p.told < 1 - UNKNOWN**2]
        if kept:
            lines.append("near the nominal model for want of data stay: " + ", ".join(kept))
        still = self._still_joints()
        if still:
            lines.append("hardly moved: " + ", ".join(still))
        return "\n".join(lines) or "The motion told every parameter."

    def _still_joints(self) -> list[str]:
        fastest = np.max([np.abs(f.qd).max(axis=0) for f in self.fits if not f.held_out], axis=0)
        return [
            f"{name} (at most {speed:.2g} rad/s or m/s)"
            for name, speed in zip(self.nominal.joint_names, fastest, strict=True)
            if speed < 0.05
        ]

    def to_urdf(self) -> str:
        """The robot as URDF text, with inertias, rotors, damping and friction.

        URDF's friction is a straight line: the one nearest to the curve over the speeds seen.
        """
        if not self.design.terms:
            return to_urdf(self.model)
        fastest = np.max([np.abs(fit.qd).max(axis=0) for fit in self.fits], axis=0)
        speed = np.linspace(0.1, 1.0, 50)[:, None] * np.maximum(fastest, 0.1)
        m = self.model
        dry = m.coulomb + (m.stiction - m.coulomb) * np.exp(-speed * m.stribeck)
        lines = [np.polyfit(speed[:, j], dry[:, j], 1) for j in range(m.n)]
        slope, level = np.maximum(np.array(lines).T, 0.0)
        viscous = m.viscous + slope
        return to_urdf(m.replace(viscous=viscous, coulomb=level, stiction=level))

    def to_yaml(self, path: str | PathLike[str], urdf: str | PathLike[str]) -> None:
        """Parameters for the nodes, with the path of the URDF that `to_urdf` was written to."""
        from .node_parameters import text

        Path(path).write_text(text(self, str(urdf)), encoding="utf-8")

    def report(self, path: str | PathLike[str]) -> None:
        """A page that stands alone: torques, errors, parameters, what was not excited."""
        from .report import page

        Path(path).write_text(page(self), encoding="utf-8")
