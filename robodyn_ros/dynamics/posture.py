"""Search for postures: where a quantity is largest, and where to start a motion."""

from collections.abc import Callable

import numpy as np

from ..model.robot import RobotModel
from .dispatch import Array
from .kinematics import forward_kinematics, jacobian
from .newton_euler import gravity_torque

RANDOM_POSTURES = 500
LINE_SEARCH_STEPS = 33  # per joint; odd, so that one of them is the posture found so far
HALVINGS = 8  # of the range of the line search
START_RANGE = 0.7  # share of a joint's range, about its middle, for a start posture
START_LIMIT = 2.0  # [rad or m], largest joint position of a start posture


def maximum_over_postures(
    model: RobotModel, objective: Callable[[Array], Array]
) -> tuple[Array, float]:
    """Return the posture (n,) within the joint limits that maximizes `objective`, and its value.

    `objective` maps postures (T, n) to values (T,). The search is deterministic: the best of
    random postures, then joint by joint over ranges that halve in each round.
    """
    low, high = _search_range(model)
    tries = np.random.default_rng(0).uniform(low, high, (RANDOM_POSTURES, model.n))
    best, value = _best(tries, objective)
    for halving in range(HALVINGS):
        reach = (high - low) * 0.5**halving
        for k in range(model.n):
            tries = np.tile(best, (LINE_SEARCH_STEPS, 1))
            steps = np.linspace(-reach[k], reach[k], LINE_SEARCH_STEPS)
            tries[:, k] = np.clip(best[k] + steps, low[k], high[k])
            best, value = _best(tries, objective)
    return best, value


def heaviest_posture(model: RobotModel) -> Array:
    """Return the posture (n,) [rad or m] within the limits with the largest gravity torque."""
    return maximum_over_postures(model, lambda q: (gravity_torque(model, q) ** 2).sum(axis=1))[0]


def start_posture(model: RobotModel) -> Array:
    """Return a bent posture (n,) [rad or m] with a raised hand, far from limits and singularities.

    Of random postures, the same at every call, take the third with the highest hands; of these,
    the one with the largest volume of the hand's Jacobian, the product of its singular values.
    """
    low, high = _search_range(model)
    middle, half = (low + high) / 2, START_RANGE * (high - low) / 2
    low, high = np.maximum(middle - half, -START_LIMIT), np.minimum(middle + half, START_LIMIT)
    low, high = np.minimum(low, high), np.maximum(low, high)  # a range beyond START_LIMIT
    tries = np.random.default_rng(0).uniform(low, high, (RANDOM_POSTURES, model.n)).round(2)
    hand = model.link_names[-1]
    height = -forward_kinematics(model, tries, hand)[:, :3, 3] @ model.gravity
    upper = tries[np.argsort(-height, kind="stable")[: RANDOM_POSTURES // 3]]
    volume = np.linalg.svd(jacobian(model, upper, hand), compute_uv=False).prod(axis=-1)
    return upper[int(np.argmax(volume))]


def _search_range(model: RobotModel) -> tuple[Array, Array]:
    """Return the joint limits; -pi and pi where there are none."""
    low = np.where(np.isfinite(model.q_min), model.q_min, -np.pi)
    high = np.where(np.isfinite(model.q_max), model.q_max, np.pi)
    return low, high


def _best(tries: Array, objective: Callable[[Array], Array]) -> tuple[Array, float]:
    values = objective(tries)
    i = int(np.argmax(values))
    return tries[i], float(values[i])
