"""Joint torques of wrenches that act on links from outside, [Khalil2019] 7.3.6."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .dispatch import Array, ArrayLike, checked, finite
from .kinematics import jacobian


def external_torque(model: RobotModel, q: ArrayLike, wrenches: Mapping[str, ArrayLike]) -> Array:
    """Sum of J^T W [N m or N] over the links: what the wrenches do to the joints.

    A wrench (force [N], torque [N m]) acts on its link at the link's origin, in the base's axes;
    (6,), or (T, 6) beside a batch of states.
    """
    (q,) = checked(model, q=q)
    total = np.zeros(q.shape)
    for link, wrench in wrenches.items():
        try:
            W = np.asarray(wrench, dtype=np.float64)
        except (TypeError, ValueError):
            W = np.empty(0)
        fits = W.shape == (6,) or (q.ndim == 2 and W.shape == (len(q), 6))
        if not fits or not np.isfinite(W).all():
            raise ArgumentError(
                f"the wrench on '{link}' must be 6 finite numbers (force, torque), for all states "
                f"or for each, got {wrench!r}"
            )
        total = total + np.einsum("...ij,...i->...j", jacobian(model, q, link), W)
    return finite(model, total, q=q)
