"""Joint friction: Coulomb, viscous and Stribeck, [Khalil2019] (7.26), sharp or smooth."""

from __future__ import annotations

import math

import numpy as np

from ..model.block import U
from ..model.robot import RobotModel
from .call import Array, ArrayLike, evaluate, explain
from .vector import U2, U3, kernel, samples


@kernel("int64(float64[::1], float64[::1], float64, float64[::1])")
def _friction(block, qd, width, tau):
    n = U(block.size) // U(4)
    T = samples(n, U(qd.size))
    if T == 0 or tau.size != qd.size:
        return 1
    bad = 0.0
    for t in range(T):
        for k in range(n):
            v = qd[t * n + k]
            viscous, coulomb = block[k], block[n + k]
            stiction, fading = block[U2 * n + k], block[U3 * n + k]
            if width > 0.0:
                sign = math.tanh(v / width)
            elif v == 0.0:
                sign = 0.0
            else:
                sign = math.copysign(1.0, v)
            dry = coulomb
            if stiction != coulomb:
                dry += (stiction - coulomb) * math.exp(-abs(v) * fading)
            tau[t * n + k] = viscous * v + sign * dry
            bad += 0.0 * v + 0.0 * tau[t * n + k]
    return 0 if bad == 0.0 else 1


def friction_torque(model: RobotModel, qd: ArrayLike, *, width: float = 0.0) -> Array:
    """Torque [N m or N] that friction takes from each joint:
    F_v qd + sign(qd) (F_c + (F_st - F_c) exp(-|qd| B)).

    `width` [rad/s or m/s] replaces sign(qd) by tanh(qd / width), which a simulation can step
    through; 0 keeps the step, with no friction at rest.
    """
    tau = np.empty(model.n)
    try:
        failed = _friction(model.friction_block, qd, width, tau)
    except TypeError:
        block, shapes = model.friction_block, [(model.n,)]
        constants = (float(width),)
        return evaluate(_friction, model, block, {"qd": qd}, shapes, constants)[0]
    if failed:
        explain(model, qd=qd)
    return tau


def friction_rate(model: RobotModel, qd: ArrayLike, qdd: ArrayLike) -> Array:
    """Time derivative of `friction_torque` [N m/s or N/s] away from reversals."""
    qd, qdd = np.asarray(qd, dtype=np.float64), np.asarray(qdd, dtype=np.float64)
    fading = (
        (model.stiction - model.coulomb) * model.stribeck * np.exp(-np.abs(qd) * model.stribeck)
    )
    return (model.viscous - fading * np.abs(np.sign(qd))) * qdd
