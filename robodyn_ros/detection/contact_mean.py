"""Mean residual of a contact, compiled: what the touched link is decided from.

The mean is taken since shortly before the alarm, when the contact had begun already, over the
momentum R that external torques gave: its rise over time, less the bias that was known at the
alarm. A decision is due at fixed times after the alarm and when the contact is over. Once the arm
has moved on, or the contact has lasted long, later samples are not added: one posture must stand
for all of the mean.
"""

import math

from ..dynamics.compile import U1, inline, kernel, uncounted_kernel
from ..model.packed_model import U

LOOK_BACK = 0.03  # [s] before the alarm, when the contact had begun already
DECISIONS = (0.05, 0.1, 0.2)  # [s] after the alarm
LONGEST_MEAN = 1.0  # [s] after the alarm
MAX_TRAVEL = 0.2  # [rad or m] of a joint since the alarm
RESOLUTION = 1e-6  # [s], of the times that are compared
CAPACITY = 256  # samples kept: the time before an alarm at up to 8 kHz
NO, DUE, OVER = 0, 1, 2  # whether a decision is due; OVER: the last one of a contact

# Rows, n numbers each: momentum so far, at the start and at the end of the mean; bias and posture
# at the alarm; sums of posture and speed; and the results: mean external torque without bias,
# mean posture, mean speed
(
    MOMENTUM, BEGIN, END, OFFSET, ALARM_Q, SUM_Q, SUM_SPEED, Y, Q, SPEED, ROWS,
) = (U(k) for k in range(11))  # fmt: skip
# Scalars: number of samples kept before a contact, whether there is one, times of the alarm and of
# both ends of the mean [s], decisions asked for, samples in the sums, whether the mean is closed
COUNT, ON, ALARM, START, LAST, ASKED, SAMPLES, CLOSED, SCALARS = (U(k) for k in range(9))


@kernel("int64(float64[:, ::1], float64[::1])")
def restart_contact(rows, own):
    """Forget the contact and all samples before it."""
    for k in range(U(own.size)):
        own[k] = 0.0
    for k in range(U(rows.shape[1])):
        rows[MOMENTUM, k] = 0.0
    return 0


@inline
def _begin(ring, rows, own, t, q, bias):
    """Begin a contact: the mean starts at the last sample not later than LOOK_BACK ago, or at the
    first one.
    """
    n, count = U(q.size), U(int(own[COUNT]))
    own[ON], own[ALARM], own[START], own[LAST] = 1.0, t, math.inf, t
    own[ASKED] = own[SAMPLES] = own[CLOSED] = own[COUNT] = 0.0
    if count > U(0):
        oldest = count - U(CAPACITY) if count > U(CAPACITY) else U(0)
        at = count - U1
        while at > oldest and ring[at % U(CAPACITY), n] > t - LOOK_BACK + RESOLUTION:
            at -= U1
        own[START] = ring[at % U(CAPACITY), n]
        for k in range(n):
            rows[BEGIN, k] = ring[at % U(CAPACITY), k]
    for k in range(n):
        rows[OFFSET, k], rows[ALARM_Q, k] = bias[k], q[k]
        rows[SUM_Q, k] = rows[SUM_SPEED, k] = 0.0


@inline
def _take_mean(rows, own):
    """Write the results; return whether there are any."""
    seconds = own[LAST] - own[START]
    if not seconds >= RESOLUTION:
        return False
    for k in range(U(rows.shape[1])):
        rows[Y, k] = (rows[END, k] - rows[BEGIN, k]) / seconds - rows[OFFSET, k]
        rows[Q, k] = rows[SUM_Q, k] / own[SAMPLES]
        rows[SPEED, k] = rows[SUM_SPEED, k] / own[SAMPLES]
    return True


def _follow_contact(ring, rows, own, t, touched, q, qd, bias):
    """Take a sample, its momentum in MOMENTUM; return NO, DUE or OVER."""
    n = U(q.size)
    if not touched:
        over = own[ON] != 0.0 and _take_mean(rows, own)
        own[ON] = 0.0
        new = U(int(own[COUNT])) % U(CAPACITY)
        for k in range(n):
            ring[new, k] = rows[MOMENTUM, k]
        ring[new, n] = t
        own[COUNT] += 1.0
        return OVER if over else NO
    if own[ON] == 0.0:
        _begin(ring, rows, own, t, q, bias)
    if t - own[ALARM] > LONGEST_MEAN:
        own[CLOSED] = 1.0
    for k in range(n):
        if abs(q[k] - rows[ALARM_Q, k]) > MAX_TRAVEL:
            own[CLOSED] = 1.0
    if own[CLOSED] == 0.0:
        own[LAST] = t
        own[SAMPLES] += 1.0
        for k in range(n):
            rows[END, k] = rows[MOMENTUM, k]
            rows[SUM_Q, k] += q[k]
            rows[SUM_SPEED, k] += abs(qd[k])
    asked = 0.0
    for moment in DECISIONS:
        if t - own[ALARM] + RESOLUTION >= moment:
            asked += 1.0
    if asked <= own[ASKED]:
        return NO
    own[ASKED] = asked
    return DUE if _take_mean(rows, own) else NO


# By itself, and as a part of the monitor's step
follow_contact = uncounted_kernel(
    "int64(matrix, matrix, vector, float64, boolean, vector, vector, vector)"
)(_follow_contact)
take_contact = inline(_follow_contact)
