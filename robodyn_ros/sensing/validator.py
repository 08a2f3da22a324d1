"""Validator: whether a measured state is finite, in range, free of jumps and not stuck.

This is the one place where measured values are judged; `SensingSettings` has every limit.
"""

import math

import numpy as np
import numpy.typing as npt

from ..dynamics.compile import inline, kernel
from ..model.packed_model import U
from ..model.robot import RobotModel
from . import stamps
from .settings import SensingSettings
from .stamps import (
    ACCEPTED,
    DIFFERENCES,
    JUMP,
    LAST,
    NO_VELOCITY,
    PERIOD,
    PERIOD_BLEND,
    PERIODS,
    POSITION,
    REMARK,
    RESET,
    RESTARTS,
    STUCK,
    TIME,
    VALUE,
    VELOCITY,
)
from .stuck import EXPECTED, SECONDS, find_stuck
from .stuck import ROWS as STUCK_ROWS

Array = npt.NDArray[np.float64]

TURN = 2.0 * math.pi
# After a wrong velocity an arm at rest must be accepted again soon: the integral of the velocity
# is bounded by this multiple of the limit, and fades with this time constant [s]
MOST_TRAVEL, FADE_TIME = 2.0, 0.5

# Rows, n numbers each: last valid position, speed limit, whether the joint turns without end, its
# position limits, where it seems to have jumped to; then work space for the stuck check
POSITIONS, SPEED, ENDLESS, LOWER, UPPER, PLACE, MOTION, TRAVEL, ROWS = (U(k) for k in range(9))
# Scalars: jumps to PLACE in a row, the time in which the jump happened, when a reading was judged
# last; and of the last valid sample its interval, whether it restarts, its joint without effort
JUMPS, WITHIN, JUDGED, DT, RESTART, NO_EFFORT, SCALARS = (U(k) for k in range(7))
# Limits, from the settings
(
    MAX_POSITION,
    MAX_VELOCITY,
    MAX_EFFORT,
    MAX_JUMP,
    JUMP_SAMPLES,
    SAME_PLACE,
    STUCK_TIME,
    STUCK_SAMPLES,
) = (U(k) for k in range(8))


@inline
def _farthest_jump(rows, q, within, max_jump):
    """Return the joint that moved farthest beyond its speed limit, -1 if none jumped. Positions of
    joints that turn without end are brought to the turn they were in.
    """
    found = -1
    farthest = max_jump
    for k in range(q.size):
        step = q[k] - rows[POSITIONS, k]
        if rows[ENDLESS, k] != 0.0:
            turns = round(step / TURN)
            q[k] -= TURN * turns
            step -= TURN * turns
        beyond = abs(step) - 2.0 * rows[SPEED, k] * within
        if beyond > farthest:
            farthest = beyond
            found = k
    return found


@inline
def _stays_there(rows, scalars, q, samples, same_place):
    """Return whether a jump led to the same place several times in a row, and to a possible one:
    within the joint limits, and not a whole turn away, as a turn counter may be wrong.
    """
    for k in range(q.size):
        step = q[k] - rows[POSITIONS, k]
        if abs(step) <= same_place:
            continue
        outside = q[k] < rows[LOWER, k] - same_place or q[k] > rows[UPPER, k] + same_place
        rest = abs(step - TURN * round(step / TURN))
        if outside or (rows[ENDLESS, k] == 0.0 and rest < same_place):
            scalars[JUMPS] = 0.0
            return False
    same = scalars[JUMPS] > 0.0
    for k in range(q.size):
        same = same and abs(q[k] - rows[PLACE, k]) < same_place
        rows[PLACE, k] = q[k]
    scalars[JUMPS] = scalars[JUMPS] + 1.0 if same else 1.0
    return scalars[JUMPS] >= samples


@inline
def _find_stuck(rows, stuck, limits, q, qd, since):
    """Return the joint whose position stays the same although its velocity says that it moves."""
    n = U(q.size)
    # After a gap one noisy velocity says nothing about the whole of it
    moving, fade = min(since, limits[STUCK_TIME]), math.exp(-since / FADE_TIME)
    for k in range(n):
        rows[MOTION, k] = moving * qd[k] if qd.size > 0 else 0.0
        most = MOST_TRAVEL * rows[TRAVEL, k]
        stuck[EXPECTED, k] = fade * min(max(stuck[EXPECTED, k], -most), most)
    return find_stuck(
        stuck, q, rows[MOTION], rows[TRAVEL], since, limits[STUCK_TIME], limits[STUCK_SAMPLES]
    )


@inline
def judge_values(clock, clock_limits, rows, scalars, limits, stuck, q, qd, tau):
    """Judge a state whose time was accepted: return cause * n + joint, ACCEPTED if it is valid.

    qd is empty if there are no velocities measured; then they are differences of positions, in
    rows[MOTION]. tau may be empty: effort is judged apart, scalars[NO_EFFORT].
    """
    n, t, measured = U(q.size), clock[TIME], qd.size > 0
    for k in range(n):
        if not abs(q[k]) < limits[MAX_POSITION]:
            return POSITION * n + k
        if measured and not abs(qd[k]) < limits[MAX_VELOCITY]:
            return VELOCITY * n + k
    restart = t <= clock[LAST]
    dt = 0.0 if restart else t - clock[LAST]
    within = min(dt, scalars[WITHIN])
    jumped = _farthest_jump(rows, q, within, limits[MAX_JUMP]) if within > 0.0 else -1
    # A reading is judged against the one before it, whether that was valid or not.
    since = max(t - scalars[JUDGED], 0.0) if math.isfinite(scalars[JUDGED]) else 0.0
    scalars[JUDGED] = t
    frozen = _find_stuck(rows, stuck, limits, q, qd, since)
    if jumped >= 0:
        scalars[WITHIN] = within  # doubt does not grant a joint more time
        if not _stays_there(rows, scalars, q, limits[JUMP_SAMPLES], limits[SAME_PLACE]):
            clock[VALUE] = q[jumped] - rows[POSITIONS, jumped]
            scalars[DT] = within
            return JUMP * n + U(jumped)
        restart = True
    elif frozen >= 0:
        clock[VALUE] = stuck[SECONDS, frozen]
        return STUCK * n + U(frozen)
    if not measured:
        for k in range(n):
            rows[MOTION, k] = (q[k] - rows[POSITIONS, k]) / dt if dt > 0.0 else 0.0
        clock[REMARK] = DIFFERENCES
    if restart:
        clock[RESTARTS] = 1.0
    else:  # one long interval does not count for more than a few periods
        longest = clock_limits[PERIODS] * clock[PERIOD]
        clock[PERIOD] += PERIOD_BLEND * (min(dt, longest) - clock[PERIOD])
    clock[LAST], clock[RESET], scalars[JUMPS], scalars[WITHIN] = t, 0.0, 0.0, math.inf
    for k in range(n):
        rows[POSITIONS, k] = q[k]
    if not measured and restart:
        return NO_VELOCITY * n
    scalars[DT], scalars[RESTART], clock[RESTARTS] = dt, clock[RESTARTS], 0.0
    scalars[NO_EFFORT] = -1.0
    for k in range(tau.size):
        if not abs(tau[k]) < limits[MAX_EFFORT] and scalars[NO_EFFORT] < 0.0:
            scalars[NO_EFFORT] = k
    return ACCEPTED


@kernel(
    "int64(float64[::1], float64[::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[::1], float64[::1], float64[::1])"
)
def validate(clock, clock_limits, rows, scalars, limits, stuck, q, qd, tau):
    """Judge one state, see `judge_values`."""
    return judge_values(clock, clock_limits, rows, scalars, limits, stuck, q, qd, tau)


class Validator:
    """The validator's memory for one robot: arrays that `validate` reads and writes."""

    def __init__(self, model: RobotModel, settings: SensingSettings, period: float) -> None:
        n = model.n
        self.clock, self.clock_limits = stamps.new_state(period), stamps.limits_of(settings)
        self.rows = np.zeros((int(ROWS), n))
        known = np.isfinite(model.qd_max)
        self.rows[int(SPEED)] = np.where(known, model.qd_max, settings.default_speed)
        self.rows[int(ENDLESS)] = model.continuous
        self.rows[int(LOWER)], self.rows[int(UPPER)] = model.q_min, model.q_max
        self.rows[int(TRAVEL)] = settings.stuck_travel
        self.scalars = np.zeros(int(SCALARS))
        self.scalars[int(WITHIN)], self.scalars[int(JUDGED)] = math.inf, math.nan
        exact = settings.stamps == "header"
        self.limits = np.array(
            [
                settings.max_position,
                settings.max_velocity,
                settings.max_effort,
                settings.max_jump if exact else settings.max_jump_receipt,
                settings.jump_samples,
                settings.same_place,
                settings.stuck_time,
                settings.stuck_samples,
            ]
        )
        self.stuck = np.zeros((int(STUCK_ROWS), n))
        self.stuck[0] = math.nan

    def judge(self, q: Array, qd: Array, tau: Array) -> tuple[int, int]:
        """Return the cause of rejection (ACCEPTED: none) and the joint it is about."""
        found = validate(
            self.clock,
            self.clock_limits,
            self.rows,
            self.scalars,
            self.limits,
            self.stuck,
            q,
            qd,
            tau,
        )
        return divmod(found, q.size)
