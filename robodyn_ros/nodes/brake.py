"""Brake: holds the simulated arm of simulator_node while no commands arrive."""

from __future__ import annotations

import numpy as np

from ..control.laws.passivity import PassivityController
from ..control.limits import TorqueLimits
from ..control.reactions import Stop
from ..model.robot import RobotModel
from ..simulation.plant import PlantState

FREQUENCY = 10.0  # [rad/s], natural frequency of the law that holds the arm
BRAKE_RATE = 1000.0  # [N m/s or N/s], fastest change of the torque


class Brake:
    """Brakes an arm without commands as fast as the torque may change, and holds it."""

    def __init__(self, model: RobotModel) -> None:
        limits = TorqueLimits(model.tau_max, BRAKE_RATE)
        self._law = PassivityController.with_frequency(model, FREQUENCY, limits=limits)
        self._stop = Stop(self._law)
        self._on = False

    def hold(self, state: PlantState, tau: np.ndarray | None, dt: float) -> np.ndarray:
        """Return the torque (n,) to apply. tau: the last applied torque; None: none yet."""
        if not self._on:
            self._on = True
            self._law.reset(tau)
            self._stop.begin(state)
        return self._stop.torque(state, None, dt)

    def release(self) -> None:
        """End the braking."""
        self._on = False
