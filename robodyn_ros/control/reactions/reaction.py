"""Reaction: base of all reactions to contact, and when the arm has come to rest."""

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.motion import Motion
from ...model.packed_model import U
from ..controller import Array, Controller
from ..laws.momentum_damping import MomentumDampingController, Push

REST_SPEED = 0.02  # [rad/s or m/s], upper bound of an arm at rest
REST_TIME = 0.05  # [s] below REST_SPEED until an arm counts as at rest
REST_WINDOW = 0.1  # [s] in which an arm at rest does not travel, however noisy its velocity
# An arm that stays below DRIFT_SPEED [rad/s or m/s] for DRIFT_TIME [s] without coming to rest
# drifts, because its weight is not known exactly: it is held, too
DRIFT_SPEED, DRIFT_TIME = 0.1, 0.5
THROWN_SPEED = 0.2  # [rad/s or m/s]: a held arm that is faster is braked again

# Rows of a rest detector, n numbers each: travel in this window, and its extremes
TRAVEL, LOWEST, HIGHEST = (U(k) for k in range(3))


@kernel("float64(matrix, vector, float64)")
def _excursion(own, qd, dt):
    """Integrate the travel over dt; return the largest excursion of a joint."""
    largest = 0.0
    for j in range(U(own.shape[1])):
        own[TRAVEL, j] += dt * qd[j]
        own[LOWEST, j] = min(own[LOWEST, j], own[TRAVEL, j])
        own[HIGHEST, j] = max(own[HIGHEST, j], own[TRAVEL, j])
        largest = max(largest, own[HIGHEST, j] - own[LOWEST, j])
    return largest


@kernel("float64(vector)")
def largest_speed(qd):
    """Return the largest speed of a joint."""
    largest = 0.0
    for j in range(qd.size):
        largest = max(largest, abs(qd[j]))
    return largest


class RestDetector:
    """Detects when n joints have come to rest: slower than REST_SPEED for REST_TIME.

    If velocities are noisier than that, as differences of positions are: the integral of the
    velocity did not leave a small range during REST_WINDOW.
    """

    def __init__(self, n: int) -> None:
        self._own = np.zeros((3, n))
        self.reset()

    def reset(self) -> None:
        """Assume that the arm moves."""
        self.speed = 0.0  # [rad/s or m/s], the largest of the last sample
        self._slow = 0.0  # [s]
        self._stayed = False  # no travel in the last window
        self._begin_window()

    def continue_from(self, other: "RestDetector") -> None:
        """Take over what another one knows."""
        self._slow, self._stayed = other._slow, other._stayed

    @property
    def at_rest(self) -> bool:
        """Whether the arm is at rest."""
        return self._slow >= REST_TIME or self._stayed

    def update(self, qd: Array, dt: float) -> bool:
        """Take the velocity (n,), measured dt [s] after the last; return whether at rest."""
        self.speed = largest_speed(qd)
        self._slow = self._slow + dt if self.speed < REST_SPEED else 0.0
        self._window += dt
        if _excursion(self._own, qd, dt) > REST_SPEED * REST_TIME:
            self._stayed = False
            self._begin_window()
        elif self._window >= REST_WINDOW:
            self._stayed = True
            self._begin_window()
        return self.at_rest

    def _begin_window(self) -> None:
        self._own[:] = 0.0
        self._window = 0.0  # [s]


class Reaction:
    """A way to give in to contact: `begin`, then `torque` for every sample.

    The arm yields; where it comes to rest, the tracking law holds it. If it is thrown from there,
    it is braked again. law: the tracking law, whose limiter is shared. gain: K_r. damping: k
    [1/s]. reference: the posture that is held; while the arm yields, the measured one.
    """

    holds = True  # the posture in which the arm comes to rest
    uses_residual = False  # the torque depends on r

    reference: Motion

    def __init__(self, law: Controller, gain: npt.ArrayLike, damping: float) -> None:
        self.law = law
        self.yielding = MomentumDampingController.sharing_limits(law, gain, damping)
        self.rest = RestDetector(law.model.n)

    @property
    def at_rest(self) -> bool:
        """Whether the arm has come to rest."""
        return self.rest.at_rest

    def begin(self, state: Any) -> None:
        """Start from this state."""
        self.rest.reset()
        self.reference = Motion.at_rest(state.q)
        self._holding, self._drifts = False, 0.0  # [s] below DRIFT_SPEED

    def continue_from(self, other: "Reaction") -> None:
        """Take over the progress of a reaction of the same kind, after `begin`."""
        if type(other) is type(self):
            self.rest.continue_from(other.rest)
            self.reference, self._holding = other.reference, other._holding
            self._drifts = other._drifts

    def torque(self, state: Any, r: Array | None, dt: float) -> Array:
        """Return the torque (n,) [N m or N]; r: the residual (n,) during contact, else None."""
        at_rest = self.rest.update(state.qd, dt)
        push = self.push(state, r, dt)
        slow = push is None and self.rest.speed < DRIFT_SPEED
        self._drifts = self._drifts + dt if slow else 0.0
        if push is not None:
            self._holding = False
        elif self._holding and self.rest.speed > THROWN_SPEED:
            self.rest.reset()
            self._holding = False
        elif (at_rest or self._drifts > DRIFT_TIME) and self.holds and not self._holding:
            self.law.take_over(self.law.tau)
            self._holding = True
        if self._holding:
            return self.law.torque(state, self.reference, dt)
        self.reference = Motion.at_rest(state.q)
        drives = self.law.at_drives(state, dt)
        return self.yielding.torque(drives, push or self.yielding.no_push, dt)

    def push(self, state: Any, r: Array | None, dt: float) -> Push | None:
        """Return what the arm follows during contact, None if it only brakes; by a subclass."""
        return None
