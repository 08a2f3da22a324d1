"""SampleTimeline: mean period of the samples, time without one, and time since the last torque."""

import math

from ..sensing.settings import SensingSettings
from .controller import PERIOD

MAX_REFERENCE_STEP = 0.05  # [s], a reference advances by no more after a gap: late, but no leap
PERIOD_SMOOTHING = 0.1  # weight of the latest gap in the mean period
TORQUE_PERIODS = 2.0  # periods for which the torque changes at its rate limit after a gap
MAX_SILENCE = 1e9  # [s], stands for the time since a sample that never came


class SampleTimeline:
    """Times of the samples that control could use.

    t: time of the last usable sample [s]. period: mean time between usable samples [s].
    torque_step: longest time [s] for which the torque may change at its rate limit at once.
    """

    def __init__(self, sensing: SensingSettings) -> None:
        self.sensing = sensing
        self.t = -math.inf
        self.period = PERIOD
        self.torque_step = TORQUE_PERIODS * PERIOD
        self._ignored = 0.0  # [s] that the last valid sample came after the last usable one
        self._dt = 0.0  # [s], of the last call of `silence`
        self._output = 0.0  # [s] without a usable sample when torque was output last

    def restart(self, t: float) -> None:
        """Start at a sample that is unrelated to the previous one."""
        self.t = t
        self._ignored = self._dt = 0.0
        self._output = -PERIOD

    def silence(self, dt: float) -> float:
        """Return the time since the last usable sample [s]; a clock reset does not shorten it."""
        if dt < self._dt - self.sensing.clock_reset:
            self._ignored += self._dt - dt
        self._dt = min(dt, MAX_SILENCE)
        return min(self._ignored + dt, MAX_SILENCE)

    def allowed_silence(self, timeout: float) -> float:
        """Return the silence [s] that a moving arm bears; longer where samples are rare."""
        return max(timeout + self.period, self.sensing.silence_periods * self.period)

    def ignore(self, dt: float) -> None:
        """Count a valid but unusable sample, dt [s] after the previous valid one."""
        self._ignored, self._dt = self.silence(dt), 0.0

    def accept(self, t: float, silence: float, max_gap: float) -> float:
        """Take a usable sample, `silence` [s] after the last; return the reference's step [s]."""
        periods = self.sensing.silence_periods * self.period
        self.torque_step = TORQUE_PERIODS * self.period
        self.period += PERIOD_SMOOTHING * (min(silence, max_gap, periods) - self.period)
        self.t = t
        self._ignored = self._dt = 0.0
        self._output -= silence
        periods = self.sensing.silence_periods * self.period
        return min(silence, max(MAX_REFERENCE_STEP, periods))

    def since_output(self, silence: float) -> float:
        """Return the time since the last torque [s]."""
        return silence - self._output

    def output(self, silence: float) -> float:
        """Note a torque after this silence [s]; return how long its rate limit counts [s]."""
        since = min(max(silence - self._output, 0.0), self.torque_step)
        self._output = silence
        return since
