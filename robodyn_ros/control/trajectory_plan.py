"""TrajectoryPlanner: the part of following a trajectory that takes long, beside the control loop.

A planner is a picture of the reference at one instant, now or a little ahead. Its `plan` reads
nothing else and changes nothing, so that it may run in a thread; `Supervisor.follow` takes the
plan over at that instant, or at any time if the arm is at rest.
"""

from functools import cached_property
from typing import NamedTuple

from ..dynamics.limit_use import Binding
from ..dynamics.motion import Motion
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .arm_settings import ArmSettings
from .controller import Array, joint_array
from .live_scaling import Start
from .path_shape import Path, ScalingLimits
from .path_table import PathTable
from .reference import Reference, blend_time, check_joint_limits, check_start


class TrajectoryPlan(NamedTuple):
    """A trajectory, and the way into it from the motion that the arm will have.

    s: time of the path at which it is begun [s]. t: when that is [s]; None: at any time, from
    rest. seconds: in which an offset fades [s]. exceeded: limits that it breaks at its own speed.
    interruptions: of the arm up to now.
    """

    path: Path
    s: float
    t: float | None
    seconds: float
    start: Start
    exceeded: tuple[Binding, ...]
    limits: ScalingLimits
    interruptions: int


class TrajectoryPlanner:
    """Plans for the reference as it will be at the time t [s], `lead` [s] from now.

    reference: a copy of the present one. period: of the samples [s].
    """

    def __init__(
        self,
        model: RobotModel,
        settings: ArmSettings,
        limits: ScalingLimits,
        reference: Reference,
        now: float,
        lead: float,
        period: float,
        interruptions: int,
    ) -> None:
        self.model, self.settings, self.limits = model, settings, limits
        steps = round(lead / period)
        self.t = now + steps * period
        self._now, self._lead, self._period = reference, steps * period, period
        self._interruptions = interruptions

    @cached_property
    def _reference(self) -> Reference:
        return self._now.ahead(self._lead, self._period)

    @property
    def start(self) -> Motion:
        """Motion of the reference at the time t."""
        return self._reference.motion

    def plan(self, trajectory: Path, at: float | None = None) -> TrajectoryPlan:
        """Return the plan for a trajectory that begins at t, or has begun at `at` [s]; or raise.

        Takes milliseconds; some hundred of them for a path that is joined in motion.
        """
        model, limits, now = self.model, self.limits, self.start.q
        s = 0.0 if at is None else self.t - at
        start = joint_array(model, "the trajectory's start", trajectory.at(s).q)
        check_start(model, start, now, self.settings.start_tolerance)
        check_joint_limits(model, trajectory, now)
        moving = bool(self.start.qd.any() or self.start.qdd.any())
        table = PathTable(model, trajectory, s, limits=limits, from_rest=not moving)
        table.check_weight(limits)
        exceeded = table.exceeded(limits)
        if exceeded and self.settings.scaling == "strict":
            raise ArgumentError(
                f"the trajectory exceeds limits (arm.scaling: strict): {exceeded[0]}"
            )
        seconds = blend_seconds(model, self.settings, start - now)
        way = self._reference.start(trajectory, s, seconds, table, self._period)
        t = self.t if moving or at is not None else None
        return TrajectoryPlan(
            trajectory, s, t, seconds, way, exceeded, limits, self._interruptions
        )


def blend_seconds(model: RobotModel, settings: ArmSettings, away: Array) -> float:
    """Return the time [s] in which an offset `away` (n,) fades."""
    return max(settings.ramp, blend_time(model, away, settings.return_speed))
