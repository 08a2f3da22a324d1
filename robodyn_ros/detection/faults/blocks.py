"""Blocks of samples: what the fault hypotheses are fitted to, one row per 20 ms.

A block holds for each joint the mean external torque y and what each fault would make of it: 1
for a bias, the torque for a motor, the direction and the speed of motion for friction, and ten
columns for a payload. All are in units of the noise: that of y while nothing touches the arm,
plus a share of y itself, which stands for what is proportional to it.

Readings are watched sample by sample: how long each has been exactly the same, and what the
other reading says meanwhile.
"""

import math

from ...dynamics.compile import U1, inline
from ...model.packed_model import U
from .payload_columns import UNKNOWNS, link_velocities, payload_columns

BLOCK = 0.02  # [s]
CAPACITY = U(64)  # blocks kept
DRY_SPEED = 0.02  # [rad/s or m/s], over which dry friction changes sign
SATURATED = 40.0  # twice the argument from which on tanh is 1
# Noise of y: shares of the contact threshold, of y, and of the largest y of all joints
START_NOISE, LEAST_NOISE, MOST_NOISE = 0.2, 0.08, 0.4
MODEL_ERROR, CROSS_TALK = 0.03, 0.01
NOISE_TIME = 5.0  # [s], over which the noise is averaged
MOVED_TIME = 0.3  # [s], over which the speed before a stop is averaged
LOAD_TIME = 0.3  # [s], over which the load of a joint is averaged, before an alarm and since
CHANGE_TIME = 0.1  # [s], over which the change of the torque is averaged
JUMP, JUMP_TIME = 8.0, 1.0  # mean changes of the torque from which on one is a jump; kept for [s]
TIMES = (0.1, 0.5)  # [s], correlation times of a touch
ERROR_SHARE, ERROR_TIME = 0.5, 0.5  # share of noise that is slow, e.g. model error; its time [s]

# Columns of a block
Y, ONE, TAU, SIGN, SPEED, MASS = (U(k) for k in range(6))
COLUMNS = MASS + UNKNOWNS
# Numbers of a block that all joints share: end [s], duration [s], decay and gain of the slow
# noise's estimate, deviation of its innovation, decays of the courses of a touch
END, SECONDS, DECAY, GAIN, DEVIATION, DECAYS = (U(k) for k in range(6))
MARKS = DECAYS + U(2)

# Rows, n numbers each. Constant: contact threshold. Sums of the block: external torque, torque,
# velocity, direction, posture. Previous readings; for how long they have been the same [s]; what
# the velocity integrates to meanwhile, and by how far the position departs from that [rad or m];
# step of the velocity that came last; speed while it moved. Usual change of the torque; largest
# jump, its time and the torques before and after. Mean square of y without contact; mean speed of
# the block, and the torque that its motion took; the slow error of y; the torque that the motion
# took before the alarm and, since, its mean size; usual change of the torque before the alarm, and
# the mean of its signed changes: noise takes back what it adds, motion does not
(
    LIMIT, SUM_Y, SUM_TAU, SUM_QD, SUM_SIGN, SUM_Q, LAST_Q, LAST_QD, LAST_TAU, SAME_Q, SAME_QD,
    TRAVEL, DEPARTURE, LAST_STEP, MOVED, CHANGE, JUMP_SIZE, JUMP_AT, JUMP_FROM, JUMP_TO, SQUARE,
    BLOCK_SPEED, BLOCK_LOAD, SLOW, LOAD_BEFORE, LOAD_SINCE, CHANGE_BEFORE, COURSE, ROWS,
) = (U(k) for k in range(29))  # fmt: skip
# Scalars: duration and samples of the open block, blocks so far, variance of the slow noise's
# estimate, whether there was a sample
OPEN_TIME, SAMPLES, COUNT, VARIANCE, STARTED, SCALARS = (U(k) for k in range(6))


@inline
def restart_blocks(rows, own):
    """Forget what was measured; the noise stays."""
    for k in range(U(rows.shape[1])):
        for row in range(SUM_Y, SQUARE):
            rows[row, k] = 0.0
        rows[JUMP_AT, k] = -math.inf
        rows[SLOW, k] = rows[LOAD_BEFORE, k] = rows[LOAD_SINCE, k] = 0.0
        rows[CHANGE_BEFORE, k] = rows[COURSE, k] = 0.0
    own[OPEN_TIME] = own[SAMPLES] = own[COUNT] = own[STARTED] = 0.0
    own[VARIANCE] = ERROR_SHARE


@inline
def direction(qd):
    """Return tanh(qd / DRY_SPEED) within rounding: the direction of motion, -1 to 1."""
    x = qd * (2.0 / DRY_SPEED)
    if abs(x) > SATURATED:
        return math.copysign(1.0, x)
    e = math.exp(x)
    return (e - 1.0) / (e + 1.0)


@inline
def _watch_readings(rows, k, t, dt, blend, follow, q, qd, tau):
    """Follow how long the readings of joint k have been the same, and jumps of its torque.

    blend, follow: shares of the step in the speed before a stop and in the usual change.
    """
    same_q, same_qd = q == rows[LAST_Q, k], qd == rows[LAST_QD, k]
    rows[SAME_Q, k] = rows[SAME_Q, k] + dt if same_q else 0.0
    rows[SAME_QD, k] = rows[SAME_QD, k] + dt if same_qd else 0.0
    rows[TRAVEL, k] = rows[TRAVEL, k] + qd * dt if same_q else 0.0
    off = q - rows[LAST_Q, k] - qd * dt
    rows[DEPARTURE, k] = rows[DEPARTURE, k] + off if same_qd else 0.0
    if not same_qd:
        rows[LAST_STEP, k] = abs(qd - rows[LAST_QD, k])
    if not (same_q and same_qd):
        rows[MOVED, k] += blend * (abs(qd) - rows[MOVED, k])
    rows[COURSE, k] += follow * (tau - rows[LAST_TAU, k] - rows[COURSE, k])
    step = abs(tau - rows[LAST_TAU, k])
    fresh = t - rows[JUMP_AT, k] < JUMP_TIME
    if step > JUMP * rows[CHANGE, k] and step > (rows[JUMP_SIZE, k] if fresh else 0.0):
        rows[JUMP_SIZE, k], rows[JUMP_AT, k] = step, t
        rows[JUMP_FROM, k], rows[JUMP_TO, k] = rows[LAST_TAU, k], tau
    rows[CHANGE, k] += follow * (min(step, 5.0 * rows[CHANGE, k] + 1e-3) - rows[CHANGE, k])


@inline
def take_sample(block, ring, marks, columns, rows, own, t, dt, q, qd, tau, external, bias, calm):
    """Take a sample; return whether it ends a block. calm: nothing touches the arm."""
    n = U(q.size)
    if own[STARTED] == 0.0:
        own[STARTED] = 1.0
        for k in range(n):
            rows[LAST_Q, k], rows[LAST_QD, k], rows[LAST_TAU, k] = q[k], qd[k], tau[k]
            rows[MOVED, k], rows[CHANGE, k] = abs(qd[k]), rows[LIMIT, k]
        link_velocities(block, q, qd, U(0))
        return False
    blend, follow = -math.expm1(-dt / MOVED_TIME), min(dt / CHANGE_TIME, 1.0)
    for k in range(n):
        _watch_readings(rows, k, t, dt, blend, follow, q[k], qd[k], tau[k])
        rows[SUM_Y, k] += dt * (external[k] - bias[k])
        rows[SUM_TAU, k] += dt * tau[k]
        rows[SUM_QD, k] += dt * qd[k]
        rows[SUM_SIGN, k] += dt * direction(qd[k])
        rows[SUM_Q, k] += dt * q[k]
        rows[LAST_Q, k], rows[LAST_QD, k], rows[LAST_TAU, k] = q[k], qd[k], tau[k]
    own[OPEN_TIME] += dt
    own[SAMPLES] += 1.0
    if own[OPEN_TIME] < BLOCK - 1e-6:
        return False
    _end_block(block, ring, marks, columns, rows, own, t, q, qd, calm)
    return True


@inline
def noise_of(rows, k):
    """Return the standard deviation of y of joint k while nothing touches the arm."""
    most = MOST_NOISE * rows[LIMIT, k]
    return min(max(1.5 * math.sqrt(rows[SQUARE, k]), LEAST_NOISE * rows[LIMIT, k]), most)


@inline
def _end_block(block, ring, marks, columns, rows, own, t, q, qd, calm):
    n, seconds, at = U(q.size), own[OPEN_TIME], U(int(own[COUNT])) % CAPACITY
    largest = 0.0
    for k in range(n):
        for row in range(SUM_Y, SUM_Q + U1):
            rows[row, k] /= seconds
        largest = max(largest, abs(rows[SUM_Y, k]))
    payload_columns(block, q, qd, rows[SUM_Q], seconds, columns)
    a = math.exp(-seconds / ERROR_TIME)
    variance = a * a * own[VARIANCE] + ERROR_SHARE * (1.0 - a * a)
    total = variance + 1.0 - ERROR_SHARE
    marks[at, END], marks[at, SECONDS], marks[at, DECAY] = t, seconds, a
    marks[at, GAIN], marks[at, DEVIATION] = variance / total, math.sqrt(total)
    own[VARIANCE] = variance * (1.0 - variance / total)
    for i in range(U(2)):
        marks[at, DECAYS + i] = math.exp(-seconds / TIMES[i])
    for k in range(n):
        y = rows[SUM_Y, k]
        sigma = math.sqrt(
            noise_of(rows, k) ** 2 + (MODEL_ERROR * y) ** 2 + (CROSS_TALK * largest) ** 2
        )
        if calm:
            part = min(seconds / NOISE_TIME, 1.0)
            rows[SQUARE, k] += part * (y * y - rows[SQUARE, k])
        ring[at, k, Y], ring[at, k, ONE] = y / sigma, 1.0 / sigma
        ring[at, k, TAU] = rows[SUM_TAU, k] / sigma
        ring[at, k, SIGN] = -rows[SUM_SIGN, k] / sigma
        ring[at, k, SPEED] = -rows[SUM_QD, k] / sigma
        for i in range(UNKNOWNS):
            ring[at, k, MASS + i] = columns[k, i] / sigma
        # The slow error before this block, from y alone
        off = ring[at, k, Y] - rows[SLOW, k]
        ring[at, k, COLUMNS] = rows[SLOW, k]
        rows[SLOW, k] = a * (rows[SLOW, k] + marks[at, GAIN] * off)
        rows[BLOCK_SPEED, k] = abs(rows[SUM_QD, k])
        load, blend = rows[SUM_TAU, k] + y, -math.expm1(-seconds / LOAD_TIME)
        rows[BLOCK_LOAD, k] = abs(load)
        if calm:
            rows[LOAD_BEFORE, k] += blend * (load - rows[LOAD_BEFORE, k])
            rows[LOAD_SINCE, k] = abs(rows[LOAD_BEFORE, k])
            if rows[CHANGE_BEFORE, k] == 0.0:
                rows[CHANGE_BEFORE, k] = rows[CHANGE, k]
            rows[CHANGE_BEFORE, k] += blend * (rows[CHANGE, k] - rows[CHANGE_BEFORE, k])
        else:
            rows[LOAD_SINCE, k] += blend * (abs(load) - rows[LOAD_SINCE, k])
        for row in range(SUM_Y, SUM_Q + U1):
            rows[row, k] = 0.0
    own[OPEN_TIME] = own[SAMPLES] = 0.0
    own[COUNT] += 1.0
