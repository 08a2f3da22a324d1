"""An upper bound of dg/dq: how stiff springs at the joints must be to outweigh gravity.

    dg_i/dq_j = -a_g . sum of m_k z_i x (z_j x (c_k - o_j)),     j between i and the body k

for revolute joints, with the gravity vector a_g, the axes z, the origins o and the centres of mass
c of the bodies k behind both joints. It is at most |a_g| sum m_k r_kj, where r_kj is the largest
distance of c_k from the axis of joint j. For a prismatic joint j behind a revolute joint i it is
at most |a_g| sum m_k; other elements are 0. The sum of a row bounds the eigenvalues (Gershgorin).
"""

import numpy as np

from ..model.robot import RobotModel
from .dispatch import Array


def gravity_stiffness(model: RobotModel) -> Array:
    """Return bounds (n,) [N m/rad or N/m] such that diag(bounds) - dg/dq >= 0 in any posture.

    Each is at least the sum of |dg_i/dq_j| over j, so that their maximum bounds the norm of dg/dq.
    Infinite for arms whose prismatic joints have no limits.
    """
    bodies = len(model.link_names)
    H = np.zeros((bodies, bodies))
    for k in range(bodies):
        reach = float(np.linalg.norm(model.com[k]))  # largest distance from the present joint
        on_axis = abs(float(model.com[k] @ model.axis[k]))
        above = k  # the joint whose column is added
        while above >= 0:
            # At the joint next to the body the part along its axis does not turn
            turned = np.sqrt(max(reach**2 - on_axis**2, 0.0)) if above == k else reach
            below = above
            while below >= 0:
                if not model.prismatic[below]:
                    H[below, above] += model.mass[k] * (1.0 if model.prismatic[above] else turned)
                below = model.parent[below]
            reach += _longest_place(model, above)
            above = model.parent[above]
    H = np.linalg.norm(model.gravity) * (np.triu(H) + np.triu(H, 1).T)
    share, bounds = np.abs(model.ratio), np.zeros(model.n)
    np.add.at(bounds, model.coordinate, share * (H @ share))
    return bounds


def _longest_place(model: RobotModel, i: int) -> float:
    """Return the largest distance [m] of the origin of body i from that of its parent."""
    place = model.place[i]
    if not model.prismatic[i]:
        return float(np.linalg.norm(place))
    k = model.coordinate[i]
    ends = model.ratio[i] * np.array([model.q_min[k], model.q_max[k]]) + model.offset[i]
    z = model.rotation[i] @ model.axis[i]
    return float(max(np.linalg.norm(place + x * z) if np.isfinite(x) else np.inf for x in ends))
