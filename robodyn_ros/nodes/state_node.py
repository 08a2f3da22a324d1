"""StateNode: base of nodes that turn joint states, and their absence, into samples."""

from __future__ import annotations

import math
import time

from sensor_msgs.msg import JointState

from ..model.robot import RobotModel
from ..sensing.sample import Sample, Status
from ..sensing.sampler import Sampler
from ..sensing.settings import SensingSettings
from .arm_node import ArmNode
from .loop_statistics import LoopStatistics
from .runtime import STATE_IN

WATCHDOG_PERIOD = 0.005  # [s] of wall time between two checks for silence
STALL_TIME = 0.1  # [s] of wall time without a check: the process did not run
FIRST_STATE_TIMEOUT = 5.0  # [s] for the first joint state, and between two warnings that none came
NO_STATES = "joint_states: none accepted on {} for {:.0f} s: start the driver, or remap the topic"


class StateNode(ArmNode):
    """Calls `on_sample` for every joint state of the arm, and while none arrive."""

    statistics: LoopStatistics
    sampler: Sampler
    _watched_at = -math.inf  # [s], wall time of the last check for silence

    def subscribe_states(self, model: RobotModel, sensing: SensingSettings) -> None:
        """Subscribe to joint states, validated by these limits."""
        period = 1.0 / self.settings.rate
        self.statistics = LoopStatistics(period)
        topic = self.resolve_topic_name("joint_states")
        self.sampler = Sampler(model, sensing, period, simulated=self.simulated, topic=topic)
        self._subscribed_at = self._states_missed_at = self.wall()  # [s]
        self.local_subscription(JointState, "joint_states", self._on_joint_state, STATE_IN)
        self.create_timer(WATCHDOG_PERIOD, self.watchdog, clock=self.steady_clock)

    def on_sample(self, sample: Sample) -> None:
        """Handle a sample, whatever its status."""
        raise NotImplementedError

    def publish_diagnostics(self) -> None:
        """Also warn while no joint state has been accepted."""
        wall, missing = self.wall(), self.robot is not None and not self.statistics.samples
        if missing and wall - self._states_missed_at >= FIRST_STATE_TIMEOUT:
            self._states_missed_at = wall
            topic = self.resolve_topic_name("joint_states")
            self.warn_throttled(NO_STATES.format(topic, wall - self._subscribed_at))
        super().publish_diagnostics()

    def watchdog(self) -> None:
        """Handle silence of the joint states.

        In simulated time not right after this process itself has stalled: messages wait then, and
        a run in lockstep must not depend on the load of the machine.
        """
        wall, before = self.wall(), self._watched_at
        self._watched_at = wall
        if self.simulated and wall - before > STALL_TIME:
            return
        sample = self.sampler.silence(self.now(), self.wall())
        if sample is not None:
            self.on_silence(f"joint_states: {sample.cause}")
            self.on_sample(sample)

    def on_silence(self, cause: str) -> None:
        """Warn of silence."""
        self.warn_throttled(cause)

    def _on_joint_state(self, message: JointState) -> None:
        begun = time.perf_counter()
        sample = self.sampler.message(message, self.now(), self.wall())
        if sample is None:
            return
        if sample.status.valid:
            self.statistics.sample(sample.t)
            if sample.remark:
                self.warn_throttled(f"joint_states: {sample.remark}")
        else:
            self.warn_throttled(f"joint_states: {sample.cause}")
        self.on_sample(sample)
        if sample.status is not Status.SILENT:
            self.statistics.latency(time.perf_counter() - begun)
