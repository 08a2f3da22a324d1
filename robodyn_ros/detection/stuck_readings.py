"""StuckReadings: joints that read the same while the torque commanded to them moves.

A position that has not changed at all may be that of an arm at rest, also if its velocity is
noisy. If its torque moves it has to change, or the residual grows by all the torque that seems to
have no effect, and that looks like a push. Where torque is measured this cannot be told from one:
a stiff arm that is pushed at rest may not move by a step of its encoder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..model.packed_model import U
from ..model.robot import RobotModel

Array = npt.NDArray[np.float64]

SAME = 0.02  # [s] for which a reading that is true may stay the same, as where drivers repeat it
MESSAGES = 3  # and as many of them
SHARE = 0.5  # of the threshold: it has to be told before it is taken for a push

# Rows, n numbers each: the position, for how long and how many messages it has been the same, and
# the torque since then
Q, SECONDS, COUNT, TAU, ROWS = (U(k) for k in range(5))


@kernel("int64(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1], float64)")
def _stuck(own, q, tau, r, limit, dt):
    """The joint that is stuck; -1 if none is."""
    found = -1
    for k in range(U(own.shape[1])):
        if q[k] == own[Q, k]:
            own[SECONDS, k] += dt
            own[COUNT, k] += 1.0
            alike = own[SECONDS, k] >= SAME and own[COUNT, k] >= MESSAGES
            large, moved = SHARE * limit[k], tau[k] - own[TAU, k]
            if alike and abs(r[k]) > large and abs(moved) > large:
                found = k
        else:
            own[Q, k], own[TAU, k] = q[k], tau[k]
            own[SECONDS, k] = own[COUNT, k] = 0.0
    return found


class StuckReadings:
    """Looks at the samples of one robot whose torque is the commanded one."""

    def __init__(self, model: RobotModel) -> None:
        self._joints = model.joint_names
        self._own = np.zeros((int(ROWS), model.n))
        self.reset()

    def reset(self) -> None:
        """Forget what was read."""
        self._own[:] = np.nan
        self._joint = -1  # the one that is stuck

    @property
    def joint(self) -> str:
        """The one that is stuck; empty if none is."""
        return self._joints[self._joint] if self._joint >= 0 else ""

    def over(self, q: Array) -> bool:
        """Whether a joint was stuck and reads something else now."""
        k = self._joint
        return k >= 0 and bool(q[k] != self._own[int(Q), k])

    def doubt(self, q: Array, tau: Array, r: Array, limit: Array, dt: float) -> str:
        """Why q, dt [s] after the last, cannot be; empty if it can. limit: of r.

        Once it cannot, that stays so until the joint reads something else, whatever torque and
        residual r do.
        """
        try:
            found = _stuck(self._own, q, tau, r, limit, dt)
        except TypeError:  # lists, views and the like
            found = _stuck(self._own, *(np.array(x, float) for x in (q, tau, r, limit)), dt)
        self._joint = self._joint if self._joint >= 0 else found
        if self._joint < 0:
            return ""
        same = self._own[int(SECONDS), self._joint]
        return f"joint '{self.joint}' has read the same for {same:.3g} s although its torque moves"
