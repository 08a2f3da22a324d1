"""Other residuals, for comparison: energy, inverse dynamics, velocity.

All are first-order filters, at rate `gain`, of an estimate from two samples:

    energy             power = dE/dt - qd . tau                 one number, blind at rest
    inverse dynamics   torque = NE(q, qd, qdd) - tau            needs qdd: differences, noisy
    velocity           torque = d/dt M (qd - qd_ref)            needs no torque at all

The last is for drives that take velocity commands and report no torque. It sees the onset of a
contact and forgets a steady one.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import checked
from ..dynamics.energy import kinetic_energy, potential_energy
from ..dynamics.friction import friction_torque
from ..dynamics.mass_matrix import mass_matrix
from ..dynamics.newton_euler import inverse_dynamics
from ..errors import ArgumentError
from ..model.robot import RobotModel
from .observer import gains_of

Array = npt.NDArray[np.float64]


class FilteredObserver(ABC):
    """Base: keeps the previous sample and low-passes the estimate from both."""

    def __init__(self, model: RobotModel, gain: npt.ArrayLike, friction: bool = False) -> None:
        self.model, self.gain, self.friction = model, gains_of(model, gain), friction
        self.reset()

    def reset(self) -> None:
        """Set r to 0; the next sample only starts the observer."""
        self.r = np.zeros(self.model.n)
        self._before: tuple[Array, ...] | None = None

    def update(self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, dt: float) -> Array:
        """Return the residual (n,) after a sample; tau was applied during the dt [s] before it."""
        if not 0.0 < dt * float(self.gain.max()) <= 1.0:
            raise ArgumentError(f"K dt must be above 0 and at most 1, got dt = {dt!r} s")
        now = tuple(checked(self.model, q=q, qd=qd, tau=tau))
        if self._before is not None:
            mean = self._outside(self._before, now, dt)
            self.r = self.r - np.expm1(-self.gain * dt) * (mean - self.r)
        self._before = now
        return self.r.copy()

    @abstractmethod
    def _outside(self, before: tuple[Array, ...], now: tuple[Array, ...], dt: float) -> Array:
        """Return the estimate (n,) from two samples (q, qd, tau)."""


class EnergyObserver(FilteredObserver):
    """External power [W], the same number for every joint."""

    def _outside(self, before: tuple[Array, ...], now: tuple[Array, ...], dt: float) -> Array:
        energy = [
            kinetic_energy(self.model, q, qd) + potential_energy(self.model, q)
            for q, qd, _ in (before, now)
        ]
        velocity = 0.5 * (before[1] + now[1])
        drive = now[2]
        if self.friction:
            drive = drive - friction_torque(self.model, velocity)
        return np.full(self.model.n, (energy[1] - energy[0]) / dt - float(velocity @ drive))


class InverseDynamicsObserver(FilteredObserver):
    """External torque [N m or N] with accelerations from differences of velocity."""

    def _outside(self, before: tuple[Array, ...], now: tuple[Array, ...], dt: float) -> Array:
        q, qd = 0.5 * (before[0] + now[0]), 0.5 * (before[1] + now[1])
        qdd = (now[1] - before[1]) / dt
        needed = inverse_dynamics(self.model, q, qd, qdd, friction=self.friction)
        return np.asarray(needed - now[2])


class VelocityObserver(FilteredObserver):
    """External torque [N m or N] from velocities alone; tau is the reference velocity."""

    def _outside(self, before: tuple[Array, ...], now: tuple[Array, ...], dt: float) -> Array:
        M = mass_matrix(self.model, 0.5 * (before[0] + now[0]))
        return np.asarray(M @ ((now[1] - now[2]) - (before[1] - before[2])) / dt)


OBSERVERS = {
    "energy": EnergyObserver,
    "inverse_dynamics": InverseDynamicsObserver,
    "velocity": VelocityObserver,
}


def residual_by(
    kind: str,
    model: RobotModel,
    t: npt.ArrayLike,
    q: npt.ArrayLike,
    qd: npt.ArrayLike,
    tau: npt.ArrayLike,
    gain: npt.ArrayLike,
    friction: bool = False,
) -> Array:
    """Return another residual (T, n) over a log; for 'velocity', tau is the reference qd."""
    if kind not in OBSERVERS:
        raise ArgumentError(
            f"kind must be momentum or one of {', '.join(OBSERVERS)}, got {kind!r}"
        )
    observer: FilteredObserver = OBSERVERS[kind](model, gain, friction)  # type: ignore[abstract]
    q, qd, tau = checked(model, q=q, qd=qd, tau=tau)
    times = np.asarray(t, dtype=np.float64)
    r = np.zeros(q.shape)
    for k in range(len(q)):
        dt = times[k] - times[k - 1] if k else math.ulp(1.0)
        r[k] = observer.update(q[k], qd[k], tau[k], float(dt))
    return r
