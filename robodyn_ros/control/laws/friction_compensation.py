"""What joint friction takes, added to any law: predicted from the model, or observed.

FrictionFeedForward adds the model's friction at the velocity the joint is to have.

FrictionObserver needs no model of friction, but sensors of joint torque, which sit between the
drive and the link, as in the LWR. The drive alone then obeys

    B thetadd = tau - tau_J - tau_f

with B the rotor's inertia, tau the motor's torque, tau_J the measured one and tau_f the friction.
Its momentum B thetad changes by what acts on it, so that, as for a `MomentumObserver`,

    mean = tau - tau_J - B (thetad_k - thetad_k-1) / dt
    tau_f += (1 - exp(-L dt)) (mean - tau_f)

follows the friction at the rate L. What touches the arm does not show in it: that acts behind the
sensor, so friction is made up for while collisions stay visible.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dynamics.compile import kernel
from ...dynamics.friction import _friction
from ...errors import ArgumentError
from ...model.packed_model import U, pack_friction
from ...model.robot import RobotModel
from ..controller import Array, gains_of, joint_array, part

VELOCITIES = ("reference", "measured")
WIDTH = 0.02  # [rad/s or m/s]

# Rows of the observer's own array, n numbers each
GAIN, ROTOR, ESTIMATE, VELOCITY, BEGUN = (U(k) for k in range(5))


class FrictionFeedForward:
    """A `Compensation`: F_v qd + tanh(qd / width) (F_c + …) of the model, at the velocity of the
    reference, or as measured, which laws need that follow no joint motion.

    The measured one pushes the arm on along any motion: friction that is overrated then feeds it.
    width [rad/s or m/s]: of the smooth step in place of the sign.
    """

    def __init__(
        self, model: RobotModel, *, velocity: str = "reference", width: float = WIDTH
    ) -> None:
        if velocity not in VELOCITIES:
            raise ArgumentError(
                f"velocity must be one of {', '.join(VELOCITIES)}, got {velocity!r}"
            )
        if not 0.0 < width < math.inf:
            raise ArgumentError(f"width must be positive and finite, got {width!r}")
        self.model, self.velocity, self.width = model, velocity, float(width)
        self._block = pack_friction(model, width)
        self._tau = np.zeros(model.n)

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Add the friction torque to `wanted`."""
        owner, name = (
            (reference, "reference") if self.velocity == "reference" else (state, "state")
        )
        try:
            failed = _friction(self._block, owner.qd, self._tau)
        except (TypeError, AttributeError):
            failed = 1
        if failed:
            qd = joint_array(self.model, f"{name}.qd", part(owner, name, "qd"))
            _friction(self._block, qd, self._tau)
        np.add(wanted, self._tau, out=wanted)

    def reset(self) -> None:
        """There is nothing to forget."""


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64, float64[::1])")
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
    """A `Compensation`: the friction of the drives as observed at the rate `gain` [1/s].

    state.tau must be the joint torques measured behind the drives, and not the motors' own.
    state.motor_qd are the motors' velocities, reflected to the joints; without them state.qd will
    do, but only if the joints are stiff. Every joint needs a rotor inertia.
    """

    def __init__(self, model: RobotModel, gain: npt.ArrayLike) -> None:
        self.model = model
        self.gain = gains_of(model, "gain", gain)
        self._own = np.zeros((5, model.n))
        self._own[int(GAIN)] = self.gain
        self._own[int(ROTOR)] = gains_of(model, "rotor_inertia", model.rotor_inertia)

    @property
    def estimate(self) -> Array:
        """(n,): the friction torque [N m or N] as it stands; a copy."""
        return self._own[int(ESTIMATE)].copy()

    def add(self, state: Any, reference: Any, given: Array, wanted: Array, dt: float) -> None:
        """Take in a sample and add what friction takes to `wanted`."""
        name = "qd" if getattr(state, "motor_qd", None) is None else "motor_qd"
        thetad, tau = part(state, "state", name), part(state, "state", "tau")
        try:
            failed = _observe_friction(self._own, thetad, tau, given, dt, wanted)
        except TypeError:
            failed = 1
        if failed:
            thetad, tau = (
                joint_array(self.model, name, thetad),
                joint_array(self.model, "tau", tau),
            )
            _observe_friction(self._own, thetad, tau, given, dt, wanted)

    def reset(self) -> None:
        """Forget the friction and the last sample."""
        self._own[int(ESTIMATE) :] = 0.0
