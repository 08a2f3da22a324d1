"""The compiled step of the monitor: one sample through observer, checks and detector.

`ContactMonitor` calls `judge` and `follow_touch` for every sample, `monitor_rows` runs `steps`
over a recording: both are the same code.
"""

import math

from ..dynamics.compile import uncounted_inline as inline
from ..dynamics.compile import uncounted_kernel as kernel
from ..dynamics.friction import slide
from ..model.packed_model import U
from ..sensing.gap_compensation import fill_gap, restart_gap, shrink
from ..sensing.stuck import EXPECTED, READING, find_stuck, forget_readings
from .contact_mean import MOMENTUM, NO, OVER, SPEED, Y, restart_contact, take_contact
from .contact_mean import Q as MEAN_Q
from .detector import COLLISION_ON, CONTACT_ON, FORCES, ON, Level, follow, forget_times
from .detector import DEBOUNCE as DETECTOR_DEBOUNCE
from .detector import DT as DETECTOR_DT
from .detector import ROWS as DETECTOR_ROWS
from .detector import SCORE as DETECTOR_SCORE
from .effort_scale import find_scale, restart_scale
from .force_thresholds import follow_posture
from .noise import (
    BIAS,
    DEVIATION,
    INVOLVED,
    SCORE,
    find_contact,
    learn_bias,
    restart_noise,
    spike,
)
from .noise import LEVEL as NOISE_LEVEL
from .observer import observe, restart_observer, set_step

# The arrays in which all parts keep their state: observer; gap compensation, rows and scalars;
# effort scale, rows and times; stuck readings; noise: increments, rows, scalars, whitening;
# contact mean: momenta, rows, scalars; detector, rows and scalars; the monitor's own scalars and
# rows
MEMORY = (
    "float64[::1], float64[:, ::1], float64[::1], float64[:, ::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[::1],"
    " float64[:, ::1], float64[::1], float64[::1], float64[:, ::1]"
)
ROUNDING = 1e-6  # [s], of the difference of two stamps
STOP_DISTANCE = 0.02  # [rad or m] from the end of a joint's range, where its stop may act
MIN_TRAVEL = 0.0004  # [rad or m], by the velocity, that a position would not miss
OWN_SHARE = 0.5  # of the residual that the torque itself has made, of a frozen reading
WIDE_SHARE = 0.8  # of the threshold: where velocity is noisy, so is the torque that answers it
TREND_TIME = 0.015  # [s], over which a torque is smoothed where its joint's velocity is noisy
BALANCED_TIME = (
    0.3  # [s] for which torque and model agree at a stuck reading: the joint is at rest
)
NOISE_TIME = 1.0  # [s], over which the noise of the velocity is averaged
STOP_SHARE = 0.3  # of its residual over threshold: other joints feel less at a stop

# What a step finds: a level of `Level`, or why that is UNKNOWN
UNKNOWN, CLEAR, CONTACT, COLLISION = (int(level) for level in Level)
SETTLING, GAP, OVERFLOW, SCALED, STUCK, UNSTUCK, TARING = range(10, 17)
# How a sample is told to the step, as bits
RESTARTS, USABLE, LATE = 1, 2, 4

# Scalars: time of the previous sample [s], whether there was one, time since the detector was
# reset and its settling time [s], the observer's longest step [s], whether velocity matters to the
# thresholds, whether torque is commanded, share of the threshold that counts for stuck readings,
# with their time [s] and number of samples, the stuck joint, for how long [s] its residual has
# been small, the scale of the effort, whether all joints are tested together by their noise;
# duration of the step [s], 0 if its external torque is not known; 0, or a decision about the link
# is due: that duration, negative if the contact is over; 0, or the joint at its stop: counted from
# 1, negative at the lower one; speed within which the friction that the model lacks changes sign,
# 0 without any
(
    LAST,
    RUNNING,
    SETTLED,
    SETTLING_TIME,
    LONGEST_STEP,
    MOVING,
    COMMANDED,
    STUCK_SHARE,
    STUCK_TIME,
    STUCK_SAMPLES,
    STUCK_JOINT,
    BALANCED,
    EFFORT_FACTOR,
    NOISE_TEST,
    STEP,
    LINK_DUE,
    STOP,
    DRAG_SPEED,
    SCALARS,
) = (U(k) for k in range(19))
# Rows, n numbers each: residual, previous velocity, smoothed acceleration, torque, its mean over
# the step and its change, residual without what gaps may have caused, observer gain, contact
# threshold at rest (inf for a masked joint), torque change that counts for stuck readings, the
# residual with its bias, mean external torque of the step and the bound of its error, lowest and
# highest position, whether the velocity reads the same as before, dry and viscous friction that
# the model lacks, usual zigzag of the torque, share of the step in the residual; step of the
# velocity, NaN: not known, and variance of its noise; smoothed torque, and what counts as its
# change for stuck readings; integral of the velocity since the position changed; travel within
# which the dry friction that the model lacks changes sign, and its state, -1 to 1
(
    R, QD, QDD, TAU, MEAN, CHANGE, CERTAIN, GAIN, LIMIT, ENOUGH, RAW, EXTERNAL, ERROR, LOWEST,
    HIGHEST, SAME, DRY, VISCOUS, SPIKE, BLEND, QD_STEP, QD_VARIANCE, SMOOTH, TREND, TRAVEL,
    PRESLIDING, BENT, ROWS,
) = (U(k) for k in range(28))  # fmt: skip


@kernel(f"int64({MEMORY})")
def restart(
    observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, _, own, rows,
):  # fmt: skip
    """Forget everything that was measured but the bias."""
    restart_observer(observer)
    restart_gap(gap, gap_common)
    restart_scale(scale, scale_time)
    forget_readings(stuck)
    restart_noise(noise, noise_own)
    restart_contact(contact, contact_own)
    forget_times(detector)
    for k in range(U(rows.shape[1])):
        rows[R, k] = rows[RAW, k] = rows[QDD, k] = 0.0
        rows[QD_STEP, k] = math.nan
    own[RUNNING], own[SETTLED], own[STUCK_JOINT] = 0.0, 0.0, -1.0
    own[STEP] = own[LINK_DUE] = own[STOP] = 0.0
    return 0


@inline
def _blend(rows, dt):
    """Write the share of a step in the residual, 1 - exp(-K dt)."""
    gain, blend = -1.0, 0.0
    for k in range(U(rows.shape[1])):
        if rows[GAIN, k] != gain:  # most arms have one gain for all joints
            gain = rows[GAIN, k]
            blend = -math.expm1(-gain * dt)
        rows[BLEND, k] = blend


@inline
def _accelerate(rows, qd, before, dt):
    """Update the acceleration: differences of velocity, smoothed as the residual is."""
    for k in range(U(qd.size)):
        rows[QDD, k] += rows[BLEND, k] * ((qd[k] - before[k]) / dt - rows[QDD, k])


@inline
def _follow_noise(rows, qd, before, dt):
    """Update the variance of the velocity readings, from their second differences."""
    blend = min(dt / NOISE_TIME, 1.0)
    for k in range(U(qd.size)):
        change = qd[k] - before[k]
        off = change - rows[QD_STEP, k]
        if not math.isnan(off):
            rows[QD_VARIANCE, k] += blend * (off * off / 6.0 - rows[QD_VARIANCE, k])
        rows[QD_STEP, k] = change


@inline
def _follows_posture(common):
    """Return whether there are thresholds in terms of force."""
    return common[FORCES] + common[FORCES + U(1)] > 0.0


@inline
def _compare(detector, common, own, r, qd, qdd, dt):
    """Compare a residual with its thresholds; return the level, or SETTLING."""
    common[DETECTOR_DT] = dt
    above = follow(detector, common, r, qd, qdd)
    own[SETTLED] += dt
    if above < 0:
        return OVERFLOW
    if own[SETTLED] <= own[SETTLING_TIME]:
        return SETTLING
    if above & COLLISION_ON:
        return COLLISION
    return CONTACT if above & CONTACT_ON else CLEAR


@inline
def _take_increment(rows):
    """Write the mean external torque of a step, from the residual before and after it.

    The residual is its first-order filter (see `observer`). EXTERNAL holds the residual before.
    """
    for k in range(U(rows.shape[1])):
        rows[EXTERNAL, k] += (rows[RAW, k] - rows[EXTERNAL, k]) / rows[BLEND, k]


@inline
def _take_off_drag(rows, own, qd, dt, first):
    """Take the friction that the model lacks off the mean torque of a step.

    At the start it is that of steady sliding: a joint in motion has slid already.
    """
    for k in range(U(qd.size)):
        v = qd[k] if first else 0.5 * (rows[QD, k] + qd[k])
        travel = 0.0 if first else rows[PRESLIDING, k]
        rows[BENT, k] = slide(rows[BENT, k], v, own[DRAG_SPEED], travel, dt)
        rows[MEAN, k] -= rows[DRY, k] * rows[BENT, k] + rows[VISCOUS, k] * v


@inline
def _find_stop(rows, stopped, q, r):
    """Return the joint at its stop, as STOP; stopped: the one of the sample before.

    A stop holds its own joint back and loads no other one. While a contact lasts it stays, unless
    others feel more than their threshold, too.
    """
    n, largest, joint = int(q.size), 0.0, int(abs(stopped)) - 1
    for k in range(n):
        share = abs(r[k]) / rows[LIMIT, k]
        if stopped == 0.0 and share > largest:
            joint = k
        if k == joint:
            largest = share
    others = 0.0
    for k in range(n):
        if k != joint:
            others = max(others, abs(r[k]) / rows[LIMIT, k])
    if joint < 0:
        return 0.0
    if stopped != 0.0:
        return stopped if others <= max(1.0, STOP_SHARE * largest) else 0.0
    if others > STOP_SHARE * largest:
        return 0.0
    if r[joint] < 0.0 and q[joint] >= rows[HIGHEST, joint] - STOP_DISTANCE:
        return float(joint + 1)
    if r[joint] > 0.0 and q[joint] <= rows[LOWEST, joint] + STOP_DISTANCE:
        return -float(joint + 1)
    return 0.0


@inline
def _stuck_joint(stuck, own, rows, found, dt):
    """Return the joint whose reading is stuck, -1 if none is. It stays so until its reading
    changes, or until its residual is small again: held by friction, an arm at rest reads the same.
    """
    k = int(own[STUCK_JOINT])
    if k < 0:
        own[BALANCED] = 0.0
        return found
    balanced = abs(rows[R, k]) <= own[STUCK_SHARE] * rows[LIMIT, k]
    own[BALANCED] = own[BALANCED] + dt if balanced else 0.0
    if own[BALANCED] < BALANCED_TIME:
        return k
    stuck[EXPECTED, k] = 0.0
    return -1


def _judge(
    observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, common, own, rows,
    told, t, q, qd, tau,
):  # fmt: skip
    """Take one sample; return the level found, or why it is UNKNOWN. `follow_touch` comes next."""
    n = U(rows.shape[1])
    r, qd_before, qdd, mean = rows[R], rows[QD], rows[QDD], rows[MEAN]
    change, certain, enough = rows[CHANGE], rows[CERTAIN], rows[ENOUGH]
    raw, external, error, same = rows[RAW], rows[EXTERNAL], rows[ERROR], rows[SAME]
    trend = rows[TREND]
    usable, reason = told & USABLE != 0, SETTLING
    own[STEP] = 0.0
    dt = t - own[LAST]
    frozen = int(own[STUCK_JOINT])
    if usable and frozen >= 0 and q[frozen] != stuck[READING, frozen]:
        reason = UNSTUCK
    elif usable and own[RUNNING] != 0.0 and dt > own[LONGEST_STEP] + ROUNDING:
        reason = GAP  # K dt must not exceed 1
    if told & RESTARTS or reason != SETTLING:
        restart(
            observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
            before, contact, contact_own, detector, common, own, rows
        )  # fmt: skip
    if told & LATE or not usable:
        forget_times(detector)
        own[SETTLED] = 0.0
    if not usable:
        return SETTLING
    first = own[RUNNING] == 0.0
    dt = own[LONGEST_STEP] if first else min(dt, own[LONGEST_STEP])
    _blend(rows, dt)
    inexact = fill_gap(gap, gap_common, tau, dt, rows[BLEND], mean)
    for k in range(n):
        error[k] = abs(tau[k] - mean[k])
        if not first:  # a spike is known for one once it is over
            error[k] += spike(change[k], tau[k] - rows[TAU, k], rows[SPIKE, k])
    if own[DRAG_SPEED] != 0.0:
        _take_off_drag(rows, own, qd, dt, first)
    set_step(observer, dt)
    for k in range(n):
        external[k] = raw[k]
    if observe(observer, q, qd, mean, raw) != 0:
        forget_times(detector)
        own[SETTLED] = 0.0
        return OVERFLOW
    if not first:
        _follow_noise(rows, qd, qd_before, dt)
    if own[MOVING] != 0.0 and not first:
        _accelerate(rows, qd, qd_before, dt)
    for k in range(n):
        same[k] = 1.0 if qd[k] == qd_before[k] else 0.0
        qd_before[k] = qd[k]
        change[k] = 0.0 if first else tau[k] - rows[TAU, k]
        if first:
            rows[SMOOTH, k] = tau[k]
        rows[TAU, k] = tau[k]
        r[k] = raw[k] - noise[BIAS, k]
    own[RUNNING], own[LAST] = 1.0, t
    if first:
        return reason
    _take_increment(rows)
    own[STEP] = dt
    touched = 0
    if own[NOISE_TEST] != 0.0:
        debounce = common[DETECTOR_DEBOUNCE]
        touched = find_contact(
            ring, noise, noise_own, whitening, t, dt, qd, external, error, debounce
        )
    own[EFFORT_FACTOR] = find_scale(scale, scale_time, raw, mean, qd, dt, rows[BLEND])
    if own[EFFORT_FACTOR] != 1.0:
        forget_times(detector)
        own[SETTLED] = 0.0
        return SETTLING if math.isnan(own[EFFORT_FACTOR]) else SCALED
    if own[COMMANDED] != 0.0:
        # A joint that stands while others move, and whose velocity is measured, may be locked; in
        # a contact an arm may stand, and be pushed, unless its velocity says that it moves
        moving = touching = False
        for k in range(n):
            moving = moving or q[k] != stuck[READING, k]
            touching = touching or detector[ON, k] != 0.0
        blend = -math.expm1(-dt / TREND_TIME)
        for k in range(n):
            measured, limit = same[k] == 0.0, own[STUCK_SHARE] * rows[LIMIT, k]
            if q[k] != stuck[READING, k]:
                rows[SMOOTH, k], rows[TRAVEL, k] = tau[k], 0.0
            rows[TRAVEL, k] += qd[k] * dt
            pushed = touching and abs(rows[TRAVEL, k]) < MIN_TRAVEL
            shift = blend * (tau[k] - rows[SMOOTH, k])
            rows[SMOOTH, k] += shift
            trend[k] = shift if measured else change[k]
            # What a frozen reading causes is as large as the torque's change since it froze
            wide = max(limit, WIDE_SHARE * rows[LIMIT, k], OWN_SHARE * abs(r[k]))
            enough[k] = wide if measured else limit
            if abs(r[k]) <= limit or (measured and (moving or pushed)):
                enough[k] = math.inf
        found = find_stuck(stuck, q, trend, enough, dt, own[STUCK_TIME], own[STUCK_SAMPLES])
        own[STUCK_JOINT] = _stuck_joint(stuck, own, rows, found, dt)
        if own[STUCK_JOINT] >= 0.0:
            forget_times(detector)
            own[SETTLED] = 0.0
            return STUCK
    if _follows_posture(common) and follow_posture(detector, common, q) != 0:
        return OVERFLOW
    compared = r
    if inexact:
        shrink(gap, r, certain)
        compared = certain
    found = _compare(detector, common, own, compared, qd, qdd, dt)
    if found == OVERFLOW:
        return OVERFLOW
    score = max(noise_own[SCORE], common[DETECTOR_SCORE])
    if learn_bias(noise, noise_own, external, t, dt, score):
        forget_times(detector)
        return TARING
    return found if found == SETTLING else max(found, CLEAR + touched)


def _follow_touch(noise, before, contact, contact_own, own, rows, found, t, q, qd):
    """Take the sample into the means of a contact; `judge` found this. Return 0."""
    dt, touched = own[STEP], CONTACT <= found <= COLLISION
    own[LINK_DUE] = 0.0
    if dt == 0.0 or found in (OVERFLOW, SCALED, STUCK):
        restart_contact(contact, contact_own)
        own[STOP] = 0.0
        return 0
    for k in range(U(q.size)):
        contact[MOMENTUM, k] += dt * rows[EXTERNAL, k]
    if touched:
        own[STOP] = _find_stop(rows, own[STOP], q, rows[R])
    due = take_contact(before, contact, contact_own, t, touched, q, qd, noise[BIAS])
    if due != NO and own[STOP] == 0.0:
        own[LINK_DUE] = -dt if due == OVER else dt
    if not touched:
        own[STOP] = 0.0
    return 0


# By themselves, for one sample, and as parts of the loop over a recording
judge = kernel(f"int64({MEMORY}, int64, float64, float64[::1], float64[::1], float64[::1])")(
    _judge
)
follow_touch = kernel(
    "int64(matrix, matrix, matrix, vector, vector, matrix, int64, float64, vector, vector)"
)(_follow_touch)
take_judgement, take_touch = inline(_judge), inline(_follow_touch)


@kernel("int64(float64[:, ::1], float64[:, ::1], float64[::1], boolean[::1])")
def mark_joints(detector, noise, noise_own, above):
    """Mark the joints above a threshold, or which deviate most by their noise."""
    largest, by_noise = 0.0, noise_own[NOISE_LEVEL] != 0.0
    for j in range(U(above.size)):
        largest = max(largest, noise[DEVIATION, j])
    for j in range(U(above.size)):
        above[j] = detector[ON, j] != 0.0 or detector[DETECTOR_ROWS + ON, j] != 0.0
        if by_noise and noise[DEVIATION, j] >= min(INVOLVED, largest):
            above[j] = True
    return 0


# A recording as `take_row` takes it: status of the samples, whether each is late, rejected ones
# in a row that leave the verdict standing; times, positions, velocities, torques
SAMPLES = (
    "int64[::1], int64[::1], int64, float64[::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1]"
)
# What it writes: `monitor.Rows`
FOUND = (
    "float64[:, ::1], float64[:, ::1], int64[::1], float64[::1], boolean[:, ::1],"
    " float64[:, ::1], float64[::1], float64[:, :, ::1]"
)


@inline
def rejected_before(status, row):
    """Return how many samples in a row were rejected directly before this one."""
    count = 0
    while count < row and status[row - 1 - count] == 2:
        count += 1
    return count


@inline
def take_row(
    observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, common, own, rows,
    status, late, max_invalid, t, q, qd, tau,
    r, certain, found, value, above, external, due, means,
    k, rejected,
):  # fmt: skip
    """Take sample k of a recording; return whether a step was made.

    rejected: samples in a row up to this one. value: what the reason for UNKNOWN is about, or the
    joint at its stop. due: when a decision about the link is due, as LINK_DUE, from these means.
    """
    n = U(rows.shape[1])
    if 0 < rejected <= max_invalid:  # the previous verdict stands
        found[k] = found[k - U(1)] if k > 0 else SETTLING
        if k > 0 and CONTACT <= found[k] <= COLLISION:
            value[k] = value[k - U(1)]
        for j in range(n):
            above[k, j] = k > 0 and above[k - U(1), j]
            r[k, j] = rows[R, j]
        if certain.size:
            shrink(gap, rows[R], certain[k])
            external[k] = math.nan
        return False
    told = LATE * late[k]
    if status[k] == 1:
        told |= RESTARTS
    if status[k] <= 1 and not math.isnan(tau[k, 0]):
        told |= USABLE
    found[k] = take_judgement(
        observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
        before, contact, contact_own, detector, common, own, rows,
        told, t[k], q[k], qd[k], tau[k],
    )  # fmt: skip
    take_touch(noise, before, contact, contact_own, own, rows, found[k], t[k], q[k], qd[k])
    if found[k] == SCALED:
        value[k] = own[EFFORT_FACTOR]
    elif found[k] == STUCK:
        value[k] = own[STUCK_JOINT]
    if certain.size:
        shrink(gap, rows[R], certain[k])
        for j in range(n):
            external[k, j] = rows[EXTERNAL, j] if own[STEP] != 0.0 else math.nan
    for j in range(n):
        r[k, j] = rows[R, j]
    if CONTACT <= found[k] <= COLLISION:
        mark_joints(detector, noise, noise_own, above[k])
        value[k] = own[STOP]
    if own[LINK_DUE] != 0.0:
        due[k] = own[LINK_DUE]
        for j in range(n):
            means[k, U(0), j] = contact[Y, j]
            means[k, U(1), j] = contact[MEAN_Q, j]
            means[k, U(2), j] = contact[SPEED, j]
    return True


@kernel(f"int64({MEMORY}, {SAMPLES}, {FOUND})")
def steps(
    observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own, whitening,
    before, contact, contact_own, detector, common, own, rows,
    status, late, max_invalid, t, q, qd, tau,
    r, certain, found, value, above, external, due, means,
):  # fmt: skip
    """The same over all samples."""
    rejected = 0
    for k in range(U(t.size)):
        rejected = rejected + 1 if status[k] == 2 else 0
        take_row(
            observer, gap, gap_common, scale, scale_time, stuck, ring, noise, noise_own,
            whitening, before, contact, contact_own, detector, common, own, rows,
            status, late, max_invalid, t, q, qd, tau,
            r, certain, found, value, above, external, due, means,
            k, rejected,
        )  # fmt: skip
    return 0


@kernel(
    "int64(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1], int64[::1], float64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1])"
)
def compare_samples(detector, common, own, rows, resets, t, r, q, qd, level):
    """The last stage of `judge` over many samples; resets: where the detector is reset."""
    for k in range(U(t.size)):
        if resets[k] != 0 or k == 0:
            forget_times(detector)
            own[SETTLED] = 0.0
            for j in range(U(r.shape[1])):
                rows[QDD, j] = 0.0
            level[k] = UNKNOWN
            continue
        dt = t[k] - t[k - U(1)]
        _blend(rows, dt)
        _accelerate(rows, qd[k], qd[k - U(1)], dt)
        if _follows_posture(common):
            follow_posture(detector, common, q[k])
        found_level = _compare(detector, common, own, r[k], qd[k], rows[QDD], dt)
        level[k] = found_level if found_level <= COLLISION else UNKNOWN
    return 0
