"""Other residuals, to compare the momentum's with: energy, inverse dynamics, velocity.

All are first-order filters, at rate `gain`, of what a step tells about the outside:

    energy             power = dE/dt - qd . tau                 one number, blind at rest
    inverse dynamics   torque = NE(q, qd, qdd) - tau            needs qdd: differences, noisy
    velocity           torque = d/dt M (qd - qd_ref)            needs no torque at all

The last is for drives that take velocities and tell no torque: what changes the momentum other
than the reference does. It sees the onset of a contact and forgets a steady one.
"""

from __future__ import annotations

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
    """Keeps the sample before, and filters what the two tell."""

    def __init__(self, model: RobotModel, gain: npt.ArrayLike, friction: bool = False) -> None:
        self.model, self.gain, self.friction = model, gains_of(model, gain), friction
        self.reset()

    def reset(self) -> None:
        """Forget everything: the next sample starts anew from r = 0."""
        self.r = np.zeros(self.model.n)
        self._before: tuple[Array, ...] | None = None

    def update(self, q: npt.ArrayLike, qd: npt.ArrayLike, tau: npt.ArrayLike, dt: float) -> Array:
        """Take in a sample; tau is what was applied during the dt [s] that ends with it."""
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
        """What the step between two samples (q, qd, tau) tells of the outside."""


class EnergyObserver(FilteredObserver):
    """Power [W] that flows in from outside, the same number for every joint."""

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
    """Outside torque [N m or N] with the acceleration from differences of the velocity."""

    def _outside(self, before: tuple[Array, ...], now: tuple[Array, ...], dt: float) -> Array:
        q, qd = 0.5 * (before[0] + now[0]), 0.5 * (before[1] + now[1])
        qdd = (now[1] - before[1]) / dt
        needed = inverse_dynamics(self.model, q, qd, qdd, friction=self.friction)
        return np.asarray(needed - now[2])


class VelocityObserver(FilteredObserver):
    """Outside torque [N m or N] from velocities alone; give the reference velocity for tau."""

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
    """(T, n): one of the other residuals over a log; for 'velocity', tau is the reference qd."""
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
