"""Joint trajectories to pose targets, and the pose in a message."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..control.law_settings import TaskSettings
from ..dynamics.inverse_kinematics import inverse_kinematics
from ..dynamics.kinematics import forward_kinematics
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..trajectory.piecewise import PiecewisePolynomial
from ..trajectory.task_following import follow
from ..trajectory.task_space import line

Array = Any
QUATERNION_TOLERANCE = 1e-2  # of its norm


def plan_pose(
    model: RobotModel, task: TaskSettings, q: Array, target: Array
) -> PiecewisePolynomial:
    """Return the motion from q (n,) that takes the hand straight to a pose (4, 4)."""
    link = task.link or model.link_names[-1]
    start = forward_kinematics(model, q, link)
    start[:3, 3] += start[:3, :3] @ np.asarray(task.point)
    if not task.orientation:
        target = np.block([[start[:3, :3], target[:3, 3:]], [np.zeros((1, 3)), np.ones((1, 1))]])
    hand: dict[str, Any] = {"link": link, "point": task.point, "orientation": task.orientation}
    inverse_kinematics(model, target, q, **hand)  # a target out of reach is refused at once
    limits = {name: getattr(task, name) for name in ("v_max", "a_max", "w_max", "alpha_max")}
    move = line(start, target, **limits)
    return follow(model, move, q, **hand)


def base_name(model: RobotModel) -> str:
    """Return the name of the base link."""
    return next((link for link, frame in model.frames.items() if frame.body < 0), "base_link")


def pose_of_message(message: Any, base: str) -> Array:
    """Return the pose (4, 4) of a geometry_msgs/PoseStamped in the base frame."""
    frame = message.header.frame_id.lstrip("/")
    if frame not in ("", base):
        raise ArgumentError(f"a pose target must be in the frame '{base}', not in '{frame}'")
    p, o = message.pose.position, message.pose.orientation
    numbers = np.array([p.x, p.y, p.z, o.w, o.x, o.y, o.z])
    norm = float(np.linalg.norm(numbers[3:]))
    if not np.isfinite(numbers).all() or abs(norm - 1.0) > QUATERNION_TOLERANCE:
        raise ArgumentError(
            f"a pose target must be finite with a quaternion of length 1, got position "
            f"{numbers[:3]}, quaternion (w, x, y, z) {numbers[3:]}"
        )
    w, x, y, z = numbers[3:] / norm
    T = np.eye(4)
    T[:3, :3] = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    T[:3, 3] = numbers[:3]
    return T
