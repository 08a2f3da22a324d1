"""StateNode: a node that does something for every joint state, and notices when none comes."""

from __future__ import annotations

import time

from sensor_msgs.msg import JointState

from ..model.robot import RobotModel
from .arm_node import ArmNode
from .intake import Intake, Sample
from .pace import Pace
from .runtime import STATE_IN

BESIDE = 2  # messages in a row about other joints that nobody needs to be told of


class StateNode(ArmNode):
    """Turns messages into samples: `sampled` gets the good ones, `unseen` is told of trouble."""

    def watch_states(self, model: RobotModel, silence: float, forgiven: int = 0) -> None:
        """Listen to joint states.

        silence: [s] of wall time without any, and forgiven: bad ones in a row, that are no reason
        to call `unseen`.
        """
        self.pace = Pace(1.0 / self.settings.rate)
        self.intake = Intake(model, self.settings.stamps, self.pace.period)
        self._forgiven, self._heard = forgiven, False
        self._behind = 0.0  # [s], their time behind ours
        self.listen(JointState, "joint_states", self._measured, STATE_IN)
        # Twice in that time: it may begin just after a look
        self._watchdog = self.create_timer(0.5 * silence, self._overdue, clock=self._wall)

    def allow_silence(self, silence: float) -> None:
        """From now on, so many seconds of it."""
        self._watchdog.timer_period_ns = round(0.5e9 * silence)

    def silent(self) -> bool:
        """Whether none that came since the last look means that none come any more."""
        return True

    def sampled(self, sample: Sample) -> None:
        """A good sample has come."""
        raise NotImplementedError

    def unseen(self, reason: str, faulty: bool) -> None:
        """Nobody knows where the arm is; faulty: messages come, but they are no good."""
        raise NotImplementedError

    @property
    def sample_time(self) -> float:
        """[s], now, by the clock that the samples' times are of."""
        return self.now() - self._behind

    def _measured(self, message: JointState) -> None:
        begun, self._heard = time.perf_counter(), True
        now = self.now()
        sample = self.intake.take(message, now)
        if sample is None:
            self._refuse(self.intake.reason)
            return
        if self.intake.remark:
            self.complain(f"joint_states: {self.intake.remark}")
        self._behind = now - sample.t
        self.pace.sample(sample.t)
        self.sampled(sample)
        self.pace.latency(time.perf_counter() - begun)

    def _refuse(self, reason: str) -> None:
        if not reason:  # the rest of it may be on its way
            return
        bad, text = self.pace.dropped(), f"joint_states: {reason}"
        if self.intake.aside and bad <= BESIDE:
            return
        self.complain(text)
        if bad > self._forgiven:
            self.unseen(text, faulty=not self.intake.aside)

    def _overdue(self) -> None:
        if not self._heard and self.pace.samples and self.silent():
            self.complain("joint_states: none come any more")
            self.unseen("joint_states have stopped", faulty=False)
        self._heard = False
