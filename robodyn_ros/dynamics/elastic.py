"""Inverse dynamics of arms with elastic joints: the motion of the motors, and their torque.

    tau_J = M(q) qdd + c(q, qd) + g(q) + friction of the links          [Khalil2019] (7.35a)
    tau_J = K (theta - q) + D (thetad - qd)
    tau   = Ia thetadd + friction of the motors(thetad) + tau_J         (7.35b)

theta are the motor positions, reflected to the joints. Without damping the deflection is tau_J / K
and two derivatives of tau_J, by `force_jerk`, give the acceleration of the motors. With damping
it follows tau_J with the lag e = D / K, 1 ms for 10 N m s/rad on 1e4 N m/rad:

    K (theta - q) = tau_J - e tau_J' + e^2 tau_J'' - ...

Here the series ends so that the second equation holds exactly. Left out are e^3 tau_J''' / K of
the deflection, but e tau_J''' / K of its second derivative: so Ia e tau_J''' / K of the torque.
"""

from typing import Any, NamedTuple

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .compile import inline
from .dispatch import Array, ArrayLike, per_joint
from .force_jerk import force_jerk
from .friction import friction_torque

# Friction parameters of a model that links have none of
DRIVE_FRICTION = ("stribeck", "friction_offset", "friction_load", "presliding")


class MotorMotion(NamedTuple):
    """Motion of the motors, reflected to the joints, and its torques; (n,) or (T, n) each."""

    q: Array  # theta [rad or m]
    qd: Array  # [1/s]
    qdd: Array  # [1/s^2]
    tau: Array  # [N m or N], of the motors
    tau_joint: Array  # [N m or N], on the links: what the joints transmit


@inline
def deflection(tau, tau_dot, tau_ddot, K, D):
    """Return the deflection of a joint that transmits tau, and its two derivatives."""
    e = D / K
    rate, bend = (tau_dot - e * tau_ddot) / K, tau_ddot / K
    return (tau - D * rate) / K, rate, bend


def checked_springs(
    model: RobotModel, stiffness: ArrayLike | None = None, damping: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Return stiffness and damping (n,) of elastic joints, by default the model's.

    Every joint must have a rotor.
    """
    if stiffness is None and np.isinf(model.joint_stiffness).any():
        stiff = model.joint_names[int(np.argmax(np.isinf(model.joint_stiffness)))]
        raise ArgumentError(
            f"joint '{stiff}' of '{model.name}' is rigid: give a stiffness, or set it with "
            "model.replace(joint_stiffness=...)"
        )
    K = per_joint(model, "stiffness", model.joint_stiffness if stiffness is None else stiffness)
    D = per_joint(model, "damping", model.joint_damping if damping is None else damping)
    if (D < 0.0).any():
        raise ArgumentError(f"damping must not be negative, got {damping!r}")
    for joint, k, rotor in zip(model.joint_names, K, model.rotor_inertia, strict=True):
        if not k > 0.0:
            raise ArgumentError(f"stiffness of joint '{joint}' must be positive, got {k!r}")
        if rotor == 0.0:
            raise ArgumentError(
                f"joint '{joint}' has no rotor inertia, which an elastic joint needs: set it "
                "with model.replace(rotor_inertia=...)"
            )
    return K, D


def links_of(
    model: RobotModel, viscous: ArrayLike = 0.0, coulomb: ArrayLike = 0.0, width: float = 0.0
) -> RobotModel:
    """Return the links alone, without rotors, with this friction on their side of the joints."""
    friction = {
        "viscous": per_joint(model, "link_viscous", viscous),
        "coulomb": per_joint(model, "link_coulomb", coulomb),
    }
    for name, value in friction.items():
        if (value < 0.0).any():
            raise ArgumentError(f"link_{name} must not be negative, got {value!r}")
    changes: dict[str, Any] = {**dict.fromkeys(DRIVE_FRICTION, 0.0), **friction}
    changes["stiction"] = friction["coulomb"]
    return model.replace(rotor_inertia=0.0, friction_speed=np.inf, friction_width=width, **changes)


def elastic_inverse_dynamics(
    model: RobotModel,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    qddd: ArrayLike,
    qdddd: ArrayLike,
    *,
    stiffness: ArrayLike | None = None,
    damping: ArrayLike | None = None,
    gravity: bool = True,
    friction: bool = False,
    link_viscous: ArrayLike = 0.0,
    link_coulomb: ArrayLike = 0.0,
) -> MotorMotion:
    """Return positions and torques of the motors for a motion of the links, (n,) or (T, n).

    stiffness K [N m/rad or N/m], damping D [N m s/rad or N s/m]: by default the model's
    `joint_stiffness` and `joint_damping`. link_viscous, link_coulomb: friction of the links. One
    number or one per joint each. friction: include that of the model, which acts on the motors.
    """
    K, D = checked_springs(model, stiffness, damping)
    links = links_of(model, link_viscous, link_coulomb)
    rates = force_jerk(links, q, qd, qdd, qddd, qdddd, gravity=gravity, friction=True)
    bent = deflection.py_func(*rates, K, D)
    motor = (np.asarray(x) + d for x, d in zip((q, qd, qdd), bent, strict=True))
    theta, thetad, thetadd = motor
    tau = model.rotor_inertia * thetadd + rates[0]
    if friction:
        tau = tau + friction_torque(model, thetad, load=tau)
    return MotorMotion(theta, thetad, thetadd, tau, rates[0])
