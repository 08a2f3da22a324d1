"""TrajectoryRequests: trajectories that are planned beside the control loop, then taken over.

A plan takes longer than the loop's period, and a plant brakes if no command arrives meanwhile. In
motion the plan is made for an instant a little ahead, at which it is taken over. It is made again
for a later one if it is late, the arm has moved otherwise, or no way begins at that motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..control.path_shape import Path
from ..control.reference import JoinError, OutdatedPlanError
from ..control.supervisor import Supervisor
from ..control.trajectory_plan import TrajectoryPlan
from ..dynamics.limit_use import Binding
from ..dynamics.motion import Motion
from ..errors import RobodynError
from .latest_job import LatestJob

# [s] from a request in motion to its take-over: least, most at first, most
LEAD, FIRST_LEAD, MAX_LEAD = 0.05, 0.15, 0.5
LONGER = 1.5  # times that the last plan has taken
MAX_TRIES = 4  # then it is planned in the loop
MAX_REPLACED = 3  # requests in a row that newer ones replace, then one of a stream is followed
REPLACED = "replaced by another trajectory"


class ReplacedError(RobodynError):
    """A newer trajectory came before this one was followed."""


@dataclass(frozen=True)
class Request:
    """A trajectory to follow.

    path: returns it for a start at this motion and time [s], with the time at which it has begun;
    may run in a thread. taken, refused: called once it is followed, or with the reason why not.
    wanted: whether it is still to be followed.
    """

    path: Callable[[Motion, float], tuple[Path, float | None]]
    taken: Callable[[tuple[Binding, ...]], None]
    refused: Callable[[RobodynError], None]
    wanted: Callable[[], bool] = lambda: True


class TrajectoryRequests:
    """The latest request for one arm: `follow` or `plan`, then `update` after every sample."""

    def __init__(self, arm: Supervisor) -> None:
        self.arm = arm
        self._job: LatestJob[TrajectoryPlan] = LatestJob()
        self._request: Request | None = None  # the one that is being planned
        self._next: Request | None = None  # the one after it
        self._plan: TrajectoryPlan | None = None  # ready, before its time
        self._begun = self._spent = 0.0  # [s], of the present plan; that the last one has taken
        self._tries = self._replaced = 0

    def follow(self, request: Request) -> None:
        """Plan in place and follow at once: the same result whatever the load of the machine."""
        try:
            planner = self.arm.planner()
            exceeded = self.arm.follow(planner.plan(*request.path(planner.start, planner.t)))
        except RobodynError as error:
            request.refused(error)
            return
        self.cancel(ReplacedError(REPLACED))
        request.taken(exceeded)

    def plan(self, request: Request) -> None:
        """Plan in a thread; follow when it is ready."""
        if self._request is not None and self._replaced >= MAX_REPLACED:
            waiting, self._next = self._next, request
            if waiting is not None:
                waiting.refused(ReplacedError(REPLACED))
            return
        self._replaced += self._request is not None
        self.cancel(ReplacedError(REPLACED))
        self._tries = 0
        self._begin(request)

    def cancel(self, reason: RobodynError) -> None:
        """Forget what is not followed yet."""
        self._job.cancel()
        dropped = self._request, self._next
        self._request = self._next = self._plan = None
        for request in dropped:
            if request is not None:
                request.refused(reason)

    def update(self) -> None:
        """Take over the plan that is ready and due."""
        request = self._request
        if request is None:
            return
        try:
            if not request.wanted():
                raise RobodynError("cancelled")
            if self._plan is None:
                found = self._job.take()
                if isinstance(found, RobodynError):
                    raise found
                if found is None:
                    return
                self._plan, self._spent = found, self.arm.time - self._begun
            if not self.arm.is_due(self._plan):
                return
            exceeded = self.arm.follow(self._plan)
        except (JoinError, OutdatedPlanError) as error:
            self._try_again(request, error)
        except RobodynError as error:
            self._end()
            request.refused(error)
        else:
            self._end()
            request.taken(exceeded)

    def _begin(self, request: Request) -> None:
        most = MAX_LEAD if self._tries else FIRST_LEAD
        lead = min(max(LEAD, LONGER * self._spent), most)
        try:
            planner = self.arm.planner(lead)
        except RobodynError as error:
            request.refused(error)
            return
        self._request, self._plan, self._begun = request, None, self.arm.time
        self._job.begin(lambda: planner.plan(*request.path(planner.start, planner.t)))

    def _try_again(self, request: Request, error: RobodynError) -> None:
        """Plan again, or the next request instead if there is one."""
        if self._next is not None:
            self._end()
            request.refused(ReplacedError(REPLACED))
            return
        self._tries += 1
        self._request = self._plan = None
        if self._tries < MAX_TRIES:
            self._begin(request)
        elif isinstance(error, JoinError):
            request.refused(error)
        else:
            self.follow(request)

    def _end(self) -> None:
        """Go on with the next request, if there is one."""
        self._job.cancel()
        after, self._request, self._plan, self._next = self._next, None, None, None
        self._tries = self._replaced = 0
        if after is not None:
            self._begin(after)
