"""Postures worth knowing."""

from __future__ import annotations

import numpy as np

from ..model.robot import RobotModel
from .call import Array
from .newton_euler import gravity_torque

TRIES, STEPS, ROUNDS = 500, 33, 8


def stretched_out(model: RobotModel) -> Array:
    """The posture, within the limits, in which gravity weighs most on the joints.

    Found by search, the same at every call: the best of random postures, then joint by joint in
    ever smaller neighbourhoods.
    """
    low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
    high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
    best = _heaviest(model, np.random.default_rng(0).uniform(low, high, (TRIES, model.n)))
    for turn in range(ROUNDS):
        reach = (high - low) * 0.5**turn
        for k in range(model.n):
            tries = np.tile(best, (STEPS, 1))
            steps = np.linspace(-reach[k], reach[k], STEPS)  # the middle one stays where it is
            tries[:, k] = np.clip(best[k] + steps, low[k], high[k])
            best = _heaviest(model, tries)
    return best


def _heaviest(model: RobotModel, postures: Array) -> Array:
    return postures[int(np.argmax((gravity_torque(model, postures) ** 2).sum(axis=1)))]
