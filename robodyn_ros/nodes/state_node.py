"""StateNode: a node that does something for every joint state, and notices when none comes."""

from __future__ import annotations

import math
import time

from sensor_msgs.msg import JointState

from ..model.robot import RobotModel
from .arm_node import ArmNode
from .intake import Intake, Sample
from .loop_statistics import Pace
from .runtime import STATE_IN

LOOK = 0.005  # [s] of wall time between two looks whether joint states still come
GLANCES = 3  # looks: what simulated time did between them may be on its way
STOPPED = 200  # looks without joint states, 1 s: also if simulated time stands still
PERIODS = 3.0  # between samples: less is no silence, however rare they have become
BLEND = 0.3  # share of the last gap between samples in their mean


class StateNode(ArmNode):
    """Turns messages into samples: `sampled` gets the good ones, `unseen` is told of trouble."""

    def watch_states(self, model: RobotModel, silence: float, forgiven: int = 0) -> None:
        """Listen to joint states.

        silence: [s] without any, and forgiven: bad ones in a row, that are no reason to call
        `unseen`.
        """
        self.pace = Pace(1.0 / self.settings.rate)
        self.intake = Intake(model, self.settings.stamps, self.pace.period)
        self.allowed_silence, self._forgiven = silence, forgiven
        self.period = self.pace.period  # [s] between samples, in the mean
        self.sample_t = -math.inf  # [s], of the last one
        self._behind = 0.0  # [s], their time behind ours
        self._heard_at = -math.inf  # [s], when the last message about our joints came
        self._looks = 0  # since then
        self.listen(JointState, "joint_states", self._measured, STATE_IN)
        self.create_timer(LOOK, self._overdue, clock=self._wall)

    @property
    def silent(self) -> bool:
        """Whether joint states have stopped. Where they have become rare, that takes longer."""
        if self._simulated and self._looks <= GLANCES:
            return False
        went = abs(self._listening_time() - self._heard_at)
        return went > max(self.allowed_silence, PERIODS * self.period) or self._looks > STOPPED

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

    @property
    def time_stands_still(self) -> bool:
        """Whether simulated time has not gone on for long, as far as joint states tell."""
        return self._simulated and self._looks > STOPPED

    def _listening_time(self) -> float:
        """[s], by which silence is measured."""
        return self.now() if self._simulated else self.wall()

    def _measured(self, message: JointState) -> None:
        begun = time.perf_counter()
        now = self.now()
        sample = self.intake.take(message, now)
        if sample is None and self.intake.aside:  # a gripper's, say: not for us
            if self.silent:
                self.complain(f"joint_states: {self.intake.reason}")
            return
        self._heard_at, self._looks = self._listening_time(), 0
        if sample is None:
            self._refuse(self.intake.reason)
            return
        if self.intake.remark:
            self.complain(f"joint_states: {self.intake.remark}")
        self._behind = now - sample.t
        self._keep_pace(sample.t)
        self.sampled(sample)
        self.pace.latency(time.perf_counter() - begun)

    def _refuse(self, reason: str) -> None:
        if not reason:  # the rest of it may be on its way
            return
        bad, text = self.pace.dropped(), f"joint_states: {reason}"
        self.complain(text)
        if bad > self._forgiven:
            self.unseen(text, faulty=True)

    def _keep_pace(self, t: float) -> None:
        """A sample of the time t; one gap alone does not count for more than a few periods."""
        self.pace.sample(t)
        gap, self.sample_t = t - self.sample_t, t
        if 0.0 < gap < math.inf:
            self.period += BLEND * (min(gap, PERIODS * self.period) - self.period)

    def _overdue(self) -> None:
        self._looks += 1
        if self.pace.samples and self.silent:
            self.complain("joint_states: none come any more")
            self.unseen("joint_states have stopped", faulty=False)
