"""ArmController: the supervisor for users with arrays of their own instead of samples."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..errors import ArgumentError
from ..model.robot import RobotModel
from ..sensing.sample import Sample, Status, missing
from .arm_settings import ArmSettings
from .controller import Array, JointState, joint_array
from .law_factory import LawMaker
from .supervisor import Supervisor
from .transitions import FOLLOWING as FOLLOWING
from .transitions import Mode as Mode

CLOCK_RESET = 1.0  # [s], a time that steps back by more is a clock reset
MAX_NORM = 1e6  # of all positions and velocities, in SI units: no arm is there or moves so fast


@kernel("float64(vector, vector)")
def _squared_norm(q, qd):
    """Return the sum of all squares; not finite if one of the numbers is not."""
    total = 0.0
    for k in range(q.size):
        total += q[k] * q[k] + qd[k] * qd[k]
    return total


class ArmController(Supervisor):
    """Supervisor that makes samples of validated arrays: `update` for every sample.

    law: makes the law for `controller: own`, by (model, settings, limits=, compensation=).
    """

    def __init__(
        self,
        model: RobotModel,
        settings: ArmSettings | None = None,
        law: LawMaker | None = None,
    ) -> None:
        super().__init__(model, settings, law=law)
        self._valid_t = self._latest_t = -math.inf  # [s], the last valid sample; the last call

    def update(self, t: float, q: npt.ArrayLike, qd: npt.ArrayLike) -> Array:  # type: ignore[override]
        """Return the torque (n,) [N m or N] to command after a sample of the time t [s].

        A sample that is no newer than the last one changes nothing; one that is not finite counts
        as lost.
        """
        try:
            state = self._validated(t, q, qd)
        except ArgumentError as error:
            return self.lost(t, str(error), faulty=True)
        newer = t - self._arm.timeline.t
        restart = self._restart_pending or newer < -CLOCK_RESET
        if newer <= 0.0 and not restart:
            return self.tau
        dt, self._valid_t, self._latest_t = t - self._valid_t, t, t
        status = Status.RESTART if restart else Status.OK
        return super().update(Sample(t, dt, state.q, state.qd, None, status))

    def lost(self, t: float, reason: str, *, faulty: bool = False) -> Array:
        """Return the torque (n,) at t [s] without a valid sample; faulty: it was rejected."""
        if not self._arm.started or not math.isfinite(t):
            return self.tau
        if t < self._latest_t - CLOCK_RESET:
            self._valid_t = t
            self._arm.timeline.restart(t)
            self.restart()
        self._latest_t = t
        status = Status.INVALID if faulty else Status.SILENT
        return super().update(missing(t, t - self._valid_t, self.model.n, status, reason))

    def contact(self, touched: bool | None, r: npt.ArrayLike | None = None) -> None:
        """Take the detector's verdict, see `on_contact`, and the residual, see `set_residual`."""
        self.on_contact(touched)
        if r is not None:
            self.set_residual(r)

    def _validated(self, t: float, q: Any, qd: Any) -> JointState:
        if not math.isfinite(t):
            raise ArgumentError(f"the time of a sample is {t!r}")
        try:
            state = JointState(np.array(q, dtype=np.float64), np.array(qd, dtype=np.float64))
        except (TypeError, ValueError):
            raise ArgumentError(f"a sample is q and qd, numbers each: {q!r}, {qd!r}") from None
        fits = state.q.shape == (self.model.n,) == state.qd.shape
        if fits and _squared_norm(state.q, state.qd) < MAX_NORM**2:
            return state
        joint_array(self.model, "q", state.q)
        joint_array(self.model, "qd", state.qd)
        raise ArgumentError(f"a joint of '{self.model.name}' is absurdly far away or fast")
