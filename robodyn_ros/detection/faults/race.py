"""The race of the hypotheses: the probability of each kind of cause, from the evidence so far.

A fault of one joint leaves the others quiet; a touch may load any, but on a link it seldom leaves
all joints below without torque, unless that is too small to be seen. What no torque can tell is
told by the readings: a joint that stands still while others move, against more torque than its
friction holds, is locked; a reading that stays exactly the same is frozen.
"""

import math

from ...dynamics.compile import inline, uncounted_kernel
from ...model.packed_model import U
from . import blocks as of
from .evidence import (
    QUIET,
    STARTS,
    course_evidence,
    fit_one,
    fit_payload,
    fit_two,
    likeness,
    log_sum,
    payload_drift,
    score_one,
)

# Hypotheses in the race
TOUCH, LOAD, MOTOR, OFFSET, DRAG, BRAKE, FROZEN = (U(k) for k in range(7))
HYPOTHESES = U(7)
CAUSES = ("touch", "payload", "motor or effort", "bias", "friction", "locked", "frozen reading")
# What is kept of each: log probability, joint, value, second value, onset tried
CHANCE, JOINT, VALUE, OTHER, START, WIDTH = (U(k) for k in range(6))

TEMPER = 0.4  # of the log evidence: neighbouring blocks and joints err alike
# Log prior of payload, motor, offset, friction and locked joint, against that of a touch
LOAD_PRIOR, MOTOR_PRIOR, OFFSET_PRIOR, DRAG_PRIOR, BRAKE_PRIOR = -5.0, -3.0, -1.6, -3.0, -1.5
MIN_MASS = 0.05  # [kg]: less is no payload
LIGHT, LIGHT_PRIOR = 0.2, -4.0  # [kg]: a touch of the last link alone looks like as little
# Log evidence against a payload that changes as the arm turns, by `payload_drift` above 1; blocks
# that show it
DRIFTING, LEAST_BLOCKS, MOST_BLOCKS = 10.0, U(12), U(48)
MASS_SLACK = 1.1  # of a known payload's mass that may be let go
REVERSED_PRIOR = -1.5  # of an effort in which nothing but the sign is wrong
HELD_PRIOR = 0.0  # of a payload's change: it is let go, or its estimate is off
# Standard deviations of the priors: of the share of torque lost, commanded and measured (which may
# be any multiple); of a constant torque, friction
# and viscous friction per unit of speed, in contact thresholds
LOST, CONSTANT, DRY, VISCOUS = (2.0, 20.0), 100.0, 10.0, 10.0
# A measured torque that is mostly offset, or mostly that of a push, looks like a large multiple of
# the torque: that is rare, and told only where the reading jumps by it, where the load of the
# joint has the course of the reading, or where it is lost, as without a motor. A smaller multiple
# makes a jump, too, if the joint is loaded. Log priors: rare, not to be told
SMALL, TINY, UNLIKELY = 0.5, 0.2, (-4.0, -30.0)
REVERSED = -2.0  # share of the torque lost by a reversed sign
JUMP_ERROR = 0.35  # of such a jump
ALIKE = 0.9  # share of the load with the reading's course
MIN_RATIO, ALIKE_NOISE = 1.7, 0.3  # of the noise over that before; its error
# Standard deviation of the log of that ratio. Changes of a torque whose mean is a larger share of
# their mean size are its course, not noise. A faint reading may have noise of its own
RATIO_ERROR, MOST_COURSE, LEAST_FAINT = 0.07, 0.5, 0.5
FAINT = 3.0  # log prior of a reading whose noise is as little as its torque
BEYOND = 0.02  # a share so small is not known well enough to be compared
CLEAR_LOAD = 3.0  # standard deviations of y, above which a load would be missed
LOAD_LEFT = 0.4  # of it, below which it is lost
MIN_LOSS = 0.1  # a share of the torque this close to 1 is no fault
STEADY = 0.5  # probability that the torque of a touch on a loaded joint is constant
# Of a touch: usual torque of a joint over that of the outermost loaded one, which is closer to it;
# and bounds of the probability that it is too small to be seen
LEVER, SPARED = 3.0, (0.05, 0.9)
REST_SPEED = 0.02  # [rad/s or m/s]: slower is at rest
MOVING = 0.05  # [rad/s or m/s]: faster is in motion
MIN_REST = 0.15  # [s] at rest while others move, of a locked joint
REST_SHARE = 0.7  # of the case, for which a locked joint has been at rest
STOPPED = 5.0  # log evidence of a joint that stands still although it and others moved
FROZEN_TIME = 0.06  # [s] that a frozen reading has been the same
MIN_DEPARTURE = 0.01  # [rad or m] that the other reading says meanwhile
CERTAIN = 50.0  # log evidence of a frozen reading
IMPOSSIBLE = -1e9
# Rows behind those of `blocks`: torque that friction may hold, largest load of a joint at rest,
# log evidence that a touch loads a joint
HOLDS, LOADED, FELT, ROWS = (of.ROWS + U(k) for k in range(4))


@inline
def _frozen_joint(rows):
    """Return the joint with a frozen reading, or -1."""
    n, found = rows.shape[1], -1
    for k in range(n):
        same_q = rows[of.SAME_Q, k] > FROZEN_TIME
        same_qd = rows[of.SAME_QD, k] > FROZEN_TIME
        moved = rows[of.MOVED, k] > MOVING
        alive = False
        for j in range(n):
            alive = alive or (j != k and rows[of.SAME_QD, j] < FROZEN_TIME)
        jumped = rows[of.LAST_STEP, k] > 0.5 * rows[of.MOVED, k]
        kept = abs(rows[of.LAST_QD, k]) > REST_SPEED
        both = same_q and same_qd and moved and alive and (jumped or kept)
        position = same_q and abs(rows[of.TRAVEL, k]) > MIN_DEPARTURE
        velocity = same_qd and alive and abs(rows[of.DEPARTURE, k]) > MIN_DEPARTURE
        if both or position or velocity:
            found = k
    return found


@inline
def _offer(table, hypothesis, chance, joint, value, other, start):
    if chance > table[hypothesis, CHANCE]:
        table[hypothesis, CHANCE], table[hypothesis, JOINT] = chance, joint
        table[hypothesis, VALUE], table[hypothesis, OTHER] = value, other
        table[hypothesis, START] = start


@inline
def _jumps_by(rows, k, share):
    """Return whether the torque of joint k jumped to 1/share of what it was."""
    before, after = rows[of.JUMP_FROM, k], rows[of.JUMP_TO, k]
    return abs(share * after - before) < JUMP_ERROR * abs(before)


@inline
def _lost_load(rows, k):
    """Return whether joint k falls freely: its motion took a clear torque, and takes none now."""
    before = abs(rows[of.LOAD_BEFORE, k])
    clear = before > CLEAR_LOAD * of.noise_of(rows, k)
    return clear and rows[of.LOAD_SINCE, k] < LOAD_LEFT * before


@inline
def _magnified(rows, sums, k, share):
    """Return whether the reading of joint k looks like 1/share of its torque in all it does: its
    noise is that multiple, too, or from the start on, the joint's load has the reading's course.
    """
    before = rows[of.CHANGE_BEFORE, k]
    if before == 0.0:
        return likeness(sums, of.TAU) > ALIKE
    ratio = rows[of.CHANGE, k] / before
    return ratio > MIN_RATIO and (
        abs(share) < BEYOND or abs(ratio * abs(share) - 1.0) < ALIKE_NOISE
    )


@inline
def _noise_evidence(rows, k, share):
    """Return the log evidence against 1/share of the torque of joint k in its noise, which would
    be multiplied, too; 0: none.
    """
    before, now = rows[of.CHANGE_BEFORE, k], rows[of.CHANGE, k]
    if before <= 0.0 or now <= 0.0 or abs(rows[of.COURSE, k]) > MOST_COURSE * now:
        return 0.0
    told = -math.log(min(max(abs(share), BEYOND), 1.0 / LEAST_FAINT))
    found = math.log(now / before)
    return min(told * (found - 0.5 * told) / RATIO_ERROR**2, 0.0)


@inline
def _jump_missing(rows, k, size):
    """Return whether the torque of joint k made no jump of this size, although it would show."""
    visible = size > max(CLEAR_LOAD * of.noise_of(rows, k), 3.0 * of.JUMP * rows[of.CHANGE, k])
    return visible and rows[of.JUMP_SIZE, k] < 0.3 * size


@inline
def _motor_prior(rows, sums, k, share, motor_side, measured):
    """Return the log prior, above that of any motor, of one that gives this share of its torque,
    or whose effort is 1/share of it.
    """
    load = rows[of.LOAD_BEFORE, k]
    if not measured:
        # An arm at rest without load would not show that its motor gives nothing
        at_rest = rows[of.MOVED, k] < MOVING
        hidden = at_rest and abs(load) < CLEAR_LOAD * of.noise_of(rows, k)
        return UNLIKELY[1] if hidden and abs(share) < TINY else 0.0
    if motor_side and abs(share) < TINY and _lost_load(rows, k):
        return 0.0
    if abs(share) < (TINY if motor_side else SMALL):
        if not (_jumps_by(rows, k, share) or _magnified(rows, sums, k, share)):
            return UNLIKELY[1]
        return UNLIKELY[0] if abs(share) < TINY else 0.0
    if (
        share > 1.0 + SMALL
        and rows[of.CHANGE, k] * share < (1.0 + ALIKE_NOISE) * rows[of.CHANGE_BEFORE, k]
    ):
        return FAINT  # no touch makes a reading less noisy
    missing = _jump_missing(rows, k, abs(load) * abs(1.0 / share - 1.0))
    return UNLIKELY[0] if missing and (not motor_side or share > 1.0) else 0.0


@inline
def _race_since(
    rows, gram, bank, rest, age, s, motor_side, measured, held_mass, table, phi, work
):  # fmt: skip
    """Offer the hypotheses that begin at onset s."""
    n = U(rows.shape[1])
    quiet = 0.0
    for k in range(n):
        quiet += bank[s, k, QUIET]
    base = TEMPER * quiet
    each, start, touch = base - math.log(float(n)), float(s), 0.0
    for k in range(n):
        sums, limit, joint = gram[s, k], rows[of.LIMIT, k], float(k)
        gain, offset = fit_one(sums, of.ONE, CONSTANT * limit)
        constant, free = 0.5 * TEMPER * gain, TEMPER * course_evidence(bank[s, k])
        chance = each + constant + OFFSET_PRIOR
        if not motor_side and _jump_missing(rows, k, abs(offset)):
            chance += UNLIKELY[0]  # a sensor's offset does not grow as a touch does
        _offer(table, OFFSET, chance, joint, offset, 0.0, start)
        loaded = log_sum(math.log(STEADY) + constant, math.log(1.0 - STEADY) + free)
        rows[FELT, k], found = loaded, loaded
        for j in range(k):
            small = 2.0 * of.noise_of(rows, j) / (LEVER * max(abs(offset), 1e-9))
            spared = min(max(small, SPARED[0]), SPARED[1])
            found += log_sum(math.log(spared), math.log(1.0 - spared) + rows[FELT, j])
        touch = log_sum(touch, found) if k > 0 else found
        held = max(constant, free)
        gain, lost = fit_one(sums, of.TAU, LOST[1 if measured else 0])
        held = max(held, 0.5 * TEMPER * gain)
        if abs(lost) > MIN_LOSS:
            chance = each + 0.5 * TEMPER * gain + MOTOR_PRIOR
            chance += _motor_prior(rows, sums, k, 1.0 + lost, motor_side, measured)
            if measured and not (motor_side and 0.0 < 1.0 + lost < 1.0):
                chance += _noise_evidence(rows, k, 1.0 + lost)
            _offer(table, MOTOR, chance, joint, lost, 0.0, start)
        if measured:
            gain = score_one(sums, of.TAU, REVERSED)
            chance = each + 0.5 * TEMPER * gain + REVERSED_PRIOR
            _offer(table, MOTOR, chance, joint, REVERSED, 0.0, start)
        if not motor_side:
            continue
        gain, dry, viscous = fit_two(sums, of.SIGN, of.SPEED, DRY * limit, VISCOUS * limit)
        if dry + viscous * rows[of.MOVED, k] > 0.0:
            chance = each + 0.5 * TEMPER * gain + DRAG_PRIOR
            _offer(table, DRAG, chance, joint, dry, viscous, start)
        if rest[k] >= max(
            MIN_REST, REST_SHARE * age
        ):  # the torque that holds a joint takes any course
            certain = STOPPED if rows[LOADED, k] > rows[HOLDS, k] else 0.0
            _offer(table, BRAKE, each + held + BRAKE_PRIOR + certain, joint, 0.0, 0.0, start)
    _offer(table, TOUCH, each + touch, -1.0, 0.0, 0.0, start)
    gain = fit_payload(gram, s, phi, work)
    prior = HELD_PRIOR if held_mass > 0.0 else LOAD_PRIOR
    if held_mass == 0.0 and phi[0] < LIGHT:
        prior += LIGHT_PRIOR
    if phi[0] + MASS_SLACK * held_mass > (-MIN_MASS if held_mass > 0.0 else MIN_MASS):
        _offer(table, LOAD, base + 0.5 * TEMPER * gain + prior, -1.0, phi[0], 0.0, start)


@uncounted_kernel(
    "int64(float64[:, :, ::1], uint64, uint64, matrix, float64[:, :, :, ::1], float64[:, :, ::1],"
    " vector, float64, boolean, boolean, float64, matrix, vector, matrix)"
)
def race(
    ring, since, count, rows, gram, bank, rest, age, motor_side, measured, held_mass, table, phi,
    work,
):  # fmt: skip
    """Write the best of each hypothesis and its probability: CHANCE becomes 0 to 1. since, count:
    numbers of the first block of the case and of the next one; age: of the case [s]; rest: time
    at rest while others move (n,) [s]; held_mass: of the known payload [kg].
    """
    for h in range(HYPOTHESES):
        table[h, CHANCE] = IMPOSSIBLE
    for s in range(STARTS):
        _race_since(
            rows, gram, bank, rest, age, s, motor_side, measured, held_mass, table, phi, work
        )
    frozen, most = _frozen_joint(rows), IMPOSSIBLE
    for h in range(HYPOTHESES):
        most = max(most, table[h, CHANCE])
    if table[LOAD, CHANCE] == most and count >= since + LEAST_BLOCKS:
        since = max(since, count - MOST_BLOCKS) if count > MOST_BLOCKS else since
        drift = payload_drift(ring, rows, since, count, phi, work)
        table[LOAD, CHANCE] -= DRIFTING * max(drift - 1.0, 0.0)
        most = IMPOSSIBLE
        for h in range(HYPOTHESES):
            most = max(most, table[h, CHANCE])
    if frozen >= 0:
        most += CERTAIN
        table[FROZEN, CHANCE], table[FROZEN, JOINT] = most, float(frozen)
    total = 0.0
    for h in range(HYPOTHESES):
        table[h, CHANCE] = math.exp(max(table[h, CHANCE] - most, -700.0))
        total += table[h, CHANCE]
    for h in range(HYPOTHESES):
        table[h, CHANCE] /= total
    fit_payload(gram, U(int(table[LOAD, START])), phi, work)
    return 0
