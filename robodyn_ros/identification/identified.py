"""Identified: what was found, how sure it is, and what it is good for."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ..dynamics.base_parameters import BaseParameters
from ..dynamics.newton_euler import gravity_torque
from ..model.robot import RobotModel
from ..model.urdf_writer import to_urdf
from .consistent import Consistent
from .design import Design
from .fit import Fit
from .friction import JointFriction
from .least_squares import LeastSquares
from .log import Array
from .parameter_table import Parameter, parameters
from .unexcited import sentences
from .urdf_update import updated

UNEXPLAINED = 0.5  # share of a joint's torque that makes a log doubtful


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
        return parameters(self)

    @property
    def base_table(self) -> list[tuple[str, float, float]]:
        """Each base parameter as a combination: its least-squares value and deviation."""
        squares, rank = self.least_squares, self.base.rank
        values = squares.x[squares.columns[:rank]]
        return list(zip(self.base.lines(), values, squares.deviation[:rank], strict=True))

    @property
    def unexcited(self) -> str:
        """What the motion did not tell, in sentences, one a line."""
        return "\n".join(sentences(self)) or "The motion told every parameter."

    @property
    def straight(self) -> RobotModel:
        """The model as a URDF can tell it: friction is a straight line, the one nearest to the
        curve over the speeds seen.
        """
        if not self.design.terms:
            return self.model
        fastest = np.max([np.abs(fit.qd).max(axis=0) for fit in self.fits], axis=0)
        speed = np.linspace(0.1, 1.0, 50)[:, None] * np.maximum(fastest, 0.1)
        m = self.model
        dry = m.coulomb + (m.stiction - m.coulomb) * np.exp(-speed * m.stribeck)
        lines = [np.polyfit(speed[:, j], dry[:, j], 1) for j in range(m.n)]
        slope, level = np.maximum(np.array(lines).T, 0.0)
        return m.replace(viscous=m.viscous + slope, coulomb=level, stiction=level)

    def to_urdf(self, original: str | PathLike[str] | None = None) -> str:
        """The robot as URDF text, with inertias, rotors, damping and friction.

        original: the nominal robot's URDF, a path or text, whose meshes and all else are kept;
        without it, links are drawn as plain shapes.
        """
        if original is None:
            return to_urdf(self.straight)
        return updated(original, self.straight)

    @property
    def doubts(self) -> list[str]:
        """Sentences about joints whose torque is hardly explained: there a log may be mistaken."""
        return [
            f"{share:.0%} of the torque of joint '{joint}' in '{fit.name}' is not explained: "
            "check columns, units, signs, drive gains, and whether it is this robot, untouched"
            for fit in self.fits
            if not fit.held_out
            for joint, share in zip(self.nominal.joint_names, fit.relative, strict=True)
            if share > UNEXPLAINED
        ]

    def to_yaml(self, path: str | PathLike[str], urdf: str | PathLike[str]) -> None:
        """Parameters for the nodes, with the path of the URDF that `to_urdf` was written to."""
        from .node_parameters import text

        Path(path).write_text(text(self, str(urdf)), encoding="utf-8")

    def report(self, path: str | PathLike[str]) -> None:
        """A page that stands alone: torques, errors, parameters, what was not excited."""
        from .report import page

        Path(path).write_text(page(self), encoding="utf-8")
