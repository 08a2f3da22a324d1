"""The torque on the joints: measured efforts, or the commands that were applied.

`JointTorque` turns either into torque, live and over recordings, before anything else sees it.

A command acts from its arrival until the next one, clipped to the actuator limits. Where commands
stop, the driver holds the arm by itself: the applied torque is unknown then, and for a while after
they resume.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import kernel
from ..dynamics.dispatch import per_joint
from ..model.packed_model import U
from ..model.robot import RobotModel
from ..settings import one_or_each
from .effort_settings import EffortSettings
from .sample import Sample, Status
from .sampler import Samples
from .settings import SensingSettings

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]

# What is known of the applied torque
KNOWN, NO_COMMAND, LOST, HANDED_OVER = range(4)
# State: time of the sample after which the last command arrived, and when commands act again [s]
COMMANDED, OBEYED = U(0), U(1)

COMMAND_LOSS = "command_loss"  # kind of fault
COMMAND_CAUSES = {
    NO_COMMAND: "no command yet",
    LOST: "no command for {silent:.3f} s",
    HANDED_OVER: "applied torque unknown after command loss",
}


@kernel("int64(float64[::1], float64, int64, float64, float64)")
def applied_torque(state, t, restart, silence, hand_over):
    """Return what is known of the torque that acted up to a sample of the time t [s].

    silence: without commands for longer, they are lost; hand_over: unknown afterwards [s].
    """
    if restart:  # time may have gone back
        state[COMMANDED] = min(state[COMMANDED], t)
        state[OBEYED] = min(state[OBEYED], t)
    silent = t - state[COMMANDED]
    if math.isinf(silent):
        return NO_COMMAND
    if silent > silence:
        state[OBEYED] = t + hand_over
        return LOST
    return HANDED_OVER if t < state[OBEYED] else KNOWN


def command_silence(settings: SensingSettings, period: float) -> float:
    """Return how long commands may be missing [s]; period: nominal, of the samples [s]."""
    return max(settings.silence, settings.silence_periods * period) + period


class JointTorque:
    """Torque from effort, by gain and offset of the settings."""

    def __init__(self, model: RobotModel, settings: EffortSettings | None = None) -> None:
        self.settings = settings or EffortSettings()
        self._gain = per_joint(model, "effort.gain", one_or_each(self.settings.gain))
        self._offset = per_joint(model, "effort.offset", one_or_each(self.settings.offset))
        self._same = bool((self._gain == 1.0).all() and not self._offset.any())

    def of_sample(self, sample: Sample) -> Sample:
        """Return the sample with its torque in place of its effort."""
        if self._same or sample.tau is None:
            return sample
        return sample._replace(tau=self._gain * sample.tau - self._offset)

    def of_samples(self, samples: Samples) -> Samples:
        """The same for many samples."""
        if self._same:
            return samples
        return replace(samples, tau=self._gain * samples.tau - self._offset)


class CommandedEffort:
    """The commanded torque as the torque of the samples; period: nominal, of the samples [s]."""

    def __init__(self, model: RobotModel, settings: SensingSettings, period: float) -> None:
        self.joints, self._limit = model.joint_names, model.tau_max
        self._period = period
        self._tau = np.zeros(model.n)
        self.state = np.full(2, -math.inf)
        self.apply(settings)

    def apply(self, settings: SensingSettings) -> None:
        """Judge by new settings from now on."""
        self._settings = settings
        self._silence = command_silence(settings, self._period)

    @property
    def tau(self) -> Array:
        """The torque that acts since the last command (n,) [N m or N]; a copy."""
        return self._tau.copy()

    def command(self, data: Any, last_sample: float) -> str:
        """Take a command, n torques that arrived after the sample of that time [s]; return why it
        is rejected, or an empty text.
        """
        cause = reject_torque(data, self.joints, self._settings.max_effort)
        if not cause:
            np.clip(np.frombuffer(data), -self._limit, self._limit, out=self._tau)
            self.state[int(COMMANDED)] = last_sample
        return cause

    def with_torque(self, sample: Sample) -> Sample:
        """Return a valid sample with the applied torque, or without it and why."""
        restart = sample.status is Status.RESTART
        silent = sample.t - float(self.state[int(COMMANDED)])
        known = applied_torque(
            self.state, sample.t, restart, self._silence, self._settings.hand_over
        )
        if known == KNOWN:
            return sample._replace(tau=self._tau, cause="")
        cause = COMMAND_CAUSES[known].format(silent=silent)
        return sample._replace(tau=None, cause=cause, fault=COMMAND_LOSS if known == LOST else "")


def reject_torque(data: Any, joints: Sequence[str], max_effort: float) -> str:
    """Return why a buffer of doubles holds no torques of these joints, or an empty text."""
    if len(data) != len(joints):
        return f"{len(data)} numbers, {len(joints)} joints"
    size = np.abs(np.frombuffer(data))
    if size.max() < max_effort:
        return ""
    k = int(np.argmax(~(size < max_effort)))
    return f"torque of joint '{joints[k]}' is {data[k]:g}"


@kernel("int64(float64[::1], float64[::1], int64[::1], int64[::1], float64, float64, int64[::1])")
def _applied_rows(state, t, status, last, silence, hand_over, known):
    """The same over many samples; last: index of the last command before each, -1 for none."""
    before, sample_t = -1, -math.inf
    for k in range(U(t.size)):
        if last[k] != before:
            before, state[COMMANDED] = last[k], sample_t
        if status[k] <= 1:
            known[k] = applied_torque(state, t[k], status[k], silence, hand_over)
            sample_t = t[k]
    return 0


def with_commands(
    model: RobotModel,
    samples: Samples,
    commands: Array,
    last: Codes,
    settings: SensingSettings,
    period: float,
) -> Samples:
    """Return samples of a recording with the commanded torque, as `CommandedEffort` gives it.

    commands: (C, n) [N m or N]; last (T,): index of the last command before each sample, or -1.
    """
    silence = command_silence(settings, period)
    known = np.zeros(samples.t.size, dtype=np.int64)
    state = np.full(2, -math.inf)
    _applied_rows(state, samples.t, samples.status, last, silence, settings.hand_over, known)
    tau = np.clip(commands[np.maximum(last, 0)], -model.tau_max, model.tau_max)
    tau[(last < 0) | (known != KNOWN)] = math.nan
    valid = samples.valid
    causes = {k: text for k, text in samples.causes.items() if not valid[k]}
    for k in np.flatnonzero(valid & (known != KNOWN)).tolist():
        causes[k] = COMMAND_CAUSES[int(known[k])].format(silent=samples.dt[k])
    faults = {k: fault for k, fault in samples.faults.items() if not valid[k]}
    faults |= {k: (COMMAND_LOSS, "") for k in np.flatnonzero(valid & (known == LOST)).tolist()}
    return replace(samples, tau=tau, causes=causes, faults=faults)
