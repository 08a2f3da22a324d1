"""Log: a recorded motion, judged once by the limits of `SensingSettings`."""

from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from .settings import SensingSettings

Array = npt.NDArray[np.float64]

MIN_SAMPLES = 50  # less is no motion to learn from
MAX_TIME = 1e12  # [s]: clocks count from long ago, but not from that long


@dataclass(frozen=True, eq=False)
class Log:
    """Times t (T,) [s] with joint positions, velocities and torques (T, n).

    The torque is that of the motors [N m or N], friction included; it may be a current [A] where
    drive gains are identified.
    """

    t: Array
    q: Array  # [rad or m]
    qd: Array  # [rad/s or m/s]
    tau: Array  # [N m or N]
    name: str = ""

    def __post_init__(self) -> None:
        what = f"log '{self.name}'" if self.name else "the log"
        for field in ("t", "q", "qd", "tau"):
            object.__setattr__(self, field, _numbers(what, field, getattr(self, field)))
        samples, shape = self.t.size, self.q.shape
        if self.t.ndim != 1 or len(shape) != 2 or shape[0] != samples:
            raise ArgumentError(
                f"{what}: t must be (T,) and q (T, n), got {self.t.shape}, {shape}"
            )
        for field in ("qd", "tau"):
            found = getattr(self, field).shape
            if found != shape:
                raise ArgumentError(f"{what}: {field} must have q's shape {shape}, got {found}")
        if samples < MIN_SAMPLES:
            raise ArgumentError(f"{what} has {samples} samples; {MIN_SAMPLES} at least are needed")
        steps = np.diff(self.t)
        if not (steps > 0.0).all():
            k = int(np.argmin(steps > 0.0)) + 1
            raise ArgumentError(
                f"{what}: time stands still or goes back at sample {k} ({self.t[k]:g} s after "
                f"{self.t[k - 1]:g} s); drop the repeated samples"
            )

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.q.shape[1])

    def part(self, first: int, last: int | None = None) -> "Log":
        """Return the samples `first` to `last`, counted as in a slice."""
        rows = slice(first, last)
        return Log(self.t[rows], self.q[rows], self.qd[rows], self.tau[rows], self.name)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write a table that `read_csv` and `robodyn identify` read: t, q, qd, tau."""
        names = ["t", *(f"{x}{k + 1}" for x in ("q", "qd", "tau") for k in range(self.n))]
        table = np.column_stack([self.t, self.q, self.qd, self.tau])
        np.savetxt(path, table, "%.10g", ",", header=",".join(names), comments="")


def value_limits(settings: SensingSettings | None = None) -> dict[str, float]:
    """Return the largest accepted size of each field of a log."""
    limits = settings or SensingSettings()
    return {
        "t": MAX_TIME,
        "q": limits.max_position,
        "qd": limits.max_velocity,
        "tau": limits.max_effort,
    }


def derivative(t: Array, x: Array) -> Array:
    """Return the time derivative of x (T, ...) at times t (T,) [s] by central differences.

    They are one-sided at the ends.
    """
    return np.asarray(np.gradient(x, t, axis=0))


def _numbers(what: str, field: str, value: Any) -> Array:
    """Return a read-only copy, or raise an error that names the first invalid number."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: {field} must be numbers, got {value!r}") from None
    bad = ~np.isfinite(array) | (np.abs(array) > value_limits()[field])
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        joint = f" of joint {where[1] + 1}" if len(where) > 1 else ""
        raise ArgumentError(
            f"{what} is damaged: {field}{joint} at sample {where[0]} is {array[where]:g}; cut the "
            "bad samples out, or record it again"
        )
    array.setflags(write=False)
    return array
