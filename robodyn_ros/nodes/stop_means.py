"""The means by which guard_node stops the arm: topics and services of other nodes.

`send` asks and returns why that was impossible, or ''. `done` is called with the answer: a text
for people, and whether it was accepted.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Duration
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory

from ..detection.guard.settings import MeansSettings
from ..errors import ArgumentError
from ..trajectory.trajectory_msg import TrajectoryPoint
from .codec import trajectory_message
from .runtime import LATCHED, STATE_OUT

Done = Callable[[str, bool], None]
Positions = Callable[[Sequence[str]], list[float] | str]
# Judges a response: a text for people, and whether the request was accepted
Judge = Callable[[Any], tuple[str, bool]]

STRICT = 2  # of SwitchController.Request: all controllers are switched, or none
RUNNING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING)
REJECTIONS = {
    CancelGoal.Response.ERROR_REJECTED: "rejected",
    CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID: "unknown goal",
}
NO_SWITCH = (
    "kind switch needs controller_manager_msgs, which cannot be imported: install "
    "ros-<distribution>-controller-manager-msgs, or take another kind"
)


class Means(Protocol):
    """A means to stop the arm."""

    answers: bool  # whether requests are answered

    def send(self, done: Done) -> str:
        """Ask; return why that was impossible, or ''."""

    def forget(self) -> None:
        """Await no answer any more."""


class TopicMeans:
    """A message on a topic, which is not answered. make: returns it, or why there is none."""

    answers = False

    def __init__(self, node: Node, kind: Any, topic: str, make: Callable[[], Any]) -> None:
        self._publisher = node.create_publisher(kind, topic, STATE_OUT)
        self._make = make

    def send(self, done: Done) -> str:
        """Publish the message; without subscribers that is a failure."""
        message = self._make()
        if isinstance(message, str):
            return message
        self._publisher.publish(message)  # before it is counted: that takes time
        count = self._publisher.get_subscription_count()
        if not count:
            return f"no subscriber on {self._publisher.topic_name}"
        done(f"sent to {count} subscriber{'s' if count > 1 else ''}", True)
        return ""

    def forget(self) -> None:
        """Do nothing: there is no answer."""


class ServiceMeans:
    """A request to a service. judge: returns what a response means."""

    answers = True

    def __init__(self, node: Node, kind: Any, name: str, request: Any, judge: Judge) -> None:
        self._client = node.create_client(kind, name)
        self._request, self._judge = request, judge
        self._pending: Any = None

    def send(self, done: Done) -> str:
        """Call the service."""
        self.forget()
        if not self._client.service_is_ready():
            return f"no service {self._client.srv_name}"
        future = self._pending = self._client.call_async(self._request)

        def answer(_: Any) -> None:
            if future is self._pending:
                self._pending = None
                done(*self._judge(future.result()))

        future.add_done_callback(answer)
        return ""

    def forget(self) -> None:
        """Await no answer any more."""
        if self._pending is not None:
            self._client.remove_pending_request(self._pending)
            self._pending = None


class CancelMeans(ServiceMeans):
    """A request to cancel all goals of an action; it needs no action type.

    Servers differ in what they answer if a goal rejects the request, so that the goals' own status
    is looked at as well.
    """

    def __init__(self, node: Node, action: str) -> None:
        # An empty goal and stamp 0: all goals
        name = f"{action}/_action/cancel_goal"
        super().__init__(node, CancelGoal, name, CancelGoal.Request(), self._answered)
        self._running: set[bytes] = set()
        status = f"{action}/_action/status"
        node.create_subscription(GoalStatusArray, status, self._on_status, LATCHED)

    def _on_status(self, message: GoalStatusArray) -> None:
        self._running = {
            bytes(one.goal_info.goal_id.uuid)
            for one in message.status_list
            if one.status in RUNNING
        }

    def _answered(self, response: CancelGoal.Response) -> tuple[str, bool]:
        if response.return_code in REJECTIONS:
            return REJECTIONS[response.return_code], False
        canceling = {bytes(one.goal_id.uuid) for one in response.goals_canceling}
        left = len(self._running - canceling)
        if left:
            return f"rejected by {left} goal{'s' if left > 1 else ''}", False
        return f"{len(canceling)} goals are cancelled" if canceling else "no goal", True


def make_means(
    node: Node, row: MeansSettings, joints: Sequence[str], positions: Positions
) -> Means:
    """Return the means that a row of the parameters names.

    joints: of the arm. positions: returns the present positions of joints, or why there are none.
    """
    place, held = row.place, list(row.joints or joints)
    if unknown := [name for name in held if name not in joints]:
        raise ArgumentError(f"no joint {', '.join(unknown)}; the arm has {', '.join(joints)}")
    if row.kind == "event":
        event = String(data=row.data)
        return TopicMeans(node, String, place, lambda: event)
    if row.kind == "cancel":
        return CancelMeans(node, place)
    if row.kind == "trigger":
        return ServiceMeans(node, Trigger, place, Trigger.Request(), _success)
    if row.kind == "set_bool":
        return ServiceMeans(node, SetBool, place, SetBool.Request(data=row.value), _success)
    if row.kind == "switch":
        return _switch(node, row)
    if row.kind == "zero_velocity":
        zeros = Float64MultiArray(data=[0.0] * len(held))
        return TopicMeans(node, Float64MultiArray, place, lambda: zeros)

    def trajectory() -> JointTrajectory | str:
        q = positions(held)
        if isinstance(q, str):
            return q
        rest = [0.0] * len(held)
        return trajectory_message(held, [TrajectoryPoint(q, rest, time_from_start=row.time)])

    return TopicMeans(node, JointTrajectory, place, trajectory)


def _success(response: Any) -> tuple[str, bool]:
    detail = f": {response.message}" if response.message else ""
    return ("accepted" if response.success else "refused") + detail, bool(response.success)


def _switch(node: Node, row: MeansSettings) -> Means:
    try:
        kind = importlib.import_module("controller_manager_msgs.srv").SwitchController
    except ImportError as error:
        raise ArgumentError(NO_SWITCH) from error
    request = kind.Request()
    request.activate_controllers = list(row.activate)
    request.deactivate_controllers = list(row.deactivate)
    request.strictness = STRICT
    request.activate_asap = True
    sec, nanosec = divmod(round(1e9 * row.timeout), 1_000_000_000)
    request.timeout = Duration(sec=sec, nanosec=nanosec)

    def judge(response: Any) -> tuple[str, bool]:
        return ("switched", True) if response.ok else ("refused", False)

    return ServiceMeans(node, kind, row.place, request, judge)


class LastPositions:
    """Positions of the joints as last received."""

    def __init__(self, wall: Callable[[], float], oldest: float) -> None:
        self._wall, self._oldest = wall, oldest  # second: [s]
        self._seen: dict[str, tuple[float, float]] = {}  # joint: position, wall time

    def on_joint_state(self, message: JointState) -> None:
        """Take a joint state."""
        wall = self._wall()
        for name, position in zip(message.name, message.position, strict=False):
            self._seen[name] = (position, wall)

    def of(self, joints: Sequence[str]) -> list[float] | str:
        """Return the positions of joints, or why they are not known."""
        missing = [name for name in joints if name not in self._seen]
        if missing:
            return f"no position of {', '.join(missing)} on joint_states"
        age = self._wall() - min(self._seen[name][1] for name in joints)
        if age > self._oldest:
            return f"positions are {age:.2g} s old"
        return [self._seen[name][0] for name in joints]
