"""Contact isolation: which link is touched.

A force on a link loads only the joints between it and the base. So the outermost joint with a
residual carries the touched link, unless the force passes through that joint's axis: then the
residual does not determine the link.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..dynamics.dispatch import checked
from ..model.robot import RobotModel
from .thresholds import as_thresholds


@dataclass(frozen=True)
class Isolation:
    """The touched link, or None if the residual does not determine it."""

    link: str | None
    confidence: float  # 0 to 1
    reason: str = ""


def isolate(
    model: RobotModel, r: npt.ArrayLike, noise: npt.ArrayLike, *, clear: float = 2.0
) -> Isolation:
    """Return the link that a residual (n,) [N m or N] points to.

    noise: largest residual without contact (n,) [N m or N], e.g. a threshold. The outermost joint
    above its noise must exceed it by the factor `clear`; all joints above must lie on one branch.
    """
    (r,) = checked(model, r=r)
    share = np.abs(r) / np.maximum(as_thresholds("noise", noise, model.n).base, 1e-12)
    felt = [row for row in range(len(model.link_names)) if share[model.coordinate[row]] > 1.0]
    if not felt:
        return Isolation(None, 0.0, "no joint feels more than its noise")
    outermost = felt[-1]
    branch = set()
    row = outermost
    while row >= 0:
        branch.add(row)
        row = int(model.parent[row])
    if not set(felt) <= branch:
        return Isolation(None, 0.0, "joints on several branches feel something")
    strength = float(share[model.coordinate[outermost]])
    if strength < clear:
        joint = model.body_joint_names[outermost]
        reason = f"joint '{joint}' hardly feels it: the force may act on the link before"
        return Isolation(None, 0.0, reason)
    rows = range(outermost + 1, len(model.link_names))
    beyond = [float(share[model.coordinate[i]]) for i in rows if _carries(model, outermost, i)]
    quiet = max(beyond, default=0.0)
    # How far what is felt stands out from what is not, as a share between 0 and 1
    confidence = 1.0 - math.exp(-(strength - quiet) / clear)
    return Isolation(model.link_names[outermost], max(confidence, 0.0))


def _carries(model: RobotModel, row: int, other: int) -> bool:
    while other > row:
        other = int(model.parent[other])
    return other == row
