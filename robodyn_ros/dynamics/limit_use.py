"""Use of the limits of joints: which joint comes nearest to which limit, when."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..model.rigid_body import Array
from ..model.robot import RobotModel

UNITS = {"torque": "N m", "torque_rate": "N m/s", "velocity": "rad/s", "acceleration": "rad/s^2"}
UNITS_PRISMATIC = {"torque": "N", "torque_rate": "N/s", "velocity": "m/s", "acceleration": "m/s^2"}


@dataclass(frozen=True)
class Binding:
    """Instant at which a joint comes nearest to one of its limits, or farthest beyond it."""

    joint: str
    limit: str  # "torque", "torque_rate", "velocity" or "acceleration"
    t: float  # [s]
    value: float  # [unit]
    bound: float  # [unit]
    unit: str

    @property
    def share(self) -> float:
        """Share of the limit that is used: 1 touches it, more exceeds it."""
        return abs(self.value) / self.bound

    def __str__(self) -> str:
        return (
            f"{self.limit.replace('_', ' ')} of joint '{self.joint}' at {self.t:.4g} s: "
            f"{self.value:.4g} of {self.bound:.4g} {self.unit} ({100.0 * self.share:.2f} %)"
        )


def largest_use(
    model: RobotModel, limit: str, t: Array, values: Array, bounds: Array
) -> list[Binding]:
    """Return the largest use of one limit by each joint that has it; values: (T, n) at t (T,)."""
    at = np.abs(values).argmax(axis=0)
    prismatic = {int(k) for k in model.coordinate[model.prismatic]}
    return [
        Binding(
            joint=model.joint_names[k],
            limit=limit,
            t=float(t[at[k]]),
            value=float(values[at[k], k]),
            bound=float(bounds[k]),
            unit=(UNITS_PRISMATIC if k in prismatic else UNITS)[limit],
        )
        for k in np.flatnonzero(np.isfinite(bounds))
    ]


def most_used(bindings: Sequence[Binding]) -> tuple[Binding, ...]:
    """Return them sorted, the most used first."""
    return tuple(sorted(bindings, key=lambda binding: -binding.share))
