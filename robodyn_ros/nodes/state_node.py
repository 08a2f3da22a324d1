"""StateNode: a node that does something for every joint state, and notices when none comes."""

from __future__ import annotations

import time

from sensor_msgs.msg import JointState

from ..model.robot import RobotModel
from .arm_node import ArmNode
from .intake import Intake, Sample
from .pace import Pace
from .runtime import STATE_IN


class StateNode(ArmNode):
    """Turns messages into samples: `sampled` gets the good ones, `unseen` is told of trouble."""

    def watch_states(self, model: RobotModel, silence: float, forgiven: int = 0) -> None:
        """Listen to joint states.

        silence: [s] of wall time without any, and forgiven: bad ones in a row, that are no reason
        to call `unseen`.
        """
        self.intake = Intake(model, self.settings.stamps)
        self.pace = Pace(1.0 / self.settings.rate)
        self._forgiven, self._heard = forgiven, False
        self.listen(JointState, "joint_states", self._measured, STATE_IN)
        self.create_timer(silence, self._overdue, clock=self._wall)

    def sampled(self, sample: Sample) -> None:
        """A good sample has come."""
        raise NotImplementedError

    def unseen(self, reason: str) -> None:
        """Nobody knows where the arm is."""
        raise NotImplementedError

    def _measured(self, message: JointState) -> None:
        begun, self._heard = time.perf_counter(), True
        sample = self.intake.take(message, self.now())
        if sample is None:
            reason = f"joint_states: {self.intake.reason}"
            self.complain(reason)
            if self.pace.dropped() > self._forgiven:
                self.unseen(reason)
            return
        if self.intake.remark:
            self.complain(f"joint_states: {self.intake.remark}")
        self.pace.sample(sample.t)
        self.sampled(sample)
        self.pace.latency(time.perf_counter() - begun)

    def _overdue(self) -> None:
        if not self._heard and self.pace.samples:
            self.unseen("joint_states have stopped")
        self._heard = False
