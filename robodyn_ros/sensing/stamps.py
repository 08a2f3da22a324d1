"""The time of a sample: its header's stamp or its receipt, and which stamps are rejected.

A stamp is compared with the clock at receipt. Stamps that are late, repeated or far ahead are
rejected; a publisher whose clock differs from ours by a constant is accepted once that is certain;
a clock that was reset starts a new stream of samples. [s] throughout.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel
from ..model.packed_model import U
from .settings import SensingSettings

Array = npt.NDArray[np.float64]

# Why a message gives no sample. The stamps' causes first; the validator's follow.
ACCEPTED, REPEATED, BACKWARD, AHEAD, BEHIND, LEAP = range(6)
POSITION, VELOCITY, JUMP, STUCK, NO_VELOCITY = range(6, 11)
# What is odd about an accepted sample
NO_REMARK, ZERO_STAMP, CLOCK_SHIFTED, CLOCK_RIGHT, DIFFERENCES = range(5)

PERIOD_BLEND = 0.3  # share of the last interval in the mean period
ROUNDING = 1e-6  # [s], of the difference of two stamps

# State: last accepted time, clock at the last message, whether a clock was reset, by how much the
# stamps' clock is behind, lead of the last stamp, leaps in a row, first of several old stamps and
# when it came, whether the next sample restarts, the time found, the number a cause is about, the
# remark; then when the last message came and the mean period of the samples
(
    LAST,
    CLOCK,
    RESET,
    LAG,
    LEAD,
    LEAPS,
    OLD_STAMP,
    OLD_CLOCK,
    RESTARTS,
    TIME,
    VALUE,
    REMARK,
    ARRIVAL,
    PERIOD,
    STATES,
) = (U(k) for k in range(15))
# Limits, from the settings
(
    RECEIPT,
    MAX_AGE,
    MAX_LEAD,
    RESET_STEP,
    LEAD_STEP,
    LEAD_SAMPLES,
    SHIFT_TIME,
    SHIFT_TOLERANCE,
    SILENCE,
    PERIODS,
) = (U(k) for k in range(10))


def new_state(period: float) -> Array:
    """Return the state before the first message; period: nominal, between samples [s]."""
    state = np.zeros(int(STATES))
    state[int(LAST)], state[int(CLOCK)], state[int(LEAD)] = math.inf, -math.inf, math.inf
    state[int(OLD_STAMP)], state[int(RESTARTS)] = math.nan, 1.0
    state[int(ARRIVAL)], state[int(PERIOD)] = math.inf, period
    return state


def limits_of(settings: SensingSettings) -> Array:
    """Return the limits as the kernels read them."""
    return np.array(
        [
            float(settings.stamps == "receipt"),
            settings.max_age,
            settings.max_lead,
            settings.clock_reset,
            settings.lead_step,
            settings.lead_samples,
            settings.shift_time,
            settings.shift_tolerance,
            settings.silence,
            settings.silence_periods,
        ]
    )


@inline
def _on_a_shifted_clock(state, limits, stamp, now):
    """Return ACCEPTED if a stamp far from the clock is right: the publisher's clock was set back,
    or is right again. Delayed messages arrive faster than the clock runs.
    """
    age = now - stamp
    if state[LAG] != 0.0 and -limits[MAX_LEAD] <= age <= limits[MAX_AGE]:
        state[LAG], state[REMARK], state[RESET] = 0.0, CLOCK_RIGHT, 1.0
        return ACCEPTED
    state[VALUE] = abs(age)
    if stamp > now:
        return AHEAD
    drift = (now - state[OLD_CLOCK]) - (stamp - state[OLD_STAMP])
    if not abs(drift) <= limits[SHIFT_TOLERANCE]:
        state[OLD_STAMP], state[OLD_CLOCK] = stamp, now
    if now - state[OLD_CLOCK] < limits[SHIFT_TIME] - ROUNDING:
        return BEHIND
    state[LAG], state[OLD_STAMP], state[RESET] = age, math.nan, 1.0
    state[REMARK] = CLOCK_SHIFTED
    return ACCEPTED


@kernel("int64(float64[::1], float64[::1], float64, float64)")
def sample_time(state, limits, stamp, now):
    """Find the time of a message, state[TIME]; return the cause if it is rejected, else ACCEPTED.

    now: the clock at receipt.
    """
    state[REMARK] = NO_REMARK
    if now < state[CLOCK]:
        state[RESET] = 1.0
    state[CLOCK] = now
    t = now if limits[RECEIPT] != 0.0 else stamp
    if t == 0.0 and now > 0.0:
        t = now
        state[REMARK] = ZERO_STAMP
    elif now <= 0.0 or -limits[MAX_LEAD] <= now - state[LAG] - t <= limits[MAX_AGE]:
        state[OLD_STAMP] = math.nan
    else:
        cause = _on_a_shifted_clock(state, limits, t, now)
        if cause != ACCEPTED:
            return cause
    if state[LAST] - limits[RESET_STEP] < t <= state[LAST] and state[RESET] == 0.0:
        state[VALUE] = state[LAST] - t
        return REPEATED if state[VALUE] == 0.0 else BACKWARD
    lead = t - now
    leaps = now > 0.0 and lead > max(state[LEAD], 0.0) + limits[LEAD_STEP]
    if leaps and state[LEAPS] < limits[LEAD_SAMPLES]:
        state[LEAPS] += 1.0
        state[VALUE] = lead
        return LEAP
    if state[LEAPS] >= limits[LEAD_SAMPLES]:
        state[RESTARTS] = 1.0  # the true interval is unknown
    state[LEAD], state[LEAPS], state[TIME] = lead, 0.0, t
    return ACCEPTED


@inline
def silence_limit(state, limits):
    """Return the longest interval without a message that is not silence [s]."""
    return max(limits[SILENCE], limits[PERIODS] * state[PERIOD])


@kernel("int64(float64[::1], float64[::1], float64)")
def note_arrival(state, limits, now):
    """Note that a message about the arm arrived now, by the clock that measures silence; return 1
    if silence preceded it.
    """
    gap = abs(now - state[ARRIVAL])
    state[ARRIVAL] = now
    return 1 if silence_limit(state, limits) + ROUNDING < gap < math.inf else 0


@kernel("int64(float64[::1], float64[::1], float64)")
def is_silent(state, limits, now):
    """Return 1 if no message has arrived for longer than the silence limit."""
    gap = abs(now - state[ARRIVAL])
    return 1 if silence_limit(state, limits) < gap < math.inf else 0
