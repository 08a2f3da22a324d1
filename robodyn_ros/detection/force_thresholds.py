"""Thresholds in terms of force: a push of so many newton at a link, as thresholds of the joints.

    threshold_k(q) = max(threshold of joint k, F |J_k(q)|)

with J_k (3,) the column of joint k in the Jacobian of the pushed point. A push f there loads the
joint by |J_k . f|: with |f| below F by no more than F |J_k|. So the threshold rises and falls with
the lever of the push as the arm moves, and the joint's own threshold stays the floor, below which
model error and noise are.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.kinematics import _jacobian, jacobian
from ..model.packed_model import U, aligned_copy, pack_frame
from ..model.robot import RobotModel
from .detector import FORCE_BLOCK, LEVER
from .monitor_settings import ForceSettings

Array = npt.NDArray[np.float64]


@kernel("int64(matrix, vector, vector)", on_request=True)
def follow_posture(own, common, q):
    """Write the lever |J_k| [m or 1] of each joint at the pushed point, for `follow`.

    own, common: a detector's memory; return 1, and leave them, if the posture is not finite.
    """
    n = U(own.shape[1])
    begin = U(common.size) - U(6) * n
    J = common[begin:]
    if _jacobian(common[FORCE_BLOCK:begin], q, J) != 0:
        return 1
    for k in range(n):
        own[LEVER, k] = math.sqrt(J[k] ** 2 + J[n + k] ** 2 + J[n + n + k] ** 2)
    return 0


def raised(limit: Array, model: RobotModel, force: ForceSettings, q: Array) -> Array:
    """Return contact thresholds (n,) of joints, raised for a push of that force, in a posture."""
    if force.contact <= 0.0:
        return limit
    J = jacobian(model, q, force.link or model.link_names[-1], force.point)[:3]
    return np.asarray(np.maximum(limit, force.contact * np.linalg.norm(J, axis=0)))


def force_memory(model: RobotModel, settings: ForceSettings) -> Array:
    """Return what a detector keeps of these thresholds: the forces [N] of contact and collision,
    and, if they are not both 0, the model with the pushed point and room for its Jacobian.
    """
    forces = np.array([settings.contact, settings.collision])
    if not forces.any():
        return forces
    _ = follow_posture.compiled
    frame = pack_frame(model, settings.link or model.link_names[-1])
    packed = aligned_copy(model.packed, frame, settings.point)
    return np.concatenate([forces, packed, np.zeros(6 * model.n)])
