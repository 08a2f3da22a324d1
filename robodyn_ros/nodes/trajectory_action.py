"""TrajectoryAction: control_msgs/action/FollowJointTrajectory, where control_msgs is installed.

One goal at a time; a new one replaces it. A reaction to contact does not end a goal: the arm
resumes. A safe hold, a stop or another trajectory does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Duration
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ..control.supervisor import Supervisor
from ..control.transitions import Mode
from ..errors import RobodynError

ACTION = "~/follow_joint_trajectory"
SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED = 0, -1, -4  # of the action's result
RUNNING = (Mode.TRACKING, Mode.REACTING, Mode.RESUMING)


def action_type() -> Any:
    """Return the type of the action, or None if control_msgs is not installed."""
    try:
        from control_msgs.action import FollowJointTrajectory  # type: ignore[import-not-found]
    except ImportError:
        return None
    return FollowJointTrajectory


class TrajectoryAction:
    """The action server of one arm. follow: takes a JointTrajectory, or raises RobodynError."""

    def __init__(
        self,
        node: Node,
        kind: Any,
        arm: Supervisor,
        follow: Callable[[JointTrajectory], None],
        server: Any = ActionServer,
    ) -> None:
        self.node, self.kind, self.arm, self._follow = node, kind, arm, follow
        self._goal: Any = None  # the goal that is followed
        self._ended: Future | None = None  # its error code and text
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
        goal = self._goal
        if goal is None:
            return
        if goal.is_cancel_requested:
            if self.arm.mode is Mode.TRACKING:
                self.arm.hold()
            self._end(INVALID_GOAL, "cancelled")
        elif self.arm.mode is Mode.HOLDING and self.arm.reason == "arrived":
            self._end(SUCCESSFUL, "arrived")
        elif self.arm.mode not in RUNNING:
            self._end(PATH_TOLERANCE_VIOLATED, f"{self.arm.mode.value}: {self.arm.reason}")

    def replace(self) -> None:
        """End the goal: another trajectory was accepted."""
        self._end(INVALID_GOAL, "replaced by another trajectory")

    def publish_feedback(self, t: float) -> None:
        """Publish reference, state and error of the goal that is followed."""
        if self._goal is None:
            return
        reference, error = self.arm.reference, self.arm.error
        feedback = self.kind.Feedback()
        feedback.joint_names = list(self.arm.model.joint_names)
        feedback.header.stamp.sec, feedback.header.stamp.nanosec = int(t), int(t % 1.0 * 1e9)
        since = Duration(sec=int(t - self._begun), nanosec=int((t - self._begun) % 1.0 * 1e9))
        feedback.desired = _point(reference.q, reference.qd, since)
        feedback.actual = _point(reference.q - error, (), since)
        feedback.error = _point(error, (), since)
        self._goal.publish_feedback(feedback)

    async def _execute(self, goal: Any) -> Any:
        result = self.kind.Result()
        try:
            self._follow(goal.request.trajectory)
        except RobodynError as error:
            goal.abort()
            result.error_code, result.error_string = INVALID_GOAL, str(error)
            return result
        self.replace()
        self._goal, self._ended = goal, Future()
        self._begun = self.arm.time
        code, text = await self._ended
        if code == SUCCESSFUL:
            goal.succeed()
        elif goal.is_cancel_requested:
            goal.canceled()
        else:
            goal.abort()
        result.error_code, result.error_string = code, text
        return result

    def _end(self, code: int, text: str) -> None:
        ended, self._goal, self._ended = self._ended, None, None
        if ended is not None:
            ended.set_result((code, text))


def _point(q: Any, qd: Any, since: Duration) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(time_from_start=since)
    point.positions, point.velocities = [float(x) for x in q], [float(x) for x in qd]
    return point
