"""TrackingGuard: reasons for which an arm must not go on tracking its reference."""

from typing import Any

import numpy as np

from ..dynamics.compile import kernel
from ..errors import RobodynError
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..sensing.settings import SensingSettings
from ..sensing.stuck import StuckCheck
from .arm_settings import ArmSettings
from .controller import Array, JointState, joint_array


@kernel("int64(vector, vector, vector, vector, float64, vector, vector)")
def _deviation(q, qd, q_ref, qd_ref, dt, travel, squares):
    """Fill the travel of the reference (n,) and the squared norms of both tracking errors (2,)."""
    n = U(travel.size)
    if q.size != n or qd.size != n or q_ref.size != n or qd_ref.size != n:
        return 1
    squares[0] = squares[1] = 0.0
    for k in range(n):
        travel[k] = dt * abs(qd_ref[k])
        squares[0] += (q_ref[k] - q[k]) ** 2
        squares[1] += (qd_ref[k] - qd[k]) ** 2
    return 0


class TrackingGuard:
    """Checks of one arm in motion, raising RobodynError; stuck: readings that do not follow."""

    def __init__(self, model: RobotModel, sensing: SensingSettings) -> None:
        self.model = model
        self.stuck = StuckCheck(model.n, sensing.stuck_time, sensing.stuck_samples)
        self._max_travel = np.full(model.n, sensing.stuck_reference_travel)  # [rad or m]
        self._travel, self._squares = np.zeros(model.n), np.zeros(2)
        self._stop_qd = np.zeros(model.n)  # of joints with the same reading since a reaction began
        self._swing = 0.0  # [s]

    def configure(self, sensing: SensingSettings) -> None:
        """Use new limits for stuck readings."""
        self.stuck.min_time, self.stuck.min_samples = sensing.stuck_time, sensing.stuck_samples
        self._max_travel[:] = sensing.stuck_reference_travel

    def reset_swing(self) -> None:
        """Forget for how long the arm has been swinging."""
        self._swing = 0.0

    def check(self, state: JointState, motion: Any, dt: float, error_max: float) -> None:
        """Reject stuck readings and a tracking error above error_max [rad or m]."""
        try:
            failed = _deviation(*state[:2], *motion[:2], dt, self._travel, self._squares)
        except TypeError:
            failed = 1
        if failed:  # of another layout, or of another robot
            q, qd = (joint_array(self.model, "the reference", x) for x in motion[:2])
            _deviation(*state[:2], q, qd, dt, self._travel, self._squares)
        self._check_stuck(state.q, dt)
        if self._squares[0] > error_max**2:
            error = motion.q - state.q
            joint = int(np.argmax(np.abs(error)))
            if abs(error[joint]) > error_max:
                name = self.model.joint_names[joint]
                raise RobodynError(f"tracking error of joint '{name}' is {error[joint]:+.3g}")

    def check_swing(
        self, state: JointState, motion: Any, dt: float, excess: Array, settings: ArmSettings
    ) -> None:
        """Reject a velocity error above error_max/s for `swing_time` at the torque limits."""
        fast = self._squares[1] > settings.error_max**2 and excess.any()  # squares: by `check`
        self._swing = self._swing + dt if fast else 0.0
        if self._swing > settings.swing_time:
            error = motion.qd - state.qd
            joint = int(np.argmax(np.abs(error)))
            name = self.model.joint_names[joint]
            raise RobodynError(f"velocity error of joint '{name}' is {error[joint]:+.3g}")

    def begin_stop(self, qd_ref: Array) -> None:
        """Note the velocity (n,) of the reference at which a reaction began."""
        self._stop_qd = qd_ref.copy()

    def check_stop(self, q: Array, dt: float) -> None:
        """Reject an arm that seems to have stopped at once: its reading got stuck in motion."""
        self._stop_qd[self.stuck.changed(q)] = 0.0
        if self._stop_qd.any():
            np.multiply(np.abs(self._stop_qd), dt, out=self._travel)
            self._check_stuck(q, dt)

    def _check_stuck(self, q: Array, dt: float) -> None:
        joint = self.stuck.update(q, self._travel, self._max_travel, dt)
        if joint >= 0:
            raise RobodynError(
                f"joint '{self.model.joint_names[joint]}' has read the same for "
                f"{self.stuck.seconds(joint):.3g} s while its reference moved"
            )
