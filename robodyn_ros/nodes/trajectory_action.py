"""TrajectoryAction: control_msgs/action/FollowJointTrajectory, where control_msgs is installed.

One goal at a time; a new one replaces it. A reaction to contact does not end a goal: the arm
resumes. A safe hold, a stop, another trajectory or a tolerance that is exceeded does; the arm is
then braked by the same law. Tolerances of 0 are not given, negative ones are unlimited, as in
ros2_control's joint trajectory controller.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..control.supervisor import Supervisor
from ..control.transitions import Mode
from ..errors import ArgumentError, RobodynError
from .codec import seconds

ACTION = "~/follow_joint_trajectory"
FEEDBACK_PERIOD = 0.05  # [s]
# Codes of the action's result
SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = 0, -1, -2, -3
PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -4, -5
RUNNING = (Mode.TRACKING, Mode.REACTING, Mode.RESUMING)


class InvalidJointsError(ArgumentError):
    """The trajectory does not name the joints of the arm."""


class OldTrajectoryError(ArgumentError):
    """The trajectory has ended already, by its stamp."""


CODES: dict[type[RobodynError], int] = {
    InvalidJointsError: INVALID_JOINTS,
    OldTrajectoryError: OLD_HEADER_TIMESTAMP,
}


def action_type() -> Any:
    """Return the type of the action, or None if control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory  # type: ignore[import-not-found]
    except ImportError:
        return None
    return FollowJointTrajectory


Tolerance = tuple[np.ndarray, np.ndarray]  # of position and velocity, (n,) each
Taken = Callable[[], None]
Refused = Callable[[RobodynError], None]


class TrajectoryAction:
    """The action server of one arm.

    follow: takes a JointTrajectory, and three functions: called when it is followed, called with
    the reason why it is refused, and one that returns whether it is still wanted.
    """

    def __init__(
        self,
        node: Node,
        kind: Any,
        arm: Supervisor,
        follow: Callable[[JointTrajectory, Taken, Refused, Callable[[], bool]], None],
        server: Any = ActionServer,
    ) -> None:
        self.node, self.kind, self.arm, self._follow = node, kind, arm, follow
        self._goal: Any = None  # the goal that is followed
        self._ended: Future | None = None  # its error code and text
        self._latest: float | None = None  # [s], when it must be reached
        self._feedback_time = 0.0  # [s], time of the last feedback
        self.server = server(
            node,
            kind,
            ACTION,
            execute_callback=self._execute,
            goal_callback=lambda _: GoalResponse.ACCEPT,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def update(self) -> None:
        """Look after a sample whether the goal is reached, failed or cancelled."""
        goal, arm = self._goal, self.arm
        if goal is None:
            return
        if abs(arm.time - self._feedback_time) >= FEEDBACK_PERIOD:
            self._feedback_time = arm.time
            self.publish_feedback(arm.time)
        late = self._latest is not None and arm.time > self._latest
        if goal.is_cancel_requested:
            self._stop(INVALID_GOAL, "cancelled")
        elif arm.mode is Mode.HOLDING and arm.reason == "arrived":
            if not (away := self._beyond(self._at_goal)):
                self._end(SUCCESSFUL, "arrived")
            elif late:
                self._end(GOAL_TOLERANCE_VIOLATED, f"at the goal, {away}")
        elif arm.mode not in RUNNING:
            self._end(PATH_TOLERANCE_VIOLATED, f"{arm.mode.value}: {arm.reason}")
        elif arm.mode is Mode.TRACKING and (away := self._beyond(self._on_path)):
            self._stop(PATH_TOLERANCE_VIOLATED, f"on the path, {away}")
        elif late:
            text = f"not there in time, {arm.delay:.3g} s behind the trajectory"
            self._stop(GOAL_TOLERANCE_VIOLATED, text)

    def _stop(self, code: int, text: str) -> None:
        """End the goal; brake the arm if it follows it."""
        if self.arm.mode is Mode.TRACKING:
            self.arm.hold()
        self._end(code, text)

    def _beyond(self, tolerance: Tolerance) -> str:
        """Return which joint is beyond its tolerance, by how much; empty if none is."""
        parts = (
            ("position", self.arm.error, tolerance[0]),
            ("velocity", self.arm.velocity_error, tolerance[1]),
        )
        for what, error, limit in parts:
            joint = int(np.argmax(np.abs(error) - limit))
            if abs(error[joint]) > limit[joint]:
                name = self.arm.model.joint_names[joint]
                return (
                    f"the {what} error of joint '{name}' is {error[joint]:.4g}; "
                    f"{limit[joint]:.4g} is allowed"
                )
        return ""

    def replace(self) -> None:
        """End the goal: another trajectory was accepted."""
        self._end(INVALID_GOAL, "replaced by another trajectory")

    def publish_feedback(self, t: float) -> None:
        """Publish reference, state and error of the goal that is followed."""
        if self._goal is None:
            return
        reference, error, rate = self.arm.reference, self.arm.error, self.arm.velocity_error
        feedback = self.kind.Feedback()
        feedback.joint_names = list(self.arm.model.joint_names)
        feedback.header.stamp.sec, feedback.header.stamp.nanosec = int(t), int(t % 1.0 * 1e9)
        since = Duration(sec=int(t - self._begun), nanosec=int((t - self._begun) % 1.0 * 1e9))
        feedback.desired = _point(reference.q, reference.qd, since)
        feedback.desired.accelerations = [float(x) for x in reference.qdd]
        feedback.actual = _point(reference.q - error, reference.qd - rate, since)
        feedback.error = _point(error, rate, since)
        self._goal.publish_feedback(feedback)

    async def _execute(self, goal: Any) -> Any:
        result, request, ended = self.kind.Result(), goal.request, Future()

        def refuse(error: RobodynError) -> None:
            ended.set_result((CODES.get(type(error), INVALID_GOAL), str(error)))

        try:
            names = self.arm.model.joint_names
            if sorted(request.trajectory.joint_names) != sorted(names):
                raise InvalidJointsError(
                    f"the trajectory must name all joints and no others: {', '.join(names)}"
                )
            on_path, at_goal = (
                _tolerance(names, given)
                for given in (request.path_tolerance, request.goal_tolerance)
            )
        except RobodynError as error:
            refuse(error)
        else:
            follows = partial(self._begin, goal, ended, on_path, at_goal)
            self._follow(request.trajectory, follows, refuse, lambda: not goal.is_cancel_requested)
        code, text = await ended
        if code == SUCCESSFUL:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        result.error_code, result.error_string = code, text
        return result

    def _begin(self, goal: Any, ended: Future, on_path: Tolerance, at_goal: Tolerance) -> None:
        """Look after a goal whose trajectory is followed from now on."""
        self.replace()
        request, self._goal, self._ended = goal.request, goal, ended
        self._on_path, self._at_goal, self._begun = on_path, at_goal, self.arm.time
        more = seconds(request.goal_time_tolerance)
        begun = seconds(request.trajectory.header.stamp) or self._begun
        end = begun + seconds(request.trajectory.points[-1].time_from_start)
        self._latest = end + more if more > 0.0 else None

    def _end(self, code: int, text: str) -> None:
        ended, self._goal, self._ended = self._ended, None, None
        if ended is not None:
            ended.set_result((code, text))


def _tolerance(names: Sequence[str], given: Any) -> Tolerance:
    """Return what a list of JointTolerance allows; inf where it says nothing."""
    position, velocity = np.full((2, len(names)), np.inf)
    for tolerance in given:
        if tolerance.name not in names:
            raise InvalidJointsError(f"a tolerance names '{tolerance.name}', not a joint")
        joint = list(names).index(tolerance.name)
        position[joint] = tolerance.position if tolerance.position > 0.0 else np.inf
        velocity[joint] = tolerance.velocity if tolerance.velocity > 0.0 else np.inf
    return position, velocity


def _point(q: Any, qd: Any, since: Duration) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(time_from_start=since)
    point.positions, point.velocities = [float(x) for x in q], [float(x) for x in qd]
    return point
