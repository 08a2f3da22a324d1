"""TrackingGuard: reasons for which an arm must not go on tracking its reference."""

from __future__ import annotations

import numpy as np

from ..errors import RobodynError
from ..model.robot import RobotModel
from ..sensing.settings import SensingSettings
from ..sensing.stuck import StuckCheck
from .arm_settings import ArmSettings
from .controller import Array, JointState


class TrackingGuard:
    """Checks of one arm in motion; each raises a RobodynError that names the joint.

    stuck: readings that stay the same while the reference travels.
    """

    def __init__(self, model: RobotModel, sensing: SensingSettings) -> None:
        self.model = model
        self.stuck = StuckCheck(model.n, sensing.stuck_time, sensing.stuck_samples)
        self._travel = np.full(model.n, sensing.stuck_reference_travel)  # [rad or m]
        self._stop_qd = np.zeros(model.n)  # of joints with the same reading since a reaction began
        self._swing = 0.0  # [s]

    def configure(self, sensing: SensingSettings) -> None:
        """Use new limits for stuck readings."""
        self.stuck.min_time, self.stuck.min_samples = sensing.stuck_time, sensing.stuck_samples
        self._travel[:] = sensing.stuck_reference_travel

    def reset_swing(self) -> None:
        """Forget for how long the arm has been swinging."""
        self._swing = 0.0

    def check_error(self, e: Array, error_max: float) -> None:
        """Reject a tracking error e (n,) of more than error_max [rad or m] in a joint."""
        if e @ e <= error_max**2:
            return
        joint = int(np.argmax(np.abs(e)))
        if abs(e[joint]) > error_max:
            name = self.model.joint_names[joint]
            raise RobodynError(f"tracking error of joint '{name}' is {e[joint]:+.3g}")

    def check_swing(self, ed: Array, excess: Array, settings: ArmSettings, dt: float) -> None:
        """Reject an arm whose velocity error ed (n,) stays beyond error_max a second for
        `swing_time` while the limits cut an `excess` (n,) off the torque: a stiff law would swing
        it up.
        """
        fast = ed @ ed > settings.error_max**2 and excess.any()
        self._swing = self._swing + dt if fast else 0.0
        if self._swing > settings.swing_time:
            joint = int(np.argmax(np.abs(ed)))
            name = self.model.joint_names[joint]
            raise RobodynError(f"velocity error of joint '{name}' is {ed[joint]:+.3g}")

    def check_stuck(self, state: JointState, qd_ref: Array, dt: float) -> None:
        """Reject a reading that stays the same while its reference travels."""
        joint = self.stuck.update(state.q, np.abs(qd_ref) * dt, self._travel, dt)
        if joint >= 0:
            raise RobodynError(
                f"joint '{self.model.joint_names[joint]}' has read the same for "
                f"{self.stuck.seconds(joint):.3g} s while its reference moved"
            )

    def begin_stop(self, qd_ref: Array) -> None:
        """Note the velocity (n,) of the reference at which a reaction began."""
        self._stop_qd = qd_ref.copy()

    def check_stop(self, state: JointState, dt: float) -> None:
        """Reject an arm that seems to have stopped at once: its reading got stuck in motion."""
        self._stop_qd[self.stuck.changed(state.q)] = 0.0
        if self._stop_qd.any():
            self.check_stuck(state, self._stop_qd, dt)
