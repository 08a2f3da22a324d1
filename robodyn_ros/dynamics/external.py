"""Joint torques of wrenches that act on links from outside, [Khalil2019] 7.3.6."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import ArgumentError
from ..model.robot import RobotModel
from .call import Array, ArrayLike, checked
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
        if W.shape[-1:] != (6,) or W.ndim > 2 or not np.isfinite(W).all():
            raise ArgumentError(
                f"the wrench on '{link}' must be 6 finite numbers (force, torque), got {wrench!r}"
            )
        total = total + np.einsum("...ij,...i->...j", jacobian(model, q, link), W)
    return total
