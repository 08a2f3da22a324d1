"""LiveScaling: a clock between path and reference that keeps the limits, sample by sample.

The reference is q(u(t)) on a path q(u); at the rate v = du/dt = 1 it is the trajectory as it was
sent. The clock runs at that rate where the limits allow it, slower elsewhere, and up to `catch_up`
while it makes up for a delay. Which rates the limits allow is in the `PathTable`; in every step
(`clock_step`) the limits are intervals of the clock's acceleration. The purpose, limits of torque
rates on line, is that of [GuarinoLoBianco2009] and [GuarinoLoBianco2011].
"""

import math

import numpy as np

from ..dynamics.motion import Motion
from ..dynamics.newton_euler import _newton_euler
from ..errors import ArgumentError
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .clock_step import TORQUE, WANTED, S, V, _advance
from .path_shape import Path, ScalingLimits
from .path_table import ON_TIME, PathTable, Q

__all__ = ["LiveScaling", "Path", "PathTable", "ScalingLimits"]


class LiveScaling:
    """Clock of a reference on its path: `begin` on a table, then `advance` with every sample.

    catch_up: largest rate of the clock while it makes up for a delay, 1 or more.
    """

    def __init__(self, model: RobotModel, limits: ScalingLimits, catch_up: float) -> None:
        self.model = model
        self._packed = aligned_copy(model.packed)
        self._own, self._clock = np.zeros((5, model.n)), np.zeros(5)
        self._table: PathTable | None = None
        self._limits = np.zeros((len(limits), model.n))
        self.limits, self.catch_up = limits, 0.0
        self.configure(limits, catch_up)

    def configure(self, limits: ScalingLimits, catch_up: float) -> None:
        """Use other limits from now on."""
        before = self._limits, self.catch_up
        self._limits, self.limits, self.catch_up = np.array(limits), limits, catch_up
        # Most changes of settings leave the limits as they are, and the bounds take milliseconds
        same = np.array_equal(before[0], self._limits) and before[1] == catch_up
        if self._table is not None and not same:
            self._bounds = self._table.bounds(limits, catch_up, self.delay > 0.0)

    @property
    def s(self) -> float:
        """Time on the path [s]."""
        return 0.0 if self._table is None else self._table.path_time(self._clock[int(S)])

    @property
    def delay(self) -> float:
        """Time by which the clock is behind that of the trajectory [s]."""
        if self._table is None:
            return 0.0
        return float(self._clock[int(WANTED)] - (self.s - self._table.s0))

    @property
    def arrived(self) -> bool:
        """Whether the path is at its end, or there is none."""
        return self._table is None or bool(self._clock[int(S)] >= self._table.end)

    def leave(self) -> None:
        """Follow no path."""
        self._table, self._clock[:] = None, 0.0

    def begin(self, table: PathTable, motion: Motion, rate: float = 1.0) -> float:
        """Start on a path at this motion; from rest at the largest rate that is possible.

        rate: in motion, that at which the path has this motion; from rest, a share of the largest.
        Returns the largest rate within the limits over that one, 1 or more if they allow it.
        """
        self._table, self._clock[:] = table, 0.0
        self._bounds = table.bounds(self.limits, self.catch_up)
        own = self._own[int(TORQUE)]
        _newton_euler(self._packed, *(np.ascontiguousarray(x) for x in motion[:3]), own)
        fastest = math.sqrt(self._bounds[int(ON_TIME), 0])
        moving = bool(motion.qd.any() or motion.qdd.any())
        self._clock[int(V)] = rate if moving else rate * fastest
        return fastest / rate if moving else 1.0

    def advance(self, dt: float, ceiling: float = 1.0, slope: float = 0.0) -> Motion:
        """Return the reference dt [s] later.

        ceiling: mean rate of the clock that is wanted; slope: change of that rate [1/s].
        """
        table = self._table
        if table is None:
            raise ArgumentError("no path was begun")
        motion = np.empty((4, self.model.n))
        numbers = (self._limits, self._own, motion, self._clock, table.spacing, ceiling, slope)
        if _advance(self._packed, table.nodes, self._bounds, *numbers, self.catch_up, dt):
            raise ArgumentError("the reference is not finite")
        return Motion.at_rest(table.nodes[-1, int(Q)]) if self.arrived else Motion(*motion)
