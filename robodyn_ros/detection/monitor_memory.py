"""Memory of a ContactMonitor: the arrays in which its compiled step keeps all state."""

import math

import numpy as np
import numpy.typing as npt

from ..model.robot import RobotModel
from ..sensing.settings import SensingSettings
from ..sensing.stuck import StuckCheck
from . import contact_mean
from . import monitor_step as at
from .monitor_parts import Parts

Array = npt.NDArray[np.float64]


class MonitorMemory:
    """The monitor's own arrays, and those of its parts, in the order of `monitor_step.MEMORY`.

    commanded: the torque is the commanded one.
    """

    def __init__(self, model: RobotModel, commanded: bool) -> None:
        self.own, self.rows = np.zeros(int(at.SCALARS)), np.zeros((int(at.ROWS), model.n))
        self.own[int(at.COMMANDED)] = commanded
        self.rows[int(at.LOWEST)], self.rows[int(at.HIGHEST)] = model.q_min, model.q_max
        self.contact = np.zeros((int(contact_mean.ROWS), model.n))
        self.stuck = StuckCheck(model.n, math.inf, 1)
        self._before = np.zeros((contact_mean.CAPACITY, model.n + 1))
        self._contact_own = np.zeros(int(contact_mean.SCALARS))
        self.step: tuple[Array, ...] = ()  # as `judge` takes it
        self.touch: tuple[Array, ...] = ()  # as `follow_touch` takes it

    def set_sensing(self, sensing: SensingSettings) -> None:
        """Judge stuck readings by these limits from now on."""
        self.own[int(at.STUCK_SHARE)] = sensing.stuck_torque_share
        self.own[int(at.STUCK_TIME)] = sensing.stuck_torque_time
        self.own[int(at.STUCK_SAMPLES)] = sensing.stuck_samples

    @property
    def speed_noise(self) -> Array:
        """Standard deviation of the measured velocities' noise (n,) [rad/s or m/s]."""
        return np.asarray(np.sqrt(self.rows[int(at.QD_VARIANCE)]))

    def value(self, found: int) -> float:
        """Return what a reason for UNKNOWN is about, as `take_row` writes it."""
        if found == at.SCALED:
            return float(self.own[int(at.EFFORT_FACTOR)])
        return float(self.own[int(at.STUCK_JOINT)]) if found == at.STUCK else 0.0

    def take(self, parts: Parts) -> None:
        """Work with these parts from now on."""
        own, rows, detector = self.own, self.rows, parts.detector
        own[int(at.SETTLING_TIME)] = detector.settling
        own[int(at.LONGEST_STEP)] = parts.observer.longest_step
        for row, values in zip(
            (at.DRY, at.VISCOUS, at.PRESLIDING, at.SPIKE), parts.drag, strict=True
        ):
            rows[int(row)] = values
        own[int(at.DRAG_SPEED)] = parts.settings.drag.speed if parts.drag[:2].any() else 0.0
        own[int(at.NOISE_TEST)] = parts.noise.active
        own[int(at.MOVING)] = detector.contact.moving or detector.collision.moving
        rows[int(at.GAIN)] = parts.observer.gain
        rows[int(at.LIMIT)] = np.where(detector.watched, detector.contact.base, np.inf)
        contact = (self._before, self.contact, self._contact_own)
        self.step = (
            parts.observer.memory,
            parts.gap.own,
            parts.gap.common,
            parts.scale.own,
            parts.scale.common,
            self.stuck.own,
            *parts.noise.memory,
            *contact,
            *detector.memory,
            own,
            rows,
        )
        self.touch = (parts.noise.rows, *contact, own, rows)
