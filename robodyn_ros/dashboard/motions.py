"""What the page can let the arm do, as points of a trajectory."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from ..trajectory.joint_move import joint_move

Array = npt.NDArray[np.float64]
Point = tuple[float, Array, Array, Array]  # time [s], q, qd, qdd

SPEED = 0.3  # share of the joints' speeds
BRAKING = 0.5  # [s]
STEPS = 20  # of a move


def move(model: RobotModel, start: Array, end: Array) -> list[Point]:
    """From rest to rest."""
    limit = SPEED * np.where(np.isfinite(model.qd_max), model.qd_max, 1.0)
    way = joint_move(start, end, qd_max=limit, qdd_max=4.0 * limit, model=model)
    points = []
    for t in np.linspace(0.0, way.duration, STEPS + 1)[1:]:
        q, qd, qdd, _ = way.at(float(t))
        points.append((float(t), np.asarray(q), np.asarray(qd), np.asarray(qdd)))
    return points


def halt(q: Array, qd: Array) -> list[Point]:
    """From this motion to rest, as far on as an even braking takes."""
    still = np.zeros(q.size)
    return [(BRAKING, q + 0.5 * BRAKING * qd, still, still)]
