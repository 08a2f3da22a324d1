"""Friction compensation for any law: predicted from the model, or observed.

FrictionObserver needs torque sensors between drive and link. The drive alone then obeys

    B thetadd = tau - tau_J - tau_f

with the rotor inertia B, the motor torque tau, the measured torque tau_J and the friction tau_f.
As for a `MomentumObserver`, with the momentum B thetad,

    mean = tau - tau_J - B (thetad_k - thetad_k-1) / dt
    tau_f += (1 - exp(-L dt)) (mean - tau_f)

converges to the friction at the rate L. Contact acts behind the sensor and stays visible.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.friction import WIDTH, SlidingFriction
from ...errors import ArgumentError, one_of
from ...model.packed_model import U
from ...model.robot import RobotModel
from ..controller import Array, gains_of, joint_array, part

VELOCITIES = ("reference", "measured")

# Rows of the observer's own array, n numbers each
GAIN, ROTOR, ESTIMATE, VELOCITY, BEGUN = (U(k) for k in range(5))


class FrictionFeedForward:
    """A `Compensation` by the model's friction under the torque of the law: `SlidingFriction`.

    velocity: 'reference', or 'measured' for laws that follow no joint motion; then friction that
    is overestimated accelerates the arm. width [rad/s or m/s]: of the smooth step that replaces
    the sign, for joints without a `friction_width`.
    """

    def __init__(
        self, model: RobotModel, *, velocity: str = "reference", width: float = WIDTH
    ) -> None:
        self.model, self.width = model, width
        self.velocity = one_of("velocity", velocity, VELOCITIES)
        self._friction = SlidingFriction(model, width)

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Add the friction torque to `wanted`."""
        name = "reference" if self.velocity == "reference" else "state"
        owner = reference if self.velocity == "reference" else state
        try:
            losses = self._friction.of_load(owner.qd, wanted, dt)
        except (ArgumentError, AttributeError):
            qd = joint_array(self.model, f"{name}.qd", part(owner, name, "qd"))
            losses = self._friction.of_load(qd, wanted, dt)
        np.add(wanted, losses, out=wanted)

    def reset(self) -> None:
        """Reset the presliding state."""
        self._friction.reset()


@kernel("int64(matrix, vector, vector, vector, float64, vector)")
def _observe_friction(own, thetad, tau_joint, given, dt, wanted):
    n = U(wanted.size)
    if thetad.size != n or tau_joint.size != n or given.size != n:
        return 1
    bad = 0.0
    for k in range(n):
        bad += 0.0 * thetad[k] + 0.0 * tau_joint[k]
    if bad != 0.0:
        return 1
    for k in range(n):
        if own[BEGUN, k] != 0.0:
            change = own[ROTOR, k] * (thetad[k] - own[VELOCITY, k]) / dt
            mean = given[k] - tau_joint[k] - change
            own[ESTIMATE, k] -= math.expm1(-own[GAIN, k] * dt) * (mean - own[ESTIMATE, k])
        own[VELOCITY, k], own[BEGUN, k] = thetad[k], 1.0
        wanted[k] += own[ESTIMATE, k]
    return 0


class FrictionObserver:
    """A `Compensation` by the friction of the drives, observed at the rate `gain` [1/s].

    state.tau: joint torques measured behind the drives, not motor torques. state.motor_qd: motor
    velocities, reflected to the joints; for stiff joints state.qd is enough. Every joint needs a
    rotor inertia.
    """

    def __init__(self, model: RobotModel, gain: npt.ArrayLike) -> None:
        self.model = model
        self.gain = gains_of(model, "gain", gain)
        self._own = np.zeros((5, model.n))
        self._own[int(GAIN)] = self.gain
        self._own[int(ROTOR)] = gains_of(model, "rotor_inertia", model.rotor_inertia)

    @property
    def estimate(self) -> Array:
        """Estimated friction torque (n,) [N m or N]; a copy."""
        return self._own[int(ESTIMATE)].copy()

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Update the estimate from a sample and add it to `wanted`."""
        name = "qd" if getattr(state, "motor_qd", None) is None else "motor_qd"
        thetad, tau = part(state, "state", name), part(state, "state", "tau")
        try:
            failed = _observe_friction(self._own, thetad, tau, given, dt, wanted)
        except TypeError:
            failed = 1
        if failed:
            checked = joint_array(self.model, name, thetad), joint_array(self.model, "tau", tau)
            _observe_friction(self._own, *checked, given, dt, wanted)

    def reset(self) -> None:
        """Forget the estimate and the last sample."""
        self._own[int(ESTIMATE) :] = 0.0
