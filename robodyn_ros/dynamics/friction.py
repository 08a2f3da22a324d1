"""Joint friction: Coulomb, viscous and Stribeck, [Khalil2019] (7.26), sharp or smooth."""

import math

import numpy as np

from ..errors import ArgumentError
from ..model import packed_model as at
from ..model.packed_model import U, pack_friction
from ..model.robot import RobotModel
from .compile import U2, U3, index, inline, kernel, samples
from .dispatch import Array, ArrayLike, bind_to, checked, evaluate, finite


@inline
def friction_law(viscous, coulomb, stiction, stribeck, v, sign):
    """Return the friction torque at speed v; `sign` is that of v, sharp or smoothed."""
    dry = coulomb
    if stiction != coulomb:
        dry += (stiction - coulomb) * math.exp(-abs(v) * stribeck)
    return viscous * v + sign * dry


@inline
def sharp_sign(v):
    """Return -1, 0 or 1, the sign of v."""
    return math.copysign(1.0, v) if v != 0.0 else 0.0


@kernel("int64(vector, vector, vector)")
def _friction(block, qd, tau):
    n, width = index(block[at.FRICTION_JOINTS]), block[at.FRICTION_WIDTH]
    T = samples(n, U(qd.size))
    if T == 0 or tau.size != qd.size:
        return 1
    bad = 0.0
    for t in range(T):
        for k in range(n):
            v = qd[t * n + k]
            sign = math.tanh(v / width) if width > 0.0 else sharp_sign(v)
            f = at.FRICTION_HEADER + k
            tau[t * n + k] = friction_law(
                block[f], block[f + n], block[f + U2 * n], block[f + U3 * n], v, sign
            )
            bad += 0.0 * v + 0.0 * tau[t * n + k]
    return 0 if bad == 0.0 else 1


def friction_torque(model: RobotModel, qd: ArrayLike, *, width: float = 0.0) -> Array:
    """Return the friction torque (n,) or (T, n) [N m or N], which opposes the motion:

        F_v qd + sign(qd) (F_c + (F_st - F_c) exp(-|qd| B))

    `width` [rad/s or m/s] replaces sign(qd) by tanh(qd / width), which a simulation can integrate;
    0 keeps the step, with no friction at rest.
    """
    shapes = [(model.n,)]
    if width == 0.0:
        try:
            tau = model.bound["friction_torque"](qd)
        except KeyError:
            packed = pack_friction(model)
            tau = bind_to(model, "friction_torque", _friction, 1, shapes, packed)(qd)
        if tau is not None:
            return tau
    elif not (isinstance(width, (int, float)) and 0.0 < width < math.inf):
        raise ArgumentError(f"width must be finite and not negative, got {width!r}")
    return evaluate(_friction, model, {"qd": qd}, shapes, pack_friction(model, width))[0]


def friction_rate(model: RobotModel, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Return the rate of `friction_torque` (n,) or (T, n) [N m/s or N/s], without its steps."""
    qd, qdd = checked(model, qd=qd, qdd=qdd)
    decay = model.stribeck * np.exp(-np.abs(qd) * model.stribeck)
    slope = model.viscous - (model.stiction - model.coulomb) * decay * np.abs(np.sign(qd))
    return finite(model, slope * qdd, qd=qd, qdd=qdd)
