"""The built-in demo motion: round and round through a few postures near the start."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from ..model.robot import RobotModel
from ..trajectory.joint_move import JointMove, joint_move

REACH = 0.6  # [rad or m] that a joint moves to either side, at most
SHARE = 0.25  # and at most so much of its range
MARGIN = 0.05  # share of its range that a joint stays away from its ends
PATTERN = ((1, -1, 1, 1, -1, 1, -1), (-1, 1, 1, -1, 1, -1, 1), (0, 0, 0, 0, 0, 0, 0))


class Rounds:
    """Moves from posture to posture, for any arm."""

    def __init__(self, model: RobotModel, start: np.ndarray, speed: float) -> None:
        self.model = model
        low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
        high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
        reach = np.minimum(REACH, SHARE * (high - low))
        away = reach + MARGIN * (high - low)
        middle = np.clip(start, low + away, high - away)  # wherever the arm was found
        signs = (np.resize(row, model.n) for row in PATTERN)
        self._ends = cycle([middle + row * reach for row in signs])
        limit = np.where(np.isfinite(model.qd_max), model.qd_max, 1.0)
        self._speed = speed * limit

    def next(self, start: np.ndarray) -> JointMove:
        """The move from here to the next posture."""
        return joint_move(
            start,
            next(self._ends),
            qd_max=self._speed,
            qdd_max=4.0 * self._speed,
            model=self.model,
        )
