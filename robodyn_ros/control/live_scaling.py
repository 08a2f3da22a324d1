"""LiveScaling: a clock between path and reference that keeps the limits, sample by sample.

The reference is q(u(t)) on a path q(u); at the rate v = du/dt = 1 it is the trajectory as it was
sent. The clock runs at that rate where the limits allow it, slower elsewhere, and up to `catch_up`
while it makes up for a delay. Which rates the limits allow is in the `PathTable`; in every step
(`clock_step`) the limits are intervals of the clock's acceleration. The purpose, limits of torque
rates on line, is that of [GuarinoLoBianco2009] and [GuarinoLoBianco2011].
"""

import copy
import math
from typing import NamedTuple

import numpy as np

from ..dynamics.motion import Motion
from ..dynamics.newton_euler import _newton_euler
from ..errors import ArgumentError
from ..model.packed_model import aligned_copy
from ..model.robot import RobotModel
from .clock_step import TORQUE, WANTED, S, V, _advance
from .controller import Array
from .path_shape import ScalingLimits
from .path_table import ON_TIME, PathTable, Q

MAX_TRIAL_SHARE = 10.0  # of the limits, above which a trial ends
MAX_TRIAL = 3000  # steps of a trial


class Start(NamedTuple):
    """Start of a path: `motion` on it, and the rate of the clock there.

    bounds: see `PathTable.bounds`.
    """

    table: PathTable
    bounds: Array
    motion: Motion
    rate: float


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

    def start(self, table: PathTable, motion: Motion, rate: float = 1.0) -> Start:
        """Return the start of a path at this motion; from rest at the largest rate possible.

        rate: in motion, that at which the path has this motion; from rest, a share of the largest.
        Takes milliseconds, and changes nothing.
        """
        bounds = table.bounds(self.limits, self.catch_up)
        if not (motion.qd.any() or motion.qdd.any()):
            rate *= math.sqrt(bounds[int(ON_TIME), 0])
        return Start(table, bounds, motion, rate)

    def begin(self, start: Start) -> None:
        """Follow a path from now on."""
        self._table, self._bounds, self._clock[:] = start.table, start.bounds, 0.0
        motion = (np.ascontiguousarray(x) for x in start.motion[:3])
        _newton_euler(self._packed, *motion, self._own[int(TORQUE)])
        self._clock[int(V)] = start.rate

    def trial(self, start: Start, dt: float, until: float) -> float:
        """Return the largest share of its limits that a joint uses from this start on.

        dt: steps [s]; until: time of the path up to which it is tried [s].

        Above 1, the path asks for more than its clock can avoid. Changes nothing.
        """
        trial, limits, worst = self.copy(), self.limits, 0.0
        trial.begin(start)
        tau = trial._own[int(TORQUE)].copy()
        for _ in range(MAX_TRIAL):
            if trial.arrived or trial._clock[int(S)] > until or worst > MAX_TRIAL_SHARE:
                break
            before, motion = tau, trial.advance(dt)
            tau = trial._own[int(TORQUE)].copy()
            uses = (
                (tau, limits.tau_max),
                ((tau - before) / dt, limits.tau_rate_max),
                (motion.qd, limits.qd_max),
                (motion.qdd, limits.qdd_max),
            )
            worst = max(worst, *(float((np.abs(x) / limit).max()) for x, limit in uses))
        return worst

    def copy(self) -> "LiveScaling":
        """Return a clock at the same place that goes on by itself."""
        other = copy.copy(self)
        other._own, other._clock = self._own.copy(), self._clock.copy()
        return other

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
