"""A case, from the alarm until all is quiet again: compiled, one call per sample.

The first word is `undecided`. Decisions are due at fixed times after the alarm, so that a node
and an offline run say the same. A fault is named once its probability has been high at two
decisions in a row; a case that stays below doubt is a collision; where two causes are equally
good, both are told. The name changes at most MAX_CHANGES times.
"""

import math

from ...dynamics.compile import U1, inline, uncounted_kernel
from ...model.packed_model import U
from . import blocks as of
from . import race as by
from .blocks import restart_blocks, take_sample
from .evidence import (
    CASE,
    ONSETS,
    STARTS,
    SUMS,
    add_block,
    estimate_payload,
    restart_evidence,
    skip_block,
    start_evidence,
    weigh_payload,
)
from .payload_columns import UNKNOWNS
from .race import race

# Codes of what is told
NONE, UNDECIDED, COLLISION, PAYLOAD, FREE_SWINGING, EFFECTIVENESS, BIAS = range(7)
LOCKED, FRICTION, SENSOR_FREEZE, EFFORT_SCALE, EFFORT_SIGN = range(7, 12)

FREE_SHARE = 0.12  # share of the torque below which a motor counts as free-swinging
UNSIGNED = 0.02  # share of the torque below which its sign is that of the jump
JUMP_ERROR = 0.25  # of the jump of the reported torque, against the scale it should show
DOUBT_TIME = 0.6  # [s] after the alarm: what is still below doubt is a collision
TOUCHED_CHANCE = 0.75  # probability of a touch from which on it is told then
MIN_STOP = 0.05  # [s] for which a joint stands while others still move
# Decisions in a row that name a fault or a payload, and that revoke it. A payload takes longer:
# for as long as the arm has not turned, a steady push on the last link looks the same
AGREED, AGREED_PAYLOAD, REVOKED = 2, 4, 5
MAX_CHANGES = 3  # of the name, per case
CALM_TIME = 0.1  # [s] after the contact, when an undecided case is decided; names stay then
PART = 4  # blocks that are added per millisecond of samples at most
GRACE = 0.2  # [s] after a payload was taken over, in which its residual fades
RESOLUTION = 1e-6  # [s]
PAUSED = 2.0  # of an open case whose evidence begins anew with the next touch
CHANGED, FOLLOW = 1, 2  # what a sample leads to, as bits

# Scalars behind those of `blocks`. Settings: first decision, period, window, lead, close, hold,
# whether motor faults show in the torque, whether the torque is commanded; time after the alarm
# at which a payload is followed (inf: never) [s], the largest one and the one known [kg]. State:
# whether a case is open, times of the alarm, of the last touch and of the next decision [s]; block
# of the alarm; next block that counts, and for which onset; first block of each onset; candidate,
# its joint, and the number of decisions for it; end of the time in which a residual fades [s]
(
    FIRST, PERIOD, WINDOW, LEAD, CLOSE, HOLD, MOTOR_SIDE, COMMANDED, FOLLOW_TIME, MAX_MASS,
    KNOWN_MASS, OPEN, ALARM, TOUCHED, NEXT, ALARM_BLOCK, PROCESSED, TURN, BEGINS, _1, _2, _3,
    CANDIDATE, CANDIDATE_JOINT, AGREEMENTS, GRACE_UNTIL, SCALARS,
) = (of.SCALARS + U(k) for k in range(27))  # fmt: skip
# What is told: code, joint, value, confidence, onset [s], codes of the second and, of an undecided
# case, of the first; deviation of a payload's mass [kg]; changes of the name; friction as (dry,
# viscous) and the speed it is told for; first moment of a payload (3) [kg m] and its inertia about
# the link's origin (6) [kg m^2], and the products that it was estimated from (11, 11); probability
# of each hypothesis
(
    CODE, JOINT, VALUE, CONFIDENCE, ONSET, SECOND, BEST, MASS_ERROR, CHANGES, MASS, DRY, VISCOUS,
    SPEED, MOMENT,
) = (U(k) for k in range(14))  # fmt: skip
PRODUCTS = MOMENT + UNKNOWNS - U1
CHANCES = PRODUCTS + SUMS * SUMS
TOLD = CHANCES + by.HYPOTHESES

# Rows behind those of `race`: time at rest while others move [s], speed before the alarm
REST, BEFORE, ROWS = (by.ROWS + U(k) for k in range(3))

MEMORY = (
    "float64[::1], float64[:, :, ::1], float64[:, ::1], float64[:, ::1], float64[:, :, :, ::1],"
    " float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1], float64[::1], float64[::1],"
    " float64[:, ::1], float64[::1], float64[:, ::1]"
)


@uncounted_kernel(f"int64({MEMORY})")
def restart_case(
    block, ring, marks, columns, gram, filters, bank, rows, own, told, table, phi, work,
):  # fmt: skip
    """Forget everything that was measured."""
    restart_blocks(rows, own)
    _close(own, told)
    own[GRACE_UNTIL] = -math.inf
    return 0


@inline
def _is_fault(code):
    return code > COLLISION


@uncounted_kernel(f"int64({MEMORY}, float64)")
def pause_case(
    block, ring, marks, columns, gram, filters, bank, rows, own, told, table, phi, work, t,
):  # fmt: skip
    """Take a sample of unknown level at time t [s]; return CHANGED if `told` has changed.

    What was measured is forgotten. A fault that was named stands, until it has not shown for long.
    """
    restart_blocks(rows, own)
    if own[OPEN] == 0.0:
        return 0
    if _is_fault(int(told[CODE])) and t - own[TOUCHED] <= own[HOLD]:
        own[OPEN] = PAUSED
        return 0
    _close(own, told)
    return CHANGED


@inline
def _close(own, told):
    own[OPEN] = 0.0
    for i in range(TOLD):
        told[i] = 0.0


@inline
def _open(ring, marks, gram, filters, bank, rows, own, told, work, t):
    if own[OPEN] != PAUSED:
        for i in range(TOLD):
            told[i] = 0.0
        told[CODE], told[JOINT], told[ONSET] = UNDECIDED, -1.0, t
    own[OPEN], own[ALARM], own[NEXT] = 1.0, t, t + own[FIRST]
    own[CANDIDATE] = own[AGREEMENTS] = 0.0
    restart_evidence(gram, filters, bank)
    work[:] = 0.0
    count = int(own[of.COUNT])
    oldest, first = max(count - int(of.CAPACITY) + 8, 0), count
    own[ALARM_BLOCK], own[TURN] = float(count), 0.0
    for s in range(STARTS):
        while first > oldest and marks[U(first - 1) % of.CAPACITY, of.END] > t - ONSETS[s]:
            first -= 1
        own[BEGINS + s] = float(first)
    own[PROCESSED] = float(first)
    if first < count:
        start_evidence(ring, filters, U(first) % of.CAPACITY)
    for k in range(U(rows.shape[1])):
        rows[REST, k], rows[BEFORE, k] = 0.0, rows[of.MOVED, k]
        rows[by.LOADED, k] = 0.0


@inline
def _catch_up(ring, marks, gram, filters, bank, rows, own, work, dt):
    """Add blocks that are not in the evidence yet, a few per millisecond of samples."""
    left = PART * int(math.ceil(dt / 1e-3 - 0.5)) + 1
    while own[PROCESSED] < own[of.COUNT] and left > 0:
        s, number = U(int(own[TURN])), own[PROCESSED]
        at = U(int(number)) % of.CAPACITY
        if number == own[ALARM_BLOCK]:
            skip_block(marks, filters, s, at)
        else:
            begun = number >= own[BEGINS + s]
            add_block(ring, marks, gram, filters, bank, s, at, own[WINDOW], begun)
        own[TURN] += 1.0
        if own[TURN] == float(STARTS):
            own[TURN] = 0.0
            if number > own[ALARM_BLOCK]:
                fade = math.exp(-marks[at, of.SECONDS] / own[WINDOW])
                weigh_payload(ring, rows, at, fade, work, CASE)
            own[PROCESSED] += 1.0
        left -= 1
    return own[PROCESSED] >= own[of.COUNT]


@inline
def _watch_rest(rows, own, t):
    """Follow for how long each joint has stood still although it moved and others move."""
    n = U(rows.shape[1])
    for k in range(n):
        others = 0.0
        for j in range(n):
            if j != k:
                others = max(others, rows[of.BLOCK_SPEED, j])
        at_rest = rows[of.BLOCK_SPEED, k] < by.REST_SPEED and rows[BEFORE, k] > by.MOVING
        if not at_rest and t - own[ALARM] > 2.0 * of.BLOCK:
            rows[REST, k] = rows[by.LOADED, k] = 0.0
        elif at_rest and others > by.MOVING:
            rows[REST, k] += of.BLOCK
            rows[by.LOADED, k] = max(rows[by.LOADED, k], rows[of.BLOCK_LOAD, k])


@inline
def _stopped_joint(rows):
    """Return the joint that stopped with the alarm and before the others, if all stand now, or
    -1: locked, or stopped by a touch, and what motion would tell stays open.
    """
    found, longest = -1, MIN_STOP
    for k in range(rows.shape[1]):
        if rows[of.BLOCK_SPEED, k] > by.REST_SPEED:
            return -1
        if rows[REST, k] > longest:
            found, longest = k, rows[REST, k]
    return found


@inline
def _name(rows, own, table, hypothesis):
    """Return the code of a hypothesis."""
    if hypothesis == by.TOUCH:
        return COLLISION
    if hypothesis == by.LOAD:
        return PAYLOAD
    if hypothesis == by.OFFSET:
        return BIAS
    if hypothesis == by.DRAG:
        return FRICTION
    if hypothesis == by.BRAKE:
        return LOCKED
    if hypothesis == by.FROZEN:
        return SENSOR_FREEZE
    share, k = 1.0 + table[by.MOTOR, by.VALUE], U(int(table[by.MOTOR, by.JOINT]))
    scaled = own[MOTOR_SIDE] == 0.0 or share > 1.0
    if own[COMMANDED] == 0.0 and rows[of.JUMP_AT, k] > own[ALARM] - 1.0:
        before, after = rows[of.JUMP_FROM, k], rows[of.JUMP_TO, k]
        if share * after > 0.0 and abs(share * after - before) < JUMP_ERROR * abs(before):
            scaled = True
    if abs(share) < UNSIGNED:
        before, after = rows[of.JUMP_FROM, k], rows[of.JUMP_TO, k]
        fits = abs(abs(share * after) - abs(before)) < by.JUMP_ERROR * abs(before)
        clear = fits and abs(before) > by.CLEAR_LOAD * of.noise_of(rows, k)
        share = math.copysign(share, before * after if clear else 1.0)
    if share < (0.0 if scaled else -2.0 * FREE_SHARE):
        return EFFORT_SIGN
    if scaled:
        return EFFORT_SCALE
    return FREE_SWINGING if share < FREE_SHARE else EFFECTIVENESS


@inline
def _tell(rows, told, table, phi, work, code, hypothesis, confidence, second, onset):
    """Write what is told about a hypothesis."""
    joint, value = table[hypothesis, by.JOINT], table[hypothesis, by.VALUE]
    if code in (COLLISION, UNDECIDED):
        joint = value = 0.0
    if code == COLLISION:
        joint = -1.0
    if code in (EFFECTIVENESS, FREE_SWINGING):
        value = 1.0 + value
    elif code in (EFFORT_SCALE, EFFORT_SIGN):
        value = 1.0 / (1.0 + value) if abs(1.0 + value) > 1e-6 else math.inf
    elif code == PAYLOAD:
        estimate_payload(phi, work, CASE)
        joint, value = -1.0, phi[0]
        for i in range(UNKNOWNS - U1):
            told[MOMENT + i] = phi[U1 + i]
        for i in range(SUMS):
            for j in range(i, SUMS):
                told[PRODUCTS + SUMS * i + j] = told[PRODUCTS + SUMS * j + i] = work[CASE + i, j]
        told[MASS_ERROR] = math.sqrt(phi[UNKNOWNS])
    elif code == FRICTION:
        told[DRY], told[VISCOUS] = table[hypothesis, by.VALUE], table[hypothesis, by.OTHER]
        told[SPEED] = rows[of.MOVED, U(int(joint))]
    told[CODE], told[JOINT], told[VALUE] = code, joint, value
    told[CONFIDENCE], told[SECOND], told[ONSET] = confidence, second, onset


@uncounted_kernel(
    "int64(float64[:, :, ::1], float64[:, :, :, ::1], float64[:, :, ::1], matrix, vector, vector,"
    " matrix, vector, matrix, float64, boolean)"
)
def _decide(ring, gram, bank, rows, own, told, table, phi, work, t, final):
    """Make the decision that is due. final: the contact is over."""
    age, motor_side = t - own[ALARM], own[MOTOR_SIDE] != 0.0
    measured = own[COMMANDED] == 0.0
    held_mass = own[KNOWN_MASS]
    since, count = U(int(own[ALARM_BLOCK])) + U1, U(int(own[of.COUNT]))
    race(
        ring, since, count, rows, gram, bank, rows[REST], age, motor_side, measured, held_mass,
        table, phi, work,
    )  # fmt: skip
    best, second = by.TOUCH, by.LOAD
    for h in range(by.HYPOTHESES):
        if table[h, by.CHANCE] > table[best, by.CHANCE]:
            best = U(h)
    if best == second:
        second = by.TOUCH
    for h in range(by.HYPOTHESES):
        if h != best and table[h, by.CHANCE] > table[second, by.CHANCE]:
            second = U(h)
    code, other = _name(rows, own, table, best), _name(rows, own, table, second)
    p, joint = table[best, by.CHANCE], table[best, by.JOINT]
    told[MASS] = phi[0]
    for h in range(by.HYPOTHESES):
        told[CHANCES + h] = table[h, by.CHANCE]
    same = own[CANDIDATE] == code and own[CANDIDATE_JOINT] == joint
    own[AGREEMENTS] = own[AGREEMENTS] + 1.0 if same else 1.0
    own[CANDIDATE], own[CANDIDATE_JOINT] = code, joint
    onset = own[ALARM] - ONSETS[U(int(table[best, by.START]))]
    new, hypothesis = int(told[CODE]), best
    if code != COLLISION and p >= own[LEAD]:
        if own[AGREEMENTS] >= (AGREED_PAYLOAD if code == PAYLOAD else AGREED):
            new = code
    elif code == COLLISION and p >= own[LEAD]:
        # The end of a payload or a fault looks like that of a touch: do not revoke it for that
        if not _is_fault(new) or own[AGREEMENTS] >= REVOKED:
            new = COLLISION
    elif t - own[ALARM] >= DOUBT_TIME or final:
        new = COLLISION if table[by.TOUCH, by.CHANCE] > TOUCHED_CHANCE else UNDECIDED
    was, was_joint = int(told[CODE]), told[JOINT]
    if final and new == UNDECIDED and code == COLLISION:
        new = COLLISION  # too short for doubt
    stopped = _stopped_joint(rows) if own[MOTOR_SIDE] != 0.0 and new == COLLISION else -1
    if stopped >= 0 and (final or t - own[ALARM] >= DOUBT_TIME):
        new, code, other, joint = UNDECIDED, COLLISION, LOCKED, float(stopped)
    elif new == UNDECIDED and was == COLLISION:
        # What was told is doubted only for something that has become likelier
        doubted = table[by.TOUCH, by.CHANCE] < 0.5 and own[AGREEMENTS] >= AGREED
        new = UNDECIDED if doubted else COLLISION
    moved = new == was and new == code and new not in (UNDECIDED, COLLISION, PAYLOAD)
    moved = moved and joint != was_joint
    if (new != was or moved) and (was != UNDECIDED or told[BEST] != 0.0):
        if told[CHANGES] >= MAX_CHANGES - 1:
            return 0  # it stays as it is
        told[CHANGES] += 1.0
    if new == UNDECIDED:
        if not _is_fault(was) and (final or t - own[ALARM] >= DOUBT_TIME):
            told[CODE], told[BEST], told[SECOND], told[CONFIDENCE] = UNDECIDED, code, other, p
            told[JOINT], told[VALUE] = joint, 0.0
        return 0
    if new == COLLISION and code != COLLISION:
        hypothesis = by.TOUCH
        p, other = table[by.TOUCH, by.CHANCE], code
    elif new != code:
        return 0
    _tell(rows, told, table, phi, work, new, hypothesis, p, other, onset)
    return 0


@inline
def _is_followed(own, told, t):
    """Return whether the payload that is told is to be taken into the model now."""
    return (
        told[CODE] == PAYLOAD
        and t - own[ALARM] >= own[FOLLOW_TIME] - RESOLUTION
        and told[VALUE] + own[KNOWN_MASS] <= own[MAX_MASS]
    )


def _follow_case(
    block, ring, marks, columns, gram, filters, bank, rows, own, told, table, phi, work,
    touched, t, dt, q, qd, tau, external, bias,
):  # fmt: skip
    """Take a sample of a known level; return CHANGED if `told` may have changed, and FOLLOW if
    its payload is to be taken into the model, as bits.

    dt: duration of the step that ends with it [s], 0: its external torque is not known; touched:
    the level is CONTACT or above; external: mean external torque of the step.
    """
    if dt == 0.0:
        return 0
    is_open = own[OPEN] != 0.0
    ended = take_sample(
        block, ring, marks, columns, rows, own, t, dt, q, qd, tau, external, bias,
        not touched and not is_open,
    )  # fmt: skip
    if touched and own[OPEN] != 1.0:
        if t < own[GRACE_UNTIL]:
            return 0
        _open(ring, marks, gram, filters, bank, rows, own, told, work, t)
        own[TOUCHED] = t
        return CHANGED
    if not is_open:
        return 0
    if touched:
        own[TOUCHED] = t
    paused = own[OPEN] == PAUSED
    if ended and not paused:
        _watch_rest(rows, own, t)
    complete = not paused and _catch_up(ring, marks, gram, filters, bank, rows, own, work, dt)
    calm, code = t - own[TOUCHED], int(told[CODE])
    if calm > (own[HOLD] if _is_fault(code) else own[CLOSE]) + RESOLUTION:
        _close(own, told)
        return CHANGED
    found = FOLLOW if _is_followed(own, told, t) else 0
    final = code == UNDECIDED and told[BEST] == 0.0 and calm >= CALM_TIME
    due = t >= own[NEXT] - RESOLUTION and complete and calm < CALM_TIME
    if not (due or final):
        return found
    if due:
        own[NEXT] = max(own[NEXT] + own[PERIOD], t)
    _decide(ring, gram, bank, rows, own, told, table, phi, work, t, final)
    if final and int(told[CODE]) == UNDECIDED and told[BEST] == 0.0:
        told[CODE], told[JOINT] = COLLISION, -1.0
    return CHANGED  # a payload is told before it is followed


# By itself, and as a part of the loop over a recording
follow_case = uncounted_kernel(
    f"int64({MEMORY}, boolean, float64, float64, vector, vector, vector, vector, vector)"
)(_follow_case)
take_case = inline(_follow_case)
