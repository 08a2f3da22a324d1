"""Joint sensors of a simulated arm: resolution, noise, differentiated velocity, delay."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from ..errors import ArgumentError, one_of
from ..model.rigid_body import Array

VELOCITIES = ("exact", "noisy", "difference")


@dataclass(frozen=True)
class SensorModel:
    """Errors of the measured joint positions, velocities and torques."""

    position_resolution: float = 0.0  # [rad or m], 0: exact
    velocity: str = "exact"  # or 'noisy', or 'difference' of the measured positions
    velocity_noise: float = 0.0  # [rad/s or m/s], standard deviation
    torque_noise: float = 0.0  # standard deviation as a share of the effort limit
    delay: int = 0  # [samples]

    def __post_init__(self) -> None:
        for name in ("position_resolution", "velocity_noise", "torque_noise", "delay"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ArgumentError(f"{name} must be finite and not negative, got {value!r}")
        one_of("velocity", self.velocity, VELOCITIES)


# The LWR's own sensors: 0.01 degrees, torque noise of 0.03 % of the limit after filtering.
LWR_SENSORS = SensorModel(
    position_resolution=np.radians(0.01), velocity="noisy", velocity_noise=1e-3, torque_noise=3e-4
)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Readings of the joint sensors at one instant, (n,) each."""

    t: float  # [s]
    q: Array  # [rad or m]
    qd: Array  # [rad/s or m/s]
    tau: Array  # [N m or N], applied during the step that ends at t


class Sensors:
    """Sensors of one robot; they keep the state that delay and differences need."""

    def __init__(self, model: SensorModel, tau_max: Array, seed: int) -> None:
        self.model = model
        self.torque_noise = model.torque_noise * np.where(np.isfinite(tau_max), tau_max, 0.0)
        self.random = np.random.default_rng(seed)
        self.delayed: deque[Measurement] = deque(maxlen=int(model.delay) + 1)
        self.last: tuple[float, Array] | None = None  # time and measured position

    def measure(self, t: float, q: Array, qd: Array, tau: Array) -> Measurement:
        """Return the measurement of this instant, or with a delay of an earlier one."""
        model = self.model
        if model.position_resolution > 0.0:
            q = np.round(q / model.position_resolution) * model.position_resolution
        if model.velocity == "difference":
            if self.last is not None and t > self.last[0]:
                qd = (q - self.last[1]) / (t - self.last[0])
            self.last = (t, q.copy())
        elif model.velocity == "noisy":
            qd = qd + self.random.normal(0.0, model.velocity_noise, qd.size)
        if model.torque_noise > 0.0:
            tau = tau + self.random.normal(0.0, 1.0, tau.size) * self.torque_noise
        self.delayed.append(Measurement(t, q.copy(), np.array(qd), np.array(tau)))
        return self.delayed[0]
