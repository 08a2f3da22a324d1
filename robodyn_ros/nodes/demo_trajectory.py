"""DemoTrajectory: when the demo sends its next trajectory, and where it leads. No ROS here.

The arm visits a few postures in turn. A trajectory is sent when the controller holds the arm: at
the start, when the last one has arrived, and after a safe hold was cleared. After a reaction the
controller resumes the interrupted trajectory by itself.
"""

from __future__ import annotations

from itertools import cycle

import numpy as np
import numpy.typing as npt

from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..trajectory.joint_move import JointMove, joint_move

Array = npt.NDArray[np.float64]

MAX_REACH = 0.6  # [rad or m], largest distance of a built-in posture from the middle one
REACH_SHARE = 0.25  # of the joint's range, likewise
LIMIT_MARGIN = 0.05  # share of its range that a joint keeps away from its limits
POSTURE_SIGNS = ((1, -1, 1, 1, -1, 1, -1), (-1, 1, 1, -1, 1, -1, 1), (0, 0, 0, 0, 0, 0, 0))
SAME_POSTURE = 1e-3  # [rad or m]: no trajectory leads from a posture to itself
DETECTOR_WAIT = 2.0  # [s] for a controller to hear the detector before the arm moves
REJECTED_AFTER = 2.0  # [s] without a change of mode after which a trajectory counts as refused
FOLLOWING = ("TRACKING", "REACTING", "RESUMING")  # modes that do not forget the trajectory


def demo_postures(model: RobotModel, start: Array) -> list[Array]:
    """Return three postures (n,) [rad or m] around `start`, away from the joint limits."""
    low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
    high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
    reach = np.minimum(MAX_REACH, REACH_SHARE * (high - low))
    distance = reach + LIMIT_MARGIN * (high - low)
    middle = np.clip(start, low + distance, high - distance)
    return [middle + np.resize(signs, model.n) * reach for signs in POSTURE_SIGNS]


def split_postures(model: RobotModel, numbers: tuple[float, ...]) -> list[Array]:
    """Return the postures (n,) in a flat list of joint positions; a single 0: none."""
    if numbers == (0.0,):
        return []
    if len(numbers) % model.n or len(numbers) < 2 * model.n:
        raise ArgumentError(
            f"postures must be {model.n} numbers each, for at least two postures; "
            f"got {len(numbers)} numbers"
        )
    return list(np.reshape(np.array(numbers, dtype=np.float64), (-1, model.n)))


class DemoTrajectory:
    """Decides when to send which trajectory; by default between `demo_postures`."""

    def __init__(
        self, model: RobotModel, speed: float = 0.3, postures: list[Array] | None = None
    ) -> None:
        self.model, self.speed = model, speed
        self._ends = cycle(postures) if postures else None
        self._mode = self._reason = ""
        self._detector_heard = False
        self._unheard_since: float | None = None  # [s]
        self._goal: Array | None = None  # end of the last trajectory, unless it was forgotten
        self._q: Array | None = None  # where the controller holds the arm
        self._sent_at: float | None = None  # [s], until the controller's mode changes

    def on_controller(self, mode: str, reason: str, detector_heard: bool) -> None:
        """Take the controller's mode, the reason for it, and whether it has received a verdict."""
        self._detector_heard = detector_heard
        if (mode, reason) == (self._mode, self._reason):
            return
        self._mode, self._reason, self._sent_at = mode, reason, None
        if mode not in FOLLOWING:
            self._q = self._goal if (mode, reason) == ("HOLDING", "arrived") else None
            self._goal = None

    def needs_position(self, t: float) -> bool:
        """Return whether `on_position` has to be called before the next trajectory."""
        return self._mode == "HOLDING" and self._q is None and not self._pending(t)

    def on_position(self, q: Array) -> None:
        """Take the position (n,) [rad or m] at which the controller holds the arm."""
        self._q = q

    def next(self, t: float) -> JointMove | None:
        """Return the trajectory to send at the time t [s], or None."""
        if self._mode != "HOLDING" or self._q is None or self._pending(t):
            return None
        if self._waits_for_detector(t):
            return None
        if self._ends is None:
            self._ends = cycle(demo_postures(self.model, self._q))
        start, end = self._q, next(self._ends)
        if np.abs(end - start).max() < SAME_POSTURE:
            end = next(self._ends)
        self._goal, self._q, self._sent_at = end, None, t
        limit = self.speed * np.where(np.isfinite(self.model.qd_max), self.model.qd_max, 1.0)
        return joint_move(start, end, qd_max=limit, qdd_max=4.0 * limit, model=self.model)

    def _pending(self, t: float) -> bool:
        """Return whether a trajectory was sent that the controller may not have taken yet."""
        return self._sent_at is not None and 0.0 <= t - self._sent_at < REJECTED_AFTER

    def _waits_for_detector(self, t: float) -> bool:
        """A detector may know of an earlier collision, after which the arm must not move."""
        if self._detector_heard:
            self._unheard_since = None
            return False
        if self._unheard_since is None or t < self._unheard_since:
            self._unheard_since = t
        return t - self._unheard_since < DETECTOR_WAIT
