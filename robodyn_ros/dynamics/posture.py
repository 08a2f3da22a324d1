"""Postures worth knowing."""

from __future__ import annotations

import numpy as np

from ..model.robot import RobotModel
from .dispatch import Array
from .kinematics import forward_kinematics, jacobian
from .newton_euler import gravity_torque

TRIES, STEPS, ROUNDS = 500, 33, 8
MIDDLE = 0.7  # share of a joint's range in which a posture to begin with is looked for
FAR = 2.0  # [rad or m] from 0 that such a posture goes at most


def stretched_out(model: RobotModel) -> Array:
    """The posture, within the limits, in which gravity weighs most on the joints.

    Found by search, the same at every call: the best of random postures, then joint by joint in
    ever smaller neighbourhoods.
    """
    low, high = _range(model)
    best = _heaviest(model, np.random.default_rng(0).uniform(low, high, (TRIES, model.n)))
    for turn in range(ROUNDS):
        reach = (high - low) * 0.5**turn
        for k in range(model.n):
            tries = np.tile(best, (STEPS, 1))
            steps = np.linspace(-reach[k], reach[k], STEPS)  # the middle one stays where it is
            tries[:, k] = np.clip(best[k] + steps, low[k], high[k])
            best = _heaviest(model, tries)
    return best


def ready(model: RobotModel) -> Array:
    """A bent posture to begin with: the hand is up, far from the limits and free to move.

    Of random postures, the same ones at every call, the third with the highest hands; of these
    the one with the largest volume of the hand's Jacobian, the product of its singular values.
    """
    low, high = _range(model)
    middle, half = (low + high) / 2, MIDDLE * (high - low) / 2
    low, high = np.maximum(middle - half, -FAR), np.minimum(middle + half, FAR)
    low, high = np.minimum(low, high), np.maximum(low, high)  # a range that begins beyond FAR
    tries = np.random.default_rng(0).uniform(low, high, (TRIES, model.n)).round(2)
    hand = model.link_names[-1]
    height = -forward_kinematics(model, tries, hand)[:, :3, 3] @ model.gravity
    upper = tries[np.argsort(-height, kind="stable")[: TRIES // 3]]
    volume = np.linalg.svd(jacobian(model, upper, hand), compute_uv=False).prod(axis=-1)
    return upper[int(np.argmax(volume))]


def _range(model: RobotModel) -> tuple[Array, Array]:
    """The joints' limits; a turn where there are none."""
    low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
    high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
    return low, high


def _heaviest(model: RobotModel, postures: Array) -> Array:
    return postures[int(np.argmax((gravity_torque(model, postures) ** 2).sum(axis=1)))]
