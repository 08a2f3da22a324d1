"""Identified: the result of an identification, with errors, deviations and files to write."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.base_parameters import BaseParameters
from ..dynamics.friction import REST_SPEED
from ..dynamics.newton_euler import gravity_torque
from ..model.robot import REST_OF_FRICTION, RobotModel
from ..model.urdf_writer import to_urdf
from ..sensing.log import Array
from .consistent import Consistent
from .export import node_parameters, updated_urdf
from .friction import JointFriction
from .parameter_table import Parameter, parameter_table, unexcited_sentences
from .regression import Design, LeastSquares

UNEXPLAINED = 0.5  # share of a joint's torque above which a log is doubtful
REVERSAL_TIME = 0.1  # [s] before and after a velocity reversal that count as reversing


@dataclass(frozen=True, eq=False)
class Fit:
    """Measured and predicted torque of one log, filtered alike."""

    name: str
    held_out: bool  # not used for the identification
    t: Array  # (T,) [s]
    qd: Array  # (T, n) [rad/s or m/s]
    measured: Array  # (T, n) [N m or N]
    predicted: Array  # (T, n) [N m or N], including friction
    friction: Array  # (T, n) [N m or N], predicted friction and offset
    residual: Array | None = None  # (n,) [N m or N], largest one of an observer on the raw log

    @property
    def error(self) -> Array:
        """Measured minus predicted torque (T, n) [N m or N]."""
        return self.measured - self.predicted

    @property
    def rms(self) -> Array:
        """Root mean square torque error (n,) [N m or N]."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    @property
    def relative(self) -> Array:
        """`rms` as a share of the measured torque's root mean square (n,)."""
        size = np.sqrt(np.mean(self.measured**2, axis=0))
        return np.asarray(self.rms / np.where(size > 0.0, size, 1.0))

    @property
    def largest(self) -> Array:
        """Largest torque error (n,) [N m or N]."""
        return np.asarray(np.abs(self.error).max(axis=0))

    @property
    def at_reversals(self) -> Array:
        """Root mean square error (n,) [N m or N] near velocity reversals; nan without any."""
        return np.array(
            [
                np.sqrt(np.mean(error[near] ** 2)) if near.any() else np.nan
                for error, near in zip(self.error.T, self.reversing().T, strict=True)
            ]
        )

    def reversing(self) -> Array:
        """Return whether a joint reverses within REVERSAL_TIME of each sample (T, n)."""
        width = max(1, round(REVERSAL_TIME / float(np.median(np.diff(self.t)))))
        return np.column_stack([_near_reversal(qd, width) for qd in self.qd.T])


def _near_reversal(qd: Array, width: int) -> Array:
    """Return whether qd (T,) changes sign within `width` samples; rest is no reversal."""
    near = np.zeros(qd.size, dtype=bool)
    moving = np.flatnonzero(np.abs(qd) > REST_SPEED)
    turns = np.flatnonzero(np.diff(np.sign(qd[moving])) != 0)
    for before, after in zip(moving[turns], moving[turns + 1], strict=True):
        if after - before <= width:
            near[max(before - width, 0) : after + width] = True
    return near


@dataclass(frozen=True, eq=False)
class Identified:
    """Identified robot: its model and friction, their uncertainty and the fit to each log."""

    nominal: RobotModel
    model: RobotModel  # identified bodies, rotor inertias and friction
    friction: JointFriction  # the same as in the model, by terms
    base: BaseParameters
    least_squares: LeastSquares
    consistent: Consistent
    design: Design
    fits: list[Fit]  # one per log, the used ones first

    @property
    def errors(self) -> dict[str, Array]:
        """Relative torque error (n,) of each log, by the log's name."""
        return {fit.name: fit.relative for fit in self.fits}

    @property
    def largest_errors(self) -> Array:
        """Largest torque error (n,) [N m or N] of each joint over all logs."""
        return np.max([fit.largest for fit in self.fits], axis=0)

    @property
    def relative_noise(self) -> Array:
        """Torque noise of each joint in the used logs, as a share of its torque (n,)."""
        return np.asarray(self.least_squares.sigma / np.maximum(self.design.torque, 1e-9))

    def friction_torque(self, t: Array, q: Array, qd: Array) -> Array:
        """Return friction and offset (T, n) [N m or N] over an even log, under gravity's load.

        `residual` and the monitor use the measured torque's load: give them `model` and friction.
        """
        dt = float(np.median(np.diff(t)))
        g = gravity_torque(self.model, q)
        return self.friction.torque(dt, np.ascontiguousarray(qd, dtype=np.float64), g)

    @property
    def parameters(self) -> list[Parameter]:
        """Standard parameters, rotor inertias and friction terms with standard deviations."""
        return parameter_table(self)

    @property
    def base_table(self) -> list[tuple[str, float, float]]:
        """Base parameters: linear combination, least-squares value, standard deviation."""
        squares, rank = self.least_squares, self.base.rank
        values = squares.x[squares.columns[:rank]]
        return list(zip(self.base.lines(), values, squares.deviation[:rank], strict=True))

    @property
    def unexcited(self) -> str:
        """Sentences about parameters that the motion does not excite, one per line."""
        return "\n".join(unexcited_sentences(self)) or "All parameters are excited."

    @property
    def straight(self) -> RobotModel:
        """Model as a URDF can hold it: friction fitted by a line over the speeds in the logs."""
        if not self.design.terms:
            return self.model
        fastest = np.max([np.abs(fit.qd).max(axis=0) for fit in self.fits], axis=0)
        speed = np.linspace(0.1, 1.0, 50)[:, None] * np.maximum(fastest, 0.1)
        m, used = self.model, [fit for fit in self.fits if not fit.held_out]
        load = np.mean([np.abs(fit.predicted - fit.friction).mean(axis=0) for fit in used], axis=0)
        dry = m.coulomb + (m.stiction - m.coulomb) * np.exp(-speed * m.stribeck)
        dry += m.friction_load * load
        whole = m.viscous * speed + dry  # dry friction may fall by what viscous friction rises
        lines = [np.polyfit(speed[:, j], whole[:, j], 1) for j in range(m.n)]
        slope, level = np.array(lines).T
        flat = slope < 0.0  # a URDF has no negative damping: the best level then is the mean
        slope, level = np.maximum(slope, 0.0), np.where(flat, whole.mean(axis=0), level)
        level = np.maximum(level, 0.0)
        line: dict[str, Any] = {"viscous": slope, "coulomb": level, "stiction": level}
        return m.replace(**line | REST_OF_FRICTION)

    @property
    def doubts(self) -> list[str]:
        """Warnings about joints whose torque is hardly explained: the log may be wrong."""
        return [
            f"{share:.0%} of the torque of joint '{joint}' in '{fit.name}' is not explained: "
            "check columns, units, signs and drive gains, and that the log is of this robot "
            "without contact"
            for fit in self.fits
            if not fit.held_out
            for joint, share in zip(self.nominal.joint_names, fit.relative, strict=True)
            if share > UNEXPLAINED
        ]

    def to_urdf(self, original: str | PathLike[str] | None = None) -> str:
        """Return the robot as URDF text; original: a URDF (path or text) whose meshes are kept."""
        if original is None:
            return to_urdf(self.straight)
        return updated_urdf(original, self.straight)

    def to_yaml(
        self,
        path: str | PathLike[str],
        urdf: str | PathLike[str],
        gains: npt.ArrayLike | None = None,
    ) -> None:
        """Write the nodes' parameters.

        urdf: path of the URDF written with `to_urdf`. gains: drive gains (n,) [N m/A or N/A], if
        the driver reports currents.
        """
        Path(path).write_text(node_parameters(self, str(urdf), gains), encoding="utf-8")

    def report(self, path: str | PathLike[str]) -> None:
        """Write a self-contained HTML page: torques, errors, parameters, lack of excitation."""
        from .report import report

        Path(path).write_text(report(self), encoding="utf-8")
